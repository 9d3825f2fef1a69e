//! What a decision costs, without the network: the core linked natively, the component as the host runs
//! it, on instances that are used again, and the component with a fresh instance for each request.
//! Compare within one run; machines differ.

mod cases;

use criterion::{BatchSize, Criterion, criterion_group, criterion_main};
use onewindow_host::{
    Engine,
    engine::{Component, ComponentOptions},
};

fn decisions(criterion: &mut Criterion) {
    let component = |options| Engine::from(Component::embedded(options).expect("it runs here"));
    let fresh = ComponentOptions { requests_per_instance: 1, ..ComponentOptions::default() };
    let engines = [
        ("native", Engine::native()),
        ("component", component(ComponentOptions::default())),
        ("fresh", component(fresh)),
    ];
    for case in cases::all() {
        let mut group = criterion.benchmark_group(case.name);
        for (name, engine) in &engines {
            group.bench_function(*name, |bencher| {
                bencher.iter_batched(
                    || case.asked(),
                    |asked| case.decide(asked, engine),
                    BatchSize::SmallInput,
                );
            });
        }
        group.finish();
    }
}

criterion_group!(benches, decisions);
criterion_main!(benches);
