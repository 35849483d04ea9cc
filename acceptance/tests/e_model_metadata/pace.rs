//! Items 4, 10 and 14: the interval, what is exempt from it, and the user's own wish.

use std::convert::Infallible;
use std::sync::Mutex;

use abide::Layer;
use abide::layer::Options;
use abide_acceptance::script::{asking, ok};
use abide_sim::policy::TokenBucket;
use http::{Request, Response};
use http_body_util::Full;
use tokio::time::sleep;
use tower::{ServiceExt, service_fn};

use crate::*;

#[tokio::test(start_paused = true)]
async fn e04_at_least_three_quarters_of_a_second_between_two_and_no_burst() {
    let p = Program::new(POLICY);
    let v = saying(&p, [ok()]);
    assert!(together(&p, &v, 10).await.iter().all(|(e, _)| e.is_ok()));
    assert_eq!(v.arrivals.gaps(), [ms(750); 9]);
    // No credit is saved up in a quiet time.
    sleep(secs(600)).await;
    together(&p, &v, 3).await;
    assert_eq!(v.arrivals.gaps()[10..], [ms(750); 2]);
    // Eighty a minute.
    let all = v.arrivals.all();
    assert!(all.len() == 13 && all[9].since(all[0]) == 9 * ms(750));
}

/// Large downloads keep to no pace, but what they are refused holds everybody, and they keep to
/// every hold. A gate of the profile's own that they do not pass says so.
#[tokio::test(start_paused = true)]
async fn e10_downloads_are_exempt_from_the_pace_and_their_refusals_count() {
    const PROFILE: &str = r#"
[defaults]
patience = "300s"
pace.adaptive = "off"
pace.gentle = false
concurrency = 100

[providers.civitai]
profile = "paced-civitai"

[profiles.paced-civitai]
extends = "civitai"
hosts = ["civitai.com"]

[[profiles.paced-civitai.gate]]
name = "lookups"
scope = "provider"
by = ["address"]
except = ["/api/download/**"]
limits = [{ count = 1, per = "750ms" }]
"#;
    let p = Program::new(PROFILE);
    let sent = Arc::new(Mutex::new(Vec::new()));
    let (clock, seen) = (Arc::clone(&p.clock), Arc::clone(&sent));
    let below = service_fn(move |request: Request<()>| {
        let path = request.uri().path().to_owned();
        seen.lock().unwrap().push((path.clone(), clock.elapsed()));
        let refused = path.ends_with("/7");
        async move {
            let answer = match refused {
                true => Response::builder().status(429).header("retry-after", "75"),
                false => Response::builder().header("content-type", "application/json"),
            };
            Ok::<_, Infallible>(
                answer
                    .body(Full::new(bytes::Bytes::from_static(b"{}")))
                    .unwrap(),
            )
        }
    });
    let service = tower::Layer::layer(&Layer::new(p.governor.clone()), below);
    let get = |path: String, patience| {
        let mut request = Request::get(format!("https://civitai.com{path}"))
            .body(())
            .unwrap();
        let mut options = Options::default();
        options.patience = Some(patience);
        request.extensions_mut().insert(options);
        let service = service.clone();
        tokio::spawn(async move { service.oneshot(request).await.map(|a| a.status()) })
    };
    let lookups = (0..5).map(|n| get(format!("/api/v1/models/{n}"), secs(300)));
    let lookups: Vec<_> = lookups.collect();
    let downloads = (100..120).map(|n| get(format!("/api/download/models/{n}"), secs(0)));
    let downloads: Vec<_> = downloads.collect();
    for call in lookups.into_iter().chain(downloads) {
        assert_eq!(call.await.unwrap().unwrap(), 200);
    }
    let times = |part: &str| {
        let all = sent.lock().unwrap();
        let of = all.iter().filter(|(path, _)| path.contains(part));
        of.map(|(_, at)| *at).collect::<Vec<_>>()
    };
    assert!(times("download").iter().all(|at| *at < ms(750)));
    let gaps: Vec<_> = times("v1").windows(2).map(|w| w[1] - w[0]).collect();
    assert_eq!(gaps, [ms(750); 4]);
    // A download is refused: lookups and downloads alike stay away.
    let refused = get("/api/download/models/7".to_owned(), secs(0));
    assert_eq!(refused.await.unwrap().unwrap(), 429);
    for path in ["/api/v1/models/1", "/api/download/models/1"] {
        let error = get(path.to_owned(), secs(0)).await.unwrap().unwrap_err();
        assert!(error.turned().unwrap().is_rate_limited(), "{path}");
    }
}

/// One call may be exempt as well: a question that costs the vendor nothing.
#[tokio::test(start_paused = true)]
async fn e10_a_call_may_be_exempt_from_the_pace() {
    let p = Program::new(POLICY);
    let v = saying(&p, [ok(), ok(), ok(), asking(429, 60), ok()]);
    let mut options = abide::CallOptions::default();
    options.safety = Some(Safety::Read);
    options.paced = false;
    for _ in 0..4 {
        let attempt = |_| v.sim.ask("/");
        let called = p.governor.call_with(CIVITAI, &options, attempt).await;
        assert!(called.is_ok());
    }
    let gaps = v.arrivals.gaps();
    assert_eq!(gaps[..3], [ms(20); 3]);
    assert!(gaps[3] >= secs(60), "its refusal holds");
}

/// What another part of the program met is registered, and no more.
#[tokio::test(start_paused = true)]
async fn e10_a_refusal_met_elsewhere_is_registered() {
    let p = Program::new(POLICY);
    let v = saying(&p, [ok()]);
    let said = abide::Said::rate_limited().after(secs(75));
    p.governor.report(CIVITAI, &said);
    assert!(ask(&p.governor, CIVITAI, &v).await.is_ok());
    assert!(p.clock.elapsed() >= secs(75));
}

const HALVED: &str = r#"
[defaults]
attempts = 6
patience = "300s"

[providers.civitai]
rate = "10/s"
pace.adaptive = "interval"
pace.interval = { start = "200ms", factor = 2, max = "10s", off_below = "150ms", decay = 0.5 }
"#;

/// The user's own wish: on each refusal half the rate, from ten a second down to one in ten.
#[tokio::test(start_paused = true)]
async fn e14_each_refusal_halves_the_rate_down_to_one_in_ten_seconds() {
    let p = Program::new(HALVED);
    let mut replies = vec![ok(); 3];
    replies.extend(vec![asking(429, 1); 8]);
    replies.push(ok());
    let v = saying(&p, replies);
    let interval = || p.governor.provider(CIVITAI).state().interval;
    for _ in 0..3 {
        assert!(ask(&p.governor, CIVITAI, &v).await.is_ok());
    }
    assert_eq!(v.arrivals.gaps(), [ms(100); 2], "ten a second");
    assert_eq!(interval(), None);
    let mut kept = Vec::new();
    for _ in 0..8 {
        let mut options = abide::CallOptions::default();
        options.safety = Some(Safety::Read);
        options.attempts = Some(1);
        let attempt = |_| v.sim.ask("/");
        let called = p.governor.call_with(CIVITAI, &options, attempt).await;
        assert!(called.is_err());
        kept.push(interval().unwrap());
    }
    let expected = [200, 400, 800, 1_600, 3_200, 6_400, 10_000, 10_000].map(ms);
    assert_eq!(kept, expected);
    // That is what is kept from now on.
    let before = v.arrivals.count();
    assert!(together(&p, &v, 10).await.iter().all(|(e, _)| e.is_ok()));
    let gaps = v.arrivals.gaps().split_off(before);
    assert!(gaps.iter().all(|gap| *gap >= secs(10)), "{gaps:?}");
    // Twenty good answers in a row give half of it back.
    for _ in 0..20 {
        assert!(ask(&p.governor, CIVITAI, &v).await.is_ok());
    }
    assert_eq!(interval(), Some(secs(5)));
}

/// Against a vendor that allows less than anybody guessed: the refusals stop.
#[tokio::test(start_paused = true)]
async fn e14_the_rate_is_found_and_the_refusals_stop() {
    let p = Program::new(HALVED);
    let sim = Sim::new(TokenBucket::new(1, secs(2), 1), &p.clock);
    let v = Vendor {
        sim,
        arrivals: Arrivals::default(),
    };
    for _ in 0..400 {
        assert!(ask(&p.governor, CIVITAI, &v).await.is_ok());
    }
    let truth = v.sim.truth();
    assert_eq!(truth.accepted, 400);
    assert!(truth.refused < 40, "{} of 400", truth.refused);
    v.sim.assert_no_herd();
}
