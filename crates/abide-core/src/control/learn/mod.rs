//! A learner: which limit explains what was accepted and what was refused.
//!
//! Before the first refusal it is inert. After it the rate is known to be sustained that the
//! whole stretch up to the recovery bore, and is raised from there in steps until the second
//! refusal; climbing is cheap while it goes well and costs one hold when it does not. From then
//! on every refusal is evidence: all limits that explain everything seen are compared
//! ([`fit`](self::fit)), and the likeliest is kept to the letter, as a window with all that was
//! sent counted in it. Where none explains it, the limit has changed, or is like none that is
//! known here: what is old is forgotten, and the rate that was measured last is climbed from
//! anew. So it always makes progress.
//!
//! One refusal costs a whole hold, so more is tried only after a while in which nothing was
//! refused, and each time that fails, after twice as long.

mod burst;
mod fit;
mod history;
mod model;
mod prior;
mod soon;

use std::time::Duration;

use self::fit::{Fit, Look};
use self::history::History;
use self::model::{Model, seconds};
use super::{Before, Controller, Learned};
use crate::pace::Window;
use crate::time::{Instant, Moment};
use crate::trip::Trip;

/// Each step of the climb is that much faster than the one before.
const CLIMB: f64 = 1.4;
/// How long a step of the climb takes at the least: so long that a small burst is used up.
const STEP: Duration = Duration::from_millis(250);
/// A step also takes so many requests.
const STEP_COUNT: f64 = 6.0;
/// Where so much more is allowed than is sent, something else is the limit, and nothing is climbed.
const AHEAD: f64 = 3.0;
/// Where nothing explains what was seen, what was measured is gone back to with a margin.
const MARGIN: f64 = 0.9;
/// Nothing lower than one request in a minute is climbed from: a learner without a floor can
/// reach zero and never come back.
const FLOOR: f64 = 1.0 / 60.0;
/// No pace is kept above this rate, in units a second: the wire is the limit there.
const CEILING: f64 = 100_000.0;
/// How long nothing is refused before more is tried: in a run of a minute that is once.
const CALM: Duration = Duration::from_secs(30);
/// The same where the limit is a guess among what is possible.
const CALM_UNSURE: Duration = Duration::from_secs(6);
/// The same where the limit has changed before.
const CALM_CHANGED: Duration = Duration::from_secs(8);
/// The longest such time.
const CALM_MOST: Duration = Duration::from_secs(3_600);
/// How much more is tried then: so much that a small burst does not hide it for long.
const TRIAL: f64 = 1.15;
/// So many may be out where a window has kept what it promised, for so many of its lengths.
const PROVED: f64 = 7.0;
const PROOF_SPANS: f64 = 2.2;
/// Figures as round as that are no guess.
const SURE: f64 = 1.3;
/// Guesses that differ by no more are alike.
const ALIKE: f64 = 1.0;
/// So many of the possible are remembered.
const OTHERS: usize = 12;
/// What a limit that was kept and refused all the same costs, each time: what arrivals vary by
/// explains it once.
const STRIKE: f64 = 1.2;
/// So many of those are remembered.
const STRIKES: usize = 16;
/// What has been under way for so many round trips, and a second, gets no answer any more.
const UNDER_WAY: u32 = 8;

/// The learner of one gate.
#[derive(Debug, Default)]
pub struct Learner {
    history: History,
    trip: Trip,
    clock: Option<Moment>,
    /// When what came back well so far began to be sent.
    began: Instant,
    /// Units a second while climbing.
    rate: f64,
    climbing: bool,
    stepped: Instant,
    /// When the last refusal came back: what was sent before is its sibling.
    refused_at: Option<Instant>,
    resumed_at: Instant,
    best: Option<Fit>,
    /// The others that are possible, the likeliest first.
    others: Vec<Model>,
    /// What was kept and refused all the same.
    struck: Vec<Model>,
    /// What is being tried, which allows more than the best.
    trial: Option<Model>,
    calm: Duration,
    calm_since: Instant,
    fresh: bool,
    refusals: u32,
    /// The limit was another once.
    changed: bool,
    /// The last refusal was of what was being tried.
    expected: bool,
    /// What is kept was learned earlier, and nothing has been refused since.
    remembered: bool,
    /// A window has kept what it promised.
    confirmed: bool,
}

impl Learner {
    /// A learner that comes in at a refusal.
    pub fn after(before: Before) -> Self {
        let mut learner = Self {
            clock: before.clock,
            began: before.sends.first().copied().unwrap_or(before.began),
            calm: CALM,
            ..Self::default()
        };
        for at in before.sends {
            learner.history.good(at);
        }
        learner
    }

    /// How long one way takes.
    fn way(&self) -> Duration {
        self.trip.middle().unwrap_or_default() / 2
    }

    fn look(&self) -> Vec<Fit> {
        let way = self.way();
        let trips = (way * 2).saturating_mul(UNDER_WAY);
        let seen = self
            .history
            .evidence(trips.saturating_add(Duration::from_secs(1)));
        let wall = self.clock.map(|c| {
            let at = c.wall_at(seen.base.after(way));
            at.as_unix_nanos() as f64 / 1e9
        });
        let varies = Duration::from_nanos(self.trip.lag().into());
        let look = Look {
            seen: &seen,
            varies: varies.as_secs_f64().max(0.001),
            wall,
            borne: self.rate,
        };
        look.fits()
    }

    /// A refusal that is no sibling of another.
    fn learn(&mut self, now: Instant, sent: Instant) {
        self.rate = self.fallback(sent);
        self.calm_since = now;
        let tried = self.trial.take().is_some();
        self.confirmed = false;
        if !tried && let Some(best) = &self.best {
            // It was kept to the letter.
            self.struck.truncate(STRIKES - 1);
            self.struck.insert(0, best.model.clone());
        }
        if tried {
            self.calm = (self.calm * 2).min(CALM_MOST);
        } else {
            self.calm = CALM;
        }
        self.expected = tried;
        self.explain(tried);
        if self.changed {
            self.calm = self.calm.min(CALM_CHANGED.max(self.calm / 4));
        }
    }

    /// What is climbed from where nothing explains what was seen: what was borne since the last
    /// recovery, a little less; and no less than half of what was sent lately, since a stretch
    /// that ended soon proves nothing.
    fn fallback(&self, until: Instant) -> f64 {
        let kept = match &self.best {
            Some(best) => best.model.rate(),
            None => self.rate,
        };
        let since = self.resumed_at.max(self.began);
        let took = until.since(since).as_secs_f64();
        let borne = self.history.good_since(since) as f64 / took.max(1.0);
        let kept = kept.min(CEILING);
        (borne * MARGIN).clamp(kept / 2.0, kept).max(FLOOR)
    }

    /// Looks for the limit that explains all that was seen. What was `expected` to be refused
    /// contradicts nothing.
    fn explain(&mut self, expected: bool) {
        let mut fits = self.possible();
        self.fresh = true;
        if fits.is_empty() && expected && self.best.is_some() {
            return;
        }
        if fits.is_empty() {
            // Whatever it was, it is another now.
            self.changed |= self.best.is_some();
            self.history.forget_before(self.resumed_at);
            self.struck.clear();
            fits = self.look();
        }
        self.choose(fits);
        self.climbing = self.best.is_none();
    }

    /// All that explains what was seen; what was kept and refused all the same is less likely.
    fn possible(&self) -> Vec<Fit> {
        let mut fits = self.look();
        for fit in &mut fits {
            let struck = self.struck.iter().filter(|m| m.is_like(&fit.model));
            fit.cost += STRIKE * struck.count() as f64;
        }
        fits.sort_by(|a, b| a.cost.total_cmp(&b.cost));
        fits
    }

    /// Whether the limit in force is little more than a guess.
    fn is_unsure(&self) -> bool {
        let unsure = |f: &Fit| f.cost >= SURE && f.most > f.model.rate() * 1.02;
        self.best.as_ref().is_some_and(unsure)
    }

    /// Climbs a step, or tries more than the model allows, where it is time.
    fn step(&mut self, now: Instant) {
        if self.climbing {
            let took = now.since(self.stepped);
            let trip = self.trip.middle().unwrap_or_default();
            let took_secs = took.as_secs_f64();
            if took >= STEP.max(2 * trip) && took_secs * self.rate >= STEP_COUNT {
                let sent = self.history.good_since(self.stepped) as f64 / took_secs;
                if self.rate < AHEAD * sent {
                    self.rate = (self.rate * CLIMB).min(CEILING);
                }
                self.stepped = now;
            }
            return;
        }
        let Some(best) = &self.best else { return };
        if let Model::Sliding { span, .. } | Model::Fixed { span, .. } = best.model
            && self.trial.is_none()
            && now.since(self.calm_since) >= seconds(PROOF_SPANS * span)
        {
            self.confirmed = true;
        }
        let calm = match self.is_unsure() {
            true => self.calm.min(CALM_UNSURE),
            false => self.calm,
        };
        let Some(trial) = &self.trial else {
            if now.since(self.calm_since) >= calm {
                self.trial = Some(self.next_trial(&best.model));
                self.calm_since = now;
                self.stepped = now;
                self.fresh = true;
            }
            return;
        };
        let (rate, more) = (best.model.rate(), trial.rate());
        let proof = match *trial {
            Model::Bucket { burst, .. } => (burst + 4.0) / (more - rate).max(0.01 * rate),
            Model::Sliding { span, .. } | Model::Fixed { span, .. } => 1.2 * span,
        };
        if now.since(self.stepped) >= seconds(proof) {
            self.trial = None;
            self.calm_since = now;
            self.prove(now, rate, more);
        }
    }

    /// The likeliest that allows more; where there is none, a little more than the best.
    fn next_trial(&self, best: &Model) -> Model {
        let rate = best.rate() * 1.01;
        let next = self.others.iter().find(|m| m.rate() > rate);
        next.map_or_else(|| best.times(TRIAL), Model::clone)
    }

    /// More than was thought is borne: what explains that as well takes over; where nothing does,
    /// the limit was raised.
    fn prove(&mut self, now: Instant, was: f64, borne: f64) {
        let higher = |f: &Fit| f.most > was * 1.002;
        self.choose(self.possible().into_iter().filter(higher).collect());
        match &mut self.best {
            None => {
                self.history.forget_before(self.stepped);
                self.rate = borne;
                self.climbing = true;
                self.stepped = now;
            }
            Some(fit) => {
                if let Model::Bucket { rate, .. } = &mut fit.model
                    && *rate < was * 1.002
                {
                    *rate = fit.most.min(borne);
                }
            }
        }
        self.fresh = true;
    }

    /// Takes the likeliest; where that is no more than a guess, the middle of those that are
    /// nearly as likely: whichever side the truth is on, the next refusal, or none, halves what
    /// is left.
    fn choose(&mut self, mut fits: Vec<Fit>) {
        self.others = fits.iter().take(OTHERS).map(|f| f.model.clone()).collect();
        let Some(best) = fits.first().map(|f| f.cost) else {
            self.best = None;
            return;
        };
        if best < SURE {
            fits.truncate(1);
        }
        fits.retain(|f| f.cost <= best + ALIKE);
        fits.sort_by(|a, b| a.model.rate().total_cmp(&b.model.rate()));
        let middle = fits.len() / 2;
        let most = fits.iter().map(|f| f.most).fold(0.0, f64::max);
        self.best = fits.into_iter().nth(middle).map(|f| Fit { most, ..f });
    }
}

impl Controller for Learner {
    fn sent(&mut self, now: Instant, _cost: u32) {
        self.history.sent(now);
    }

    fn answered(&mut self, now: Instant, sent: Instant, app_limited: bool) {
        self.trip.add(now, sent);
        self.history.good(sent);
        if self.rate == 0.0 {
            return;
        }
        if app_limited {
            self.stepped = now;
            self.calm_since = self.calm_since.max(now.before(self.calm));
            return;
        }
        self.step(now);
    }

    fn refused(&mut self, now: Instant, sent: Instant, _opens: bool) {
        let Some(last) = self.refused_at else {
            self.refused_at = Some(now);
            if self.history.is_empty() {
                self.began = sent;
            }
            self.refusals = 1;
            return self.history.refused(sent, true);
        };
        let sibling = sent <= last;
        self.history.refused(sent, !sibling);
        self.refusals += 1;
        if sibling {
            return;
        }
        self.refused_at = Some(now);
        self.remembered = false;
        if self.rate > 0.0 {
            self.learn(now, sent);
        }
    }

    fn resumed(&mut self, now: Instant) {
        if self.rate == 0.0 {
            let good = self.history.good_since(Instant::ORIGIN).max(1) as f64;
            let took = now.since(self.began).as_secs_f64().max(1.0);
            self.rate = (good / took).max(FLOOR);
            self.climbing = true;
        } else {
            // What was on the wire when it refused has been answered by now.
            self.explain(self.expected);
        }
        self.resumed_at = now;
        self.stepped = now;
        self.calm_since = now;
    }

    fn interval(&self) -> Option<Duration> {
        if self.climbing && self.rate > 0.0 {
            return Some(seconds(1.0 / self.rate));
        }
        self.best.as_ref().map(|b| seconds(1.0 / b.model.rate()))
    }

    fn window(&mut self, now: Instant) -> Option<Window> {
        if !std::mem::take(&mut self.fresh) {
            return None;
        }
        let model = &self.best.as_ref()?.model;
        let model = match &self.trial {
            Some(trial) => trial,
            None => model,
        };
        // A bucket is empty when it has just refused; who remembers one finds it full.
        let refused = self.refused_at.filter(|_| self.trial.is_none());
        let empty = refused.or(Some(now)).filter(|_| !self.remembered);
        Some(model.window(empty, self.history.counted()))
    }

    fn has_window(&self) -> bool {
        self.best.is_some()
    }

    /// While it climbs, no more are out than the rate needs, and two at the least: whoever counts
    /// refusals in a row sees two. A window that has proved itself is filled at once.
    fn places(&self) -> u32 {
        let Some(trip) = self.trip.middle() else {
            return u32::MAX;
        };
        let rate = match &self.best {
            Some(best) if self.trial.is_some() => best.model.rate(),
            Some(best) if self.is_unsure() => 1.2 * best.model.rate(),
            Some(best) => 2.0 * best.model.rate(),
            None if self.rate > 0.0 => self.rate,
            None => return u32::MAX,
        };
        let least = if self.confirmed { PROVED } else { 2.0 };
        let needed = (rate * trip.as_secs_f64()).ceil().clamp(least, 1e6);
        #[expect(
            clippy::cast_possible_truncation,
            clippy::cast_sign_loss,
            reason = "clamped above"
        )]
        let needed = needed as u32;
        needed
    }

    fn back_at(&self, now: Instant) -> Option<Instant> {
        let best = self.best.as_ref().filter(|_| !self.is_unsure())?;
        if let Model::Bucket { rate, .. } = best.model {
            return Some(now.after(seconds(2.0 / rate)));
        }
        let window = best.model.window(Some(now), self.history.counted());
        let at = window.earliest(1, self.trip.lag());
        (at > now).then_some(at)
    }

    /// A guess is not told: who keeps it would keep it for ever.
    fn learned(&self) -> Option<Learned> {
        let best = self.best.as_ref().filter(|_| !self.is_unsure())?;
        let limit = best.model.limit(self.clock, self.way())?;
        let at = self.clock.map(|c| c.wall_at(self.calm_since));
        Some(Learned {
            limit,
            refusals: self.refusals,
            at,
        })
    }

    fn remember(&mut self, now: Instant, learned: &Learned) {
        let Some(model) = Model::of(learned.limit, self.clock) else {
            return;
        };
        let rate = model.rate();
        self.refusals = learned.refusals;
        self.rate = rate;
        self.best = Some(Fit {
            model,
            cost: 0.0,
            most: rate,
        });
        (self.began, self.resumed_at, self.calm_since) = (now, now, now);
        self.refused_at = Some(now);
        self.remembered = true;
        self.confirmed = true;
        (self.climbing, self.fresh) = (false, true);
    }

    fn restore(&mut self, now: Instant, interval: Duration) {
        self.rate = (1.0 / interval.as_secs_f64().max(1.0 / CEILING)).max(FLOOR);
        self.began = now;
        self.refused_at = Some(now);
        self.resumed(now);
    }
}

#[cfg(test)]
mod tests;
