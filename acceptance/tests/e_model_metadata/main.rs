//! What a manager of image models requires of its metadata lookups: a vendor that says "not so
//! often" is left alone until its window is over, everybody waits for that once, and no other
//! vendor is flooded in its stead.
//!
//! Items 1 to 14 by number, the rules of item 1 by their letter too (`e01_r3_…`); `e2_i_…` to
//! `e2_vi_…` are faults found in the code that was written for it, `e3_…` complaints of its users.
//!
//! Where abide decides otherwise, in form and not in numbers:
//!
//! * item 3: a wait exactly as long as the cap is waited out; one a second longer is not begun;
//! * item 3: while our own network is down a caller waits within its patience as at a hold, and
//!   one that will not wait is told so at once;
//! * item 2: an ask beyond 30 min is kept as it was told, not shortened: nobody waits for it, and
//!   asking earlier than told is what ends in a ban.
//!
//! Open: a negative cache (users' complaint 721: models that do not exist are asked for again for
//! ever) is a cache of answers, which abide does not keep; pacing by how long answers take
//! (item 13's adaptive concurrency) is not built either: `concurrency` is the bound, and waiting
//! never counts as slow.

#![allow(clippy::unwrap_used, clippy::panic, reason = "a test may panic")]

mod batch;
mod chain;
mod coordinator;
mod faults;
mod gate;
mod outage;
mod pace;

use std::sync::Arc;
use std::time::Duration;

use abide::clock::Clock;
use abide::core::call::Safety;
use abide::testing::Sim;
use abide::{CallError, Governor};
use abide_acceptance::Program;
use abide_acceptance::script::{Arrivals, Script};
use abide_sim::Reply;
use http::StatusCode;

pub(crate) const CIVITAI: &str = "civitai";
pub(crate) const CIVARCHIVE: &str = "civarchive";

/// The program's policy, as its user would write it.
pub(crate) const POLICY: &str = r#"
[defaults]
attempts = 6
patience = "300s"
hint.zero = "ignore"
pace.adaptive = "off"
ladder = { base = "30s", factor = 2, max = "30m" }

[providers.civitai]
rate = "1/750ms"

[providers.civarchive]
rate = "1/s"
"#;

pub(crate) const fn secs(n: u64) -> Duration {
    Duration::from_secs(n)
}

pub(crate) const fn ms(n: u64) -> Duration {
    Duration::from_millis(n)
}

/// A vendor of a script.
pub(crate) struct Vendor {
    pub(crate) sim: Sim,
    pub(crate) arrivals: Arrivals,
}

pub(crate) fn vendor(program: &Program, script: Script) -> Vendor {
    let arrivals = script.arrivals();
    let sim = Sim::new(script, &program.clock);
    Vendor { sim, arrivals }
}

pub(crate) fn saying(program: &Program, replies: impl Into<Vec<Reply>>) -> Vendor {
    let replies = replies.into();
    let script = Script::new(move |n| replies[n.min(replies.len() - 1)].clone());
    vendor(program, script)
}

pub(crate) type Ended = Result<(), CallError<StatusCode>>;

/// One lookup.
pub(crate) async fn ask(governor: &Governor, name: &str, vendor: &Vendor) -> Ended {
    let attempt = |_| {
        let sim = vendor.sim.clone();
        async move { sim.ask("/api/v1/models").await }
    };
    governor.call(name, Safety::Read, attempt).await.map(drop)
}

/// Many lookups at once, and how long each took.
pub(crate) async fn together(
    program: &Program,
    vendor: &Vendor,
    count: usize,
) -> Vec<(Ended, Duration)> {
    let mut all = tokio::task::JoinSet::new();
    let began = program.clock.now();
    for _ in 0..count {
        let (governor, clock) = (program.governor.clone(), Arc::clone(&program.clock));
        let sim = vendor.sim.clone();
        all.spawn(async move {
            let attempt = |_| {
                let sim = sim.clone();
                async move { sim.ask("/api/v1/models").await }
            };
            let called = governor.call(CIVITAI, Safety::Read, attempt).await;
            (called.map(drop), clock.now().since(began))
        });
    }
    let mut ended = all.join_all().await;
    ended.sort_by_key(|(_, took)| *took);
    ended
}

/// How long a vendor is still held; zero when it is not.
pub(crate) fn held_for(governor: &Governor, name: &str) -> Duration {
    let gates = governor.provider(name).view();
    let until = gates.iter().filter_map(|g| g.closed_until).max();
    until.map_or(Duration::ZERO, |t| t.since(governor.clock().now()))
}
