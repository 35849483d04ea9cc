//! Shared holds and waits over a real socket: rows H01 to H10 and the W rows that need a wire.

#![allow(clippy::unwrap_used, reason = "a test may panic")]

mod common;

use std::pin::pin;
use std::sync::Arc;
use std::sync::atomic::{AtomicU64, AtomicUsize, Ordering};
use std::task::Poll;
use std::time::Duration;

use abide::clock::{Clock, System};
use abide::core::call::{Call, CallPolicy, Safety};
use abide::core::policy::ProviderPolicy;
use abide::core::provider::{Event, Outcome};
use abide::core::refusal::RefusalKind;
use abide::core::{Finding, Instant, Verdict, WallTime};
use abide::store::Memory;
use abide::{Admission, Client, Governor, Permit};
use common::{Peer, client, hasty_with, ms, now, reply, turned, until, waits};
use tokio::task::JoinSet;

const SECOND: Duration = Duration::from_secs(1);

fn refused_once(after: &str) -> Peer {
    Peer::saying([reply(429).header("Retry-After", after), reply(200)])
}

/// Waits until the first refusal has closed its gate.
async fn closed(client: &Client) {
    until(|| !client.governor().held().is_empty()).await;
}

#[tokio::test]
async fn sc_h02_one_refusal_is_one_hold_and_waiters_spend_no_attempt() {
    let peer = refused_once("1");
    let client = client();
    let mut events = client.governor().changes();
    let mut calls = JoinSet::new();
    let first = client.get(&peer.url("/0")).send();
    calls.spawn(async move { first.await.map(|a| a.attempts()) });
    closed(&client).await;
    for n in 1..8 {
        let call = client.get(&peer.url(&format!("/{n}"))).send();
        calls.spawn(async move { call.await.map(|a| a.attempts()) });
    }
    let mut attempts = 0;
    while let Some(n) = calls.join_next().await {
        attempts += n.unwrap().unwrap();
    }
    assert_eq!((attempts, peer.requests()), (9, 9));
    let mut holds = 0;
    while let Ok((_, event)) = events.try_recv() {
        holds += usize::from(matches!(event, Event::HoldOpened { .. }));
    }
    assert_eq!(holds, 1);
}

/// Asked every few milliseconds while it lasts, the hold lets nobody through.
#[tokio::test]
async fn sc_h06_a_hold_is_enforced_on_every_call() {
    let peer = refused_once("1");
    let client = client();
    let ask = || client.get(&peer.url("/")).patience(Duration::ZERO).send();
    turned(ask().await);
    let end = peer.seen()[0].answered.unwrap().after(SECOND);
    let mut turned_away = 0;
    while now() < end {
        if let Err(e) = ask().await {
            assert_eq!(e.turned().unwrap().refusal.attempts, 0);
            turned_away += 1;
        }
        tokio::time::sleep(ms(10)).await;
    }
    assert!(turned_away > 0);
    assert!(peer.seen()[1..].iter().all(|s| s.at >= end));
}

/// The system's clock, moved ahead.
#[derive(Debug, Default)]
struct Moved(AtomicU64);

impl Moved {
    fn ahead(&self) -> Duration {
        Duration::from_secs(self.0.load(Ordering::Relaxed))
    }
}

impl Clock for Moved {
    fn now(&self) -> Instant {
        System.now().after(self.ahead())
    }

    fn wall(&self) -> WallTime {
        System.wall().after(self.ahead())
    }
}

#[tokio::test]
async fn sc_h07_a_restored_hold_has_its_true_end_and_an_expired_one_is_dropped() {
    let peer = refused_once("600");
    let clock = Arc::new(Moved::default());
    let store = Arc::new(Memory::new([7; 32]));
    let started = |at: u64| {
        clock.0.store(at, Ordering::Relaxed);
        let governor = Governor::builder()
            .clock(clock.clone())
            .store(store.clone());
        let governor = governor.build().unwrap();
        Client::builder().governor(governor).build().unwrap()
    };
    let first = started(0);
    let t = turned(first.get(&peer.url("/")).send().await);
    first.governor().save().unwrap();
    let end = t.retry_at().unwrap();

    let second = started(500);
    let t = turned(second.get(&peer.url("/")).send().await);
    assert_eq!((t.refusal.attempts, peer.requests()), (0, 1));
    let restored = t.retry_at().unwrap();
    let apart = restored.since(end).max(end.since(restored));
    assert!(
        restored >= end.before(ms(5)) && apart < SECOND,
        "{end} {restored}"
    );

    let third = started(700);
    let answer = third.get(&peer.url("/")).send().await.unwrap();
    assert_eq!(answer.attempts(), 1);
}

#[tokio::test]
async fn sc_w04_never_early_over_the_wire() {
    let mut calls = JoinSet::new();
    let peers: Vec<Peer> = (0..8).map(|_| refused_once("1")).collect();
    let client = client();
    for (n, peer) in peers.iter().enumerate() {
        let call = client.get(&peer.url("/")).send();
        calls.spawn(async move {
            tokio::time::sleep(ms(13 * n as u64)).await;
            call.await.map(|_| ())
        });
    }
    while let Some(done) = calls.join_next().await {
        done.unwrap().unwrap();
    }
    for peer in &peers {
        let seen = peer.seen();
        assert!(seen[1].at >= seen[0].answered.unwrap().after(SECOND));
    }
}

/// An answer that says nothing of the quota (it was on the wire before) takes nothing back.
#[tokio::test]
async fn sc_p12_an_empty_quota_stays_empty_until_its_reset() {
    let peer = Peer::start(|seen| match seen.path.as_str() {
        "/slow" => reply(200).after(ms(300)),
        "/last" => reply(200)
            .header("X-RateLimit-Remaining", "0")
            .header("X-RateLimit-Reset-After", "1"),
        _ => reply(200),
    });
    let client = client();
    let slow = tokio::spawn(client.get(&peer.url("/slow")).send());
    until(|| peer.requests() == 1).await;
    client.get(&peer.url("/last")).send().await.unwrap();
    slow.await.unwrap().unwrap();
    client.get(&peer.url("/next")).send().await.unwrap();
    let seen = peer.seen();
    assert!(seen[2].at >= seen[1].answered.unwrap().after(SECOND));
}

/// An empty quota of two hours is a quota where the policy counts from one hour on, and a limit
/// where it counts from six.
#[tokio::test]
async fn what_a_quota_is_is_said_by_the_policy() {
    for (from, cause) in [(1, Verdict::QuotaExhausted), (6, Verdict::RateLimited)] {
        let peer = Peer::saying([reply(200)
            .header("X-RateLimit-Remaining", "0")
            .header("X-RateLimit-Reset-After", "7200")]);
        let mut classify = abide::core::ClassifyPolicy::default();
        classify.quota_from = from * 3_600 * SECOND;
        let governor = Governor::builder().seed(7).classify(classify);
        let client = Client::builder().governor(governor.build().unwrap());
        let client = client.build().unwrap();
        client.get(&peer.url("/")).send().await.unwrap();
        let causes: Vec<_> = client
            .governor()
            .held()
            .iter()
            .map(|h| h.hold.cause)
            .collect();
        assert_eq!(causes, [cause]);
    }
}

/// Four and a half days are no hang: the hold is on record with its true end, and everybody
/// fails with it at once.
#[tokio::test]
async fn sc_w09_a_wait_of_days_is_recorded_and_told() {
    let peer = refused_once("410400");
    let client = client();
    let days = Duration::from_secs(410_400);
    let first = turned(client.get(&peer.url("/")).send().await);
    let held = client.governor().held();
    assert_eq!(held.len(), 1);
    let end = held[0].hold.until;
    assert!(end >= peer.seen()[0].answered.unwrap().after(days));
    for path in ["/", "/other"] {
        let t = turned(client.get(&peer.url(path)).send().await);
        assert_eq!(t.refusal.retry_at, first.refusal.retry_at);
        assert_eq!(t.refusal.retry_at, Some(end));
    }
    assert_eq!(peer.requests(), 1);
}

#[tokio::test]
async fn sc_w15_above_the_cap_a_call_fails_and_its_host_stays_held() {
    let (peer, other) = (refused_once("3600"), Peer::saying([reply(200)]));
    let client = client();
    turned(client.get(&peer.url("/packages")).send().await);
    for path in ["/packages", "/branches", "/"] {
        let t = turned(client.get(&peer.url(path)).send().await);
        assert_eq!((t.refusal.kind, t.refusal.attempts), (RefusalKind::Held, 0));
        assert_eq!(t.refusal.cause, Some(Verdict::RateLimited));
    }
    assert_eq!(peer.requests(), 1);
    client.get(&other.url("/")).send().await.unwrap();
}

#[tokio::test]
async fn a_waiter_that_leaves_frees_its_place_at_once() {
    let peer = refused_once("20");
    let mut gates = ProviderPolicy::default();
    gates.waiting_calls = 1;
    let client = hasty_with(gates);
    turned(
        client
            .get(&peer.url("/"))
            .patience(Duration::ZERO)
            .send()
            .await,
    );
    let ask = || client.get(&peer.url("/")).send();
    {
        let mut first = pin!(ask());
        assert!(waits(first.as_mut()).await);
        assert_eq!(turned(ask().await).refusal.kind, RefusalKind::QueueFull);
    }
    let mut second = pin!(ask());
    assert!(waits(second.as_mut()).await);
    assert_eq!(peer.requests(), 1);
}

/// A call that is dropped while it is on the wire gives its place back too.
#[tokio::test]
async fn a_caller_that_leaves_the_wire_frees_its_place() {
    let peer = Peer::start(|seen| match seen.path.as_str() {
        "/slow" => common::Reply::Silence,
        _ => reply(200),
    });
    let mut gates = ProviderPolicy::default();
    gates.provider.concurrency = 1;
    let client = hasty_with(gates);
    let slow = client.get(&peer.url("/slow")).send();
    let slow = tokio::spawn(slow);
    until(|| peer.requests() == 1).await;
    slow.abort();
    let answer = client.get(&peer.url("/quick")).send().await.unwrap();
    assert_eq!(answer.attempts(), 1);
}

/// One wake-up a waiter: a future that waits at a hold is polled once to stand in line and once
/// when it is let through.
#[tokio::test]
async fn a_waiter_is_woken_once() {
    const WAITERS: usize = 50;
    let governor = Governor::builder().seed(7).build().unwrap();
    governor.hold("p", ms(300));
    let url = "http://p/".parse().unwrap();
    let mut target = governor
        .target(&http::Method::GET, &url, &http_headers())
        .unwrap();
    target.provider = "p".into();
    let shard = governor.provider("p");
    let polls = Arc::new(AtomicUsize::new(0));
    let mut waiters = JoinSet::new();
    for _ in 0..WAITERS {
        let (shard, polls) = (shard.clone(), Arc::clone(&polls));
        let admission = Admission::to(target.clone());
        waiters.spawn(async move {
            let mut call = Call::new(CallPolicy::default(), Safety::Read, now());
            let mut acquire = pin!(Permit::acquire(&shard, &admission, &mut call));
            let permit = std::future::poll_fn(|cx| -> Poll<_> {
                polls.fetch_add(1, Ordering::Relaxed);
                acquire.as_mut().poll(cx)
            });
            let permit = permit.await.unwrap();
            permit.settle(&Outcome::Answered(Finding::success()));
        });
    }
    while let Some(done) = waiters.join_next().await {
        done.unwrap();
    }
    assert_eq!(polls.load(Ordering::Relaxed), 2 * WAITERS);
}

fn http_headers() -> http::HeaderMap {
    http::HeaderMap::new()
}

/// What is remembered of a provider's health outlives the process that met the failure.
#[tokio::test]
async fn health_is_remembered_by_the_store() {
    use abide::core::provider::Outcome;
    use abide::core::{Finding, Verdict};
    let store: Arc<dyn abide::store::Store> = Arc::new(Memory::new([1; 32]));
    let build = || {
        let governor = Governor::builder().store(Arc::clone(&store)).build();
        governor.expect("a memory store can be read")
    };
    let healthy = |governor: &Governor| {
        let url = url::Url::parse("http://p.example/").expect("a URL");
        let target = governor
            .target(&http::Method::GET, &url, &http::HeaderMap::new())
            .expect("a host");
        (governor.provider(&target.provider), target)
    };
    for (finding, expected) in [
        (Finding::of(Verdict::Unavailable), false),
        (Finding::success(), true),
    ] {
        let governor = build();
        let (shard, target) = healthy(&governor);
        let mut call = Call::new(CallPolicy::default(), Safety::Read, governor.clock().now());
        let permit = Permit::acquire(&shard, &Admission::to(target), &mut call).await;
        permit
            .expect("nothing is held")
            .settle(&Outcome::Answered(finding));
        let later = build();
        let (shard, target) = healthy(&later);
        assert!(shard.held(&target).is_none());
        assert!(shard.view().iter().all(|g| g.healthy == expected));
    }
}

#[test]
fn a_provider_whose_hosts_count_apart_is_held_and_lifted_as_a_whole() {
    let governor = Governor::builder().seed(7).build().unwrap();
    let closed = |host: &str| {
        let url = url::Url::parse(&format!("https://{host}/")).unwrap();
        let none = http::HeaderMap::new();
        let target = governor.target(&http::Method::GET, &url, &none).unwrap();
        governor.provider_of(&target).held(&target).is_some()
    };
    let (met, later) = ("ec2.eu-west-1.amazonaws.com", "sqs.eu-west-1.amazonaws.com");
    assert!(!closed(met));
    let hour = 3_600 * SECOND;
    let hold = governor.place_hold("aws", hour, Some("a bill")).unwrap();
    assert!(closed(met), "one that was met before");
    assert!(closed(later), "one that is met later");
    assert!(!closed("api.github.com"));
    assert_eq!(
        governor.holds().iter().filter(|h| h.id == hold.id).count(),
        3
    );
    assert_eq!(governor.lift_hold(hold.id).as_deref(), Some("aws"));
    assert!(governor.holds().is_empty());
    governor.place_hold("aws", hour, None).unwrap();
    assert!(!governor.lift_all("aws").is_empty());
    assert!(governor.holds().is_empty(), "{:?}", governor.holds());
    assert!(governor.knows("aws"));
}
