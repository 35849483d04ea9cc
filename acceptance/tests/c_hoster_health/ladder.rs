//! Item 1, and item 6: one way to tell, from wherever a hoster is asked.

use abide::Said;
use abide::core::Verdict;
use abide::core::classify::{Phase, TransportKind};
use tokio::time::sleep;

use crate::*;

#[tokio::test(start_paused = true)]
async fn c01_a_ladder_by_failures_in_a_row_of_any_kind() {
    let p = program();
    let kinds = [
        Said::failed(RESET),
        Said::failed(broke(Phase::Connect, TransportKind::Refused)),
        Said::unavailable(),
        Said::failed(broke(Phase::Send, TransportKind::Tls)),
        Said::failed(TIMEOUT),
        Said::failed(broke(Phase::Connect, TransportKind::Dns)),
        Said::failed(broke(Phase::Connect, TransportKind::Unreachable)),
        Said::failed(broke(Phase::Head, TransportKind::Other)),
    ];
    for ((kind, step), n) in kinds.into_iter().zip(LADDER).zip(1..) {
        assert!(touch_in(&p.governor, HOSTER, ms(40), Err(kind)).await);
        let s = state(&p.governor, HOSTER);
        assert_eq!((s.failures, s.cause), (n, Some(Verdict::Unavailable)));
        assert_eq!(held_for(&p.governor, HOSTER), secs(step), "failure {n}");
        // Not a moment early.
        sleep(secs(step) - ms(1)).await;
        assert!(!works(&p.governor, HOSTER).await, "failure {n}");
        sleep(ms(1)).await;
    }
    assert!(works(&p.governor, HOSTER).await);
    assert_eq!(state(&p.governor, HOSTER).failures, 0);
    assert!(fails(&p.governor, HOSTER).await);
    assert_eq!(
        held_for(&p.governor, HOSTER),
        secs(5),
        "a success begins anew"
    );
}

/// Seven failures together would have been an hour there; here they are one.
#[tokio::test(start_paused = true)]
async fn c01_seven_failures_together_are_one_rung() {
    let p = program();
    for (step, n) in [(5, 1), (10, 2)] {
        let mut together = tokio::task::JoinSet::new();
        // After a hold one is let out first: only the first round is wide.
        for k in 0..7 {
            let governor = p.governor.clone();
            together.spawn(async move {
                let end = Err(Said::failed(RESET));
                touch_in(&governor, HOSTER, ms(100 + k), end).await
            });
        }
        let sent = together.join_all().await.into_iter().filter(|s| *s).count();
        assert_eq!(sent, if n == 1 { 7 } else { 1 });
        assert_eq!(state(&p.governor, HOSTER).failures, n);
        let held = held_for(&p.governor, HOSTER);
        assert!(held <= secs(step) && held + ms(10) > secs(step), "{held:?}");
        sleep(held).await;
    }
}

/// A success that was sent before the failure says nothing about it: the hoster stays held, and
/// stays out of the list.
#[tokio::test(start_paused = true)]
async fn c01_a_late_success_heals_nothing() {
    let p = program();
    let slow = {
        let governor = p.governor.clone();
        tokio::spawn(async move { touch_in(&governor, HOSTER, secs(2), Ok(())).await })
    };
    sleep(ms(10)).await;
    assert!(fails(&p.governor, HOSTER).await);
    assert!(slow.await.unwrap());
    let s = state(&p.governor, HOSTER);
    assert!(!s.healthy && !s.available && s.failures == 1);
}

/// A dead link is the link's, not the hoster's: neither a failure nor a success.
#[tokio::test(start_paused = true)]
async fn c01_not_found_is_neutral() {
    let p = program();
    for _ in 0..20 {
        assert!(misses(&p.governor, HOSTER).await);
    }
    assert!(state(&p.governor, HOSTER).healthy);
    fail_often(&p.governor, HOSTER, 3).await;
    sleep(held_for(&p.governor, HOSTER)).await;
    assert!(misses(&p.governor, HOSTER).await);
    let s = state(&p.governor, HOSTER);
    assert_eq!((s.failures, s.healthy, s.available), (3, false, true));
    // The hoster did answer, so it is no longer held; what was counted goes on.
    assert!(fails(&p.governor, HOSTER).await);
    assert_eq!(state(&p.governor, HOSTER).failures, 4);
}

/// Four places ask; each tells by asking through its hoster's gates, so none can forget to.
#[tokio::test(start_paused = true)]
async fn c06_every_place_that_asks_tells_the_same_state() {
    let p = program();
    let places = ["precacher", "media info", "click", "background"];
    for (place, n) in places.into_iter().zip(1..) {
        sleep(held_for(&p.governor, HOSTER)).await;
        assert!(fails(&p.governor, HOSTER).await, "{place}");
        assert_eq!(state(&p.governor, HOSTER).failures, n, "{place}");
    }
    sleep(held_for(&p.governor, HOSTER)).await;
    assert!(works(&p.governor, HOSTER).await);
    assert!(state(&p.governor, HOSTER).healthy);
}

/// What another part of the program met by itself is told in one word, and holds everybody.
#[tokio::test(start_paused = true)]
async fn c06_what_was_met_elsewhere_is_reported() {
    let p = program();
    p.governor.report(HOSTER, &Said::unavailable());
    assert_eq!(held_for(&p.governor, HOSTER), secs(5));
    assert!(!works(&p.governor, HOSTER).await);
}
