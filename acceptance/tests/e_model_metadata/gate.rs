//! Item 1, rules 1, 2, 5 and 7: the gate that everybody passes.

use std::convert::Infallible;

use abide::Layer;
use abide::core::refusal::RefusalKind;
use abide_acceptance::script::{asking, ok};
use http::{Request, Response};
use http_body_util::Empty;
use tower::{ServiceExt, service_fn};

use crate::*;

#[tokio::test(start_paused = true)]
async fn e01_r1_nothing_is_sent_before_the_window_elapses() {
    let p = Program::new(POLICY);
    let v = saying(&p, [ok(), asking(429, 75), ok()]);
    let ended = together(&p, &v, 20).await;
    assert!(ended.iter().all(|(e, _)| e.is_ok()));
    v.sim.assert_no_send_inside_hold();
    let all = v.arrivals.all();
    let refused = all[1].after(ms(10));
    for at in &all[2..] {
        assert!(*at >= refused.after(secs(75)), "inside the window");
    }
}

#[tokio::test(start_paused = true)]
async fn e01_r2_waiters_share_one_window_and_leave_one_by_one() {
    let p = Program::new(POLICY);
    let v = saying(&p, [asking(429, 60), ok()]);
    let ended = together(&p, &v, 40).await;
    assert!(ended.iter().all(|(e, _)| e.is_ok()));
    assert_eq!(v.arrivals.count(), 41, "one refusal, and forty answers");
    v.sim.assert_no_send_inside_hold();
    v.sim.assert_no_herd();
    assert!(v.arrivals.gaps().iter().all(|gap| *gap >= ms(750)));
    // One window and forty slots of the pace, not forty windows.
    let last = ended.last().unwrap().1;
    let least = secs(60) + 39 * ms(750);
    assert!(last >= least && last < least + secs(2), "{last:?}");
}

/// Nobody hangs: whoever cannot be served within the cap is told so, and when to come back.
#[tokio::test(start_paused = true)]
async fn e01_r5_all_waits_are_capped_and_end_in_a_refusal() {
    let p = Program::new(POLICY);
    let v = saying(&p, [asking(429, 120)]);
    for (ended, took) in together(&p, &v, 10).await {
        let error = ended.unwrap_err();
        assert!(error.turned().is_rate_limited(), "{error:?}");
        assert!(error.turned().retry_at().is_some());
        assert!(took <= secs(300), "{took:?}");
        assert!(error.turned().refusal.waited <= secs(300));
    }
    v.sim.assert_no_send_inside_hold();
}

/// Calls of the caller's own, a tower service and reports from elsewhere pass one choke point.
#[tokio::test(start_paused = true)]
async fn e01_r7_there_is_one_choke_point() {
    let p = Program::new(POLICY);
    let below = service_fn(|_: Request<()>| async {
        let refused = Response::builder().status(429).header("retry-after", "75");
        Ok::<_, Infallible>(refused.body(Empty::<bytes::Bytes>::new()).unwrap())
    });
    let service = tower::Layer::layer(&Layer::new(p.governor.clone()), below);
    let get = || {
        let mut request = Request::get("https://civitai.com/api/v1/models");
        let mut options = abide::layer::Options::default();
        options.patience = Some(Duration::ZERO);
        request.extensions_mut().unwrap().insert(options);
        request.body(()).unwrap()
    };
    let answer = service.clone().oneshot(get()).await.unwrap();
    assert_eq!(answer.status(), 429);
    // Its name tells the host, since each of that vendor's hosts counts by itself.
    let held = p.governor.held();
    assert_eq!(held.len(), 1);
    let name = held[0].provider.to_string();
    let v = saying(&p, [ok()]);
    let hasty = abide::CallOptions::default();
    let refused = p
        .governor
        .call_with(&name, &impatient(hasty), |_| v.sim.ask("/"))
        .await
        .unwrap_err();
    assert_eq!(refused.turned().refusal.kind, RefusalKind::Held);
    assert_eq!(v.arrivals.count(), 0);
    let error = service.oneshot(get()).await.unwrap_err();
    assert!(error.turned().is_some(), "{error:?}");
}

fn impatient(mut options: abide::CallOptions) -> abide::CallOptions {
    options.patience = Some(abide::Patience::FailFast);
    options.safety = Some(Safety::Read);
    options
}
