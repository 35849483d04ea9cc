//! Many callers over much time: hours of refusals and outages, a restart, a network that is gone.
//! In virtual time.

#![allow(clippy::unwrap_used, reason = "a test may panic")]

use std::sync::atomic::{AtomicU32, Ordering};
use std::sync::{Arc, Mutex};
use std::time::Duration;

use abide::core::call::Safety;
use abide::core::classify::{Phase, Transport, TransportKind};
use abide::core::pace::{Fixed, Window};
use abide::core::policy::ProviderPolicy;
use abide::core::queue::Urgency;
use abide::core::refusal::RefusalKind;
use abide::core::run::RunPolicy;
use abide::core::{Instant, Verdict};
use abide::run::{Ended, Lookups};
use abide::store::{Memory, Store};
use abide::testing::{self, Virtual};
use abide::{CallError, CallOptions, Chain, Failed, Governor, Said};
use tokio::task::JoinSet;

const fn secs(n: u64) -> Duration {
    Duration::from_secs(n)
}

fn governor() -> (Arc<Virtual>, Governor) {
    let clock = testing::clock();
    let governor = testing::governor(&clock).build().unwrap();
    (clock, governor)
}

/// A read that is made once and waits for nothing.
fn unwilling() -> CallOptions {
    let mut options = CallOptions::default();
    options.safety = Some(Safety::Read);
    options.patience = Some(Duration::ZERO.into());
    options.attempts = Some(1);
    options
}

/// When requests were made.
#[derive(Default)]
struct Times(Mutex<Vec<Duration>>);

impl Times {
    fn push(&self, at: Duration) {
        self.0.lock().unwrap().push(at);
    }

    fn sorted(&self) -> Vec<Duration> {
        let mut all = self.0.lock().unwrap().clone();
        all.sort();
        all
    }
}

/// Eight callers that ask a provider once a second each for so long; when they were let through.
async fn asked_for(
    length: u64,
    answer: impl Fn(Duration) -> Result<(), Said> + Send + Sync + 'static,
) -> Vec<Duration> {
    let (clock, governor) = governor();
    let sent = Arc::new(Times::default());
    let answer = Arc::new(answer);
    let mut callers = JoinSet::new();
    for _ in 0..8 {
        let (governor, clock) = (governor.clone(), Arc::clone(&clock));
        let (sent, answer) = (Arc::clone(&sent), Arc::clone(&answer));
        callers.spawn(async move {
            for _ in 0..length {
                let ask = |_| {
                    let at = clock.elapsed();
                    sent.push(at);
                    let said = answer(at);
                    async move { said.map_err(|said| Failed::new((), said)) }
                };
                let _ = governor
                    .call_with("mirror.example", &unwilling(), ask)
                    .await;
                tokio::time::sleep(secs(1)).await;
            }
        });
    }
    while let Some(ended) = callers.join_next().await {
        ended.unwrap();
    }
    sent.sorted()
}

/// One call, counted where it is made.
async fn once(governor: &Governor, made: &AtomicU32) -> Result<(), CallError<()>> {
    let call = |_| {
        made.fetch_add(1, Ordering::Relaxed);
        async { Ok(()) }
    };
    governor.call_with("bot.example", &unwilling(), call).await
}

/// Five of five are used; whoever starts anew knows it until the day is over.
#[tokio::test(start_paused = true)]
async fn report_35_a_days_count_outlives_a_restart() {
    const DAY: u64 = 86_400;
    let clock = testing::clock();
    let store: Arc<dyn Store> = Arc::new(Memory::new([7; 32]));
    let start = || {
        let mut policy = ProviderPolicy::default();
        policy.provider.windows = vec![Fixed::new(5, secs(DAY), Instant::ORIGIN).into()];
        let governor = testing::governor(&clock).store(Arc::clone(&store));
        governor.policy(policy).build().unwrap()
    };
    let made = AtomicU32::new(0);
    let before = start();
    for _ in 0..5 {
        once(&before, &made).await.unwrap();
    }
    before.save().unwrap();
    drop(before);
    let after = start();
    let told = once(&after, &made).await.unwrap_err();
    assert_eq!(made.load(Ordering::Relaxed), 5);
    assert_eq!(told.turned().refusal.attempts, 0);
    let left = told.turned().refusal.retry_in(told.turned().at.now);
    assert!(left.unwrap() > secs(DAY - 60), "{left:?}");
    tokio::time::sleep(secs(DAY)).await;
    once(&after, &made).await.unwrap();
    assert_eq!(made.load(Ordering::Relaxed), 6);
}

/// An hour of bare refusals: the ladder, then once a minute for all callers together. Differs: it
/// begins at a second, not at a minute.
#[tokio::test(start_paused = true)]
async fn report_58_many_callers_refused_without_a_time_ask_once_a_minute() {
    let sent = asked_for(3_600, |_| Err(Said::rate_limited())).await;
    assert!((10..=80).contains(&sent.len()), "{}", sent.len());
    let late: Vec<_> = sent.iter().filter(|at| **at > secs(120)).collect();
    for pair in late.windows(2) {
        assert!(*pair[1] - *pair[0] >= secs(60), "{pair:?}");
    }
}

/// A scan of a thousand is spread out by the pace, and whoever waits for an answer goes before it.
#[tokio::test(start_paused = true)]
async fn report_72_a_scan_is_spread_out_and_makes_way() {
    let clock = testing::clock();
    let mut policy = ProviderPolicy::default();
    policy.provider.windows = vec![Window::interval(Duration::from_millis(100))];
    let governor = testing::governor(&clock).policy(policy).build().unwrap();
    let sent = Arc::new(Times::default());
    let mut scan = JoinSet::new();
    for _ in 0..1_000 {
        let (governor, clock, sent) = (governor.clone(), Arc::clone(&clock), Arc::clone(&sent));
        scan.spawn(async move {
            let mut options = CallOptions::default();
            options.urgency = Urgency::BULK;
            options.patience = Some(secs(600).into());
            let ask = |_| {
                sent.push(clock.elapsed());
                async { Ok::<_, Failed<()>>(()) }
            };
            governor.call_with("books.example", &options, ask).await
        });
    }
    tokio::time::sleep(secs(10)).await;
    let began = clock.elapsed();
    let ask = |_| async { Ok::<_, Failed<()>>(()) };
    let asked = governor.call("books.example", Safety::Read, ask).await;
    asked.unwrap();
    let waited = clock.elapsed() - began;
    assert!(waited <= Duration::from_millis(200), "{waited:?}");
    while let Some(ended) = scan.join_next().await {
        assert!(ended.unwrap().is_ok());
    }
    let all = sent.sorted();
    assert_eq!(all.len(), 1_000);
    for twelve in all.windows(12) {
        assert!(twelve[11] - twelve[0] >= secs(1), "{twelve:?}");
    }
}

/// Ten minutes of outage and eight callers that never tire: a handful of requests, and they are
/// served again soon after.
#[tokio::test(start_paused = true)]
async fn report_73_an_outage_is_asked_less_and_less_often() {
    const DOWN: Duration = secs(600);
    let answer = |at: Duration| match at < DOWN {
        true => Err(Said::unavailable()),
        false => Ok(()),
    };
    let sent = asked_for(1_200, answer).await;
    let (down, well): (Vec<Duration>, Vec<Duration>) = sent.iter().partition(|at| **at < DOWN);
    assert!((5..=12).contains(&down.len()), "{down:?}");
    assert!(well[0] <= DOWN + secs(300), "{:?}", well[0]);
    assert!(well.len() > 1_000, "{}", well.len());
}

/// Refusals that never end: the asking does, and every row is there with its end.
#[tokio::test(start_paused = true)]
async fn sc_h24_refusals_without_end_end_the_asking_and_keep_every_row() {
    let (clock, governor) = governor();
    let mut policy = RunPolicy::default();
    policy.concurrency = 1;
    let rows = Lookups::new(&governor, "books.example", policy);
    let asked = Arc::new(AtomicU32::new(0));
    let count = Arc::clone(&asked);
    let (mut failed, mut skipped) = (0, 0);
    rows.run(
        0..200,
        move |row| {
            let (governor, count) = (governor.clone(), Arc::clone(&count));
            async move {
                let find = |_| {
                    count.fetch_add(1, Ordering::Relaxed);
                    async { Err::<(), _>(Failed::new((), Said::rate_limited().after(secs(1)))) }
                };
                let options = row.options();
                governor.call_with("books.example", &options, find).await
            }
        },
        |_, ended| match ended {
            Ended::Failed(error) => {
                assert!(error.turned().is_rate_limited());
                failed += 1;
            }
            Ended::Skipped { cause, retry_at } => {
                assert_eq!(cause, Verdict::RateLimited);
                assert!(retry_at.is_some());
                skipped += 1;
            }
            other => panic!("{other:?}"),
        },
    )
    .await;
    assert_eq!((failed, skipped), (3, 197));
    let asked = asked.load(Ordering::Relaxed);
    assert!(asked <= 12, "{asked}");
    assert!(clock.elapsed() < secs(600), "{:?}", clock.elapsed());
}

const DEAD: Transport = Transport {
    phase: Phase::Connect,
    kind: TransportKind::Timeout,
};

/// Without a network nobody is asked in another's place, and nobody is held to have failed.
#[tokio::test(start_paused = true)]
async fn sc_b07_offline_nobody_is_switched_to_and_nobody_is_blamed() {
    let (_, governor) = governor();
    for name in ["one.example", "two.example"] {
        let dies = |_| async { Err::<(), _>(Failed::new((), Said::failed(DEAD))) };
        let ended = governor.call_with(name, &unwilling(), dies).await;
        ended.unwrap_err();
    }
    assert!(governor.is_offline());
    let asked = Arc::new(AtomicU32::new(0));
    let counted = || {
        let asked = Arc::clone(&asked);
        move |_, _: Arc<()>| {
            asked.fetch_add(1, Ordering::Relaxed);
            async { Ok::<_, Failed<()>>("switched") }
        }
    };
    let chain = Chain::new(&governor)
        .network("one.example", counted())
        .network("two.example", counted())
        .independent("three.example", counted())
        .patience(Duration::ZERO);
    let ended = chain.ask(()).await.unwrap_err();
    assert_eq!(ended.turned().refusal.kind, RefusalKind::Offline);
    assert_eq!(asked.load(Ordering::Relaxed), 0);
    for name in ["one.example", "two.example", "three.example"] {
        let state = governor.provider(name).state();
        assert_eq!((state.failures, state.healthy), (0, true), "{name}");
    }
}

/// Only what our own transport met tells of our network; words of a provider's do not.
#[tokio::test(start_paused = true)]
async fn sc_b09_a_providers_words_make_no_outage() {
    const WORDS: &str = "connect: network is unreachable (os error 101)";
    let (_, governor) = governor();
    for name in ["one.example", "two.example", "three.example"] {
        let echoes = |_| async {
            let head = http::HeaderMap::new();
            let said = Said::answer(http::StatusCode::BAD_GATEWAY, &head).body(WORDS);
            Err::<(), _>(Failed::new(std::io::Error::other(WORDS), said))
        };
        let ended = governor.call_with(name, &unwilling(), echoes).await;
        assert_eq!(ended.unwrap_err().cause(), Some(Verdict::Unavailable));
        assert!(!governor.is_offline(), "{name}");
    }
    let ask = |_| async { Ok::<_, Failed<()>>(()) };
    let asked = governor.call("four.example", Safety::Read, ask).await;
    asked.unwrap();
}
