//! Whether every worker still comes round: each counts while it does, and whoever watches the process
//! looks whether all have gone on counting.

use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};
use std::time::Duration;

use crate::front::Front;

/// How often a worker counts: half of what a watchdog of a few seconds wants to see, and nothing
/// that a processor notices.
const EVERY: Duration = Duration::from_millis(500);

/// It ended, which is told in another way.
const ENDED: u64 = u64::MAX;

/// The workers' counting, for whoever watches the process.
#[derive(Debug)]
pub struct Pulse {
    /// Each worker's count, and what it was when all had gone on last.
    workers: Vec<(Arc<AtomicU64>, u64)>,
}

impl Pulse {
    pub(super) fn of(counts: &[Arc<AtomicU64>]) -> Self {
        let workers = counts.iter().map(|count| (Arc::clone(count), 0));
        Self {
            workers: workers.collect(),
        }
    }

    /// Whether every worker has come round since this was true last.
    pub fn is_felt(&mut self) -> bool {
        let now = |count: &AtomicU64| count.load(Ordering::Relaxed);
        let goes_on = |(count, seen): &(Arc<AtomicU64>, u64)| {
            let now = now(count);
            now == ENDED || now != *seen
        };
        let all = self.workers.iter().all(goes_on);
        if all {
            for (count, seen) in &mut self.workers {
                *seen = now(count);
            }
        }
        all
    }
}

/// Counts for as long as the worker's runtime comes round.
pub(super) async fn count(count: Arc<AtomicU64>) {
    loop {
        // Whoever has ended does not go on.
        let counted = count.fetch_update(Ordering::Relaxed, Ordering::Relaxed, |n| {
            (n != ENDED).then_some(n + 1)
        });
        if counted.is_err() {
            return;
        }
        tokio::time::sleep(EVERY).await;
    }
}

/// Tells that a worker is gone, by whatever way it goes.
pub(super) struct Presence {
    pub(super) front: Front,
    pub(super) count: Arc<AtomicU64>,
}

impl Drop for Presence {
    fn drop(&mut self) {
        self.count.store(ENDED, Ordering::Relaxed);
        self.front.now().life().loses_a_worker();
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn gw_one_worker_that_hangs_stops_the_pulse() {
        let counts = [
            Arc::new(AtomicU64::new(1)),
            Arc::new(AtomicU64::new(1)),
            Arc::new(AtomicU64::new(ENDED)),
        ];
        let mut pulse = Pulse::of(&counts);
        assert!(pulse.is_felt());
        assert!(!pulse.is_felt(), "nobody went on");
        counts[0].store(2, Ordering::Relaxed);
        assert!(!pulse.is_felt(), "one hangs");
        counts[1].store(2, Ordering::Relaxed);
        assert!(pulse.is_felt());
    }
}
