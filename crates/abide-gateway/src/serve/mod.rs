//! Serving: workers, each with a thread and connections of its own.

mod connection;
mod guarded;
mod pulse;
mod strict;
mod worker;

use std::io;
use std::sync::Arc;
use std::sync::atomic::AtomicU64;
use std::thread;
use std::time::Duration;

use tokio::sync::Barrier;

use self::pulse::Presence;
pub use self::pulse::Pulse;

use crate::bad::GatewayError;
use crate::door::Listener;
use crate::front::{Front, Own};
use crate::life::{Phase, WORKERS};

/// How often those who come to wait are turned away once the drain's limit is up.
const AGAIN: Duration = Duration::from_millis(100);

/// A gateway that serves.
#[derive(Debug)]
pub struct Serving {
    front: Front,
    workers: Vec<thread::JoinHandle<io::Result<()>>>,
    /// By which each worker shows that it comes round.
    counts: Vec<Arc<AtomicU64>>,
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
    /// When others than this machine's programs could come in and nobody said who may; when TLS or a
    /// thread cannot be set up.
    pub fn start(front: &Front, listener: &Listener, threads: usize) -> Result<Self, ServeError> {
        if listener.is_off_loopback() {
            front.now().is_reached_from_outside(listener.url())?;
        }
        let threads = threads.max(1);
        let together = Arc::new(Barrier::new(threads));
        let mut serving = Self {
            front: front.clone(),
            workers: Vec::new(),
            counts: Vec::new(),
        };
        for n in 0..threads {
            let listener = listener.try_clone()?;
            serving.begin(format!("worker-{n}"), listener, Arc::clone(&together))?;
        }
        front.now().life().has(WORKERS);
        Ok(serving)
    }

    fn begin(
        &mut self,
        name: String,
        listener: Listener,
        together: Arc<Barrier>,
    ) -> Result<(), ServeError> {
        let (front, ways) = (self.front.clone(), Arc::new(Own::new(&self.front)?));
        let count = Arc::new(AtomicU64::new(0));
        let presence = Presence {
            front: front.clone(),
            count: Arc::clone(&count),
        };
        self.counts.push(Arc::clone(&count));
        let worker = thread::Builder::new().name(name).spawn(move || {
            let _presence = presence;
            worker::run(&front, &ways, listener, &together, count)
        })?;
        self.workers.push(worker);
        Ok(())
    }

    /// Whether every worker still comes round.
    pub fn pulse(&self) -> Pulse {
        Pulse::of(&self.counts)
    }

    /// Begins to answer what is asked of the gateway itself at a listener of its own
    /// ([`Listener::only_admin`]), on a thread of its own.
    ///
    /// # Errors
    /// When a thread cannot be set up.
    pub fn and_admin(mut self, listener: &Listener) -> Result<Self, ServeError> {
        // Nobody waits for a provider on this thread, so it may end before the others.
        let alone = Arc::new(Barrier::new(1));
        self.begin("admin".to_owned(), listener.try_clone()?, alone)?;
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
