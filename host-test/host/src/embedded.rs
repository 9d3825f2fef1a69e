//! A DynamoDB-compatible engine inside this process, on loopback, for demonstrations, tests and small
//! deployments.

use std::{io, net::SocketAddr, path::Path, time::Duration};

use dynoxide::{Database, server};
use tokio::{net::TcpListener, sync::oneshot, task::JoinHandle};

use crate::dynamo::{ClientConfig, Credentials};

/// The region that requests to the embedded engine are signed for; it accepts any.
const REGION: &str = "us-east-1";

/// How long a busy machine may take for one request.
const PATIENCE: Duration = Duration::from_secs(10);

/// A DynamoDB-compatible engine. It listens as long as this value lives, by default on a free port of
/// 127.0.0.1.
#[derive(Debug)]
pub struct Embedded {
    address: SocketAddr,
    stop: Option<oneshot::Sender<()>>,
    server: JoinHandle<Result<(), String>>,
}

/// Why the embedded engine does not run.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum EmbeddedError {
    /// Its file cannot be used.
    #[error("the data file {path:?} cannot be opened as a database: {reason}")]
    Open {
        /// The file.
        path: String,
        /// What the engine says.
        reason: String,
    },
    /// It cannot be set up in memory.
    #[error("the database cannot be set up in memory: {0}")]
    Memory(String),
    /// It cannot listen.
    #[error("no port of 127.0.0.1 can be listened on: {0}")]
    Listen(#[from] io::Error),
    /// It ended before it was stopped.
    #[error("the embedded database ended: {0}")]
    Ended(String),
}

impl Embedded {
    /// Starts an engine whose data is gone when it stops.
    ///
    /// # Errors
    /// Where no port can be listened on.
    pub async fn in_memory() -> Result<Self, EmbeddedError> {
        Self::in_memory_on(listener().await?)
    }

    /// Like [`Embedded::in_memory`], with the caller's listener.
    ///
    /// # Errors
    /// Where it has no address, or the database cannot be set up.
    pub fn in_memory_on(listener: TcpListener) -> Result<Self, EmbeddedError> {
        let database = Database::memory().map_err(|error| EmbeddedError::Memory(error.to_string()))?;
        Self::start(listener, database)
    }

    /// Starts an engine that keeps its data in a file, and creates the file where there is none.
    ///
    /// # Errors
    /// Where the file is something else or cannot be written, or no port can be listened on.
    pub async fn in_file(path: &Path) -> Result<Self, EmbeddedError> {
        let failed = |reason: String| EmbeddedError::Open { path: path.display().to_string(), reason };
        let text = path.to_str().ok_or_else(|| failed("its path is not UTF-8".into()))?;
        let database = Database::new(text).map_err(|error| failed(error.to_string()))?;
        Self::start(listener().await?, database)
    }

    fn start(listener: TcpListener, database: Database) -> Result<Self, EmbeddedError> {
        let address = listener.local_addr()?;
        let (stop, stopped) = oneshot::channel();
        let server = tokio::spawn(server::serve_with_shutdown(listener, database, async {
            // A dropped sender stops it too.
            let _ = stopped.await;
        }));
        Ok(Self { address, stop: Some(stop), server })
    }

    /// Where it listens.
    #[must_use]
    pub fn address(&self) -> SocketAddr {
        self.address
    }

    /// Where it listens, as a URL.
    #[must_use]
    pub fn endpoint(&self) -> String {
        format!("http://{}", self.address)
    }

    /// The configuration of a client for it.
    #[must_use]
    pub fn client_config(&self) -> ClientConfig {
        ClientConfig {
            // On loopback no reply is lost; a late one is only late.
            connect_timeout: PATIENCE,
            attempt_timeout: PATIENCE,
            ..ClientConfig::new(self.endpoint(), REGION, Credentials::unchecked())
        }
    }

    /// Stops listening, lets requests under way finish, and closes the database.
    ///
    /// # Errors
    /// Where it had ended before.
    pub async fn stop(mut self) -> Result<(), EmbeddedError> {
        drop(self.stop.take());
        match self.server.await {
            Ok(ended) => ended.map_err(EmbeddedError::Ended),
            Err(error) => Err(EmbeddedError::Ended(error.to_string())),
        }
    }
}

async fn listener() -> io::Result<TcpListener> {
    TcpListener::bind(("127.0.0.1", 0)).await
}
