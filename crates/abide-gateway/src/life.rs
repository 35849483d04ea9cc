//! Whether the gateway takes work: ready once what it needs is there, draining once it is to end.
//!
//! It says first that it is not ready, and keeps serving for a while, so that whoever sends it work
//! looks elsewhere before the door closes. Then nothing new is accepted and what is on the wire is
//! finished. Calls that still wait when the drain's limit is up are turned away with the time they
//! could have been served, instead of being cut off. What is on the wire has as long again; an answer
//! that never ends must not keep holds and the log from being written.

use std::fmt;

use parking_lot::Mutex;
use tokio::sync::{Notify, watch};

/// What is not there before somebody serves.
pub(crate) const WORKERS: &str = "workers";

/// Where in its life a gateway is.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub(crate) enum Phase {
    /// It takes work.
    Serving,
    /// It says that it is not ready, and still takes work.
    Leaving,
    /// It takes no new connections.
    Draining,
    /// What is still under way is cut off.
    Ended,
}

/// Waits until nothing new is accepted.
pub(crate) async fn drains(phase: &mut watch::Receiver<Phase>) {
    // The other end is the gateway's own: it outlives whoever waits.
    let _ = phase.wait_for(|p| *p >= Phase::Draining).await;
}

/// Waits until nothing may go on.
pub(crate) async fn ends(phase: &mut watch::Receiver<Phase>) {
    let _ = phase.wait_for(|p| *p == Phase::Ended).await;
}

/// Whether the gateway takes work.
pub(crate) struct Life {
    phase: watch::Sender<Phase>,
    /// What is not there yet, by name.
    pending: Mutex<Vec<&'static str>>,
    /// Somebody wants it to end.
    asked: Notify,
    /// A worker came to an end that was to serve.
    lost: watch::Sender<bool>,
}

impl Default for Life {
    fn default() -> Self {
        Self {
            phase: watch::Sender::new(Phase::Serving),
            pending: Mutex::new(vec![WORKERS]),
            asked: Notify::new(),
            lost: watch::Sender::new(false),
        }
    }
}

impl Life {
    /// Where it is.
    pub(crate) fn phase(&self) -> Phase {
        *self.phase.borrow()
    }

    /// Goes on to a phase; never back.
    pub(crate) fn enter(&self, phase: Phase) {
        self.phase.send_if_modified(|now| {
            let later = phase > *now;
            if later {
                *now = phase;
            }
            later
        });
    }

    /// Whoever wants to know when it goes on.
    pub(crate) fn watch(&self) -> watch::Receiver<Phase> {
        self.phase.subscribe()
    }

    /// Somebody wants it to end; whoever runs it sees to that.
    pub(crate) fn ask_to_end(&self) {
        self.asked.notify_one();
    }

    /// Waits until somebody wants it to end.
    pub(crate) async fn asked_to_end(&self) {
        self.asked.notified().await;
    }

    /// A worker came to an end. While it was to serve, that is a fault: what was handed to it is
    /// gone, and who connects may wait for it.
    pub(crate) fn loses_a_worker(&self) {
        if self.phase() < Phase::Draining {
            self.pending.lock().push(WORKERS);
            self.lost.send_replace(true);
        }
    }

    /// Waits until a worker came to an end that was to serve.
    pub(crate) async fn lost_a_worker(&self) {
        // The other end is our own.
        let _ = self.lost.subscribe().wait_for(|lost| *lost).await;
    }

    /// It is there now.
    pub(crate) fn has(&self, what: &'static str) {
        self.pending.lock().retain(|p| *p != what);
    }

    /// Why it is not ready; empty when it is.
    pub(crate) fn missing(&self) -> Vec<&'static str> {
        let mut missing = self.pending.lock().clone();
        if self.phase() != Phase::Serving {
            missing.push("draining");
        }
        missing
    }
}

impl fmt::Debug for Life {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Life")
            .field("phase", &self.phase())
            .field("missing", &self.missing())
            .finish()
    }
}
