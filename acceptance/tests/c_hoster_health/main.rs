//! What a media player's add-on requires of the file hosters it asks: those that fail are asked
//! less and less often, those that are shown are well, and nobody is punished for a broken cable.
//!
//! Items 1 to 8 by number; what the program's own design left open stands under the item it
//! belongs to. Two differ in form, not in numbers:
//!
//! * item 1: a 404 that answers the one request let out after a hold ends that hold's row of
//!   rungs (the hoster did answer), while failures in a row are still counted from before it;
//! * item 7: an outage is told by hosts that fail together, never by the age of the last success,
//!   and what had failed in the 30 s before is taken back.

#![allow(clippy::unwrap_used, clippy::panic, reason = "a test may panic")]

mod ladder;
mod log;
mod outage;
mod stored;
mod views;
mod wire;

use std::sync::Arc;
use std::time::Duration;

use abide::clock::Clock;
use abide::core::call::Safety;
use abide::core::classify::{Phase, Transport, TransportKind};
use abide::store::{Sqlite, Store};
use abide::{CallError, Failed, Governor, ProviderState, Said};
use abide_acceptance::Program;

pub(crate) const HOSTER: &str = "hoster.example";

/// The program's policy: its ladder, no breaker, one try, no waiting.
pub(crate) const POLICY: &str = r#"
[defaults]
attempts = 1
patience = "0s"
hold.on = [502, 503, 504, "transport"]
ladder.steps = ["5s", "10s", "20s", "30s", "60s", "5m", "1h"]
breaker.enabled = false
pace.gentle = false
"#;

pub(crate) const LADDER: [u64; 8] = [5, 10, 20, 30, 60, 300, 3_600, 3_600];

pub(crate) const fn secs(n: u64) -> Duration {
    Duration::from_secs(n)
}

pub(crate) const fn ms(n: u64) -> Duration {
    Duration::from_millis(n)
}

/// One way an exchange fails.
pub(crate) const fn broke(phase: Phase, kind: TransportKind) -> Transport {
    Transport { phase, kind }
}

pub(crate) const RESET: Transport = broke(Phase::Head, TransportKind::Reset);
pub(crate) const TIMEOUT: Transport = broke(Phase::Connect, TransportKind::Timeout);

pub(crate) fn program() -> Program {
    Program::new(POLICY)
}

/// One more governor of the same program: another process, or the same one after a restart.
pub(crate) fn process(program: &Program, store: &Arc<Sqlite>) -> Governor {
    process_at(program, store, Arc::clone(&program.clock) as Arc<dyn Clock>)
}

pub(crate) fn process_at(
    program: &Program,
    store: &Arc<Sqlite>,
    clock: Arc<dyn Clock>,
) -> Governor {
    let store = Arc::clone(store) as Arc<dyn Store>;
    let builder = program.setup.governor().clock(clock).seed(2);
    builder.store(store).build().unwrap()
}

/// A request that ends after a while as told; whether it was sent at all.
pub(crate) async fn touch_in(
    governor: &Governor,
    name: &str,
    took: Duration,
    end: Result<(), Said>,
) -> bool {
    let attempt = |_| {
        let end = end.clone();
        async move {
            tokio::time::sleep(took).await;
            end.map_err(|said| Failed::new("failed", said))
        }
    };
    let called = governor.call(name, Safety::Read, attempt).await;
    !matches!(called, Err(CallError::Refused(_)))
}

pub(crate) async fn works(governor: &Governor, name: &str) -> bool {
    touch_in(governor, name, Duration::ZERO, Ok(())).await
}

pub(crate) async fn fails(governor: &Governor, name: &str) -> bool {
    let end = Err(Said::failed(RESET));
    touch_in(governor, name, Duration::ZERO, end).await
}

pub(crate) async fn misses(governor: &Governor, name: &str) -> bool {
    touch_in(governor, name, Duration::ZERO, Err(Said::not_found())).await
}

pub(crate) fn state(governor: &Governor, name: &str) -> ProviderState {
    governor.provider(name).state()
}

/// How long a hoster is still held; zero when it is not.
pub(crate) fn held_for(governor: &Governor, name: &str) -> Duration {
    let until = state(governor, name).retry_at;
    until.map_or(Duration::ZERO, |t| t.since(governor.clock().wall()))
}

/// Lets a hoster fail so often in a row, each time when its hold is over.
pub(crate) async fn fail_often(governor: &Governor, name: &str, times: usize) {
    for _ in 0..times {
        tokio::time::sleep(held_for(governor, name)).await;
        assert!(fails(governor, name).await, "its hold is over");
    }
}
