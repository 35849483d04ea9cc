//! Proactive spacing: what a gate lets out by plan, refusals or not.
//!
//! A gate has any number of windows, all of which must agree, and at most one adaptive interval
//! that a [`Controller`](crate::control::Controller) steers. Every window answers one question:
//! the earliest instant at which a cost fits. It is asked again after every grant, so no slot is
//! ever promised twice.

mod gcra;
mod window;

use std::time::Duration;

pub use gcra::{CATCH_UP, Gcra};
pub use window::{Fixed, Sliding};

use crate::reserve::Reserve;
use crate::time::Instant;

/// One limit on how much may be sent in some time.
#[derive(Clone, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub enum Window {
    /// A count until a boundary.
    Fixed(Box<Fixed>),
    /// A token bucket.
    Gcra(Gcra),
    /// At most N in any stretch.
    Sliding(Box<Sliding>),
}

/// A window as it is configured.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Shape {
    /// One unit an interval, at most `burst` saved up.
    Bucket {
        /// What a unit takes.
        interval: Duration,
        /// At most so many at once.
        burst: u32,
    },
    /// So many units until each boundary.
    Fixed {
        /// Units.
        limit: u64,
        /// From boundary to boundary.
        period: Duration,
        /// One of the boundaries.
        boundary: Instant,
    },
    /// At most so many units in any stretch.
    Sliding {
        /// Units.
        limit: u64,
        /// The stretch.
        period: Duration,
    },
}

impl From<Fixed> for Window {
    fn from(w: Fixed) -> Self {
        Self::Fixed(Box::new(w))
    }
}

impl From<Gcra> for Window {
    fn from(w: Gcra) -> Self {
        Self::Gcra(w)
    }
}

impl From<Sliding> for Window {
    fn from(w: Sliding) -> Self {
        Self::Sliding(Box::new(w))
    }
}

impl Window {
    /// One request per `interval`, none saved up: the plainest pace.
    pub fn interval(interval: Duration) -> Self {
        Self::Gcra(Gcra::new(interval, 1))
    }

    /// What was configured, without what was counted.
    pub fn shape(&self) -> Shape {
        match self {
            Self::Gcra(w) => Shape::Bucket {
                interval: Duration::from_nanos(w.interval()),
                burst: u32::try_from(w.size()).unwrap_or(u32::MAX),
            },
            Self::Fixed(w) => {
                let (limit, period, boundary) = w.told();
                Shape::Fixed {
                    limit,
                    period,
                    boundary,
                }
            }
            Self::Sliding(w) => {
                let (limit, period) = w.told();
                Shape::Sliding { limit, period }
            }
        }
    }

    /// The largest cost that ever fits.
    pub(crate) fn size(&self) -> u64 {
        match self {
            Self::Fixed(w) => w.size(),
            Self::Gcra(w) => w.size(),
            Self::Sliding(w) => w.size(),
        }
    }

    /// Nanoseconds a unit takes at the steady rate.
    pub(crate) fn unit(&self) -> u64 {
        match self {
            Self::Fixed(w) => w.interval(),
            Self::Gcra(w) => w.interval(),
            Self::Sliding(w) => w.interval(),
        }
    }

    #[inline(always)]
    fn charge(&mut self, now: Instant, due: Instant, cost: u32, lag: u32) -> bool {
        match self {
            Self::Gcra(w) => w.charge(now, due, cost),
            Self::Fixed(w) => return w.charge(now, cost),
            Self::Sliding(w) => w.charge_late(now, due, cost, lag),
        }
        false
    }

    fn refund(&mut self, at: Instant, cost: u32) {
        match self {
            Self::Gcra(w) => w.refund(at, cost),
            Self::Fixed(w) => w.refund(at, cost),
            Self::Sliding(w) => w.refund(at, cost),
        }
    }

    /// Whether forgetting it would change a decision at `now`.
    fn is_idle(&self, now: Instant) -> bool {
        match self {
            Self::Fixed(w) => w.is_idle(now),
            Self::Gcra(w) => w.is_idle(now),
            Self::Sliding(w) => w.is_idle(now),
        }
    }

    /// Takes note of a request that was sent at `at`: for a window that is learned afterwards.
    pub(crate) fn sent(&mut self, at: Instant) {
        self.charge(at, at, 1, 0);
    }

    /// The earliest instant at which `cost` fits, arrivals varying by `lag` nanoseconds.
    #[inline]
    pub(crate) fn earliest(&self, cost: u32, lag: u32) -> Instant {
        match self {
            Self::Gcra(w) => w.earliest_late(cost, lag),
            Self::Fixed(w) => w.earliest_late(cost, lag),
            Self::Sliding(w) => w.earliest_late(cost, lag),
        }
    }
}

/// The windows of a gate. Most have none to two: those lie within the gate itself, since a second
/// place in memory costs more than the arithmetic.
#[derive(Clone, Debug)]
enum Windows {
    None,
    One(Window),
    Two([Window; 2]),
    More(Box<[Window]>),
}

impl From<&[Window]> for Windows {
    fn from(windows: &[Window]) -> Self {
        match windows {
            [] => Self::None,
            [one] => Self::One(one.clone()),
            [one, two] => Self::Two([one.clone(), two.clone()]),
            more => Self::More(more.into()),
        }
    }
}

impl std::ops::Deref for Windows {
    type Target = [Window];

    #[inline]
    fn deref(&self) -> &[Window] {
        // Most limited gates have two, so that is asked first: a jump by kind costs more.
        if let Self::Two(w) = self {
            return w;
        }
        self.few()
    }
}

impl std::ops::DerefMut for Windows {
    #[inline]
    fn deref_mut(&mut self) -> &mut [Window] {
        if let Self::Two(w) = self {
            return w;
        }
        self.few_mut()
    }
}

impl Windows {
    #[inline(never)]
    fn few(&self) -> &[Window] {
        match self {
            Self::None => &[],
            Self::One(w) => std::slice::from_ref(w),
            Self::Two(w) => w,
            Self::More(w) => w,
        }
    }

    #[inline(never)]
    fn few_mut(&mut self) -> &mut [Window] {
        match self {
            Self::None => &mut [],
            Self::One(w) => std::slice::from_mut(w),
            Self::Two(w) => w,
            Self::More(w) => w,
        }
    }
}

/// All the spacing of one gate.
#[derive(Clone, Debug)]
pub(crate) struct Pace {
    windows: Windows,
    /// The largest cost every window can ever fit.
    size: u32,
    /// By how much arrivals vary, in nanoseconds: what was filled to the brim is kept so much
    /// longer.
    pub(crate) lag: u32,
    adaptive: Option<Box<Window>>,
}

impl Pace {
    pub(crate) fn new(windows: &[Window]) -> Self {
        Self {
            windows: windows.into(),
            size: size(windows),
            lag: 0,
            adaptive: None,
        }
    }

    /// The earliest instant at which every window has room for `cost`; may be in the past.
    #[inline]
    pub(crate) fn earliest(&self, cost: u32) -> Instant {
        let mut at = match &self.adaptive {
            Some(a) => a.earliest(cost.min(1), self.lag),
            None => Instant::ORIGIN,
        };
        for w in self.windows.iter() {
            at = at.max(w.earliest(cost, self.lag));
        }
        at
    }

    /// As [`earliest`](Self::earliest), where `kept` units of what buckets have saved up are left
    /// there; those that do not hold so much are not.
    #[inline]
    pub(crate) fn earliest_leaving(&self, cost: u32, kept: u32) -> Instant {
        let mut at = self.earliest(cost);
        if kept == 0 {
            return at;
        }
        let wanted = cost.saturating_add(kept);
        for w in self.windows.iter() {
            if matches!(w, Window::Gcra(w) if w.size() >= u64::from(wanted)) {
                at = at.max(w.earliest(wanted, self.lag));
            }
        }
        at
    }

    /// As [`earliest`](Self::earliest), where a reserve of every limit is left, that of a learned
    /// one too.
    pub(crate) fn earliest_beside(&self, cost: u32, reserve: Reserve) -> Instant {
        let at = |w: &Window, cost| w.earliest(reserve.beside(cost, w.size()), self.lag);
        let learned = self.adaptive.as_deref().map(|a| at(a, cost.min(1)));
        let windows = self.windows.iter().map(|w| at(w, cost));
        windows.chain(learned).max().unwrap_or(Instant::ORIGIN)
    }

    /// Pays for a send at `now` in a slot that was `due` then or a little earlier: a wake that
    /// came late does not push the later slots back. Returns whether stored counts must be
    /// written.
    #[inline]
    pub(crate) fn charge(&mut self, now: Instant, due: Instant, cost: u32) -> bool {
        let mut store = false;
        for w in self.windows.iter_mut() {
            store |= w.charge(now, due, cost, self.lag);
        }
        if let Some(a) = &mut self.adaptive {
            a.charge(now, due, cost.min(1), self.lag);
        }
        store
    }

    /// Gives back what was paid at `at` for a request that was never sent.
    pub(crate) fn refund(&mut self, at: Instant, cost: u32) {
        for w in self.windows.iter_mut() {
            w.refund(at, cost);
        }
        if let Some(a) = &mut self.adaptive {
            a.refund(at, cost.min(1));
        }
    }

    /// Corrects what was paid at `at` to the real cost, known afterwards. The adaptive interval
    /// counts requests and stays. Returns whether stored counts must be written.
    pub(crate) fn correct(&mut self, now: Instant, at: Instant, paid: u32, real: u32) -> bool {
        let (more, less) = (real.saturating_sub(paid), paid.saturating_sub(real));
        let mut store = false;
        for w in self.windows.iter_mut() {
            match w {
                Window::Gcra(w) if more > 0 => w.charge(now, now, more),
                Window::Gcra(w) => w.refund(at, less),
                Window::Fixed(w) if more > 0 => store |= w.charge(now, more),
                Window::Fixed(w) => w.refund(at, less),
                Window::Sliding(w) if more > 0 => w.charge(now, now, more),
                Window::Sliding(w) => w.refund(at, less),
            }
        }
        store
    }

    /// The largest cost every window can ever fit; `u32::MAX` without windows.
    #[inline]
    pub(crate) const fn size(&self) -> u32 {
        self.size
    }

    /// How long `cost` takes at the slowest window's steady rate; zero without windows.
    pub(crate) fn time_for(&self, cost: u64) -> Duration {
        let unit = self
            .windows
            .iter()
            .map(Window::unit)
            .chain(self.adaptive.iter().map(|a| a.unit()))
            .max()
            .unwrap_or(0);
        Duration::from_nanos(unit.saturating_mul(cost))
    }

    /// Steers the adaptive interval; `None` takes it off.
    pub(crate) fn adapt(&mut self, now: Instant, interval: Option<Duration>) {
        match (interval, &mut self.adaptive) {
            (Some(i), Some(a)) if matches!(**a, Window::Gcra(_)) => {
                if let Window::Gcra(a) = &mut **a {
                    a.change(now, i, 1);
                }
            }
            (Some(i), slot) => {
                let mut a = Gcra::new(i, 1);
                a.drain(now, 1);
                *slot = Some(Box::new(a.into()));
            }
            (None, slot) => *slot = None,
        }
    }

    /// Keeps a window that was learned, counted already; it takes the place of the interval.
    pub(crate) fn follow(&mut self, window: Window) {
        self.adaptive = Some(Box::new(window));
    }

    /// Lets nothing pass before a whole adaptive interval is over.
    pub(crate) fn rest(&mut self, now: Instant) {
        if let Some(Window::Gcra(a)) = self.adaptive.as_deref_mut() {
            a.drain(now, 0);
        }
    }

    /// The adaptive interval in force.
    pub(crate) fn adaptive_interval(&self) -> Option<Duration> {
        self.adaptive
            .as_ref()
            .map(|a| Duration::from_nanos(a.unit()))
    }

    /// Puts new windows in force. Those of the same kind keep what they owe, scaled; new ones
    /// start empty of saved-up burst.
    pub(crate) fn change(&mut self, now: Instant, windows: &[Window]) {
        let mut next = Windows::from(windows);
        for (i, w) in next.iter_mut().enumerate() {
            match (w, self.windows.get(i)) {
                (Window::Gcra(new), Some(Window::Gcra(old))) => {
                    let (interval, burst) = (new.interval(), new.size());
                    *new = old.clone();
                    new.change(
                        now,
                        Duration::from_nanos(interval),
                        u32::try_from(burst).unwrap_or(u32::MAX),
                    );
                }
                (Window::Gcra(new), _) => new.drain(now, 1),
                (Window::Fixed(new), Some(Window::Fixed(old))) => new.take_over(now, old),
                (Window::Sliding(new), Some(Window::Sliding(old))) => new.absorb(old),
                _ => {}
            }
        }
        self.size = size(&next);
        self.windows = next;
    }

    /// The stored counts of the long fixed windows: position, units used, end of the window.
    pub(crate) fn stored(&self) -> impl Iterator<Item = (u8, u64, Instant)> + '_ {
        self.windows
            .iter()
            .enumerate()
            .filter_map(|(i, w)| match w {
                Window::Fixed(f) => f
                    .stored()
                    .map(|(used, end)| (u8::try_from(i).unwrap_or(u8::MAX), used, end)),
                _ => None,
            })
    }

    /// Takes a stored count back.
    pub(crate) fn restore(&mut self, now: Instant, window: u8, used: u64, end: Instant) {
        if let Some(Window::Fixed(f)) = self.windows.get_mut(window as usize) {
            f.restore(now, used, end);
        }
    }

    /// Whether forgetting this pace would change a decision at `now`.
    pub(crate) fn is_idle(&self, now: Instant) -> bool {
        self.adaptive.is_none() && self.is_spent(now)
    }

    /// Whether all limits have all their room at `now`, an adaptive interval too.
    pub(crate) fn is_spent(&self, now: Instant) -> bool {
        self.adaptive.as_ref().is_none_or(|a| a.is_idle(now))
            && self.windows.iter().all(|w| w.is_idle(now))
    }

    /// Adds what another gate of the same bucket still owes: counts add when gates merge.
    /// Returns whether stored counts must be written.
    pub(crate) fn absorb(&mut self, now: Instant, other: &Self) -> bool {
        let mut store = false;
        for (mine, theirs) in self.windows.iter_mut().zip(other.windows.iter()) {
            match (mine, theirs) {
                (Window::Gcra(a), Window::Gcra(b)) => a.absorb(now, b),
                (Window::Fixed(a), Window::Fixed(b)) => store |= a.absorb(b),
                (Window::Sliding(a), Window::Sliding(b)) => a.absorb(b),
                // Gates of one scope have one policy.
                _ => {}
            }
        }
        store
    }
}

/// The largest cost that every window can ever fit; `u32::MAX` without windows, and no cost is
/// larger.
fn size(windows: &[Window]) -> u32 {
    let least = windows.iter().map(Window::size).min();
    least.map_or(u32::MAX, |n| u32::try_from(n).unwrap_or(u32::MAX))
}
