//! What a job costs that does nothing, beside a bare loop over the same database; and what a million
//! jobs cost that wait for one provider.
//!
//! ```text
//! cargo run --release -p bench-jobs -- --check          # SQLite, with what must be reached
//! cargo run --release -p bench-jobs -- held             # a million jobs of a held provider
//! cargo run --release -p bench-jobs --features postgres -- --connect "host=/run/pg user=abide dbname=jobs"
//! ```

mod bare;
mod held;
mod time;

use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};
use std::time::Duration;

use abide_jobs::{Context, JobSpec, Outcome, Queue, Worker};
use anyhow::{Context as _, ensure};
use clap::Parser;
use tokio_util::sync::CancellationToken;

use time::{Watch, per_second};

/// Measures the queue of jobs
#[derive(Debug, Parser)]
struct Args {
    /// Jobs of a round
    #[arg(long, default_value_t = 30_000)]
    jobs: usize,
    /// Rounds; the best of each is told
    #[arg(long, default_value_t = 3)]
    rounds: usize,
    /// Where the databases are put; the disk decides much
    #[arg(long)]
    dir: Option<PathBuf>,
    /// Fail where less is reached than is asked for
    #[arg(long)]
    check: bool,
    /// A queue in PostgreSQL in place of SQLite
    #[arg(long)]
    connect: Option<String>,
    #[command(subcommand)]
    verb: Option<Verb>,
}

#[derive(Debug, clap::Subcommand)]
enum Verb {
    /// What deferred jobs of a held provider cost, and how soon they start after its end
    Held {
        /// How many
        #[arg(long, default_value_t = 1_000_000)]
        deferred: usize,
        /// How long they are watched while nothing can be done
        #[arg(long, default_value_t = 10)]
        seconds: u64,
    },
}

fn main() -> anyhow::Result<()> {
    let args = Args::parse();
    let runtime = tokio::runtime::Builder::new_multi_thread()
        .worker_threads(2)
        .enable_all()
        .build()?;
    let dir = match &args.dir {
        Some(dir) => tempfile::tempdir_in(dir)?,
        None => tempfile::tempdir()?,
    };
    match &args.verb {
        Some(Verb::Held { deferred, seconds }) => {
            let most = Duration::from_secs(*seconds);
            runtime.block_on(held::measure(dir.path(), *deferred, most, args.check))
        }
        None => runtime.block_on(measure(&args, dir.path())),
    }
}

async fn measure(args: &Args, dir: &Path) -> anyhow::Result<()> {
    let mut ours = Vec::new();
    let mut bare = Vec::new();
    for round in 0..args.rounds {
        // One after the other, so that both meet the same machine.
        if args.connect.is_none() {
            let path = dir.join(format!("bare-{round}.db"));
            let jobs = args.jobs;
            bare.push(tokio::task::spawn_blocking(move || bare::run(&path, jobs)).await??);
        }
        let queue = open(args, &dir.join(format!("round-{round}")))?;
        ours.push(through(&queue, args.jobs).await?);
    }
    let best = |all: &[f64]| all.iter().copied().fold(0.0, f64::max);
    let reached = best(&ours);
    println!("enqueue + claim + complete   {reached:>10.0} jobs/s");
    let name = if args.connect.is_some() {
        "connected"
    } else {
        "lone"
    };
    let queue = open(args, &dir.join(name))?;
    let (median, late) = lone(&queue).await?;
    println!("a lone job is acknowledged   p50 {median:?}, p99 {late:?}");
    if args.connect.is_some() {
        ensure!(!args.check || reached >= 3_000.0, "less than 3,000 jobs/s");
        return Ok(());
    }
    let loops = best(&bare);
    println!(
        "a bare loop, in groups       {loops:>10.0} jobs/s; ours are {:.2} of it",
        reached / loops
    );
    if args.check {
        ensure!(reached >= 15_000.0, "less than 15,000 jobs/s");
        ensure!(reached >= 0.5 * loops, "less than half of a bare loop");
    }
    Ok(())
}

fn open(args: &Args, dir: &Path) -> anyhow::Result<Queue> {
    match &args.connect {
        None => Ok(Queue::builder().open(dir)?),
        #[cfg(feature = "postgres")]
        Some(config) => Ok(Queue::builder().connect(config)?),
        #[cfg(not(feature = "postgres"))]
        Some(_) => anyhow::bail!("built without PostgreSQL: --features postgres"),
    }
}

/// Submits jobs and has a worker do them, both at once; jobs a second from the first submission to
/// the last end.
async fn through(queue: &Queue, jobs: usize) -> anyhow::Result<f64> {
    let done = Arc::new(AtomicU64::new(0));
    let (counts, stop) = (Arc::clone(&done), CancellationToken::new());
    let (ending, all) = (stop.clone(), jobs as u64);
    let worker = Worker::builder(queue.clone())
        .concurrency(400)
        .handler("nothing", |_: Context, (): ()| async {
            Ok::<_, std::io::Error>(Outcome::done(()))
        })
        .tell(move |_| {
            if counts.fetch_add(1, Ordering::Relaxed) + 1 == all {
                ending.cancel();
            }
        })
        .build();
    let watch = Watch::begin();
    let working = tokio::spawn(async move { worker.run(stop).await });
    let mut submitting = tokio::task::JoinSet::new();
    for part in 0..4 {
        let queue = queue.clone();
        let share = jobs / 4 + usize::from(part < jobs % 4);
        submitting.spawn(async move {
            let spec = || JobSpec::handler("nothing", ());
            let mut left = share;
            while left > 0 {
                let now = left.min(100);
                queue.submit_all((0..now).map(|_| spec())).await?;
                left -= now;
            }
            anyhow::Ok(())
        });
    }
    while let Some(part) = submitting.join_next().await {
        part??;
    }
    working.await??;
    let rate = per_second(jobs, watch.elapsed());
    ensure!(done.load(Ordering::Relaxed) == all, "not all were done");
    Ok(rate)
}

/// How long a job takes to be on the disk that is submitted alone.
async fn lone(queue: &Queue) -> anyhow::Result<(Duration, Duration)> {
    let mut took = Vec::new();
    for _ in 0..1000 {
        let watch = Watch::begin();
        queue.submit(JobSpec::handler("nothing", ())).await?;
        took.push(watch.elapsed());
    }
    took.sort_unstable();
    let at = |share: f64| took.get((took.len() as f64 * share) as usize).copied();
    at(0.5).zip(at(0.99)).context("nothing was measured")
}
