//! An outage of our own network, across the providers of a governor. No network is needed: what
//! became of the exchanges is told by hand, on a clock that is moved by hand.

#![allow(clippy::unwrap_used, clippy::panic, reason = "a test may panic")]

use std::pin::{Pin, pin};
use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};
use std::task::Poll;
use std::time::Duration;

use abide::clock::Clock;
use abide::core::call::{Call, CallPolicy, Safety};
use abide::core::classify::{Phase, Transport, TransportKind, of_transport};
use abide::core::provider::{Event, Outcome};
use abide::core::refusal::{Refusal, RefusalKind};
use abide::core::{Finding, Instant, Verdict, WallTime};
use abide::{Admission, Governor, Permit};

#[derive(Debug)]
struct ByHand(AtomicU64);

impl Clock for ByHand {
    fn now(&self) -> Instant {
        Instant::from_secs(self.0.load(Ordering::Relaxed))
    }

    fn wall(&self) -> WallTime {
        WallTime::from_unix_secs(1_773_144_000)
    }
}

struct World {
    governor: Governor,
    clock: Arc<ByHand>,
}

const A: &str = "a.example";
const B: &str = "b.example";

const DEAD: Transport = Transport {
    phase: Phase::Connect,
    kind: TransportKind::Timeout,
};

impl World {
    fn new() -> Self {
        let clock = Arc::new(ByHand(AtomicU64::new(1_000)));
        let governor = Governor::builder().seed(7).clock(clock.clone());
        Self {
            governor: governor.build().unwrap(),
            clock,
        }
    }

    fn now(&self) -> Instant {
        self.clock.now()
    }

    fn pass(&self, seconds: u64) {
        self.clock.0.fetch_add(seconds, Ordering::Relaxed);
    }

    async fn ask(&self, host: &str, patience: u64) -> Result<Permit, Box<Refusal>> {
        let url = url::Url::parse(&format!("http://{host}/")).unwrap();
        let headers = http::HeaderMap::new();
        let target = self.governor.target(&http::Method::GET, &url, &headers);
        let target = target.unwrap();
        let shard = self.governor.provider_of(&target);
        let mut policy = CallPolicy::default();
        policy.patience = Duration::from_secs(patience);
        let mut call = Call::new(policy, Safety::Read, self.now());
        Permit::acquire(&shard, &Admission::to(target), &mut call).await
    }

    /// One exchange that fails in the usual way; whether we are offline then.
    async fn fails(&self, host: &str) -> bool {
        self.fails_as(host, &DEAD).await
    }

    async fn fails_as(&self, host: &str, how: &Transport) -> bool {
        let mut permit = self.ask(host, 0).await.unwrap();
        let offline = permit.failed(host, how);
        let mut finding = of_transport(how);
        if offline {
            finding.be_offline();
        }
        permit.settle(&Outcome::Unreached(finding));
        offline
    }

    /// Two hosts died within the window.
    async fn offline() -> Self {
        let world = Self::new();
        assert!(!world.fails(A).await, "one host is its own affair");
        assert!(world.fails(B).await);
        world
    }
}

fn answered(mut permit: Permit, host: &str) {
    permit.answered(host);
    permit.settle(&Outcome::Answered(Finding::success()));
}

/// Polls once.
async fn now<F: Future>(mut future: Pin<&mut F>) -> Option<F::Output> {
    std::future::poll_fn(|cx| match future.as_mut().poll(cx) {
        Poll::Ready(out) => Poll::Ready(Some(out)),
        Poll::Pending => Poll::Ready(None),
    })
    .await
}

#[tokio::test]
async fn inv09_offline_nothing_is_sent_and_every_caller_hears_when() {
    let world = World::new();
    let mut events = world.governor.changes();
    for _ in 0..3 {
        assert!(!world.fails(A).await);
    }
    assert!(world.fails(B).await && world.governor.is_offline());
    for host in [A, B, "met.only.now.example"] {
        let refusal = world.ask(host, 0).await.unwrap_err();
        assert_eq!(
            (refusal.kind, refusal.cause),
            (RefusalKind::Offline, Some(Verdict::Offline)),
            "{host}"
        );
        assert_eq!(refusal.retry_at, Some(Instant::from_secs(1_001)));
    }
    let mut told = Vec::new();
    while let Ok((provider, event)) = events.try_recv() {
        if matches!(event, Event::WentOffline { .. }) {
            told.push(provider.to_string());
        }
    }
    told.sort();
    assert_eq!(told, [A, B, "met.only.now.example"]);
    let shard = world.governor.provider(A);
    assert!(shard.view().iter().all(|g| g.healthy), "they were ours");
}

#[tokio::test]
async fn inv09_one_probe_for_all_providers_and_its_answer_lets_everybody_go() {
    let world = World::offline().await;
    let mut events = world.governor.changes();
    world.pass(1);
    let probe = world.ask(A, 0).await.unwrap();
    let mut other = pin!(world.ask(B, 30));
    assert!(now(other.as_mut()).await.is_none(), "there is a probe out");
    answered(probe, A);
    assert!(!world.governor.is_offline());
    let permit = now(other.as_mut()).await.expect("it is let through");
    answered(permit.unwrap(), B);
    let mut online = 0;
    while let Ok((_, event)) = events.try_recv() {
        online += usize::from(event == Event::CameOnline);
    }
    assert_eq!(online, 2);
}

#[tokio::test]
async fn a_probe_that_fails_makes_the_next_one_wait_for_longer() {
    let world = World::offline().await;
    world.pass(1);
    assert!(world.fails(A).await);
    for host in [A, B] {
        let refusal = world.ask(host, 0).await.unwrap_err();
        assert_eq!(refusal.retry_at, Some(Instant::from_secs(1_003)));
    }
    world.pass(2);
    answered(world.ask(B, 0).await.unwrap(), B);
    assert!(!world.governor.is_offline());
}

#[tokio::test]
async fn a_probe_whose_caller_leaves_makes_room_for_the_next() {
    let world = World::offline().await;
    world.pass(1);
    drop(world.ask(A, 0).await.unwrap());
    let refusal = world.ask(B, 0).await.unwrap_err();
    assert_eq!(refusal.retry_at, Some(Instant::from_secs(1_002)));
    world.pass(1);
    answered(world.ask(B, 0).await.unwrap(), B);
}

#[tokio::test]
async fn requests_in_flight_are_not_cut_and_their_answer_ends_it() {
    let world = World::new();
    let before = world.ask("c.example", 0).await.unwrap();
    world.fails(A).await;
    assert!(world.fails(B).await);
    answered(before, "c.example");
    assert!(!world.governor.is_offline());
    answered(world.ask(A, 0).await.unwrap(), A);
}

#[tokio::test]
async fn what_is_on_this_machine_goes_on_and_proves_nothing() {
    let world = World::offline().await;
    for host in ["127.0.0.1:8080", "localhost", "[::1]:9"] {
        answered(world.ask(host, 0).await.unwrap(), host);
        assert!(!world.fails(host).await);
    }
    assert!(world.governor.is_offline());
}

#[tokio::test]
async fn a_probe_that_turns_out_to_be_of_this_machine_gives_its_leave_back() {
    let world = World::offline().await;
    for n in 1..3 {
        world.pass(n);
        let mut probe = world.ask(A, 0).await.unwrap();
        world.governor.provider(A).change(|p| p.local = true);
        match n {
            1 => probe.answered(A),
            _ => assert!(!probe.failed(A, &DEAD)),
        }
        probe.settle(&Outcome::Answered(Finding::success()));
        assert!(world.governor.is_offline(), "it proves nothing");
        // Not that of a machine of ours any more, it hears how our network is.
        world.governor.provider(A).change(|p| p.local = false);
        world.ask(A, 0).await.unwrap_err();
    }
    world.pass(2);
    answered(world.ask(B, 0).await.unwrap(), B);
    assert!(!world.governor.is_offline());
}

#[tokio::test]
async fn a_provider_that_its_policy_calls_local_goes_on_offline() {
    let world = World::offline().await;
    world.governor.provider(A).change(|p| p.local = true);
    assert!(!world.fails(A).await, "its failures are its own");
    answered(world.ask(A, 0).await.unwrap(), A);
    assert!(world.governor.is_offline());
}

#[tokio::test]
async fn with_one_host_a_neutral_name_tells() {
    let world = World::new();
    let mut permit = world.ask(A, 0).await.unwrap();
    let no_name = Transport {
        kind: TransportKind::Dns,
        ..DEAD
    };
    assert!(!permit.failed(A, &no_name));
    permit.settle(&Outcome::Unreached(of_transport(&no_name)));
    world.governor.neutral_dns_failed();
    assert!(world.governor.is_offline());
}

#[tokio::test]
async fn the_guard_may_be_switched_off() {
    let mut world = World::new();
    let governor = Governor::builder().clock(world.clock.clone());
    world.governor = governor.outage(None).build().unwrap();
    for host in [A, B, "c.example"] {
        assert!(!world.fails(host).await);
    }
    answered(world.ask(A, 0).await.unwrap(), A);
}

/// Who refuses a connection is there; two that nobody can reach are one network, ours.
#[tokio::test]
async fn sc_b08_a_refused_connection_is_no_outage_and_two_lost_hosts_are_one() {
    let of = |kind| Transport { kind, ..DEAD };
    let world = World::new();
    for kind in [
        TransportKind::Refused,
        TransportKind::Reset,
        TransportKind::Tls,
    ] {
        for host in [A, B, "c.example"] {
            assert!(!world.fails_as(host, &of(kind)).await, "{kind:?}");
        }
    }
    for kind in [
        TransportKind::Dns,
        TransportKind::Timeout,
        TransportKind::Unreachable,
    ] {
        let world = World::new();
        let first = world.fails_as(A, &of(kind)).await;
        assert!(!first, "{kind:?}: one host is its own affair");
        assert!(world.fails_as(B, &of(kind)).await, "{kind:?}");
    }
    // No way out of here needs no second witness.
    let world = World::new();
    assert!(world.fails_as(A, &of(TransportKind::NoNetwork)).await);
}
