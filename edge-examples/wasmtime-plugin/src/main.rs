//! Runs the proxy, and swaps its plugin whenever the file changes. `PLUGIN`, `UPSTREAM` and `LISTEN`
//! say what and where; the rest is in `onewindow_surface::settings`.

use std::{env, fs, sync::Arc, time::Duration};

use anyhow::Context;
use onewindow_surface::settings::Settings;
use onewindow_wasmtime_plugin::{METER, Proxy};
use tokio::net::TcpListener;

#[tokio::main]
async fn main() -> anyhow::Result<()> {
    let or = |name, default: &str| env::var(name).unwrap_or_else(|_| default.to_owned());
    let plugin = or("PLUGIN", "onewindow-quota.wasm");
    let read = fs::read(&plugin)
        .with_context(|| format!("{plugin} is not there; `onewindow component {plugin}` writes it"))?;
    let settings = Settings::read(|name| env::var(name).ok())?;
    let proxy = Proxy::new(&read, METER, settings, or("UPSTREAM", "http://127.0.0.1:3000"))?;
    let proxy = Arc::new(proxy);
    tokio::spawn(watch(Arc::clone(&proxy), plugin, read));
    let listener = TcpListener::bind(or("LISTEN", "127.0.0.1:8080")).await?;
    println!("listening on http://{}", listener.local_addr()?);
    Ok(axum::serve(listener, proxy.router()).await?)
}

/// Swaps the plugin whenever its file has changed.
async fn watch(proxy: Arc<Proxy>, file: String, mut last: Vec<u8>) {
    loop {
        tokio::time::sleep(Duration::from_secs(1)).await;
        match fs::read(&file) {
            Ok(read) if read != last => {
                match proxy.swap(&read) {
                    Ok(()) => println!("{file}: swapped, {} bytes", read.len()),
                    Err(error) => eprintln!("{file}: {error:#}; the old one stays"),
                }
                last = read;
            }
            // Unchanged, or being replaced just now.
            _ => {}
        }
    }
}
