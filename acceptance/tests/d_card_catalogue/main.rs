//! What a collector's card catalogue requires of its downloads: a vendor that asks for quiet gets
//! it, no call sleeps for longer than a worker may, and what cannot be waited for says when.
//!
//! Items 1 to 7 by number, items 8 to 13 as jobs that come back when asked (`jobs`), and the limits
//! its author admits (a to g).
//!
//! Where abide decides otherwise, in form and not in numbers: zero goes at once by
//! `hint.zero = "immediate"`, and 1 s and 2 s are waited exactly by `backoff.jitter = "none"`, which
//! are not the defaults; a decimal number of seconds is read as well.

#![allow(clippy::unwrap_used, clippy::panic, reason = "a test may panic")]

mod build;
mod call;
mod grammar;
mod jobs;
mod limits;
mod wire;

use std::time::Duration;

use abide::core::call::Safety;
use abide::testing::Sim;
use abide::{CallError, TurnedAway};
use abide_acceptance::Program;
use abide_acceptance::script::{Arrivals, Script};
use abide_sim::Reply;
use http::StatusCode;

/// The program's policy, as its user would write it.
pub(crate) const POLICY: &str = r#"
[defaults]
attempts = 3
wait.max = "30s"
patience = "60s"
hint.zero = "immediate"
ladder = { base = "1s", factor = 2, max = "1m" }
backoff = { base = "1s", factor = 2, max = "2s", jitter = "none" }
pace.adaptive = "off"

[providers.scryfall]
retry.on = ["rate_limited", "asked"]

[providers.scryfall-images]
retry.on = ["rate_limited", "asked", 500, 502, 503, 504]
"#;

/// A source that nothing is known of: what it says is all there is.
pub(crate) const SOURCE: &str = "source.example";
pub(crate) const IMAGES: &str = "scryfall-images";
pub(crate) const SCRYFALL: &str = "scryfall";

pub(crate) const fn secs(n: u64) -> Duration {
    Duration::from_secs(n)
}

pub(crate) const fn ms(n: u64) -> Duration {
    Duration::from_millis(n)
}

/// The program and one provider of a script.
pub(crate) struct World {
    pub(crate) program: Program,
    pub(crate) sim: Sim,
    pub(crate) arrivals: Arrivals,
}

/// How one call ended, and when its requests arrived.
pub(crate) struct Ended {
    pub(crate) result: Result<(), CallError<StatusCode>>,
    /// The time between two arrivals, less the round trip in between.
    pub(crate) waits: Vec<Duration>,
    pub(crate) sends: usize,
    /// From the last arrival to the call's end.
    pub(crate) after: Duration,
}

impl Ended {
    pub(crate) fn turned(&self) -> &TurnedAway {
        self.result.as_ref().unwrap_err().turned()
    }

    /// How long after the last answer it may be asked again, by what the source itself said.
    pub(crate) fn asked(&self) -> Option<Duration> {
        let turned = self.turned();
        turned.refusal.ask.map(|a| a.until.since(turned.at.now))
    }
}

impl World {
    pub(crate) fn new(script: Script) -> Self {
        Self::with(POLICY, script)
    }

    pub(crate) fn with(policy: &str, script: Script) -> Self {
        let program = Program::new(policy);
        let arrivals = script.arrivals();
        let sim = Sim::new(script, &program.clock);
        Self {
            program,
            sim,
            arrivals,
        }
    }

    /// Answers from a list, the last one for ever.
    pub(crate) fn saying(replies: impl Into<Vec<Reply>>) -> Self {
        Self::new(listed(replies.into()))
    }

    pub(crate) async fn ask(&self, provider: &str) -> Ended {
        use abide::clock::Clock;
        let before = self.arrivals.count();
        let called = self.program.governor.call(provider, Safety::Read, |_| {
            let sim = self.sim.clone();
            async move { sim.ask("/").await }
        });
        let result = called.await.map(drop);
        let all = self.arrivals.all().split_off(before);
        let waits = all.windows(2).map(|w| w[1].since(w[0]) - ms(20));
        let last = all.last().copied();
        let now = self.program.clock.now();
        Ended {
            result,
            waits: waits.collect(),
            sends: all.len(),
            after: last.map_or(Duration::ZERO, |at| now.since(at)),
        }
    }
}

pub(crate) fn listed(replies: Vec<Reply>) -> Script {
    Script::new(move |n| replies[n.min(replies.len() - 1)].clone())
}
