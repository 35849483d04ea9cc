//! When a provider that failed is tried again though nobody asks for it.
//!
//! Where only healthy providers are shown, nobody would ever ask the others, and one failure
//! would hide a provider for ever. So somebody asks: one request at a time, only while nothing
//! holds the provider, and less often the longer it fails.

use std::time::Duration;

use crate::ladder::Ladder;
use crate::time::Instant;

/// How a provider stands, as far as trying it again goes.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Standing {
    /// Failures since the last success; 0 while healthy.
    pub failures: u32,
    /// Until when something closes it.
    pub closed_until: Option<Instant>,
}

/// Tries one provider again.
#[derive(Clone, Debug)]
pub struct Prober {
    ladder: Ladder,
    last: Option<Instant>,
}

impl Prober {
    /// One that waits by a ladder between two tries: the step of as many failures as there were.
    pub const fn new(ladder: Ladder) -> Self {
        Self { ladder, last: None }
    }

    /// When the next try is due; `None` while there is nothing to find out.
    pub fn due(&self, now: Instant, standing: Standing) -> Option<Instant> {
        let rung = standing.failures.checked_sub(1)?;
        let spaced = self.last.map_or(now, |last| last.after(self.wait(rung)));
        Some(spaced.max(standing.closed_until.unwrap_or(now)).max(now))
    }

    /// A try goes out.
    pub const fn tried(&mut self, now: Instant) {
        self.last = Some(now);
    }

    /// Never more often than once a second, whatever the ladder says.
    fn wait(&self, rung: u32) -> Duration {
        self.ladder.wait(rung).max(Duration::from_secs(1))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn at(secs: u64) -> Instant {
        Instant::from_secs(secs)
    }

    #[test]
    fn c05_what_failed_is_tried_when_nothing_holds_it_and_less_and_less_often() {
        let steps = [5, 10, 20].map(Duration::from_secs).to_vec();
        let mut prober = Prober::new(Ladder::Steps(steps));
        let standing = |failures, closed_until| Standing {
            failures,
            closed_until,
        };
        assert_eq!(prober.due(at(1), standing(0, None)), None);
        assert_eq!(prober.due(at(1), standing(1, Some(at(6)))), Some(at(6)));
        prober.tried(at(6));
        assert_eq!(prober.due(at(7), standing(2, None)), Some(at(16)));
        assert_eq!(prober.due(at(40), standing(2, None)), Some(at(40)));
        prober.tried(at(40));
        assert_eq!(prober.due(at(41), standing(9, None)), Some(at(60)));
    }
}
