//! Serving: workers, each with a thread and connections of its own.

mod connection;
mod worker;

use std::io;
use std::net::TcpListener;
use std::sync::Arc;
use std::thread;

use tokio::sync::watch;

use crate::gateway::{Gateway, GatewayError};

/// A gateway that serves.
#[derive(Debug)]
pub struct Serving {
    workers: Vec<thread::JoinHandle<io::Result<()>>>,
    stop: watch::Sender<bool>,
}

/// Why a gateway does not serve.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum ServeError {
    /// What was said of it does not make sense.
    #[error(transparent)]
    Gateway(#[from] GatewayError),
    /// A worker cannot be started, or came to an end.
    #[error("a worker: {0}")]
    Worker(#[from] io::Error),
}

impl Serving {
    /// Begins to serve whoever connects to `listener`, on so many threads.
    ///
    /// # Errors
    /// When TLS or a thread cannot be set up.
    pub fn start(
        gateway: &Arc<Gateway>,
        listener: &TcpListener,
        threads: usize,
    ) -> Result<Self, ServeError> {
        listener.set_nonblocking(true)?;
        let (stop, stopped) = watch::channel(false);
        let mut workers = Vec::new();
        for n in 0..threads.max(1) {
            let (gateway, ways) = (Arc::clone(gateway), gateway.ways()?);
            let (listener, stopped) = (listener.try_clone()?, stopped.clone());
            let worker = thread::Builder::new()
                .name(format!("worker-{n}"))
                .spawn(move || worker::run(&gateway, ways, listener, stopped))?;
            workers.push(worker);
        }
        Ok(Self { workers, stop })
    }

    /// Stops accepting, and waits until what is under way is done.
    ///
    /// # Errors
    /// What a worker came to an end of.
    pub fn stop(self) -> Result<(), ServeError> {
        let _ = self.stop.send(true);
        for worker in self.workers {
            match worker.join() {
                Ok(ended) => ended?,
                Err(_) => return Err(io::Error::other("it panicked").into()),
            }
        }
        Ok(())
    }
}
