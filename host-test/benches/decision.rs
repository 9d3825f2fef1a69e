//! What a decision costs, without the network: the core linked natively, the component in wasmtime on
//! an instance that is kept, and the component as the host runs it, on an instance of its own. Compare
//! within one run; machines differ.

mod cases;

use criterion::{BatchSize, Criterion, criterion_group, criterion_main};
use onewindow_host::{
    Engine,
    engine::{Component, ComponentOptions},
};

use cases::Kept;

fn decisions(criterion: &mut Criterion) {
    let component = Component::embedded(ComponentOptions::default()).expect("the component runs here");
    let (store, quota) = component.instantiate().expect("an instance is free");
    let mut kept = Kept::new(store, quota);
    let engines = [Engine::native(), Engine::Component(component)];
    for case in cases::all() {
        let mut group = criterion.benchmark_group(case.name);
        for engine in &engines {
            group.bench_function(engine.name(), |bencher| {
                bencher.iter_batched(
                    || case.asked(),
                    |asked| case.decide(asked, engine),
                    BatchSize::SmallInput,
                );
            });
        }
        group.bench_function("kept", |bencher| {
            bencher.iter_batched(
                || case.asked(),
                |asked| kept.decide(asked, &case).expect("the component decides"),
                BatchSize::SmallInput,
            );
        });
        group.finish();
    }
}

criterion_group!(benches, decisions);
criterion_main!(benches);
