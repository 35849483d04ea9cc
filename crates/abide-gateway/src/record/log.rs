//! The access log: written in blocks by a thread of its own, so that a slow disk holds up nobody.
//!
//! Refusals are always in it, successes as one of so many. What a slow disk cannot take is dropped
//! beyond a bound, and the number of lines lost is told in the next block.

use std::fmt::{self, Write as _};
use std::io::{self, Write};
use std::mem;
use std::sync::Arc;
use std::sync::atomic::{AtomicU32, Ordering};
use std::thread;
use std::time::Duration;

use abide::core::WallTime;
use parking_lot::{Condvar, Mutex};

use super::meters::Outcome;

/// What is kept for a writer that does not keep up: about 20,000 lines.
const MOST: usize = 4 * 1024 * 1024;
/// How long a line may wait for others. Default 200 ms: nobody reads faster.
const GATHER: Duration = Duration::from_millis(200);
/// A block of this size is written at once.
const BLOCK: usize = 64 * 1024;

/// How a line looks.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub enum Format {
    /// One object a line.
    Json,
    /// For people.
    Text,
}

/// The access log.
pub struct Log {
    shared: Option<Arc<Shared>>,
    format: Format,
    /// One success of so many is written.
    sample: u32,
    seen: AtomicU32,
    writer: Mutex<Option<thread::JoinHandle<()>>>,
}

struct Shared {
    state: Mutex<State>,
    full: Condvar,
}

#[derive(Default)]
struct State {
    lines: String,
    /// The second of the last line, and how it is written: most have the same one.
    second: Option<i64>,
    shown: String,
    lost: u64,
    over: bool,
}

impl Log {
    /// No log.
    pub const fn none() -> Self {
        Self {
            shared: None,
            format: Format::Text,
            sample: 1,
            seen: AtomicU32::new(0),
            writer: Mutex::new(None),
        }
    }

    /// A log into `out`, of one success in `sample`; 0 reads as 1.
    ///
    /// # Errors
    /// When no thread can be made.
    pub fn to(out: impl Write + Send + 'static, format: Format, sample: u32) -> io::Result<Self> {
        let shared = Arc::new(Shared {
            state: Mutex::default(),
            full: Condvar::new(),
        });
        let theirs = Arc::clone(&shared);
        let writer = thread::Builder::new()
            .name("access-log".to_owned())
            .spawn(move || keep_writing(&theirs, out))?;
        Ok(Self {
            shared: Some(shared),
            format,
            sample: sample.max(1),
            seen: AtomicU32::new(0),
            writer: Mutex::new(Some(writer)),
        })
    }

    /// Whether a request that ended so is in it.
    pub(super) fn wants(&self, outcome: Outcome) -> bool {
        if self.shared.is_none() {
            return false;
        }
        if self.sample == 1 || outcome != Outcome::Passed {
            return true;
        }
        self.seen
            .fetch_add(1, Ordering::Relaxed)
            .is_multiple_of(self.sample)
    }

    /// `at` is the second in which the line is written.
    pub(super) fn write(&self, at: WallTime, line: impl FnOnce(&mut String, Format, &str)) {
        let Some(shared) = &self.shared else {
            return;
        };
        let mut state = shared.state.lock();
        let state = &mut *state;
        if state.lines.len() > MOST {
            state.lost += 1;
            return;
        }
        let second = at.as_unix_secs_ceil();
        if state.second != Some(second) {
            state.second = Some(second);
            state.shown.clear();
            let _ = write!(state.shown, "{at}");
        }
        let before = state.lines.len();
        line(&mut state.lines, self.format, &state.shown);
        // Once a block: waking the writer costs as much as a line.
        if before < BLOCK && state.lines.len() >= BLOCK {
            shared.full.notify_one();
        }
    }

    /// Writes what is left, and ends the writer.
    pub fn close(&self) {
        if let Some(shared) = &self.shared {
            shared.state.lock().over = true;
            shared.full.notify_one();
        }
        let writer = self.writer.lock().take();
        if let Some(writer) = writer {
            // A writer that panicked has said so itself.
            let _ = writer.join();
        }
    }
}

fn keep_writing(shared: &Shared, mut out: impl Write) {
    let (mut block, mut broken) = (String::new(), false);
    loop {
        let (lost, over) = {
            let mut state = shared.state.lock();
            if state.lines.len() < BLOCK && !state.over {
                shared.full.wait_for(&mut state, GATHER);
            }
            block.clear();
            mem::swap(&mut block, &mut state.lines);
            (mem::take(&mut state.lost), state.over)
        };
        if lost > 0 {
            tracing::warn!(
                lines = lost,
                "the access log does not keep up; lines are lost"
            );
        }
        let written = out.write_all(block.as_bytes()).and_then(|()| out.flush());
        match written {
            Ok(()) => broken = false,
            Err(e) if !broken => {
                broken = true;
                tracing::error!(error = %e, "the access log cannot be written");
            }
            Err(_) => {}
        }
        if over {
            return;
        }
    }
}

impl fmt::Debug for Log {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Log")
            .field("format", &self.format)
            .field("sample", &self.sample)
            .finish_non_exhaustive()
    }
}
