//! Which limits explain what was seen.
//!
//! Each kind has one figure that everything accepted bounds from below and every refusal bounds
//! from above: the burst of a bucket of a given rate, the count of a window of a given length. A
//! limit is possible where the two bounds leave room. Arrivals vary, so both bounds are taken
//! with a margin; what is left is judged by how round its figures are.

use super::burst::{self, Bounds, LANES};
use super::history::Evidence;
use super::model::Model;
use super::prior;
use super::soon::soon;

/// The parts into which the phase of a window is divided that begins at no round time.
const PHASES: u32 = 12;
/// What it costs to assume that a window begins at no round time.
const ODD_PHASE: f64 = 2.5;
/// Windows shorter than so many seconds begin at round times.
const SHORT: f64 = 0.5;
/// Windows shorter than so many times what arrivals vary by explain anything.
const BLURRED: f64 = 12.0;
/// The odder a limit, the more refusals it takes to believe it: each after the first pays for so
/// much.
const ODD: f64 = 3.5;
/// Where possible rates differ by so much, the way varies too much to tell; then what was
/// borne is kept, and raised as it goes well.
const VAGUE: f64 = 1.6;
const CAUTIOUS: f64 = 1.05;
const VAGUELY: f64 = 2.0;
/// By how much a rate may be outside of what was found possible.
const ROUGHLY: f64 = 1.005;
/// Steps between the rates that are tried.
const STEP: f64 = 1.012;

/// A limit that is possible, and how unlikely it is.
#[derive(Clone, Debug)]
pub(super) struct Fit {
    pub(super) model: Model,
    pub(super) cost: f64,
    /// The highest rate that is possible as well.
    pub(super) most: f64,
}

/// What a fit looks at.
pub(super) struct Look<'a> {
    pub(super) seen: &'a Evidence,
    /// By how many seconds arrivals vary.
    pub(super) varies: f64,
    /// The wall clock at the base, in seconds, one way being added: when what is sent at the base
    /// arrives.
    pub(super) wall: Option<f64>,
    /// Units a second that were borne lately.
    pub(super) borne: f64,
}

/// A refusal, with what is asked of it for every length and phase of windows.
struct Refusal {
    at: f64,
    /// What was accepted next.
    next: Option<f64>,
    /// How many were sent before it that came back well, and how many are not answered yet.
    good: usize,
    open: usize,
}

impl Look<'_> {
    /// All limits that are possible, the likeliest first.
    pub(super) fn fits(&self) -> Vec<Fit> {
        let mut all = Vec::new();
        // One refusal is explained by almost anything.
        if self.seen.refused.len() < 2 {
            return all;
        }
        all.extend(self.bucket());
        let known = self.seen.good.last().copied().unwrap_or_default();
        let refusals = self.refusals();
        for span in prior::spans(known).filter(|s| *s > BLURRED * self.varies) {
            all.extend(self.sliding(&refusals, span));
            all.extend(self.fixed(&refusals, span));
        }
        let refusals = self.usable();
        all.retain(|f| f.cost <= ODD * refusals.saturating_sub(1) as f64);
        all.sort_by(|a, b| a.cost.total_cmp(&b.cost));
        all
    }

    fn bucket(&self) -> Option<Fit> {
        let good = &self.seen.good;
        let last = good.last().copied().unwrap_or_default().max(self.varies);
        if self.usable() < 2 {
            return None;
        }
        let mut rate = (good.len() as f64 / last * 0.3).max(0.01);
        let (mut low, mut high) = (f64::MAX, f64::MIN);
        'rates: for _ in 0..400 / LANES {
            let next = |rate: &mut f64| std::mem::replace(rate, *rate * STEP);
            let rates = [(); LANES].map(|()| next(&mut rate));
            for (rate, bounds) in rates.into_iter().zip(self.bursts(rates)) {
                if bounds.is_some() {
                    low = low.min(rate);
                    high = high.max(rate);
                } else if rate > high * 1.5 && high > 0.0 {
                    break 'rates;
                }
            }
        }
        if low > high {
            return None;
        }
        // Between two rates that were tried lies what was not.
        let (low, high) = (low / ROUGHLY, high * ROUGHLY);
        let (mut rate, mut cost) = if high > low * VAGUE {
            (self.borne.clamp(low * CAUTIOUS, high), VAGUELY)
        } else {
            prior::likeliest_rate(low, high)
        };
        let mut bounds = self.burst(rate);
        if bounds.is_none() {
            bounds = self
                .burst(rate * ROUGHLY)
                .or_else(|| self.burst(rate / ROUGHLY));
        }
        if bounds.is_none() {
            (rate, cost) = (low * ROUGHLY, 3.0);
            bounds = self.burst(rate);
        }
        let (least, most) = bounds?;
        let (burst, roundness) =
            prior::likeliest_count(least, most).unwrap_or_else(|| (least.max(1.0), 3.0));
        Some(Fit {
            model: Model::Bucket { rate, burst },
            cost: cost + 0.5 * roundness,
            most: high,
        })
    }

    /// How many refusals say something about a bucket.
    fn usable(&self) -> usize {
        self.seen.refused_after(self.reaches()).count()
    }

    /// The bounds of the burst at this rate; `None` where they leave no room.
    fn burst(&self, rate: f64) -> Option<(f64, f64)> {
        let [bounds, ..] = self.bursts([rate; LANES]);
        bounds
    }

    /// The same at several rates.
    fn bursts(&self, rates: [f64; LANES]) -> [Bounds; LANES] {
        let refused = self.seen.refused_after(self.reaches());
        burst::bounds(self.seen, refused, self.varies, rates)
    }

    /// How much of the evidence has to lie before a refusal where not all is known.
    fn reaches(&self) -> f64 {
        self.seen.good.last().copied().unwrap_or_default() / 4.0
    }

    fn refusals(&self) -> Vec<Refusal> {
        let (seen, varies) = (self.seen, self.varies);
        let before = |all: &[f64], until: f64| all.partition_point(|t| *t < until);
        let refused = seen.refused.iter().map(|&at| {
            // What was sent just then may have overtaken it.
            let next = seen.good.partition_point(|t| *t <= at + 2.0 * varies);
            Refusal {
                at,
                next: seen.good.get(next).copied(),
                good: before(&seen.good, at + varies),
                open: before(&seen.open, at + varies),
            }
        });
        refused.collect()
    }

    /// How many may have been accepted of what was sent from some time before it until a refusal.
    fn since(&self, from: f64, refusal: &Refusal) -> usize {
        let after = |all: &[f64]| all.len() - all.partition_point(|t| *t < from);
        after(&self.seen.good[..refusal.good]) + after(&self.seen.open[..refusal.open])
    }

    /// The refusals before which at least `span` seconds are known.
    fn known<'a>(
        &self,
        refusals: &'a [Refusal],
        span: f64,
    ) -> impl Iterator<Item = &'a Refusal> + use<'a> {
        let from = if self.seen.whole { f64::MIN } else { span };
        refusals.iter().filter(move |r| r.at >= from)
    }

    fn sliding(&self, refusals: &[Refusal], span: f64) -> Option<Fit> {
        let most = (self.known(refusals, span)).map(|r| self.since(r.at - span - self.varies, r));
        // One in a window is a bucket without a burst.
        let most = most.min().filter(|most| *most > 1)?;
        let (mut least, mut from) = (0, 0);
        let good = &self.seen.good;
        for (i, &t) in good.iter().enumerate() {
            while good[from] <= t - (span - self.varies) {
                from += 1;
            }
            least = least.max(i + 1 - from);
            if least > most {
                return None;
            }
        }
        let (count, roundness) = prior::likeliest_count(least as f64, most as f64)?;
        let model = Model::Sliding { count, span };
        Some(Fit {
            most: model.rate(),
            model,
            cost: 0.4 + prior::span(span) + roundness,
        })
    }

    fn fixed(&self, refusals: &[Refusal], span: f64) -> Option<Fit> {
        let mut best: Option<Fit> = None;
        let round = self.wall.map(|wall| (-(wall.rem_euclid(span)), 0.0));
        let first = self.seen.good.first().map(|t| (*t, 1.0));
        let odd = (0..PHASES).map(|n| (span * f64::from(n) / f64::from(PHASES), ODD_PHASE));
        // A short window that begins at no round time is hardly to be told from a bucket.
        let odd = odd.filter(|_| span >= SHORT);
        for (phase, cost) in round.into_iter().chain(first).chain(odd) {
            let cost = 0.2 + cost + prior::span(span);
            if best.as_ref().is_some_and(|b| b.cost <= cost) {
                continue;
            }
            let Some((least, most)) = self.counts(refusals, span, phase) else {
                continue;
            };
            let Some((count, roundness)) = prior::likeliest_count(least, most) else {
                continue;
            };
            let cost = cost + roundness;
            if best.as_ref().is_none_or(|b| cost < b.cost) {
                let boundary = self.seen.at(phase.rem_euclid(span));
                best = Some(Fit {
                    model: Model::Fixed {
                        count,
                        span,
                        boundary,
                    },
                    cost,
                    most: count / span,
                });
            }
        }
        best
    }

    /// The bounds of the count of windows of this length with a boundary at `phase`.
    fn counts(&self, refusals: &[Refusal], span: f64, phase: f64) -> Option<(f64, f64)> {
        let good = &self.seen.good;
        let window = |t: f64| ((t - phase) / span).floor();
        // Between a refusal and what is accepted next lies a boundary.
        for r in self.known(refusals, span) {
            let (Some(next), refused) = (r.next, r.at - self.varies) else {
                continue;
            };
            let next = next + self.varies;
            // What comes before it lies in no later window, whatever windows there are.
            if next <= refused || window(next) <= window(refused) {
                return None;
            }
        }
        let mut most = f64::MAX;
        for r in self.known(refusals, span) {
            // One that came too soon after a boundary met the window before.
            let begun = window(r.at - self.varies) * span + phase;
            most = most.min(self.since(begun - self.varies, r) as f64);
            if most <= 1.0 {
                return None;
            }
        }
        // Only windows that something was accepted in are looked at, however far apart they lie.
        let (mut least, mut from) = (0.0_f64, 0);
        while let Some(&t) = good.get(from) {
            let begins = window(t) * span + phase;
            // What arrives so close to a boundary may belong to either side.
            let begun = from + soon(&good[from..], |t| t < begins + self.varies);
            let until = begins + span - self.varies;
            let ended = begun + soon(&good[begun..], |t| t <= until);
            least = least.max((ended - begun) as f64);
            if least > most {
                return None;
            }
            from = ended.max(from + 1);
        }
        (most < f64::MAX).then_some((least, most))
    }
}
