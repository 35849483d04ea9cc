//! The hidden policies, and what the client is told of them.

use std::time::Duration;

use abide_core::Instant;
use abide_core::pace::{Fixed, Gcra, Sliding, Window};
use abide_sim::policy::{Hint, Neighbour, Policy, TokenBucket};
use abide_sim::scenarios;
use abide_sim::world::Plan;
use anyhow::{Result, bail};

use crate::offgrid::OffGrid;

/// A scenario by name.
#[derive(Debug)]
pub(crate) struct Scenario {
    base: String,
    known: bool,
    off: Option<OffGrid>,
    pub(crate) kind: Kind,
    /// There and back.
    pub(crate) trip: Duration,
}

/// Those with something more than a provider.
const K: [&str; 4] = ["k1", "k2", "k3", "k4"];

/// Who works it, and how.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Kind {
    /// One client.
    Plain,
    /// One client for the second time, with what it learned the first time.
    Second,
    /// Two clients over one store.
    Replicas,
    /// One client with bulk and interactive items.
    Mixed,
}

/// Scenarios of which a client that learned the limit has something for the second time.
const LEARNED: [&str; 6] = ["a", "b2", "c", "d", "e", "g"];

/// All names, in the table's order.
pub(crate) fn names() -> Vec<String> {
    let known = ["a-known", "b-known", "c-known", "d-known", "e-known"];
    let mut all: Vec<String> = known.iter().map(ToString::to_string).collect();
    all.extend(scenarios::NAMES.iter().map(ToString::to_string));
    all.extend(["k1", "k2", "k3", "k4", "k4-learned"].map(str::to_owned));
    all.extend(LEARNED.iter().map(|name| format!("{name}-second")));
    all.extend((1..=10).map(|n| format!("z{n}")));
    all
}

impl Scenario {
    /// The scenario of that name.
    pub(crate) fn named(name: &str) -> Result<Self> {
        let (base, suffix) = name.split_once('-').unwrap_or((name, ""));
        let kind = match (base, suffix) {
            (_, "second") => Kind::Second,
            ("k1", _) => Kind::Replicas,
            ("k4", _) => Kind::Mixed,
            _ => Kind::Plain,
        };
        // Bulk and interactive items are for a limit that is known, unless somebody says other.
        let known = suffix == "known" || name == "k4";
        let off = OffGrid::number(base).map(OffGrid::numbered);
        let found = off.is_some() || K.contains(&base) || scenarios::NAMES.contains(&base);
        let fits = match suffix {
            "" => true,
            "known" => matches!(base, "a" | "b" | "c" | "d" | "e"),
            "learned" => base == "k4",
            "second" => !matches!(base, "k1" | "k4"),
            _ => false,
        };
        if !found || !fits {
            bail!("no scenario `{name}`; there are {}", names().join(", "));
        }
        let trip = off.as_ref().map_or(Duration::from_millis(20), |o| o.trip);
        Ok(Self {
            base: base.to_owned(),
            known,
            off,
            kind,
            trip,
        })
    }

    /// Its name among the simulator's own, where there is a provider of that kind.
    #[cfg(feature = "real")]
    pub(crate) fn like(&self) -> &'static str {
        let base = match OffGrid::number(&self.base) {
            Some(number) => OffGrid::relative(number),
            None => self.base.as_str(),
        };
        let names = scenarios::NAMES.iter();
        names.copied().find(|name| *name == base).unwrap_or("a")
    }

    /// Whether what it tells the client holds on any clock.
    #[cfg(feature = "real")]
    pub(crate) fn is_timeless(&self) -> bool {
        self.kind == Kind::Plain && !(self.known && self.base == "b")
    }

    /// What the provider does.
    pub(crate) fn policy(&self, seed: u64) -> Box<dyn Policy> {
        if let Some(off) = &self.off {
            return off.policy(seed);
        }
        let second = Duration::from_secs(1);
        let bucket = TokenBucket::new(50, second, 10);
        let name = match self.base.as_str() {
            "k1" | "k4" => "a",
            "k2" => {
                let bucket = bucket.hinting(Hint::Fixed(second));
                return Box::new(Neighbour::beside(bucket, 25, second));
            }
            "k3" => {
                return Box::new(
                    bucket
                        .changing(Instant::from_secs(7), 25)
                        .changing(Instant::from_secs(16), 50),
                );
            }
            name => name,
        };
        scenarios::named(name, seed).unwrap_or_else(|| Box::new(abide_sim::policy::Plain::new()))
    }

    /// What a profile tells the client of the limit.
    pub(crate) fn tell(&self, plan: &mut Plan) {
        if !self.known {
            return;
        }
        let second = Duration::from_secs(1);
        let windows: Vec<Window> = match self.base.as_str() {
            "a" | "d" | "k4" => vec![Gcra::per(50, second, 10).into()],
            "b" => {
                let two = Duration::from_secs(2);
                let into = plan.begins.as_nanos() % two.as_nanos();
                let into = Duration::from_nanos(u64::try_from(into).unwrap_or(0));
                let boundary = Instant::ORIGIN.after(two.saturating_sub(into));
                vec![Fixed::new(100, two, boundary).into()]
            }
            "c" => vec![Sliding::new(40, second).into()],
            _ => Vec::new(),
        };
        plan.gates.account.windows = windows;
        if self.base == "e" {
            plan.gates.provider.concurrency = 4;
        }
    }
}
