//! What bounds a call before and while it is made, and what a breaker closes: in virtual time.

#![allow(clippy::unwrap_used, clippy::panic, reason = "a test may panic")]

use std::sync::Arc;
use std::sync::atomic::{AtomicU32, Ordering};
use std::time::Duration;

use abide::core::call::Safety;
use abide::core::classify::{Phase, Transport, TransportKind};
use abide::core::refusal::RefusalKind;
use abide::core::{Scope, Verdict};
use abide::events::{Heard, What};
use abide::testing::{self, Virtual};
use abide::{CallError, CallOptions, Chain, Failed, Governor, Said, TurnedAway};
use tokio::sync::Semaphore;

const fn secs(n: u64) -> Duration {
    Duration::from_secs(n)
}

fn governor() -> (Arc<Virtual>, Governor) {
    let clock = testing::clock();
    let governor = testing::governor(&clock).build().unwrap();
    (clock, governor)
}

const RESET: Transport = Transport {
    phase: Phase::Head,
    kind: TransportKind::Reset,
};

/// A read that is made once and does not wait.
fn once() -> CallOptions {
    let mut options = CallOptions::default();
    options.safety = Some(Safety::Read);
    options.attempts = Some(1);
    options.patience = Some(secs(0).into());
    options
}

fn turned<T, E>(ended: Result<T, CallError<E>>) -> TurnedAway {
    match ended {
        Err(CallError::Failed { turned, .. } | CallError::Refused(turned)) => *turned,
        _ => panic!("it came to something"),
    }
}

/// What would never end otherwise.
async fn ends<F: Future>(future: F) -> F::Output {
    tokio::time::timeout(secs(600), future).await.unwrap()
}

#[tokio::test(start_paused = true)]
async fn a_host_that_fails_closes_no_other_host_of_its_provider() {
    let (_, governor) = governor();
    let to = |host: &str| {
        let url = url::Url::parse(&format!("https://{host}/x")).unwrap();
        let target = governor.target(&http::Method::GET, &url, &http::HeaderMap::new());
        let mut options = once();
        options.target = target;
        options
    };
    let (a, b) = (to("api.github.com"), to("uploads.github.com"));
    for _ in 0..5 {
        let fails = |_| async { Err::<(), _>(Failed::new((), Said::failed(RESET))) };
        let t = turned(governor.call_with("github", &a, fails).await);
        assert_eq!(t.refusal.kind, RefusalKind::AttemptsSpent);
    }
    let fine = |_| async { Ok::<_, Failed<()>>(()) };
    let t = turned(governor.call_with("github", &a, fine).await);
    assert_eq!(t.refusal.kind, RefusalKind::BreakerOpen);
    governor.call_with("github", &b, fine).await.unwrap();
    // A refusal is the provider's word, whichever host says it.
    let refused = |_| async { Err::<(), _>(Failed::new((), Said::rate_limited().after(secs(60)))) };
    turned(governor.call_with("github", &b, refused).await);
    tokio::time::advance(secs(31)).await;
    let t = turned(governor.call_with("github", &a, fine).await);
    assert_eq!(t.refusal.kind, RefusalKind::Held);
}

#[tokio::test(start_paused = true)]
async fn a_call_acts_for_its_account() {
    let (_, governor) = governor();
    let of = |account: &str| {
        let mut options = once();
        options.account = Some(account.to_owned());
        options
    };
    let refused = |_| async {
        let said = Said::rate_limited().after(secs(60));
        Err::<(), _>(Failed::new((), said.covers(Scope::Account)))
    };
    let fine = |_| async { Ok::<_, Failed<()>>(()) };
    turned(
        governor
            .call_with("shop.example", &of("one"), refused)
            .await,
    );
    let held = turned(governor.call_with("shop.example", &of("one"), fine).await);
    assert_eq!(held.refusal.kind, RefusalKind::Held);
    let other = governor.call_with("shop.example", &of("two"), fine).await;
    other.unwrap();
}

#[tokio::test(start_paused = true)]
async fn the_intent_of_a_write_is_committed_before_it_is_made() {
    let (_, governor) = governor();
    let committed = Arc::new(AtomicU32::new(0));
    let fails = |works: bool| {
        let mut options = once();
        let committed = Arc::clone(&committed);
        options.before_start = Some(Arc::new(move || {
            let committed = Arc::clone(&committed);
            Box::pin(async move {
                committed.fetch_add(1, Ordering::Relaxed);
                works.then_some(()).ok_or_else(|| "no space".to_owned())
            })
        }));
        options
    };
    let made = AtomicU32::new(0);
    let make = |_| async {
        made.fetch_add(1, Ordering::Relaxed);
        Ok::<_, Failed<()>>(())
    };
    let mut options = fails(true);
    governor.call_with("a", &options, make).await.unwrap();
    assert_eq!(committed.load(Ordering::Relaxed), 0, "a read has none");
    options.safety = Some(Safety::Write);
    governor.call_with("a", &options, make).await.unwrap();
    assert_eq!(committed.load(Ordering::Relaxed), 1);
    let mut options = fails(false);
    options.safety = Some(Safety::Write);
    let t = turned(governor.call_with("a", &options, make).await);
    assert_eq!(t.refusal.kind, RefusalKind::Closed);
    assert_eq!(made.load(Ordering::Relaxed), 2, "nothing without it");
}

#[tokio::test(start_paused = true)]
async fn an_attempt_takes_no_longer_than_it_may() {
    let (clock, governor) = governor();
    let mut options = once();
    options.patience = Some(secs(30).into());
    options.attempts = Some(2);
    options.attempt_timeout = Some(secs(2));
    let made = AtomicU32::new(0);
    let hang = |_| {
        made.fetch_add(1, Ordering::Relaxed);
        std::future::pending::<Result<(), Failed<()>>>()
    };
    let t = turned(ends(governor.call_with("a", &options, hang)).await);
    assert_eq!(made.load(Ordering::Relaxed), 2);
    assert_eq!(t.refusal.kind, RefusalKind::AttemptsSpent);
    assert_eq!(t.refusal.cause, Some(Verdict::Unavailable));
    assert_eq!(t.transport.unwrap().kind, TransportKind::Timeout);
    assert!(clock.elapsed() >= secs(4) && clock.elapsed() < secs(6));
}

#[tokio::test(start_paused = true)]
async fn inv05_a_place_on_the_wire_is_waited_for_within_patience() {
    let (clock, governor) = governor();
    let wire = Arc::new(Semaphore::new(1));
    let _taken = Arc::clone(&wire).acquire_owned().await.unwrap();
    let mut options = once();
    options.wire = Some(wire);
    let fine = |_| async { Ok::<_, Failed<()>>(()) };
    for (patience, deadline, kind) in [
        (5, None, RefusalKind::QueueTooLong),
        (0, None, RefusalKind::QueueTooLong),
        (5, Some(secs(3)), RefusalKind::DeadlineTooSoon),
    ] {
        options.patience = Some(secs(patience).into());
        options.deadline = deadline;
        let began = clock.elapsed();
        let t = turned(ends(governor.call_with("a", &options, fine)).await);
        let waited = clock.elapsed() - began;
        assert_eq!((t.refusal.kind, t.refusal.attempts), (kind, 0));
        assert_eq!(waited, deadline.unwrap_or_else(|| secs(patience)));
        assert_eq!(t.refusal.waited, waited);
    }
    assert_eq!(governor.provider("a").state().in_flight, 0);
}

#[tokio::test(start_paused = true)]
async fn inv05_what_is_done_before_the_start_ends_with_patience() {
    let (clock, governor) = governor();
    let mut options = once();
    options.safety = Some(Safety::Write);
    options.patience = Some(secs(5).into());
    options.before_start = Some(Arc::new(|| Box::pin(std::future::pending())));
    let fine = |_| async { Ok::<_, Failed<()>>(()) };
    let t = turned(ends(governor.call_with("a", &options, fine)).await);
    assert_eq!(
        (t.refusal.kind, t.refusal.attempts),
        (RefusalKind::QueueTooLong, 0)
    );
    assert_eq!(clock.elapsed(), secs(5));
    assert_eq!(governor.provider("a").state().in_flight, 0);
}

#[tokio::test(start_paused = true)]
async fn inv05_a_chain_whose_deadline_is_used_up_sends_nothing_more() {
    let (clock, governor) = governor();
    let made = Arc::new(AtomicU32::new(0));
    let slow = |_, made: Arc<Arc<AtomicU32>>| async move {
        made.fetch_add(1, Ordering::Relaxed);
        tokio::time::sleep(secs(5)).await;
        Err::<(), _>(Failed::new((), Said::not_found()))
    };
    let chain = Chain::new(&governor)
        .network("one.example", slow)
        .network("two.example", slow)
        .network("three.example", slow)
        .deadline(secs(5));
    let ended = chain.ask(Arc::clone(&made)).await.unwrap_err();
    assert_eq!(
        (clock.elapsed(), made.load(Ordering::Relaxed)),
        (secs(5), 1)
    );
    let _ = ended;
    let mut options = once();
    options.deadline = Some(secs(0));
    let fine = |_| async { Ok::<_, Failed<()>>(()) };
    let t = turned(governor.call_with("a", &options, fine).await);
    assert_eq!(
        (t.refusal.kind, t.refusal.attempts),
        (RefusalKind::DeadlineTooSoon, 0)
    );
    assert!(t.refusal.retry_at.is_some(), "nothing holds it");
}

#[tokio::test(start_paused = true)]
async fn inv09_a_caller_in_a_hurry_is_no_outage() {
    let (_, governor) = governor();
    let mut options = once();
    let hang = |_| std::future::pending::<Result<(), Failed<()>>>();
    for (bound, offline) in [(1, false), (30, true)] {
        options.attempt_timeout = Some(secs(bound));
        let both = async {
            tokio::join!(
                governor.call_with("a.example", &options, hang),
                governor.call_with("b.example", &options, hang)
            )
        };
        let (a, b) = ends(both).await;
        turned(a);
        turned(b);
        assert_eq!(governor.is_offline(), offline, "{bound} s");
    }
}

#[tokio::test(start_paused = true)]
async fn a_rehearsal_tells_once_what_it_let_by() {
    let clock = testing::clock();
    let mut policy = abide::core::policy::ProviderPolicy::default();
    policy.mode = abide::core::policy::Mode::Shadow;
    let governor = testing::governor(&clock).policy(policy).build().unwrap();
    governor.report("a", &Said::rate_limited().after(secs(60)));
    let wire = Arc::new(Semaphore::new(1));
    let taken = Arc::clone(&wire).acquire_owned().await.unwrap();
    let mut options = once();
    options.patience = Some(secs(5).into());
    options.wire = Some(wire);
    let mut events = governor.events();
    let fine = |_| async { Ok::<_, Failed<()>>(()) };
    let free = async {
        tokio::time::sleep(secs(1)).await;
        drop(taken);
    };
    let (ended, ()) = tokio::join!(governor.call_with("a", &options, fine), free);
    ended.unwrap();
    let mut told = 0;
    while let Some(Heard::Event(event)) = events.try_next() {
        told += u32::from(matches!(event.what, What::LetBy { .. }));
    }
    assert_eq!(told, 1);
}
