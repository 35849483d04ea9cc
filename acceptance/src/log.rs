//! What was logged, for tests that look at it.

use std::fmt::{self, Write};
use std::sync::{Arc, Mutex, PoisonError};

use tracing::field::{Field, Visit};
use tracing::span::{Attributes, Id, Record};
use tracing::subscriber::DefaultGuard;
use tracing::{Event, Level, Metadata, Subscriber};

/// Records of this thread, as long as it lives.
#[derive(Debug)]
pub struct Log {
    records: Records,
    _guard: DefaultGuard,
}

type Records = Arc<Mutex<Vec<(Level, String)>>>;

impl Log {
    /// Begins to listen.
    pub fn begin() -> Self {
        let records = Records::default();
        let guard = tracing::subscriber::set_default(Listener(Arc::clone(&records)));
        Self {
            records,
            _guard: guard,
        }
    }

    /// The records of a level that mention something: message and fields, in order.
    pub fn records(&self, level: Level, about: &str) -> Vec<String> {
        let all = self.records.lock().unwrap_or_else(PoisonError::into_inner);
        let fits = all.iter().filter(|(l, t)| *l == level && t.contains(about));
        fits.map(|(_, text)| text.clone()).collect()
    }
}

struct Listener(Records);

impl Subscriber for Listener {
    fn enabled(&self, metadata: &Metadata<'_>) -> bool {
        metadata.target().starts_with("abide")
    }

    fn new_span(&self, _: &Attributes<'_>) -> Id {
        Id::from_u64(1)
    }

    fn record(&self, _: &Id, _: &Record<'_>) {}

    fn record_follows_from(&self, _: &Id, _: &Id) {}

    fn event(&self, event: &Event<'_>) {
        let mut text = Text(String::new());
        event.record(&mut text);
        let mut all = self.0.lock().unwrap_or_else(PoisonError::into_inner);
        all.push((*event.metadata().level(), text.0));
    }

    fn enter(&self, _: &Id) {}

    fn exit(&self, _: &Id) {}
}

struct Text(String);

impl Visit for Text {
    fn record_debug(&mut self, field: &Field, value: &dyn fmt::Debug) {
        // Writing to a string cannot fail.
        let _ = match field.name() {
            "message" => write!(self.0, "{value:?} "),
            name => write!(self.0, "{name}={value:?} "),
        };
    }
}
