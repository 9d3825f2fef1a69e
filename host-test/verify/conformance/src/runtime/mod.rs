//! The runtimes under test. For a new one, add a file here and a line in [`all`].

mod fastly;
mod onewindow;
mod server;
mod setup;
mod wasi_http;
mod workerd;

pub(crate) use server::Server;
pub(crate) use setup::{DEFAULT_LIMIT, NAMESPACE, Runtime, Setup};

/// Every runtime there is.
pub(crate) fn all() -> Vec<Box<dyn Runtime>> {
    vec![
        Box::new(onewindow::Onewindow { native: false }),
        Box::new(onewindow::Onewindow { native: true }),
        Box::new(wasi_http::WasiHttp),
        Box::new(workerd::Workerd),
        Box::new(fastly::Fastly),
    ]
}
