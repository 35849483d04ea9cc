//! A peer on a real socket that tells what it saw, for tests of what needs a wire.
//!
//! The simulated providers judge rates; this one answers as told, and keeps connections, headers
//! and bodies apart, which those do not look at.

#![allow(dead_code, reason = "each test binary uses its own part")]
#![allow(clippy::unwrap_used, reason = "a test may panic")]

pub(crate) mod bulk;
mod peer;

use std::pin::Pin;
use std::sync::Arc;
use std::task::Poll;
use std::time::Duration;

use abide::clock::{Clock, System};
use abide::core::Instant;
use abide::core::call::CallPolicy;
use abide::core::classify::{ClassifyPolicy, HintZero};
use abide::core::control::Adaptive;
use abide::core::ladder::Ladder;
use abide::core::policy::ProviderPolicy;
use abide::profile::Catalogue;
use abide::{Client, Error, Governor, TurnedAway};

#[allow(unused_imports, reason = "each test binary uses its own part")]
pub(crate) use peer::{Peer, Reply, reply};

pub(crate) const fn ms(n: u64) -> Duration {
    Duration::from_millis(n)
}

pub(crate) fn now() -> Instant {
    System.now()
}

/// The defaults, with dice that fall the same way each time.
pub(crate) fn client() -> Client {
    let governor = Governor::builder().seed(7).build().unwrap();
    Client::builder().governor(governor).build().unwrap()
}

/// Waits of our own last a millisecond and a zero is taken at its word, for tests that count
/// requests.
pub(crate) fn hasty() -> Client {
    hasty_with(ProviderPolicy::default())
}

pub(crate) fn hasty_with(mut gates: ProviderPolicy) -> Client {
    for gate in [&mut gates.provider, &mut gates.account, &mut gates.route] {
        gate.ladder = Ladder::Steps(vec![ms(1)]);
        gate.adaptive = Adaptive::Off;
    }
    let mut classify = ClassifyPolicy::default();
    classify.hint_zero = HintZero::Immediate;
    let governor = Governor::builder().seed(7).policy(gates).classify(classify);
    Client::builder()
        .governor(governor.build().unwrap())
        .call(hasty_call())
        .build()
        .unwrap()
}

pub(crate) fn hasty_call() -> CallPolicy {
    let mut call = CallPolicy::default();
    call.backoff.base = ms(1);
    call
}

/// A client that knows the loopback by a profile of these lines, and is hasty about calls of its
/// own.
pub(crate) fn known_as(lines: &str) -> Client {
    let mut all = Catalogue::built_in();
    let text = format!("name = \"peer\"\nhosts = [\"127.0.0.1\"]\n{lines}");
    all.add("peer.toml", text).unwrap();
    let governor = Governor::builder().seed(7).catalogue(Arc::new(all));
    Client::builder()
        .governor(governor.build().unwrap())
        .call(hasty_call())
        .build()
        .unwrap()
}

/// What the caller was told instead of an answer.
pub(crate) fn turned<T>(result: Result<T, Error>) -> TurnedAway {
    match result {
        Err(Error::Turned(t)) => *t,
        Err(other) => panic!("another error: {other}"),
        Ok(_) => panic!("an answer"),
    }
}

/// Polls once: whether the future waits.
pub(crate) async fn waits<F: Future>(mut future: Pin<&mut F>) -> bool {
    std::future::poll_fn(|cx| Poll::Ready(future.as_mut().poll(cx).is_pending())).await
}

/// Yields until something has come true; the test runner's own bound ends it.
pub(crate) async fn until(mut done: impl FnMut() -> bool) {
    while !done() {
        tokio::time::sleep(ms(2)).await;
    }
}
