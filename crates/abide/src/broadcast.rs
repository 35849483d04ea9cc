//! Telling events to whoever listens, and counting them.

use tokio::sync::broadcast;

use crate::events::{Event, Events};

/// How many events a listener may be behind. Each is about 100 bytes, and holds are rare: a
/// thousand are minutes of a bad day.
const BEHIND: usize = 1024;

/// Where events are told.
#[derive(Debug)]
pub(crate) struct Broadcast(broadcast::Sender<Event>);

impl Default for Broadcast {
    fn default() -> Self {
        Self(broadcast::Sender::new(BEHIND))
    }
}

impl Broadcast {
    /// Tells everybody who listens; made only where somebody does, or counts.
    pub(crate) fn tell(&self, event: impl FnOnce() -> Option<Event>) {
        if self.0.receiver_count() == 0 && !cfg!(feature = "metrics") {
            return;
        }
        let Some(event) = event() else {
            return;
        };
        #[cfg(feature = "metrics")]
        crate::metrics::count(&event);
        // Nobody listening is no fault.
        let _ = self.0.send(event);
    }

    pub(crate) fn listen(&self) -> Events {
        Events(self.0.subscribe())
    }
}
