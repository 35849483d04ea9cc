//! The seventh provider: GraphQL, tiers and a day's quota for each account, a pace learned from
//! refusals.

use std::sync::Arc;
use std::time::Duration;

use abide::core::call::Safety;
use abide::core::refusal::RefusalKind;
use abide::layer::Options;
use abide::{Failed, Said};
use abide_acceptance::Program;
use abide_acceptance::wire::{Came, Http, Missed, Script, asking, bare, good, json, with};
use http::{HeaderMap, Method, StatusCode};

use crate::common::{LOOP, One, TRIP, ms, secs};

pub(crate) const HOST: &str = "api.hardcover.app";
const URL: &str = "https://api.hardcover.app/v1/graphql";

/// Three attempts, and the known steps of an interval; no pace before the first refusal.
const HARDCOVER: &str = r#"
[providers.hardcover]
attempts = 3
pace.adaptive = "interval"
pace.interval.start = "1s"
pace.interval.factor = 2.0
pace.interval.max = "8s"
pace.interval.decay_after = 20
pace.interval.decay = 0.5
pace.interval.off_below = "500ms"
override = true
account.limits = ["1000000/s"]
"#;

const RATE: &str = r#"{"errors":[{"message":"Rate limit exceeded. Try again in 2 seconds.","extensions":{"code":"rate-limit"}}]}"#;
const QUERY: &str = r#"{"errors":[{"message":"field 'nope' not found in type: 'query_root'"}]}"#;
pub(crate) const DATA: &str = r#"{"data":{"me":[{"id":1}]}}"#;

pub(crate) fn hardcover(script: Script) -> One {
    One::with(&format!("{LOOP}{HARDCOVER}"), (HOST, URL), script)
}

pub(crate) async fn ask(
    http: &Http,
    token: &str,
    tell: impl FnOnce(&mut Options),
) -> Result<Came, Missed> {
    let tell = |o: &mut Options| {
        o.safety = Some(Safety::Read);
        tell(o);
    };
    let query = r#"{"query":"{ me { id } }"}"#;
    http.request(Method::POST, URL, query, Some(token), tell)
        .await
}

pub(crate) fn once(o: &mut Options) {
    o.patience = Some(Duration::ZERO);
}

fn interval(one: &One) -> Option<Duration> {
    one.program.governor.provider("hardcover").state().interval
}

/// One pace for all copies of an account's client, none for another account's.
#[tokio::test(start_paused = true)]
async fn a13_hardcover_keeps_a_pace_of_its_own_for_each_account() {
    let script = Script::new(|n, _, _| if n == 0 { asking(429, 1) } else { good() });
    let one = hardcover(script);
    ask(&one.http, "mine", |_| {}).await.unwrap();
    assert_eq!(interval(&one), Some(secs(1)));
    let copy = one.http.clone();
    let before = one.came.count();
    for n in 0..4 {
        let http = if n % 2 == 0 { &one.http } else { &copy };
        ask(http, "mine", |_| {}).await.unwrap();
    }
    let paced = one.came.gaps()[before - 1..].to_vec();
    assert!(paced.iter().all(|gap| *gap >= secs(1)), "{paced:?}");
    let before = one.elapsed();
    for _ in 0..4 {
        ask(&one.http, "another", |_| {}).await.unwrap();
    }
    assert_eq!(one.elapsed() - before, 4 * TRIP);
}

/// An account never refused is never paced.
#[tokio::test(start_paused = true)]
async fn a2_no_pace_before_the_first_refusal() {
    let one = hardcover(Script::of([good()]));
    for _ in 0..100 {
        ask(&one.http, "mine", |_| {}).await.unwrap();
    }
    assert_eq!((one.elapsed(), interval(&one)), (100 * TRIP, None));
}

/// 1 s, doubled by each refusal, 8 s at most; 20 answers halve it, 60 from 1 s take it off.
#[tokio::test(start_paused = true)]
async fn a2_the_numbers_of_the_pace() {
    let script = Script::new(|n, _, _| if n < 5 { bare(429) } else { json(200, DATA) });
    let one = hardcover(script);
    let mut steps = Vec::new();
    for _ in 0..5 {
        let came = ask(&one.http, "mine", once).await.unwrap();
        assert_eq!(came.status, 429);
        steps.push(interval(&one).unwrap());
        tokio::time::sleep(secs(40)).await;
    }
    assert_eq!(steps, [1, 2, 4, 8, 8].map(secs));
    let mut count = 0;
    let mut at = Vec::new();
    while let Some(now) = interval(&one) {
        ask(&one.http, "mine", |_| {}).await.unwrap();
        count += 1;
        if interval(&one) != Some(now) {
            at.push((count, interval(&one)));
        }
    }
    let halved = [8_000, 4_000, 2_000, 1_000, 500, 250];
    let rounds = (1..).map(|n| n * 20);
    let wanted = rounds.zip(halved[1..].iter().map(|n| Some(ms(*n))).chain([None]));
    assert_eq!(at, wanted.collect::<Vec<_>>());
    // From 1 s (after 60) three rounds.
    assert_eq!(count, 120);
    let one = hardcover(Script::new(
        |n, _, _| if n < 1 { bare(429) } else { good() },
    ));
    ask(&one.http, "mine", once).await.unwrap();
    for n in 0..60 {
        assert!(interval(&one).is_some(), "{n}");
        ask(&one.http, "mine", |_| {}).await.unwrap();
    }
    assert_eq!(interval(&one), None);
}

/// The longer of the hint and the interval, and 30 s at most.
#[tokio::test(start_paused = true)]
async fn a2_a_refused_account_is_held_for_30_s_at_most() {
    for (said, least) in [(3600, 30), (30, 30), (12, 12), (1, 1)] {
        let one = hardcover(Script::of([asking(429, said), good()]));
        ask(&one.http, "mine", |_| {}).await.unwrap();
        assert_eq!(one.came.gaps(), [secs(least) + TRIP], "{said}");
    }
    // A hint of 1 s while the interval is 4 s: the interval.
    let script = Script::new(|n, _, _| match n {
        0..=2 => asking(429, 1),
        _ => good(),
    });
    let one = hardcover(script);
    for _ in 0..2 {
        ask(&one.http, "mine", once).await.unwrap();
        tokio::time::sleep(secs(30)).await;
    }
    ask(&one.http, "mine", |_| {}).await.unwrap();
    assert_eq!(interval(&one), Some(secs(4)));
    let gap = *one.came.gaps().last().unwrap();
    assert!(gap >= secs(4), "{gap:?}");
}

/// Each who waits has a slot of its own; who cannot wait for one takes none.
#[tokio::test(start_paused = true)]
async fn a2_waiters_get_slots_and_a_caller_without_time_uses_none_up() {
    let one = hardcover(Script::new(|n, _, _| match n {
        0 => asking(429, 2),
        _ => good(),
    }));
    let three = tokio::join!(
        ask(&one.http, "mine", |_| {}),
        ask(&one.http, "mine", |_| {}),
        ask(&one.http, "mine", |_| {}),
    );
    assert!(three.0.is_ok() && three.1.is_ok() && three.2.is_ok());
    let slots: Vec<_> = one.came.gaps().into_iter().rev().take(2).collect();
    assert!(slots.iter().all(|gap| *gap >= secs(1)), "{slots:?}");
    // The next slot is a second away: one who has half of it fails at once and leaves it free.
    let before = one.elapsed();
    let late = ask(&one.http, "mine", |o| o.deadline = Some(ms(500))).await;
    let missed = late.unwrap_err();
    let kind = missed.turned().unwrap().refusal.kind;
    assert_eq!(kind, RefusalKind::DeadlineTooSoon);
    assert_eq!(one.elapsed(), before);
    ask(&one.http, "mine", |_| {}).await.unwrap();
    assert!(one.elapsed() - before <= secs(1) + TRIP);
}

/// Three attempts; statuses as everywhere.
#[tokio::test(start_paused = true)]
async fn a2_hardcover_is_asked_three_times() {
    for status in [429, 502, 503, 504] {
        let one = hardcover(Script::of([bare(status)]));
        let came = ask(&one.http, "mine", |_| {}).await.unwrap();
        assert_eq!((came.status.as_u16(), one.came.count()), (status, 3));
    }
}

/// The header first, else the words; a zero or too much for a number is none.
#[tokio::test(start_paused = true)]
async fn a2_a_wait_told_in_words() {
    for (words, wait) in [
        (
            "API rate limit exceeded for tier 'Free'. Try again in 1 seconds.",
            secs(1),
        ),
        ("Token bucket exhausted, retry after 30s", secs(30)),
        ("Too many requests, retry in 12 s", secs(12)),
        // Clamped, as every wait.
        ("Too many requests, retry in 2m", secs(30)),
        ("Too many requests. Try again in 3 hours.", secs(30)),
        ("Too many requests, retry in 0s", secs(1)),
        ("Too many requests", secs(1)),
    ] {
        let body = format!(r#"{{"error":"{words}"}}"#);
        let one = hardcover(Script::of([json(429, &body), good()]));
        ask(&one.http, "mine", |_| {}).await.unwrap();
        let gap = one.came.gaps()[0];
        // Without a hint the interval, which is 1 s by then.
        assert!(gap >= wait && gap <= wait + secs(1), "{words}: {gap:?}");
        let both = with(json(429, &body), "retry-after", "7");
        let one = hardcover(Script::of([both, good()]));
        ask(&one.http, "mine", |_| {}).await.unwrap();
        assert_eq!(one.came.gaps(), [secs(7) + TRIP], "{words}");
    }
    // The true ask is told, whatever is believed of it.
    let hours = json(
        429,
        r#"{"error":"Too many requests. Try again in 3 hours."}"#,
    );
    let one = hardcover(Script::of([hours]));
    let came = ask(&one.http, "mine", once).await.unwrap();
    let refusal = &came.turned().refusal;
    assert_eq!(refusal.retry_in(came.turned().at.now), Some(secs(10_800)));
}

/// Told before anything else is: a limit, an ordinary error, a clean answer.
#[tokio::test(start_paused = true)]
async fn a14_errors_in_a_200_are_read_before_the_pace_hears_of_it() {
    // A limit: three attempts, its own hint, a pace, and the mark.
    let one = hardcover(Script::of([json(200, RATE)]));
    let came = ask(&one.http, "mine", |_| {}).await.unwrap();
    assert_eq!((came.status.as_u16(), one.came.count()), (200, 3));
    assert!(came.turned().is_rate_limited());
    assert!(interval(&one) > Some(Duration::ZERO));
    let gaps = one.came.gaps();
    assert!(gaps.iter().all(|gap| *gap >= secs(2)), "{gaps:?}");

    // An ordinary error: one attempt, and the pace hears nothing. With data beside it, too.
    for error in [
        QUERY,
        r#"{"data":{"me":null},"errors":[{"message":"x"}]}"#,
        r#"{"errors":[{"message":"my book is called: rate limit"}]}"#,
    ] {
        let one = hardcover(Script::of([json(200, error)]));
        let came = ask(&one.http, "mine", |_| {}).await.unwrap();
        assert_eq!((one.came.count(), interval(&one)), (1, None));
        assert!(came.turned.is_none(), "handed on as it is");
    }

    // Only a clean answer counts toward taking the pace off.
    let script = Script::new(|n, _, _| match n {
        0 => bare(429),
        1..=19 => json(200, DATA),
        20..=29 => json(200, QUERY),
        _ => json(200, DATA),
    });
    let one = hardcover(script);
    ask(&one.http, "mine", once).await.unwrap();
    for _ in 0..29 {
        ask(&one.http, "mine", |_| {}).await.unwrap();
        assert_eq!(interval(&one), Some(secs(1)), "{}", one.came.count());
    }
    ask(&one.http, "mine", |_| {}).await.unwrap();
    assert_eq!(interval(&one), Some(ms(500)));
}

/// The same where the program keeps its own transport: it hands over what it got.
#[tokio::test(start_paused = true)]
async fn a14_a_transport_of_the_programs_own_is_judged_alike() {
    #[derive(Debug, PartialEq, Eq)]
    struct GraphqlErrors(String);

    let program = Program::new(&format!("{LOOP}{HARDCOVER}"));
    for (body, attempts, limited) in [(RATE, 3, true), (QUERY, 1, false)] {
        let made = Arc::new(std::sync::atomic::AtomicU32::new(0));
        let ended = program
            .governor
            .call("hardcover", Safety::Read, |_| {
                made.fetch_add(1, std::sync::atomic::Ordering::Relaxed);
                let said = Said::answer(StatusCode::OK, &HeaderMap::new())
                    .path("/v1/graphql")
                    .body(body);
                let error = GraphqlErrors(body.to_owned());
                async move { Err::<(), _>(Failed::new(error, said)) }
            })
            .await;
        let error = ended.unwrap_err();
        assert_eq!(error.turned().is_rate_limited(), limited);
        assert_eq!(made.load(std::sync::atomic::Ordering::Relaxed), attempts);
        assert_eq!(error.into_error(), Some(GraphqlErrors(body.to_owned())));
    }
}
