//! Jobs of one provider that is held: what they cost meanwhile, and how soon the first of them starts
//! when its hold ends.

use std::path::Path;
use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};
use std::time::Duration;

use abide::{Client, Governor};
use abide_jobs::{Context, JobSpec, Outcome, Queue, Worker};
use anyhow::ensure;
use tokio_util::sync::CancellationToken;

use crate::time::{Watch, processor};

const SHOP: &str = "shop.example";

pub(crate) async fn measure(
    dir: &Path,
    jobs: usize,
    watched: Duration,
    check: bool,
) -> anyhow::Result<()> {
    let governor = Governor::builder().build()?;
    let client = Client::builder().governor(governor.clone()).build()?;
    let queue = Queue::builder().governor(governor.clone()).open(dir)?;
    let watch = Watch::begin();
    let mut left = jobs;
    while left > 0 {
        let now = left.min(10_000);
        let specs = (0..now).map(|_| JobSpec::handler("nothing", ()).provider(SHOP));
        queue.submit_all(specs).await?;
        left -= now;
    }
    println!("{jobs} jobs stand after {:?}", watch.elapsed());
    // The hold outlasts the watching by a second.
    let hold = watched + Duration::from_secs(3);
    let since = Arc::new(Watch::begin());
    governor.hold(SHOP, hold);
    let (first, started) = (Arc::new(AtomicU64::new(0)), Arc::new(AtomicU64::new(0)));
    let (tell, count, held) = (Arc::clone(&first), Arc::clone(&started), Arc::clone(&since));
    let worker = Worker::builder(queue.clone())
        .client(client)
        .concurrency(100)
        .handler("nothing", move |_: Context, (): ()| {
            let at = u64::try_from(held.elapsed().as_micros()).unwrap_or(u64::MAX);
            let _ = tell.compare_exchange(0, at, Ordering::Relaxed, Ordering::Relaxed);
            count.fetch_add(1, Ordering::Relaxed);
            async { Ok::<_, std::io::Error>(Outcome::done(())) }
        })
        .build();
    let stop = CancellationToken::new();
    let working = tokio::spawn({
        let stop = stop.clone();
        async move { worker.run(stop).await }
    });
    tokio::time::sleep(Duration::from_secs(1)).await;
    let (before, watch) = (processor(), Watch::begin());
    tokio::time::sleep(watched).await;
    let (used, real) = (processor() - before, watch.elapsed());
    ensure!(
        started.load(Ordering::Relaxed) == 0,
        "something started while it was held"
    );
    let share = 100.0 * used.as_secs_f64() / real.as_secs_f64();
    println!("while held                   {used:?} of processor in {real:?}: {share:.2} %");
    while first.load(Ordering::Relaxed) == 0 {
        tokio::time::sleep(Duration::from_millis(5)).await;
    }
    let at = Duration::from_micros(first.load(Ordering::Relaxed));
    let late = at.saturating_sub(hold);
    println!("the first starts             {late:?} after the hold's end");
    tokio::time::sleep(Duration::from_secs(1)).await;
    println!(
        "in the second after that     {} jobs",
        started.load(Ordering::Relaxed)
    );
    stop.cancel();
    working.await??;
    if check {
        ensure!(at >= hold, "something started inside the hold");
        ensure!(late <= Duration::from_millis(100), "later than 100 ms");
        ensure!(share <= 1.0, "more than one percent of a processor");
    }
    Ok(())
}
