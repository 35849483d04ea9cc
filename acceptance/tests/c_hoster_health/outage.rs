//! Item 7: what fails because our own network is down is held against nobody.

use abide::Said;
use abide::core::refusal::RefusalKind;
use tokio::time::sleep;

use crate::*;

const OTHER: &str = "other.example";

async fn times_out(governor: &Governor, name: &str) -> bool {
    touch_in(governor, name, Duration::ZERO, Err(Said::failed(TIMEOUT))).await
}

/// There, nothing counted until the first success of a process: a hoster that was truly dead and
/// asked alone was asked for ever.
#[tokio::test(start_paused = true)]
async fn c07_a_cold_start_counts_a_dead_hoster() {
    let p = program();
    for (step, n) in LADDER.into_iter().zip(1..) {
        assert!(times_out(&p.governor, HOSTER).await);
        assert_eq!(state(&p.governor, HOSTER).failures, n);
        assert_eq!(held_for(&p.governor, HOSTER), secs(step));
        sleep(secs(step)).await;
    }
    assert!(!p.governor.is_offline());
}

/// There, a quiet half minute made the next failure free.
#[tokio::test(start_paused = true)]
async fn c07_a_failure_after_a_quiet_hour_counts() {
    let p = program();
    assert!(works(&p.governor, HOSTER).await);
    sleep(secs(3_600)).await;
    assert!(times_out(&p.governor, HOSTER).await);
    assert_eq!(held_for(&p.governor, HOSTER), secs(5));
}

/// There, seven failures in the first seconds of an outage were an hour for each hoster.
#[tokio::test(start_paused = true)]
async fn c07_what_failed_before_the_outage_was_known_is_taken_back() {
    let p = program();
    assert!(works(&p.governor, HOSTER).await);
    // One rung from before, which is the hoster's own.
    assert!(fails(&p.governor, HOSTER).await);
    sleep(secs(60)).await;
    let mut together = tokio::task::JoinSet::new();
    for _ in 0..7 {
        let governor = p.governor.clone();
        together.spawn(async move { times_out(&governor, HOSTER).await });
    }
    together.join_all().await;
    assert_eq!(held_for(&p.governor, HOSTER), secs(10));
    sleep(secs(11)).await;
    assert!(times_out(&p.governor, HOSTER).await);
    assert_eq!(state(&p.governor, HOSTER).failures, 3);
    assert_eq!(held_for(&p.governor, HOSTER), secs(20));
    // Another host fails within 30 s, and nobody answered in between: it is our own network.
    assert!(times_out(&p.governor, OTHER).await);
    assert!(p.governor.is_offline());
    assert_eq!(state(&p.governor, HOSTER).failures, 1);
    assert_eq!(state(&p.governor, OTHER).failures, 0);
    // Back online the ladder goes on where it truly was.
    sleep(secs(2)).await;
    assert!(works(&p.governor, OTHER).await);
    assert!(!p.governor.is_offline());
    assert!(state(&p.governor, OTHER).healthy);
    assert!(state(&p.governor, HOSTER).available, "its hold was ours");
    assert!(fails(&p.governor, HOSTER).await);
    assert_eq!(state(&p.governor, HOSTER).failures, 2);
    assert_eq!(held_for(&p.governor, HOSTER), secs(10));
}

/// More than 30 s apart they are two hosts of their own.
#[tokio::test(start_paused = true)]
async fn c07_failures_more_than_thirty_seconds_apart_are_their_hosts_own() {
    for (apart, offline) in [(29, true), (31, false)] {
        let p = program();
        assert!(times_out(&p.governor, HOSTER).await);
        sleep(secs(apart)).await;
        assert!(times_out(&p.governor, OTHER).await);
        assert_eq!(p.governor.is_offline(), offline, "{apart} s");
        let failed = u32::from(!offline);
        assert_eq!(state(&p.governor, HOSTER).failures, failed, "{apart} s");
    }
}

/// While it lasts nothing counts, one real request at a time tries, and the first answer ends it.
#[tokio::test(start_paused = true)]
async fn c07_nothing_counts_while_we_are_offline() {
    let p = program();
    assert!(times_out(&p.governor, HOSTER).await);
    assert!(times_out(&p.governor, OTHER).await);
    for _ in 0..20 {
        let refused = p
            .governor
            .call(HOSTER, Safety::Read, |_| async {
                Err::<(), _>(Failed::new((), Said::failed(TIMEOUT)))
            })
            .await
            .unwrap_err();
        if let CallError::Refused(turned) = refused {
            assert_eq!(turned.refusal.kind, RefusalKind::Offline);
        }
        sleep(secs(7)).await;
    }
    for name in [HOSTER, OTHER] {
        assert_eq!(state(&p.governor, name).failures, 0, "{name}");
    }
    while p.governor.is_offline() {
        works(&p.governor, HOSTER).await;
        sleep(secs(1)).await;
    }
    assert!(works(&p.governor, OTHER).await);
}
