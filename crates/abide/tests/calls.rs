//! Any future under a provider's gates, chains, reports and probers: in virtual time.

#![allow(clippy::unwrap_used, reason = "a test may panic")]

use std::sync::Arc;
use std::sync::atomic::{AtomicU32, Ordering};
use std::time::Duration;

use abide::core::Verdict;
use abide::core::call::Safety;
use abide::core::classify::{Phase, Transport, TransportKind};
use abide::core::ladder::Ladder;
use abide::core::pace::Sliding;
use abide::core::policy::ProviderPolicy;
use abide::core::refusal::RefusalKind;
use abide::sim::policy::TokenBucket;
use abide::testing::{self, Sim};
use abide::{CallError, CallOptions, Chain, Failed, Governor, Said, View};

const fn secs(n: u64) -> Duration {
    Duration::from_secs(n)
}

fn governor() -> (Arc<testing::Virtual>, Governor) {
    let clock = testing::clock();
    let governor = testing::governor(&clock).build().unwrap();
    (clock, governor)
}

const RESET: Transport = Transport {
    phase: Phase::Head,
    kind: TransportKind::Reset,
};

/// An error without Clone, Display or anything else.
struct Own(u32);

#[tokio::test(start_paused = true)]
async fn the_error_of_an_attempt_comes_back_as_it_was() {
    let (_, governor) = governor();
    let ended = governor
        .call("sdk", Safety::Read, |attempt| async move {
            Err::<(), _>(Failed::new(Own(attempt.number()), Said::failed(RESET)))
        })
        .await;
    let Err(CallError::Failed { error, turned }) = ended else {
        panic!("turned away");
    };
    assert_eq!((error.0, turned.refusal.attempts), (4, 4));
    assert_eq!(turned.refusal.kind, RefusalKind::AttemptsSpent);
}

#[tokio::test(start_paused = true)]
async fn a_write_of_an_sdk_is_made_once() {
    let (_, governor) = governor();
    let made = AtomicU32::new(0);
    let ended = governor
        .call("sdk", Safety::Write, |_| async {
            made.fetch_add(1, Ordering::Relaxed);
            Err::<(), _>(Failed::new((), Said::rate_limited().after(secs(1))))
        })
        .await;
    assert!(ended.is_err());
    assert_eq!(made.into_inner(), 1);
}

#[tokio::test(start_paused = true)]
async fn what_an_sdk_is_told_holds_every_call_of_its_provider() {
    let (clock, governor) = governor();
    let sim = Sim::new(TokenBucket::new(10, secs(1), 1), &clock);
    for n in 0..40 {
        let path = format!("/item/{n}");
        let ask = |_| sim.ask(path.clone());
        governor
            .call("shop.example", Safety::Read, ask)
            .await
            .unwrap();
    }
    sim.assert_no_send_inside_hold();
    sim.assert_no_herd();
}

#[tokio::test(start_paused = true)]
async fn what_was_met_elsewhere_holds_and_heals_nothing() {
    let (clock, governor) = governor();
    governor.report("shop.example", &Said::rate_limited().after(secs(60)));
    governor.report("shop.example", &Said::client_error());
    let began = clock.elapsed();
    let mut options = CallOptions::default();
    options.safety = Some(Safety::Read);
    options.patience = Some(secs(90).into());
    let call = governor.call_with("shop.example", &options, |_| async {
        Ok::<_, Failed<()>>(clock.elapsed())
    });
    let sent = call.await.unwrap();
    assert!(sent - began >= secs(60), "{:?}", sent - began);
}

#[tokio::test(start_paused = true)]
async fn dropping_a_call_anywhere_frees_its_place() {
    let clock = testing::clock();
    let mut policy = ProviderPolicy::default();
    policy.provider.concurrency = 1;
    let governor = testing::governor(&clock).policy(policy).build().unwrap();
    let hang = governor.call("a", Safety::Read, |_| {
        std::future::pending::<Result<(), Failed<()>>>()
    });
    let waits = governor.call("a", Safety::Read, |_| async { Ok::<_, Failed<()>>(()) });
    tokio::select! {
        biased;
        _ = hang => unreachable!(),
        _ = tokio::time::sleep(secs(1)) => {}
    }
    waits.await.unwrap();
    assert_eq!(governor.provider("a").state().in_flight, 0);
}

#[tokio::test(start_paused = true)]
async fn one_deadline_bounds_a_whole_chain() {
    let (clock, governor) = governor();
    let slow = |_, _: Arc<()>| async {
        tokio::time::sleep(secs(6)).await;
        Err::<(), _>(Failed::new((), Said::not_found()))
    };
    let chain = Chain::new(&governor)
        .network("one.example", slow)
        .network("two.example", slow)
        .network("three.example", slow)
        .deadline(secs(10));
    let ended = chain.ask(()).await.unwrap_err();
    assert_eq!(clock.elapsed(), secs(10));
    assert!(
        ended.is_not_found(),
        "a confirmed miss beats what ran out of time"
    );
}

#[tokio::test(start_paused = true)]
async fn a_chain_asks_the_next_once_the_first_is_known_to_be_down() {
    let (_, governor) = governor();
    let asked = Arc::new(AtomicU32::new(0));
    let count = Arc::clone(&asked);
    let chain = Chain::new(&governor)
        .network("one.example", |_, _: Arc<()>| async {
            Err(Failed::new("down", Said::failed(RESET)))
        })
        .network("two.example", move |_, _| {
            count.fetch_add(1, Ordering::Relaxed);
            async { Ok("two") }
        });
    let first = chain.ask(()).await.unwrap_err();
    assert_eq!(first.error.into_error(), Some("down"));
    assert_eq!(asked.load(Ordering::Relaxed), 0);
    let second = chain.ask(()).await.unwrap();
    assert!(second.degraded);
    assert_eq!(&*second.by, "two.example");
}

#[tokio::test(start_paused = true)]
async fn c04_whoever_failed_is_hidden_until_a_prober_finds_it_well() {
    let clock = testing::clock();
    let mut policy = ProviderPolicy::default();
    policy.breaker = None;
    policy.provider.ladder = Ladder::Steps([5, 10, 20].map(secs).to_vec());
    let governor = testing::governor(&clock).policy(policy).build().unwrap();
    let names = ["hoster.example"];
    assert!(governor.shown(&names, View::Healthy).is_err());
    let well_at = clock.elapsed() + secs(12);
    let probed = Arc::new(AtomicU32::new(0));
    let prober = {
        let (clock, probed) = (Arc::clone(&clock), Arc::clone(&probed));
        governor.keep_probing(names[0], move |_| {
            probed.fetch_add(1, Ordering::Relaxed);
            let well = clock.elapsed() >= well_at;
            async move {
                match well {
                    true => Ok(()),
                    false => Err(Failed::new((), Said::failed(RESET))),
                }
            }
        })
    };
    let failed = governor
        .call(names[0], Safety::Write, |_| async {
            Err::<(), _>(Failed::new((), Said::failed(RESET)))
        })
        .await;
    assert_eq!(failed.unwrap_err().cause(), Some(Verdict::Unavailable));
    assert!(governor.shown(&names, View::Healthy).unwrap().is_empty());
    assert_eq!(governor.shown(&names, View::Available).unwrap().len(), 1);
    tokio::time::sleep(secs(60)).await;
    assert_eq!(governor.shown(&names, View::Healthy).unwrap().len(), 1);
    let tries = probed.load(Ordering::Relaxed);
    assert!((2..=4).contains(&tries), "{tries} tries");
    drop(prober);
    assert!(governor.shown(&names, View::Healthy).is_err());
}

#[tokio::test(start_paused = true)]
async fn ra_45_when_all_are_refused_the_earliest_time_is_told() {
    let (_, governor) = governor();
    let busy = |wait: u64| {
        move |_, _: Arc<()>| async move {
            Err::<(), _>(Failed::new((), Said::rate_limited().after(secs(wait))))
        }
    };
    let chain = Chain::new(&governor)
        .network("one.example", busy(90))
        .independent("two.example", busy(40))
        .patience(Duration::ZERO);
    let ended = chain.ask(()).await.unwrap_err();
    let turned = ended.turned();
    assert_eq!(&*ended.by, "one.example");
    assert_eq!(turned.retry_at().unwrap().since(turned.at.wall), secs(40));
}

/// Lookups against a provider that answers so, one worker: how they ended, and how often it was
/// asked.
async fn look_up(
    rows: u32,
    answer: impl Fn(u32) -> Result<(), Said> + Send + Sync + 'static,
) -> (abide::run::LookedUp, u32, Duration) {
    let (clock, governor) = governor();
    let asked = Arc::new(AtomicU32::new(0));
    let mut policy = abide::core::run::RunPolicy::default();
    policy.concurrency = 1;
    policy.patience = secs(30);
    let rows_of = abide::run::Lookups::new(&governor, "books.example", policy);
    let (count, answer) = (Arc::clone(&asked), Arc::new(answer));
    let mut ended = 0;
    let sum = rows_of
        .run(
            0..rows,
            move |row| {
                let (governor, count) = (governor.clone(), Arc::clone(&count));
                let answer = Arc::clone(&answer);
                async move {
                    let find = |_| {
                        let n = count.fetch_add(1, Ordering::Relaxed);
                        let answer = answer(n);
                        async move { answer.map_err(|said| Failed::new((), said)) }
                    };
                    governor
                        .call_with("books.example", &row.options(), find)
                        .await
                }
            },
            |_, _| ended += 1,
        )
        .await;
    assert_eq!(ended, rows, "no row is silently absent");
    (sum, asked.load(Ordering::Relaxed), clock.elapsed())
}

#[tokio::test(start_paused = true)]
async fn a16_lookups_wait_a_hold_out_and_lose_no_row() {
    let limited = |n: u32| match n % 10 {
        9 => Err(Said::rate_limited().after(secs(5))),
        _ => Ok(()),
    };
    let (sum, asked, _) = look_up(100, limited).await;
    assert_eq!((sum.found, sum.failed, sum.skipped), (100, 0, 0));
    assert_eq!(asked, 111);
}

#[tokio::test(start_paused = true)]
async fn a18_three_lookups_still_refused_end_the_asking() {
    let refuses = |_| Err(Said::rate_limited().after(secs(20)));
    let (sum, asked, _) = look_up(1_000, refuses).await;
    assert_eq!((sum.found, sum.failed, sum.skipped), (0, 3, 997));
    assert!(asked <= 12, "{asked}");
}

#[tokio::test(start_paused = true)]
async fn a21_a_used_up_day_ends_the_asking_at_the_first_lookup() {
    let used_up = |_| Err(Said::quota_exhausted().after(secs(40_000)));
    let (sum, asked, took) = look_up(1_000, used_up).await;
    assert_eq!((sum.failed, sum.skipped, asked), (1, 999, 1));
    assert!(took < secs(1), "{took:?}");
}

#[tokio::test(start_paused = true)]
async fn a_failed_row_fails_alone() {
    let broken = |n| match n {
        3 => Err(Said::client_error()),
        _ => Ok(()),
    };
    let (sum, _, _) = look_up(50, broken).await;
    assert_eq!((sum.found, sum.failed, sum.skipped), (49, 1, 0));
}

#[tokio::test(start_paused = true)]
async fn ra_14_a_rate_is_one_over_clones() {
    let clock = testing::clock();
    let mut policy = ProviderPolicy::default();
    policy.provider.concurrency = 1_000;
    policy.provider.windows = vec![Sliding::new(5, secs(1)).into()];
    let governor = testing::governor(&clock).policy(policy).build().unwrap();
    let sent = Arc::new(times::Times::default());
    let mut calls = tokio::task::JoinSet::new();
    for _ in 0..100 {
        let (governor, clock, sent) = (governor.clone(), Arc::clone(&clock), Arc::clone(&sent));
        calls.spawn(async move {
            let mut options = CallOptions::default();
            options.patience = Some(secs(600).into());
            let ask = |_| {
                sent.push(clock.elapsed());
                async { Ok::<_, Failed<()>>(()) }
            };
            governor.call_with("shop.example", &options, ask).await
        });
    }
    while let Some(ended) = calls.join_next().await {
        assert!(ended.unwrap().is_ok());
    }
    let all = sent.sorted();
    assert_eq!(all.len(), 100);
    for six in all.windows(6) {
        assert!(six[5] - six[0] >= secs(1), "{six:?}");
    }
}

#[tokio::test(start_paused = true)]
async fn sc_b13_a_breaker_stays_in_its_process_and_a_hold_does_not() {
    let clock = testing::clock();
    let store: Arc<dyn abide::store::Store> = Arc::new(abide::store::Memory::new([7; 32]));
    let process = || {
        let governor = testing::governor(&clock).store(Arc::clone(&store));
        governor.build().unwrap()
    };
    let (one, two) = (process(), process());
    for _ in 0..5 {
        let failing = |_| async { Err::<(), _>(Failed::new((), Said::failed(RESET))) };
        let _ = one.call("a.example", Safety::Write, failing).await;
    }
    assert!(!one.provider("a.example").is_available());
    two.look().unwrap();
    assert!(two.provider("a.example").is_available());
}

#[tokio::test(start_paused = true)]
async fn inv10_a_lookup_that_panics_costs_its_row_alone() {
    let panics = |n: u32| {
        assert!(n != 3, "a mistake of the program");
        Ok(())
    };
    let (sum, _, _) = look_up(20, panics).await;
    assert_eq!((sum.found, sum.failed, sum.skipped), (19, 1, 0));
}

#[tokio::test(start_paused = true)]
async fn inv06_a_write_that_nobody_asks_after_is_made_once() {
    let (_, governor) = governor();
    let made = AtomicU32::new(0);
    let ended = governor
        .call("sdk", Safety::Checked, |_| async {
            made.fetch_add(1, Ordering::Relaxed);
            Err::<(), _>(Failed::new((), Said::failed(RESET)))
        })
        .await;
    assert!(ended.is_err());
    assert_eq!(made.into_inner(), 1);
}

#[tokio::test(start_paused = true)]
async fn ra_18_every_protection_goes_with_its_knob() {
    let (_, governor) = governor();
    let shop = governor.provider("shop.example");
    let has = |words: &str| governor.describe().to_string().contains(words);
    assert!(has("a breaker") && has("a gentle start") && has("a pace that adapts"));
    assert!(!has("a limit") && !has("tried again though nobody asks"));
    shop.change(|policy| {
        policy.breaker = None;
        for gate in [&mut policy.provider, &mut policy.account, &mut policy.route] {
            gate.gentle = false;
            gate.adaptive = abide::core::control::Adaptive::Off;
        }
        policy.provider.windows = vec![Sliding::new(5, secs(1)).into()];
    });
    assert!(!has("a breaker") && !has("a gentle start") && !has("a pace that adapts"));
    assert!(has("a limit"));
    let probe = |_| async { Ok::<_, Failed<()>>(()) };
    let prober = governor.keep_probing("shop.example", probe);
    assert!(has("tried again though nobody asks"));
    drop(prober);
    assert!(!has("tried again though nobody asks"));
}

#[tokio::test(start_paused = true)]
async fn ra_19_a_change_frees_who_waits_without_a_burst() {
    let (clock, governor) = governor();
    let shop = governor.provider("shop.example");
    shop.change(|policy| {
        policy.provider.concurrency = 100;
        policy.provider.windows = vec![Sliding::new(1, secs(60)).into()];
    });
    let sent = Arc::new(times::Times::default());
    let mut calls = tokio::task::JoinSet::new();
    for _ in 0..20 {
        let (governor, clock, sent) = (governor.clone(), Arc::clone(&clock), Arc::clone(&sent));
        calls.spawn(async move {
            let mut options = CallOptions::default();
            options.patience = Some(secs(10_000).into());
            let ask = |_| {
                sent.push(clock.elapsed());
                async { Ok::<_, Failed<()>>(()) }
            };
            governor.call_with("shop.example", &options, ask).await
        });
    }
    tokio::time::sleep(secs(10)).await;
    assert_eq!(sent.sorted().len(), 1);
    shop.change(|policy| policy.provider.windows = vec![Sliding::new(2, secs(1)).into()]);
    while calls.join_next().await.is_some() {}
    let all = sent.sorted();
    assert_eq!(all.len(), 20);
    assert!(all[19] < secs(90), "{all:?}");
    for three in all.windows(3) {
        assert!(three[2] - three[0] >= secs(1), "{three:?}");
    }
}

mod times {
    //! When calls were made.

    use std::sync::Mutex;
    use std::time::Duration;

    #[derive(Default)]
    pub(crate) struct Times(Mutex<Vec<Duration>>);

    impl Times {
        pub(crate) fn push(&self, at: Duration) {
            self.0.lock().unwrap().push(at);
        }

        pub(crate) fn sorted(&self) -> Vec<Duration> {
            let mut all = self.0.lock().unwrap().clone();
            all.sort();
            all
        }
    }
}
