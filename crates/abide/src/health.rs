//! Whether the store can be used: told when that changes, not at every look.

use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::Duration;

use abide_store::{Store, StoreError};
use tokio::task::JoinHandle;

/// How often it is seen whether what was written reached the disk. A full one shows only then; more
/// often would cost writes that nobody needs.
pub(crate) const WRITES: Duration = Duration::from_secs(10);

/// What was found of the store last.
#[derive(Debug, Default)]
pub(crate) struct Health {
    unreadable: AtomicBool,
    unwritable: AtomicBool,
}

impl Health {
    /// Whether it can be used.
    pub(crate) fn is_well(&self) -> bool {
        !self.unreadable.load(Ordering::Relaxed) && !self.unwritable.load(Ordering::Relaxed)
    }

    /// What came of reading it.
    pub(crate) fn read(&self, came: Result<(), StoreError>) {
        const BAD: &str = "the store cannot be read; holds known here stay";
        told(&self.unreadable, came, BAD, "the store can be read again");
    }

    /// What came of writing to it.
    pub(crate) fn wrote(&self, came: Result<(), StoreError>) {
        const BAD: &str = "the store cannot be written; holds stand, and a restart forgets them";
        told(
            &self.unwritable,
            came,
            BAD,
            "the store can be written again",
        );
    }
}

fn told(bad: &AtomicBool, came: Result<(), StoreError>, what: &'static str, well: &'static str) {
    let was = bad.swap(came.is_err(), Ordering::Relaxed);
    match (came, was) {
        (Err(e), false) => tracing::error!(error = %e, "{what}"),
        (Ok(()), true) => tracing::info!("{well}"),
        _ => {}
    }
}

/// Looks whether what was written reached the disk, beside everything else: a disk may take long.
#[derive(Debug, Default)]
pub(crate) struct Writes {
    under_way: Option<JoinHandle<Result<(), StoreError>>>,
}

impl Writes {
    /// Says what came of the last look, and begins another.
    pub(crate) async fn look(&mut self, store: &Arc<dyn Store>, health: &Health) {
        match &self.under_way {
            // One that hangs is waited for: another would hang behind it.
            Some(look) if !look.is_finished() => return,
            _ => {}
        }
        if let Some(Ok(came)) = match self.under_way.take() {
            Some(look) => Some(look.await),
            None => None,
        } {
            health.wrote(came);
        }
        let store = Arc::clone(store);
        self.under_way = Some(tokio::task::spawn_blocking(move || store.flush()));
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_store_is_well_again_once_both_work() {
        let bad = || {
            Err(StoreError::Io {
                path: "state.db".to_owned(),
                why: "no room".to_owned(),
            })
        };
        let health = Health::default();
        assert!(health.is_well());
        health.wrote(bad());
        health.read(bad());
        health.read(Ok(()));
        assert!(!health.is_well());
        health.wrote(Ok(()));
        assert!(health.is_well());
    }
}
