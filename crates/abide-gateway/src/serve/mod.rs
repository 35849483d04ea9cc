//! Serving: workers, each with a thread and connections of its own.

mod connection;
mod guarded;
mod strict;
mod worker;

use std::io;
use std::sync::Arc;
use std::thread;
use std::time::Duration;

use tokio::sync::Barrier;

use crate::door::Listener;
use crate::front::{Front, Own};
use crate::gateway::GatewayError;
use crate::life::{Phase, WORKERS};

/// How often those who come to wait are turned away once the drain's limit is up.
const AGAIN: Duration = Duration::from_millis(100);

/// A gateway that serves.
#[derive(Debug)]
pub struct Serving {
    front: Front,
    workers: Vec<thread::JoinHandle<io::Result<()>>>,
}

/// Why a gateway does not serve.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum ServeError {
    /// What was said of it does not make sense.
    #[error(transparent)]
    Gateway(#[from] GatewayError),
    /// Anybody could use it.
    #[error(
        "{0} can be reached from other machines: say who may use it by gateway.client_token or \
         gateway.allow_from"
    )]
    Open(String),
    /// A worker cannot be started, or came to an end.
    #[error("a worker: {0}")]
    Worker(#[from] io::Error),
}

impl Serving {
    /// Begins to serve whoever connects to `listener`, on so many threads.
    ///
    /// # Errors
    /// When others than this machine's programs could come in and nobody said who may; when TLS or a
    /// thread cannot be set up.
    pub fn start(front: &Front, listener: &Listener, threads: usize) -> Result<Self, ServeError> {
        if listener.is_off_loopback() && front.now().settings().access.is_open() {
            return Err(ServeError::Open(listener.url()));
        }
        let threads = threads.max(1);
        let together = Arc::new(Barrier::new(threads));
        let mut workers = Vec::new();
        for n in 0..threads {
            let (front, ways) = (front.clone(), Arc::new(Own::new(front)?));
            let (listener, together) = (listener.try_clone()?, Arc::clone(&together));
            let worker = thread::Builder::new()
                .name(format!("worker-{n}"))
                .spawn(move || worker::run(&front, &ways, listener, &together))?;
            workers.push(worker);
        }
        front.now().life().has(WORKERS);
        Ok(Self {
            front: front.clone(),
            workers,
        })
    }

    /// Begins to answer what is asked of the gateway itself at a listener of its own
    /// ([`Listener::only_admin`]), on a thread of its own.
    ///
    /// # Errors
    /// When a thread cannot be set up.
    pub fn and_admin(mut self, listener: &Listener) -> Result<Self, ServeError> {
        let (front, ways) = (self.front.clone(), Arc::new(Own::new(&self.front)?));
        let listener = listener.try_clone()?;
        // Nobody waits for a provider on this thread, so it may end before the others.
        let worker = thread::Builder::new()
            .name("admin".to_owned())
            .spawn(move || worker::run(&front, &ways, listener, &Barrier::new(1)))?;
        self.workers.push(worker);
        Ok(self)
    }

    /// Ends in good order: says that it is not ready, stops accepting, finishes what is on the wire,
    /// turns away what still waits when the drain's limit is up, and cuts off what is still on the
    /// wire when as much time has passed again.
    ///
    /// # Errors
    /// What a worker came to an end of.
    pub async fn drain(self) -> Result<(), ServeError> {
        let gateway = self.front.now();
        let (life, limits) = (gateway.life(), &gateway.settings().limits);
        life.enter(Phase::Leaving);
        tokio::time::sleep(limits.leave).await;
        life.enter(Phase::Draining);
        let workers = self.workers;
        let mut ended = tokio::task::spawn_blocking(|| {
            workers.into_iter().try_for_each(|worker| {
                let panicked = |_| io::Error::other("it panicked");
                worker.join().map_err(panicked).flatten()
            })
        });
        let governor = gateway.governor();
        if let Ok(ended) = tokio::time::timeout(limits.drain, &mut ended).await {
            return Ok(ended.map_err(io::Error::other).flatten()?);
        }
        // Who comes to wait from now on is turned away in its turn.
        let turned = async {
            loop {
                governor.turn_all_away();
                if let Ok(ended) = tokio::time::timeout(AGAIN, &mut ended).await {
                    break ended;
                }
            }
        };
        let ended = match tokio::time::timeout(limits.drain, turned).await {
            Ok(ended) => ended,
            Err(_) => {
                life.enter(Phase::Ended);
                ended.await
            }
        };
        Ok(ended.map_err(io::Error::other).flatten()?)
    }
}
