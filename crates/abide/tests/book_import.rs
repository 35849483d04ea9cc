//! What a book importer asked of its HTTP layer, item by item: the part that needs a wire.
//!
//! The bulk half (items 15 to 19) runs in virtual time, with the simulator's tests.

#![allow(clippy::unwrap_used, reason = "a test may panic")]

mod common;

use std::error::Error as _;
use std::time::Duration;

use abide::core::Instant;
use abide::core::Verdict;
use abide::core::budget::{Budget, BudgetPolicy, RepeatCause};
use abide::core::call::{Attempt, Call, CallPolicy, Plan, Safety};
use abide::core::classify::{Phase, Transport, TransportKind, of_transport};
use abide::core::provider::Event;
use abide::core::refusal::RefusalKind;
use abide::{Client, Error, Governor};
use common::{Peer, Reply, client, hasty, ms, reply, turned};
use tokio::task::JoinSet;

const HOUR: Duration = Duration::from_secs(3_600);

/// Six providers, one loop: each refuses once, is waited for, and is asked again; what is refused
/// beyond patience carries the same mark everywhere.
#[tokio::test]
async fn a01_one_loop_serves_every_provider() {
    let client = client();
    let mut calls = JoinSet::new();
    let peers: Vec<Peer> = (0..6)
        .map(|_| Peer::saying([reply(429).header("Retry-After", "1"), reply(200)]))
        .collect();
    for peer in &peers {
        let call = client.get(&peer.url("/isbn/1")).send();
        calls.spawn(async move { call.await.map(|answer| answer.attempts()) });
    }
    while let Some(attempts) = calls.join_next().await {
        assert_eq!(attempts.unwrap().unwrap(), 2);
    }
    for peer in &peers {
        let seen = peer.seen();
        assert!(seen[1].at >= seen[0].answered.unwrap().after(ms(1_000)));
        let refusing = Peer::saying([reply(429).header("Retry-After", "3600")]);
        let t = turned(client.get(&refusing.url("/isbn/1")).send().await);
        assert!(t.refusal.is_rate_limited() && t.refusal.is_retryable());
    }
}

/// A bare 500 is handed over as a failure at once, as it was there.
#[tokio::test]
async fn a02_what_is_tried_again_and_how_often() {
    for status in [429, 502, 503, 504] {
        let peer = Peer::saying([reply(status)]);
        let t = turned(hasty().get(&peer.url("/")).send().await);
        assert_eq!((peer.requests(), t.refusal.attempts), (4, 4), "{status}");
        assert_eq!(t.refusal.kind, RefusalKind::AttemptsSpent);
    }
    let peer = Peer::saying([Reply::Close]);
    turned(hasty().get(&peer.url("/")).send().await);
    assert_eq!(peer.requests(), 4);
    let client = hasty();
    turned(client.get(&Peer::nobody()).send().await);
    assert_eq!(client.sent(), 4);
    let peer = Peer::saying([reply(500)]);
    turned(hasty().get(&peer.url("/")).send().await);
    assert_eq!(peer.requests(), 1);
}

/// Differs: there a longer ask was shortened to 30 s; here it is never shortened, and the caller
/// fails at once with the true one. Too large for a number saturates, and is not ignored.
#[tokio::test]
async fn a03_an_ask_is_honoured_or_refused_but_never_shortened() {
    for (ask, least) in [("3600", HOUR), ("99999999999999999999", 24 * 31 * HOUR)] {
        let peer = Peer::saying([reply(429).header("Retry-After", ask)]);
        let client = client();
        let t = turned(client.get(&peer.url("/")).send().await);
        assert_eq!((t.refusal.attempts, peer.requests()), (1, 1));
        assert!(t.refusal.retry_in(t.at.now).unwrap() > least - ms(60_000));
        // What is believed is less than what is told: the hold ends after a month at the latest.
        let held = client.governor().held();
        assert!(
            held.iter()
                .all(|g| g.hold.until.since(t.at.now) <= 24 * 31 * HOUR)
        );
        let again = turned(client.get(&peer.url("/")).send().await);
        assert_eq!((again.refusal.attempts, peer.requests()), (0, 1));
    }
}

#[tokio::test]
async fn a04_error_bodies_are_read_away_so_that_connections_live() {
    for status in [429, 503] {
        let busy = reply(status).header("Retry-After", "0").sized(300_000);
        let peer = Peer::saying([busy.clone(), busy, reply(200)]);
        let answer = hasty().get(&peer.url("/")).send().await.unwrap();
        assert_eq!(answer.attempts(), 3);
        let connections: Vec<_> = peer.seen().iter().map(|s| s.connection).collect();
        assert_eq!(connections, [0, 0, 0]);
    }
}

#[tokio::test]
async fn a05_what_survives_the_retries_is_marked() {
    let refusing = Peer::saying([reply(429)]);
    let t = turned(hasty().get(&refusing.url("/")).send().await);
    assert!(t.refusal.is_rate_limited());
    assert_eq!(t.last.unwrap().status, 429);
    for peer in [Peer::saying([reply(503)]), Peer::saying([Reply::Close])] {
        let t = turned(hasty().get(&peer.url("/")).send().await);
        assert_eq!(t.refusal.cause, Some(Verdict::Unavailable));
        assert!(!t.refusal.is_rate_limited());
    }
}

/// Differs: redaction is everybody's, not one provider's; the kind of a transport failure survives
/// it as data instead of as a chain of errors.
#[tokio::test]
async fn a06_no_error_shows_a_key_and_its_kind_survives() {
    let client = hasty();
    let busy = Peer::saying([reply(503)]);
    let lost = Peer::saying([reply(302).header("Location", "gopher://x/?key=s3cr3t")]);
    let urls = [
        busy.url("/"),
        lost.url("/"),
        Peer::nobody(),
        "http://".into(),
    ];
    for url in urls {
        let url = format!("{url}?key=s3cr3t");
        let e = client.get(&url).send().await.unwrap_err();
        let mut told = format!("{e} {e:?}");
        let mut below = e.source();
        while let Some(e) = below {
            told += &format!(" {e} {e:?}");
            below = e.source();
        }
        assert!(!told.contains("s3cr3t"), "{told}");
    }
    let t = turned(client.get(&Peer::nobody()).send().await);
    let transport = t.transport.unwrap();
    assert_eq!(transport.kind, TransportKind::Refused);
    let peer = Peer::saying([reply(404)]);
    let answer = client.get(&peer.url("/")).send().await.unwrap();
    assert_eq!((answer.status().as_u16(), answer.attempts()), (404, 1));
}

/// The refused request and seven that were never refused wait alike.
#[tokio::test]
async fn a07_a_refusal_shuts_the_gate_for_every_request() {
    let peer = Peer::saying([reply(429).header("Retry-After", "1"), reply(200)]);
    let client = client();
    let mut events = client.governor().changes();
    let mut calls = JoinSet::new();
    let first = client.get(&peer.url("/refused")).send();
    calls.spawn(async move { first.await.map(|a| a.attempts()) });
    while !matches!(events.recv().await.unwrap().1, Event::HoldOpened { .. }) {}
    for n in 0..7 {
        let call = client.get(&peer.url(&format!("/editions/{n}"))).send();
        calls.spawn(async move { call.await.map(|a| a.attempts()) });
    }
    let mut attempts = Vec::new();
    while let Some(n) = calls.join_next().await {
        attempts.push(n.unwrap().unwrap());
    }
    attempts.sort_unstable();
    assert_eq!(attempts, [1, 1, 1, 1, 1, 1, 1, 2]);
    let seen = peer.seen();
    let opens = seen[0].answered.unwrap().after(ms(1_000));
    assert!(seen[1..].iter().all(|s| s.at >= opens));
}

#[tokio::test]
async fn a08_a_hold_beyond_the_deadline_fails_at_once_unsent() {
    let peer = Peer::saying([reply(429).header("Retry-After", "20")]);
    let client = client();
    let first = client.get(&peer.url("/")).patience(ms(1)).send();
    let first = turned(first.await);
    let late = client.get(&peer.url("/other")).deadline(ms(500));
    let t = turned(late.send().await);
    assert_eq!(t.refusal.kind, RefusalKind::DeadlineTooSoon);
    assert_eq!((t.refusal.attempts, peer.requests()), (0, 1));
    // It did not sleep into its deadline, and says when it would have been let in.
    assert!(t.refusal.waited < ms(500));
    assert_eq!(t.refusal.retry_at, first.refusal.retry_at);
}

#[tokio::test]
async fn a09_a_hold_remembers_its_cause() {
    for (status, cause, words) in [
        (429, Verdict::RateLimited, "asked for requests to wait"),
        (
            503,
            Verdict::Unavailable,
            "is unavailable, requests are held",
        ),
    ] {
        let peer = Peer::saying([reply(status).header("Retry-After", "3600")]);
        let client = client();
        turned(client.get(&peer.url("/")).send().await);
        let t = turned(client.get(&peer.url("/other")).send().await);
        assert_eq!((t.refusal.attempts, t.refusal.cause), (0, Some(cause)));
        assert_eq!(t.refusal.is_rate_limited(), status == 429);
        assert!(t.to_string().contains(words), "{t}");
    }
}

/// Differs: there a final answer did not hold the gate; here a used-up quota holds it for all.
/// The half that reads the reason in a body comes with the profiles.
#[tokio::test]
async fn a10_a_quota_is_final_and_still_a_rate_limit() {
    let peer = Peer::saying([reply(429).header("Retry-After", "86400")]);
    let client = client();
    let patient = client.get(&peer.url("/")).patience(72 * HOUR);
    let t = turned(patient.send().await);
    assert_eq!((t.refusal.attempts, peer.requests()), (1, 1));
    assert_eq!(t.refusal.cause, Some(Verdict::QuotaExhausted));
    assert!(t.refusal.is_rate_limited());
    let t = turned(client.get(&peer.url("/other")).send().await);
    assert_eq!(
        (t.refusal.cause, peer.requests()),
        (Some(Verdict::QuotaExhausted), 1)
    );
}

#[tokio::test]
async fn a11_a_backoff_beyond_the_deadline_returns_the_failure_at_once() {
    let mut call = CallPolicy::default();
    (call.backoff.base, call.backoff.max) = (HOUR, HOUR);
    call.patience = 2 * HOUR;
    call.deadline = Some(Duration::from_secs(20));
    let governor = Governor::builder().seed(7).build().unwrap();
    let client = Client::builder().governor(governor).call(call);
    let client = client.build().unwrap();
    let t = turned(client.get(&Peer::nobody()).send().await);
    assert_eq!((client.sent(), t.refusal.attempts), (1, 1));
    assert_eq!(t.refusal.kind, RefusalKind::DeadlineTooSoon);
    assert_eq!(t.transport.unwrap().phase, Phase::Connect);
    assert!(t.refusal.waited < Duration::from_secs(20));
}

/// Of no length, it makes a whole suite of failing calls as fast as the wire.
#[test]
fn a12_the_base_of_the_backoff_is_a_knob() {
    let mut policy = CallPolicy::default();
    policy.backoff.base = Duration::ZERO;
    let transport = Transport {
        phase: Phase::Head,
        kind: TransportKind::Reset,
    };
    let finding = of_transport(&transport);
    let attempt = Attempt {
        finding: &finding,
        retry_on: true,
        cause: RepeatCause::Failure,
        unsent: false,
        kept: true,
    };
    let now = Instant::from_secs(5);
    let mut budget = Budget::new(BudgetPolicy::default());
    let mut call = Call::new(policy, Safety::Read, now);
    for _ in 0..3 {
        call.asks(now);
        call.sent(now);
        assert_eq!(call.plan(now, &attempt, &mut budget, 0.99), Plan::Again);
        assert_eq!(call.asks(now).not_before, now);
    }
}

/// A caller can tell "we left" and "it cannot be sent" from what the provider did.
#[tokio::test]
async fn a06_an_address_that_is_none_is_no_refusal() {
    let e = client().get("http://").send().await.unwrap_err();
    assert!(matches!(e, Error::Request(_)) && e.turned().is_none());
}
