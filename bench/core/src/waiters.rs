//! A thousand callers waiting at 200 a second: how often each is woken, whether they keep their
//! order, how much longer it takes than it must.

use std::future::Future;
use std::num::NonZeroU32;
use std::pin::pin;
use std::sync::atomic::{AtomicU64, Ordering};
use std::sync::{Arc, Mutex, PoisonError};
use std::task::Poll;
use std::time::Duration;

use abide::clock::{Clock, System};
use abide::core::Finding;
use abide::core::call::{Call, CallPolicy, Safety};
use abide::core::pace::Window;
use abide::core::policy::ProviderPolicy;
use abide::core::provider::Outcome;
use abide::{Admission, Governor, Permit};
use anyhow::Context;
use governor::{Quota, RateLimiter};
use serde_json::{Map, Value};

const WAITERS: usize = 1_000;
const RATE: u32 = 200;

struct Result {
    polls: u64,
    order: Vec<usize>,
    elapsed: Duration,
}

/// Runs the waiters; `wait` is what one of them awaits.
async fn herd<F, Fut>(wait: F) -> anyhow::Result<Result>
where
    F: Fn(usize) -> Fut + Send + Sync + 'static,
    Fut: Future<Output = ()> + Send + 'static,
{
    let wait = Arc::new(wait);
    let (polls, order) = (
        Arc::new(AtomicU64::new(0)),
        Arc::new(Mutex::new(Vec::new())),
    );
    let began = System.now();
    let mut tasks = Vec::new();
    for n in 0..WAITERS {
        let (polls, order, wait) = (Arc::clone(&polls), Arc::clone(&order), Arc::clone(&wait));
        tasks.push(tokio::spawn(async move {
            let mut inner = pin!(wait(n));
            std::future::poll_fn(|cx| {
                polls.fetch_add(1, Ordering::Relaxed);
                match inner.as_mut().poll(cx) {
                    Poll::Ready(()) => Poll::Ready(()),
                    Poll::Pending => Poll::Pending,
                }
            })
            .await;
            order.lock().unwrap_or_else(PoisonError::into_inner).push(n);
        }));
        // In order into the queue: each has asked before the next one does.
        tokio::task::yield_now().await;
    }
    for task in tasks {
        task.await.context("a waiter ended early")?;
    }
    let elapsed = System.now().since(began);
    let order = std::mem::take(&mut *order.lock().unwrap_or_else(PoisonError::into_inner));
    Ok(Result {
        polls: polls.load(Ordering::Relaxed),
        order,
        elapsed,
    })
}

fn put(figures: &mut Map<String, Value>, who: &str, r: &Result) {
    let ideal = Duration::from_secs_f64((WAITERS - 1) as f64 / f64::from(RATE));
    let inversions = r.order.windows(2).filter(|w| w[0] > w[1]).count();
    // The first poll is the call itself; the rest are wake-ups.
    let wakes = (r.polls - WAITERS as u64) as f64 / WAITERS as f64;
    let mut figure = |name: &str, value: f64| {
        let value = (1000.0 * value).round() / 1000.0;
        figures.insert(format!("waiters.{who}.{name}"), Value::from(value));
    };
    figure("wakeups_per_request", wakes);
    figure(
        "inversions_per_cent",
        100.0 * inversions as f64 / WAITERS as f64,
    );
    figure(
        "elapsed_over_ideal",
        r.elapsed.as_secs_f64() / ideal.as_secs_f64(),
    );
}

pub(crate) fn measure(figures: &mut Map<String, Value>) -> anyhow::Result<()> {
    // One worker: the order in which waiters ask is then the order in which they were made.
    let runtime = tokio::runtime::Builder::new_current_thread()
        .enable_all()
        .build()?;
    let ours = runtime.block_on(async {
        let mut policy = ProviderPolicy::default();
        policy.provider.windows = vec![Window::interval(Duration::from_secs(1) / RATE)];
        policy.provider.concurrency = u32::MAX;
        policy.provider.gentle = false;
        let governor = Governor::builder().policy(policy).build()?;
        let url = url::Url::parse("http://bench.invalid/")?;
        let target = governor
            .target(&http::Method::GET, &url, &http::HeaderMap::new())
            .context("no host")?;
        let shard = governor.provider(&target.provider);
        let admission = Arc::new(Admission::to(target));
        herd(move |_| {
            let (shard, admission) = (Arc::clone(&shard), Arc::clone(&admission));
            async move {
                let mut calm = CallPolicy::default();
                calm.patience = Duration::from_secs(3600);
                let mut call = Call::new(calm, Safety::Read, System.now());
                if let Ok(permit) = Permit::acquire(&shard, &admission, &mut call).await {
                    permit.settle(&Outcome::Answered(Finding::success()));
                }
            }
        })
        .await
    })?;
    put(figures, "abide", &ours);
    let theirs = runtime.block_on(async {
        let rate = NonZeroU32::new(RATE).context("a rate")?;
        let quota = Quota::per_second(rate).allow_burst(NonZeroU32::MIN);
        let limiter = Arc::new(RateLimiter::direct(quota));
        herd(move |_| {
            let limiter = Arc::clone(&limiter);
            async move { limiter.until_ready().await }
        })
        .await
    })?;
    put(figures, "governor", &theirs);
    Ok(())
}
