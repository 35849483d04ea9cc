//! The faults that the code written for it had, and the right value in their place.

use abide::Said;
use abide::core::refusal::RefusalKind;
use abide::store::{Sqlite, Store};
use abide_acceptance::script::{asking, bare, ok};
use tokio::time::sleep;

use crate::*;

/// There, a success cleared the gate, also one that was sent before the refusal.
#[tokio::test(start_paused = true)]
async fn e2_i_a_late_success_does_not_reopen_the_gate() {
    let p = Program::new(POLICY);
    let script = Script::new(|n| match n {
        0 => ok().taking(secs(5)),
        1 => asking(429, 60),
        _ => ok(),
    });
    let v = vendor(&p, script);
    let ended = together(&p, &v, 6).await;
    assert!(ended.iter().all(|(e, _)| e.is_ok()));
    v.sim.assert_no_send_inside_hold();
    let all = v.arrivals.all();
    assert!(all[2] >= all[1].after(ms(10) + secs(60)));
}

/// There, whoever had begun to sleep went when it woke, whatever had been said meanwhile.
#[tokio::test(start_paused = true)]
async fn e2_ii_a_refusal_that_lands_during_a_wait_is_kept() {
    let p = Program::new(POLICY);
    let v = saying(&p, [asking(429, 60), ok()]);
    let elsewhere = p.governor.clone();
    tokio::spawn(async move {
        sleep(secs(59)).await;
        elsewhere.report(CIVITAI, &Said::rate_limited().after(secs(100)));
    });
    assert!(ask(&p.governor, CIVITAI, &v).await.is_ok());
    let second = v.arrivals.all()[1].since(v.arrivals.all()[0]);
    assert!(second >= secs(159) - ms(10), "{second:?}");
}

/// There, waiting in line for the pace alone ended as a refusal of the vendor's.
#[tokio::test(start_paused = true)]
async fn e2_iii_a_long_line_is_no_refusal() {
    let p = Program::new(POLICY);
    let v = saying(&p, [ok()]);
    let ended = together(&p, &v, 500).await;
    let served = ended.iter().filter(|(e, _)| e.is_ok()).count();
    assert_eq!(served, 401, "all whose turn comes within 300 s");
    assert_eq!(v.arrivals.count(), 401);
    for (end, took) in ended.into_iter().filter(|(e, _)| e.is_err()) {
        let error = end.unwrap_err();
        let turned = error.turned();
        assert_eq!(turned.refusal.kind, RefusalKind::QueueTooLong);
        assert!(!turned.is_rate_limited(), "nobody refused anything");
        assert_eq!(took, Duration::ZERO, "told at once, not after 300 s");
        assert!(turned.retry_at().is_some());
    }
}

/// There, the cap was each wait's own: five waits of 299 s were 25 minutes.
#[tokio::test(start_paused = true)]
async fn e2_iv_the_cap_is_the_sum_of_all_waits() {
    for wait in [50, 75, 100, 299] {
        let p = Program::new(POLICY);
        let v = saying(&p, [asking(429, wait)]);
        let error = ask(&p.governor, CIVITAI, &v).await.unwrap_err();
        let fit = 300 / wait;
        assert_eq!(v.arrivals.count(), usize::try_from(1 + fit).unwrap().min(6));
        let waited = error.turned().refusal.waited;
        assert!(waited <= secs(300), "{wait}: {waited:?}");
        assert!(p.clock.elapsed() <= secs(301), "{wait}");
    }
}

/// There, everything was forgotten with the process.
#[tokio::test(start_paused = true)]
async fn e2_v_the_state_survives_a_restart() {
    let dir = tempfile::tempdir().unwrap();
    let p = Program::new(POLICY);
    let start = |store: &Arc<Sqlite>| {
        let clock = Arc::clone(&p.clock) as Arc<dyn Clock>;
        let store = Arc::clone(store) as Arc<dyn Store>;
        let builder = p.setup.governor().clock(clock).store(store);
        builder.build().unwrap()
    };
    let v = saying(&p, [bare(429), bare(429), ok()]);
    let mut expected = secs(30);
    for _ in 0..2 {
        let store = Arc::new(Sqlite::open(dir.path()).unwrap());
        let governor = start(&store);
        let error = governor
            .call_with(CIVITAI, &hasty(), |_| v.sim.ask("/"))
            .await
            .unwrap_err();
        assert!(error.turned().is_rate_limited());
        assert_eq!(held_for(&governor, CIVITAI), expected);
        expected *= 2;
        store.flush().unwrap();
        drop(governor);
        let next = start(&store);
        assert!(held_for(&next, CIVITAI) > Duration::ZERO, "known at once");
        sleep(held_for(&next, CIVITAI)).await;
    }
}

fn hasty() -> abide::CallOptions {
    let mut options = abide::CallOptions::default();
    options.safety = Some(Safety::Read);
    options.patience = Some(abide::Patience::FailFast);
    options
}

/// There, only a 200 was a success.
#[tokio::test(start_paused = true)]
async fn e2_vi_every_2xx_is_a_success() {
    for status in [200, 201, 202, 204, 206] {
        let p = Program::new(POLICY);
        let good = || Reply::accepted(bare(status).answer().unwrap().clone());
        let v = saying(&p, [bare(429), bare(429), good(), bare(429), good()]);
        // 30 s, 60 s, well; then from 30 s on again.
        assert!(ask(&p.governor, CIVITAI, &v).await.is_ok(), "{status}");
        assert!(ask(&p.governor, CIVITAI, &v).await.is_ok(), "{status}");
        let waits: Vec<_> = v.arrivals.gaps().iter().map(Duration::as_secs).collect();
        assert_eq!(waits, [30, 60, 0, 30], "{status}");
    }
}
