//! The hidden policies, and what the client is told of them.

use std::time::Duration;

use abide_core::Instant;
use abide_core::pace::{Fixed, Gcra, Sliding, Window};
use abide_sim::policy::{Policy, TokenBucket};
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
    /// There and back.
    pub(crate) trip: Duration,
}

/// All names, in the table's order.
pub(crate) fn names() -> Vec<String> {
    let known = ["a-known", "b-known", "c-known", "d-known", "e-known"];
    let mut all: Vec<String> = known.iter().map(ToString::to_string).collect();
    all.extend(scenarios::NAMES.iter().map(ToString::to_string));
    all.push("k3".to_owned());
    all.extend((1..=10).map(|n| format!("z{n}")));
    all
}

impl Scenario {
    /// The scenario of that name.
    pub(crate) fn named(name: &str) -> Result<Self> {
        let (base, known) = match name.strip_suffix("-known") {
            Some(base) => (base, true),
            None => (name, false),
        };
        let off = OffGrid::number(base).map(OffGrid::numbered);
        let found = off.is_some() || base == "k3" || scenarios::NAMES.contains(&base);
        if !found || (known && !matches!(base, "a" | "b" | "c" | "d" | "e")) {
            bail!("no scenario `{name}`; there are {}", names().join(", "));
        }
        let trip = off.as_ref().map_or(Duration::from_millis(20), |o| o.trip);
        Ok(Self {
            base: base.to_owned(),
            known,
            off,
            trip,
        })
    }

    /// What the provider does.
    pub(crate) fn policy(&self, seed: u64) -> Box<dyn Policy> {
        if let Some(off) = &self.off {
            return off.policy(seed);
        }
        if self.base == "k3" {
            let bucket = TokenBucket::new(50, Duration::from_secs(1), 10);
            return Box::new(
                bucket
                    .changing(Instant::from_secs(7), 25)
                    .changing(Instant::from_secs(16), 50),
            );
        }
        scenarios::named(&self.base, seed)
            .unwrap_or_else(|| Box::new(abide_sim::policy::Plain::new()))
    }

    /// What a profile tells the client of the limit.
    pub(crate) fn tell(&self, plan: &mut Plan) {
        if !self.known {
            return;
        }
        let second = Duration::from_secs(1);
        let windows: Vec<Window> = match self.base.as_str() {
            "a" | "d" => vec![Gcra::per(50, second, 10).into()],
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
