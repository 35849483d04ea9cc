//! How many requests at once a provider bears, where that is what it limits.
//!
//! Such a provider turns away what comes on top, at once and without a word about when to come
//! back, while the others are served as ever. Each answer is counted at the number of requests
//! that were out when its own was sent. Of all numbers the best is taken: where `p` of the
//! requests are served, `n` at once are worth `n·p`, and each that is turned away costs as much as
//! two that are served. Errors that have nothing to do with the number fall on
//! all alike, and then the larger number stays the better one.
//!
//! One more is tried after a while in which the whole width was used and everything came back
//! well; each time that fails, the while is twice as long.

/// Numbers above this are not counted each: there an eighth less is tried when something is turned
/// away, and a sixteenth more after a while.
const LEVELS: usize = 64;
/// Failures in a row that nothing good interrupts are an outage, and none of our doing: the
/// breaker opens at the fifth.
const ROW: u32 = 4;
/// So many answers at full width before one more is tried: a trial that fails costs one refusal,
/// and at twice the time each, a thousand items meet four.
const CALM: u32 = 64;
/// The longest such time.
const CALM_MOST: u32 = 4096;
/// After a trial that went well the next one comes sooner: the limit was raised.
const CALM_WELL: u32 = 16;
/// At so many answers a count is halved, so that what was long ago weighs less.
const REMEMBERED: u16 = 512;

/// The width of one gate, made at the first request that is turned away for coming on top.
#[derive(Clone, Debug)]
pub struct Width {
    served: [u16; LEVELS + 1],
    turned_away: [u16; LEVELS + 1],
    most: u32,
    calm: u32,
    needed: u32,
    trying: bool,
    row: u32,
}

impl Width {
    /// A width at its first request turned away, one of `together`: with fewer all went well so
    /// far.
    pub fn below(together: u32) -> Self {
        let mut served = [0; LEVELS + 1];
        served[1..level(together)].fill(2);
        Self {
            served,
            turned_away: [0; LEVELS + 1],
            most: u32::MAX,
            calm: 0,
            needed: CALM,
            trying: false,
            row: 0,
        }
    }

    /// A width learned earlier.
    pub fn remembered(count: u32) -> Self {
        let mut width = Self::below(count.saturating_add(1));
        width.most = count.max(1);
        // It was tried often enough then.
        width.needed = 4 * CALM;
        width
    }

    /// How many may be out.
    pub const fn most(&self) -> u32 {
        self.most
    }

    /// How many were turned away, as far as that is remembered.
    pub fn refusals(&self) -> u32 {
        self.turned_away.iter().map(|n| u32::from(*n)).sum()
    }

    /// A request that was one of `together` was served.
    pub fn served(&mut self, together: u32) {
        self.row = 0;
        self.count(together, true);
        if together < self.most {
            return;
        }
        self.calm += 1;
        if self.calm >= self.needed {
            if self.trying {
                self.needed = CALM_WELL;
            }
            self.calm = 0;
            self.trying = true;
            self.most = self.most.saturating_add((self.most / 16).max(1));
        }
    }

    /// A request that was one of `together` was turned away.
    pub fn turned_away(&mut self, together: u32) {
        self.row += 1;
        if self.row > ROW {
            return;
        }
        self.count(together, false);
        self.calm = 0;
        if std::mem::take(&mut self.trying) {
            self.needed = (self.needed.max(CALM / 2) * 2).min(CALM_MOST);
        }
        self.most = match together as usize > LEVELS {
            true => self.most.min(together - together / 8),
            false => self.best(),
        };
    }

    fn count(&mut self, together: u32, well: bool) {
        let n = level(together);
        let side = if well {
            &mut self.served
        } else {
            &mut self.turned_away
        };
        side[n] += 1;
        if side[n] >= REMEMBERED {
            self.served[n] /= 2;
            self.turned_away[n] /= 2;
        }
    }

    /// The number that is worth most of those that were tried; the smaller of two alike. What is
    /// turned away at some number is turned away at any above as well: one lucky answer there
    /// proves nothing.
    fn best(&self) -> u32 {
        let (mut best, mut most, mut bound) = (1, 0.0, 1.0);
        for n in 1..=LEVELS {
            let (well, bad) = (f64::from(self.served[n]), f64::from(self.turned_away[n]));
            if well + bad == 0.0 {
                continue;
            }
            let served = (well + 1.0) / (well + bad + 2.0);
            if bad > 0.0 {
                bound = served.min(bound);
            }
            let worth = n as f64 * (3.0 * served.min(bound) - 2.0);
            if worth > most {
                (best, most) = (n, worth);
            }
        }
        u32::try_from(best).unwrap_or(1)
    }
}

fn level(together: u32) -> usize {
    (together as usize).clamp(1, LEVELS)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_comes_on_top_is_left_out() {
        let mut w = Width::below(5);
        for n in 5..=8 {
            w.turned_away(n);
        }
        assert_eq!(w.most(), 4);
    }

    #[test]
    fn one_more_is_tried_and_each_failure_doubles_the_time() {
        let mut w = Width::below(5);
        w.turned_away(5);
        let mut trials = 0;
        for _ in 0..1000 {
            w.served(w.most());
            if w.most() > 4 {
                trials += 1;
                w.turned_away(5);
            }
        }
        assert_eq!((w.most(), trials), (4, 4));
    }

    #[test]
    fn errors_that_fall_on_all_alike_narrow_nothing() {
        let mut w = Width::below(32);
        for n in 0..4000_u32 {
            if n % 10 == 3 {
                w.turned_away(w.most().min(32));
            } else {
                w.served(w.most().min(32));
            }
        }
        assert!(w.most() >= 24, "{}", w.most());
    }

    #[test]
    fn sc_j10_it_grows_only_while_it_is_used_and_never_without_bound() {
        let mut w = Width::below(5);
        w.turned_away(5);
        for _ in 0..10_000 {
            w.served(2);
        }
        assert_eq!(w.most(), 4, "nobody used it all");
        let mut used = 0;
        while w.most() == 4 {
            w.served(4);
            used += 1;
        }
        assert_eq!(w.most(), 5, "one step at a time");
        assert!(used >= CALM, "and only after a while: {used}");
    }

    #[test]
    fn one_of_many_hundreds_turned_away_leaves_most_of_them() {
        let mut w = Width::below(400);
        w.turned_away(400);
        assert_eq!(w.most(), 350);
    }

    #[test]
    fn an_outage_is_no_crowd() {
        let mut w = Width::below(32);
        for _ in 0..20 {
            w.served(32);
        }
        for n in (1..=32).rev() {
            w.turned_away(n);
        }
        assert!(w.most() >= 28, "{}", w.most());
    }
}
