//! Item 3's order, and item 13's guard: connectivity first, then the gate.

use abide::core::Verdict;
use abide::core::classify::{Phase, Transport, TransportKind};
use abide::core::refusal::RefusalKind;
use abide::{CallOptions, Chain, Failed, Patience, Said};
use abide_acceptance::script::{asking, bare, cut, ok};
use tokio::time::sleep;

use crate::*;

const DEAD: Transport = Transport {
    phase: Phase::Connect,
    kind: TransportKind::Timeout,
};

fn unwilling() -> CallOptions {
    let mut options = CallOptions::default();
    options.safety = Some(Safety::Read);
    options.patience = Some(Patience::FailFast);
    options.attempts = Some(1);
    options
}

async fn dies(governor: &Governor, name: &str) -> CallError<()> {
    let attempt = |_| async { Err::<(), _>(Failed::new((), Said::failed(DEAD))) };
    let called = governor.call_with(name, &unwilling(), attempt).await;
    called.unwrap_err()
}

async fn asks(governor: &Governor, name: &str, v: &Vendor) -> Ended {
    let attempt = |_| v.sim.ask("/");
    let called = governor.call_with(name, &unwilling(), attempt).await;
    called.map(drop)
}

/// Without a network the gate is not even asked: no slot, no attempt and no rung is spent, and
/// whoever will not wait is told at once.
#[tokio::test(start_paused = true)]
async fn e03_connectivity_comes_before_the_gate() {
    let p = Program::new(POLICY);
    let v = saying(&p, [ok()]);
    dies(&p.governor, CIVITAI).await;
    dies(&p.governor, CIVARCHIVE).await;
    assert!(p.governor.is_offline());
    for _ in 0..50 {
        let error = asks(&p.governor, CIVITAI, &v).await.unwrap_err();
        let refusal = &error.turned().refusal;
        assert_eq!(refusal.kind, RefusalKind::Offline);
        assert_eq!(
            (refusal.attempts, refusal.cause),
            (0, Some(Verdict::Offline))
        );
        assert!(!error.turned().is_rate_limited());
    }
    assert_eq!(v.arrivals.count(), 0);
    // The probe brings us back, and the pace has not been spent meanwhile.
    sleep(secs(1)).await;
    let began = p.clock.now();
    let mut patient = CallOptions::default();
    patient.safety = Some(Safety::Read);
    for _ in 0..2 {
        let attempt = |_| v.sim.ask("/");
        let called = p.governor.call_with(CIVITAI, &patient, attempt).await;
        assert!(called.is_ok());
    }
    assert!(!p.governor.is_offline());
    assert!(p.clock.now().since(began) < secs(1), "one slot between two");
}

/// A local archive needs no network: it answers while we have none.
#[tokio::test(start_paused = true)]
async fn e03_offline_the_archive_at_hand_still_answers() {
    let p = Program::new(POLICY);
    dies(&p.governor, CIVITAI).await;
    dies(&p.governor, CIVARCHIVE).await;
    assert!(p.governor.is_offline());
    let chain = Chain::new(&p.governor)
        .network(CIVITAI, |_, _: Arc<u32>| async {
            Err(Failed::new((), Said::failed(DEAD)))
        })
        .network(CIVARCHIVE, |_, _| async { Ok("civarchive") })
        .local("archive", |_, _| async { Ok("archive") })
        .patience(Duration::ZERO);
    let answer = chain.ask(1).await.unwrap();
    assert_eq!((answer.value, answer.degraded), ("archive", true));
    assert!(p.governor.is_offline(), "which says nothing of the network");
}

/// Transport failures open a breaker for 30 s, doubled up to 300 s, per destination; one probe
/// goes when it ends, where there everybody passed.
#[tokio::test(start_paused = true)]
async fn e13_failures_of_the_transport_open_for_thirty_seconds_doubled_to_three_hundred() {
    let policy = POLICY.replace("attempts = 6", "attempts = 6\nbreaker.failures = 3");
    let p = Program::new(&policy);
    let v = saying(&p, [cut()]);
    for _ in 0..3 {
        assert!(asks(&p.governor, CIVITAI, &v).await.is_err());
        sleep(secs(1)).await;
    }
    let mut sent = 3;
    for opened in [29, 60, 120, 240, 300, 300] {
        let left = held_for(&p.governor, CIVITAI);
        let known = secs(opened);
        assert!(
            left <= known && left + secs(1) >= known,
            "{left:?} of {known:?}"
        );
        assert!(p.governor.provider(CIVARCHIVE).is_available());
        let error = asks(&p.governor, CIVITAI, &v).await.unwrap_err();
        assert_eq!(error.turned().refusal.kind, RefusalKind::BreakerOpen);
        assert_eq!(v.arrivals.count(), sent);
        sleep(left).await;
        let mut together = tokio::task::JoinSet::new();
        for _ in 0..5 {
            let (governor, sim) = (p.governor.clone(), v.sim.clone());
            together.spawn(async move {
                let attempt = |_| sim.ask("/");
                let called = governor.call_with(CIVITAI, &unwilling(), attempt).await;
                drop(called);
            });
        }
        together.join_all().await;
        sent += 1;
        assert_eq!(v.arrivals.count(), sent, "one probe");
    }
}

/// A vendor that refuses is well: no breaker opens, and no failure is counted.
#[tokio::test(start_paused = true)]
async fn e13_refusals_never_count_as_failures() {
    let p = Program::new(POLICY);
    let v = saying(&p, [asking(429, 1)]);
    for _ in 0..30 {
        assert!(asks(&p.governor, CIVITAI, &v).await.is_err());
        let s = p.governor.provider(CIVITAI).state();
        assert_eq!((s.failures, s.cause), (0, Some(Verdict::RateLimited)));
        sleep(secs(1)).await;
    }
    assert!(p.governor.provider(CIVITAI).is_available());
}

/// A passing failure is tried again in the call, three times in all.
#[tokio::test(start_paused = true)]
async fn e13_a_passing_failure_is_tried_three_times() {
    let policy = POLICY.replace("attempts = 6", "attempts = 3");
    let p = Program::new(&policy);
    let v = saying(&p, [bare(502), bare(504), ok()]);
    assert!(ask(&p.governor, "vendor.example", &v).await.is_ok());
    let v = saying(&p, [bare(502)]);
    let error = ask(&p.governor, "vendor.example", &v).await.unwrap_err();
    assert_eq!(v.arrivals.count(), 3);
    assert!(!error.turned().is_rate_limited());
}
