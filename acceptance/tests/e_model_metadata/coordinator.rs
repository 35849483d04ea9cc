//! Items 2, 3, 6, 8, 9 and 11: how long, for whom, and who says so.

use abide::core::policy::Mode;
use abide::core::refusal::RefusalKind;
use abide::{CallOptions, Patience};
use abide_acceptance::log::Log;
use abide_acceptance::script::{asking, bare, hinting, ok};
use tokio::time::sleep;
use tracing::Level;

use crate::*;

fn unwilling() -> CallOptions {
    let mut options = CallOptions::default();
    options.safety = Some(Safety::Read);
    options.patience = Some(Patience::FailFast);
    options
}

async fn ask_once(p: &Program, name: &str, v: &Vendor) -> Ended {
    let attempt = |_| v.sim.ask("/");
    let called = p.governor.call_with(name, &unwilling(), attempt).await;
    called.map(drop)
}

/// 30 s, doubled by each refusal in a row, at most 1800 s; a success begins anew.
#[tokio::test(start_paused = true)]
async fn e02_a_refusal_without_a_hint_doubles_from_thirty_seconds_to_thirty_minutes() {
    for name in [CIVITAI, "vendor.example"] {
        let p = Program::new(POLICY);
        let mut replies = vec![bare(429); 9];
        replies.extend([ok(), bare(429)]);
        let v = saying(&p, replies);
        for wait in [30, 60, 120, 240, 480, 960, 1_800, 1_800, 1_800] {
            assert!(ask_once(&p, name, &v).await.is_err());
            assert_eq!(held_for(&p.governor, name), secs(wait), "{name}");
            sleep(secs(wait)).await;
        }
        assert!(ask_once(&p, name, &v).await.is_ok());
        sleep(secs(1)).await;
        assert!(ask_once(&p, name, &v).await.is_err());
        assert_eq!(held_for(&p.governor, name), secs(30), "{name}");
    }
}

/// What is left is there to be shown, and is each destination's own.
#[tokio::test(start_paused = true)]
async fn e02_what_remains_is_told_for_each_destination() {
    let p = Program::new(POLICY);
    let v = saying(&p, [asking(429, 75), ok()]);
    assert!(ask_once(&p, CIVITAI, &v).await.is_err());
    sleep(secs(5)).await;
    let state = p.governor.provider(CIVITAI).state();
    assert!(!state.available);
    assert_eq!(held_for(&p.governor, CIVITAI), secs(70));
    assert!(p.governor.provider(CIVARCHIVE).is_available());
    assert!(ask_once(&p, CIVARCHIVE, &v).await.is_ok());
}

/// The longer of two asks counts, and a shorter one shortens nothing.
#[tokio::test(start_paused = true)]
async fn e02_the_longest_word_counts() {
    let p = Program::new(POLICY);
    let v = saying(&p, [asking(429, 90)]);
    assert!(ask_once(&p, CIVITAI, &v).await.is_err());
    let said = abide::Said::rate_limited();
    p.governor.report(CIVITAI, &said.clone().after(secs(20)));
    assert_eq!(held_for(&p.governor, CIVITAI), secs(90));
    p.governor.report(CIVITAI, &said.after(secs(200)));
    assert_eq!(held_for(&p.governor, CIVITAI), secs(200));
}

/// A zero says nothing there.
#[tokio::test(start_paused = true)]
async fn e02_a_zero_counts_as_no_hint() {
    let p = Program::new(POLICY);
    let v = saying(&p, [hinting(429, "0")]);
    assert!(ask_once(&p, CIVITAI, &v).await.is_err());
    assert_eq!(held_for(&p.governor, CIVITAI), secs(30));
}

#[tokio::test(start_paused = true)]
async fn e03_a_refused_lookup_waits_and_is_sent_again() {
    let p = Program::new(POLICY);
    let v = saying(&p, [asking(429, 75), asking(429, 100), ok()]);
    assert!(ask(&p.governor, CIVITAI, &v).await.is_ok());
    let waits: Vec<_> = v.arrivals.gaps().iter().map(|g| *g - ms(20)).collect();
    assert_eq!(waits, [secs(75), secs(100)]);
}

#[tokio::test(start_paused = true)]
async fn e03_an_ask_beyond_the_cap_fails_at_once() {
    for (ask_for, sends) in [(299, 2), (300, 2), (301, 1), (1_500, 1), (7_200, 1)] {
        let p = Program::new(POLICY);
        let v = saying(&p, [asking(429, ask_for), ok()]);
        let began = p.clock.now();
        let ended = ask(&p.governor, CIVITAI, &v).await;
        assert_eq!(v.arrivals.count(), sends, "{ask_for}");
        if sends == 1 {
            let error = ended.unwrap_err();
            let turned = error.turned();
            assert_eq!(p.clock.now().since(began), ms(20), "{ask_for}: at once");
            assert_eq!(turned.refusal.attempts, 1);
            let ask = turned.refusal.ask.unwrap().until;
            assert_eq!(ask.since(turned.at.now), secs(ask_for), "the true ask");
        }
    }
}

/// The wait was done below: an outer helper that repeats sees it, and adds none of its own.
#[tokio::test(start_paused = true)]
async fn e06_the_error_tells_that_waiting_was_done() {
    let p = Program::new(POLICY);
    let v = saying(&p, [asking(429, 100)]);
    let began = p.clock.now();
    let mut slept = Duration::ZERO;
    for _ in 0..3 {
        let Err(error) = ask(&p.governor, CIVITAI, &v).await else {
            panic!("an answer");
        };
        let refusal = &error.turned().refusal;
        let handled = refusal.waited > Duration::ZERO || refusal.kind == RefusalKind::Held;
        if handled {
            break;
        }
        slept += secs(30);
        sleep(secs(30)).await;
    }
    assert_eq!(slept, Duration::ZERO);
    assert!(p.clock.now().since(began) <= secs(301));
}

/// Three settings, the first two and the pace alike read anew for each call.
#[tokio::test(start_paused = true)]
async fn e08_the_gate_the_cap_and_the_interval_are_settings() {
    // The gate off: answers are handed on, and nobody is held.
    let p = Program::new(POLICY);
    let v = saying(&p, [asking(429, 75)]);
    p.governor.provider(CIVITAI).set_mode(Mode::Observe);
    for _ in 0..3 {
        assert!(ask(&p.governor, CIVITAI, &v).await.is_err());
    }
    assert_eq!(v.arrivals.gaps(), [ms(20), ms(20)]);
    p.governor.provider(CIVITAI).set_mode(Mode::Enforce);
    sleep(secs(75)).await;
    let v = saying(&p, [asking(429, 75), ok()]);
    assert!(ask(&p.governor, CIVITAI, &v).await.is_ok());
    assert!(v.arrivals.gaps()[0] >= secs(75));
    // The cap.
    let p = Program::new(&POLICY.replace("300s", "60s"));
    let v = saying(&p, [asking(429, 75), ok()]);
    assert!(ask(&p.governor, CIVITAI, &v).await.is_err());
    assert_eq!(v.arrivals.count(), 1);
    // The interval.
    let p = Program::new(&POLICY.replace("1/750ms", "1/2s"));
    let v = saying(&p, [ok()]);
    together(&p, &v, 5).await;
    assert_eq!(v.arrivals.gaps(), [secs(2); 4]);
}

/// Once loudly for each window, and quietly for whoever meets it afterwards.
#[tokio::test(start_paused = true)]
async fn e09_a_hold_is_told_once_and_then_quietly() {
    let log = Log::begin();
    let p = Program::new(POLICY);
    let v = saying(&p, [asking(429, 60), asking(429, 90), ok()]);
    let ended = together(&p, &v, 12).await;
    assert!(ended.iter().all(|(e, _)| e.is_ok()));
    let told = log.records(Level::INFO, "held");
    assert_eq!(told.len(), 2, "one a window: {told:?}");
    assert!(told[0].contains("cause=\"rate_limited\""), "{told:?}");
    assert!(told[0].contains("source=\"retry-after\""), "{told:?}");
    assert_eq!(log.records(Level::WARN, ""), Vec::<String>::new());
    let longer = abide::Said::rate_limited();
    p.governor.report(CIVITAI, &longer.clone().after(secs(50)));
    p.governor.report(CIVITAI, &longer.after(secs(80)));
    assert_eq!(log.records(Level::INFO, "held").len(), 3);
    assert_eq!(log.records(Level::DEBUG, "held for longer").len(), 1);
}

/// A person at the screen and a batch wait alike: 0.75 s, 300 s, and a window of 1500 s is not
/// sat out by anybody.
#[tokio::test(start_paused = true)]
async fn e11_everybody_has_the_same_bounded_wait() {
    for of in [abide_config::Use::Call, abide_config::Use::Fetch] {
        let p = Program::with(POLICY, of, |governor| governor);
        let call = p.setup.config().call(of, Some(CIVITAI));
        let run = p.setup.config().run(Some(CIVITAI));
        assert_eq!((call.patience, run.patience), (secs(300), secs(300)));
        assert_eq!(call.attempts, 6);
    }
    let p = Program::new(POLICY);
    let v = saying(&p, [asking(429, 1_500)]);
    assert!(ask(&p.governor, CIVARCHIVE, &v).await.is_err());
    assert_eq!(p.clock.elapsed(), ms(20), "not parked for 25 minutes");
}
