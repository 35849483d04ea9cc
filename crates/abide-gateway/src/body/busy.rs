//! Whether anything is asked on a connection.

use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::time::Duration;

/// What is asked on one connection.
#[derive(Debug, Default)]
pub(crate) struct Asked {
    now: AtomicUsize,
    ever: AtomicUsize,
}

/// A request under way, until its answer has ended.
#[derive(Debug)]
pub(crate) struct Busy(Arc<Asked>);

impl Asked {
    /// A request has come.
    pub(crate) fn one(self: &Arc<Self>) -> Busy {
        self.now.fetch_add(1, Ordering::Relaxed);
        self.ever.fetch_add(1, Ordering::Relaxed);
        Busy(Arc::clone(self))
    }

    /// Waits until nothing was asked for so long, or up to twice as long.
    pub(crate) async fn is_quiet(&self, long: Duration) {
        loop {
            let before = self.ever.load(Ordering::Relaxed);
            tokio::time::sleep(long).await;
            let asked = self.ever.load(Ordering::Relaxed) != before;
            if !asked && self.now.load(Ordering::Relaxed) == 0 {
                return;
            }
        }
    }
}

impl Drop for Busy {
    fn drop(&mut self) {
        self.0.now.fetch_sub(1, Ordering::Relaxed);
    }
}
