//! The holds each client knows of, and what it did about them.
//!
//! A hold counts from the instant its client knew of it until the end the client must have
//! understood. A client is therefore never blamed for a request that crossed the answer on the
//! wire, nor excused for one it started at the very instant at which it read the answer.

use std::collections::HashMap;
use std::time::Duration;

use abide_core::Instant;

use crate::request::Gate;

/// How long after a hold's end requests still count as the burst that follows it.
pub(crate) const BURST_WINDOW: Duration = Duration::from_millis(100);

#[derive(Clone, Debug)]
struct Hold {
    known: Instant,
    end: Instant,
    burst: u64,
}

/// What one request did to the holds of its gate.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(crate) struct Sighting {
    /// It was sent inside a hold its client knew of.
    pub(crate) inside: bool,
    /// How many requests have now followed the end of one hold closely.
    pub(crate) burst: u64,
}

#[derive(Clone, Debug, Default)]
pub(crate) struct Holds {
    known: HashMap<(u32, Gate), Vec<Hold>>,
}

impl Holds {
    pub(crate) fn open(&mut self, client: u32, gate: Gate, known: Instant, end: Instant) {
        if end <= known {
            return;
        }
        let holds = self.known.entry((client, gate)).or_default();
        if holds.iter().any(|h| h.known <= known && end <= h.end) {
            return;
        }
        // A wider hold takes the place of those inside it, so a herd of refusals stays one entry.
        holds.retain(|h| h.known < known || end < h.end);
        holds.push(Hold {
            known,
            end,
            burst: 0,
        });
    }

    pub(crate) fn sight(&mut self, client: u32, gate: Gate, at: Instant) -> Sighting {
        let mut sighting = Sighting::default();
        let Some(holds) = self.known.get_mut(&(client, gate)) else {
            return sighting;
        };
        holds.retain(|h| at < h.end.after(BURST_WINDOW));
        for hold in holds.iter_mut() {
            if hold.known <= at && at < hold.end {
                sighting.inside = true;
            } else if hold.end <= at {
                hold.burst += 1;
                sighting.burst = sighting.burst.max(hold.burst);
            }
        }
        if holds.is_empty() {
            self.known.remove(&(client, gate));
        }
        sighting
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const fn ms(n: u64) -> Instant {
        Instant::from_millis(n)
    }

    #[test]
    fn a_request_on_the_wire_is_not_inside() {
        let mut holds = Holds::default();
        holds.open(0, Gate::ONLY, ms(100), ms(1_100));
        assert!(!holds.sight(0, Gate::ONLY, ms(99)).inside);
        assert!(holds.sight(0, Gate::ONLY, ms(100)).inside);
        assert!(holds.sight(0, Gate::ONLY, ms(1_099)).inside);
        assert!(!holds.sight(0, Gate::ONLY, ms(1_100)).inside);
    }

    #[test]
    fn clients_and_gates_are_apart() {
        let mut holds = Holds::default();
        holds.open(0, Gate::ONLY, ms(0), ms(1_000));
        assert!(!holds.sight(1, Gate::ONLY, ms(500)).inside);
        assert!(!holds.sight(0, Gate::part(0, Gate::ONLY), ms(500)).inside);
    }

    #[test]
    fn the_longer_hold_counts() {
        let mut holds = Holds::default();
        holds.open(0, Gate::ONLY, ms(0), ms(1_000));
        holds.open(0, Gate::ONLY, ms(500), ms(600));
        holds.open(0, Gate::ONLY, ms(700), ms(2_000));
        assert!(holds.sight(0, Gate::ONLY, ms(1_500)).inside);
    }

    #[test]
    fn the_burst_after_a_hold_is_counted_for_100_ms() {
        let mut holds = Holds::default();
        holds.open(0, Gate::ONLY, ms(0), ms(1_000));
        assert_eq!(holds.sight(0, Gate::ONLY, ms(1_000)).burst, 1);
        assert_eq!(holds.sight(0, Gate::ONLY, ms(1_099)).burst, 2);
        assert_eq!(holds.sight(0, Gate::ONLY, ms(1_100)).burst, 0);
    }
}
