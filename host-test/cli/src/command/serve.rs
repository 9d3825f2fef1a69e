//! `onewindow serve`.

use std::{net::SocketAddr, time::Duration};

use anyhow::Context;
use clap::ValueEnum;
use http::HeaderValue;
use onewindow_host::{Limit, Limiter, LimiterOptions, OnUnavailable};
use onewindow_surface::{
    http::FieldForm,
    server::{Service, serve},
};
use tokio::net::TcpListener;

use super::{
    exit::DONE,
    limit::{LIMIT_HELP, limit},
    print,
    stop::stop_signal,
    store::{EngineArgs, StoreArgs},
};

#[derive(Debug, clap::Args)]
pub(crate) struct Args {
    /// The address to listen on; port 0 takes a free one.
    #[arg(long, value_name = "ADDRESS", default_value = "127.0.0.1:8080")]
    listen: SocketAddr,
    #[arg(long, value_name = "LIMIT", value_parser = limit, help = LIMIT_HELP,
          long_help = format!("{LIMIT_HELP}\nThey hold for requests that bring no limits of their own."))]
    limit: Vec<Limit>,
    /// The namespace id that every key starts with.
    #[arg(long, value_name = "ID", default_value = "default")]
    namespace: String,
    /// What to do with a request that the table does not answer in time.
    #[arg(long, value_enum, default_value_t = Policy::Block)]
    on_unavailable: Policy,
    /// How long a request waits for the table at most, milliseconds; for one attempt, half of it.
    #[arg(long, value_name = "MS", default_value_t = 1_000)]
    deadline_ms: u64,
    /// How long a rejection is repeated without asking the table, at most, seconds; 0 asks always.
    #[arg(long, value_name = "SECONDS", default_value_t = 10)]
    repeat_rejections_seconds: u64,
    /// The parameters of the RateLimit field: of the drafts up to 10, or from 11 on.
    #[arg(long, value_enum, default_value_t = Form::Rt)]
    ratelimit_form: Form,
    /// The origin of a page that may read previews, `*` for any: see edge-examples/browser.
    #[arg(long, value_name = "ORIGIN")]
    allow_origin: Option<HeaderValue>,
    #[command(flatten)]
    store: StoreArgs,
    #[command(flatten)]
    engine: EngineArgs,
}

#[derive(Clone, Copy, Debug, ValueEnum)]
enum Policy {
    /// Admit the request without debiting any tokens.
    Allow,
    /// Refuse the request with status 503.
    Block,
}

#[derive(Clone, Copy, Debug, ValueEnum)]
enum Form {
    /// `r`, what remains, and `t`, seconds until the reset.
    Rt,
    /// `a`, what is available, and `w`, seconds until the reset.
    Aw,
}

impl Args {
    pub(crate) async fn run(self) -> anyhow::Result<u8> {
        let engine = self.engine.engine()?;
        let deadline = Duration::from_millis(self.deadline_ms);
        let store = self.store.open_to_serve(deadline / 2).await?;
        let options = LimiterOptions {
            deadline,
            repeat_rejections_for: Duration::from_secs(self.repeat_rejections_seconds),
            on_unavailable: match self.on_unavailable {
                Policy::Allow => OnUnavailable::Allow,
                Policy::Block => OnUnavailable::Block,
            },
            ..LimiterOptions::default()
        };
        let listener = TcpListener::bind(self.listen)
            .await
            .with_context(|| format!("{} cannot be listened on", self.listen))?;
        print::serving(listener.local_addr()?, &self.store.table, &store.place, engine.name());
        let service = Service {
            limiter: Limiter::new(engine, store.client.clone(), options),
            table: self.store.table.clone(),
            namespace: self.namespace,
            limits: self.limit,
            field_form: match self.ratelimit_form {
                Form::Rt => FieldForm::Remaining,
                Form::Aw => FieldForm::Available,
            },
            allow_origin: self.allow_origin,
        };
        serve(listener, service, stop_signal()?).await?;
        store.close().await?;
        Ok(DONE)
    }
}
