//! `wasi:http` in wasmtime: an instance for each request, as `wasmtime serve` does it.

use std::{net::SocketAddr, sync::Arc, time::Duration};

use hyper::{Request, Response, body::Incoming, server::conn::http1, service::service_fn};
use tokio::{
    net::TcpListener,
    sync::{Semaphore, oneshot},
};
use wasmtime::{
    Cache, CacheConfig, Config, Engine, InstanceAllocationStrategy, PoolingAllocationConfig, Result, Store,
    bail,
    component::{Component, Linker, ResourceTable},
    error::Context,
};
use wasmtime_wasi::{WasiCtx, WasiCtxView, WasiView};
use wasmtime_wasi_http::{
    WasiHttpCtx, WasiHttpCtxView, WasiHttpView,
    io::TokioIo,
    p2::{
        bindings::{ProxyPre, http::types::Scheme},
        body::HyperOutgoingBody,
    },
};

/// Requests in progress at the same time; further ones wait.
const INSTANCES: u32 = 256;
const MEMORY_LIMIT_BYTES: usize = 64 << 20;

struct Server {
    pre: ProxyPre<State>,
    slots: Arc<Semaphore>,
}

pub(crate) async fn serve(component: &[u8], address: SocketAddr) -> Result<()> {
    let mut pooling = PoolingAllocationConfig::default();
    pooling.total_component_instances(INSTANCES).total_core_instances(8 * INSTANCES);
    pooling.total_memories(2 * INSTANCES).total_tables(8 * INSTANCES).total_stacks(INSTANCES);
    pooling.max_memory_size(MEMORY_LIMIT_BYTES);
    let mut config = Config::new();
    config.allocation_strategy(InstanceAllocationStrategy::Pooling(pooling));
    // Compiled once, loaded from then on; where it cannot be kept, it is compiled each time.
    config.cache(Cache::new(CacheConfig::new()).ok());
    let engine = Engine::new(&config)?;
    let component = Component::from_binary(&engine, component)?;
    let mut linker = Linker::new(&engine);
    wasmtime_wasi::p2::add_to_linker_async(&mut linker)?;
    wasmtime_wasi_http::p2::add_only_http_to_linker_async(&mut linker)?;
    let pre = ProxyPre::new(linker.instantiate_pre(&component)?)?;
    let slots = Arc::new(Semaphore::new(INSTANCES.try_into()?));
    let server = Arc::new(Server { pre, slots });

    let listener =
        TcpListener::bind(address).await.with_context(|| format!("{address} cannot be listened on"))?;
    println!("listening on http://{}", listener.local_addr()?);
    loop {
        let client = match listener.accept().await {
            Ok((client, _)) => client,
            Err(error) => {
                // Too many open files, or a client that is gone already: the server continues.
                eprintln!("a connection cannot be accepted: {error}");
                tokio::time::sleep(Duration::from_millis(10)).await;
                continue;
            }
        };
        let _ = client.set_nodelay(true);
        let server = Arc::clone(&server);
        tokio::spawn(async move {
            let service = service_fn(|request| {
                let server = Arc::clone(&server);
                async move { server.answer(request).await }
            });
            // A client that closes the connection is no error.
            let _ = http1::Builder::new().serve_connection(TokioIo::new(client), service).await;
        });
    }
}

impl Server {
    async fn answer(&self, request: Request<Incoming>) -> Result<Response<HyperOutgoingBody>> {
        let slot = Arc::clone(&self.slots).acquire_owned().await?;
        let mut store = Store::new(self.pre.engine(), State::new());
        let (sender, receiver) = oneshot::channel();
        let request = store.data_mut().http().new_incoming_request(Scheme::Http, request)?;
        let out = store.data_mut().http().new_response_outparam(sender)?;
        let pre = self.pre.clone();
        // A task of its own: it goes on after the answer, until the follow-ups are done.
        let task = tokio::spawn(async move {
            let proxy = pre.instantiate_async(&mut store).await?;
            let handled = proxy.wasi_http_incoming_handler().call_handle(&mut store, request, out).await;
            drop(store);
            drop(slot);
            if let Err(error) = &handled {
                eprintln!("the component failed: {error:?}");
            }
            handled
        });
        match receiver.await {
            Ok(response) => Ok(response?),
            Err(_) => {
                task.await??;
                bail!("the component gave no answer")
            }
        }
    }
}

struct State {
    wasi: WasiCtx,
    http: WasiHttpCtx,
    table: ResourceTable,
}

impl State {
    fn new() -> Self {
        // The set-up is in the environment, as for `wasmtime serve --env`.
        let wasi = WasiCtx::builder().inherit_env().inherit_stderr().build();
        Self { wasi, http: WasiHttpCtx::new(), table: ResourceTable::new() }
    }
}

impl WasiView for State {
    fn ctx(&mut self) -> WasiCtxView<'_> {
        WasiCtxView { ctx: &mut self.wasi, table: &mut self.table }
    }
}

impl WasiHttpView for State {
    fn http(&mut self) -> WasiHttpCtxView<'_> {
        WasiHttpCtxView { ctx: &mut self.http, table: &mut self.table, hooks: Default::default() }
    }
}
