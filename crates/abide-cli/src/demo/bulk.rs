//! The job as a bulk run.

use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};
use std::time::Duration;

use abide::core::policy::ProviderPolicy;
use abide::core::run::Item;
use abide::run::{Bulk, BulkPolicy, Outcome, Report, Sink, Source, Wanted};
use abide::{Client, Governor};
use anyhow::Context;
use indicatif::{ProgressBar, ProgressStyle};
use tokio_util::sync::CancellationToken;
use url::Url;

use super::{Args, Figures, figures, job as oracle_job, provider};

struct Items {
    base: Url,
}

impl Source for Items {
    fn load(&self, item: Item) -> Result<Wanted, String> {
        let url = self
            .base
            .join(&format!("/item/{item}"))
            .map_err(|e| e.to_string())?;
        Ok(Wanted::get(url))
    }
}

struct Counted {
    done: AtomicU64,
    bar: ProgressBar,
}

impl Sink for Counted {
    async fn intend(&self, _item: Item) -> Result<(), String> {
        Ok(())
    }

    async fn take(&self, report: Report) {
        if report.outcome == Outcome::Done {
            self.done.fetch_add(1, Ordering::Relaxed);
        }
        self.bar.inc(1);
    }
}

pub(super) async fn job(args: &Args) -> anyhow::Result<Figures> {
    let server = provider()?;
    let base = Url::parse(&server.url()).context("the simulated provider has no address")?;
    let mut policy = ProviderPolicy::for_run();
    policy.provider.concurrency = args.concurrency;
    let governor = Governor::builder().policy(policy).build()?;
    let client = Client::builder().governor(governor.clone()).build()?;
    let mut bulk_policy = BulkPolicy::default();
    bulk_policy.run.concurrency = args.concurrency;
    bulk_policy.wire = args.concurrency as usize;
    let mut bulk = Bulk::new(&client, bulk_policy);
    let target = bulk
        .target(&http::Method::GET, &base, &http::HeaderMap::new())
        .context("no host")?;
    for item in 0..args.items {
        bulk.add(&target, item, 3, None);
    }
    let bar = bar(args, "abide");
    let sink = Arc::new(Counted {
        done: AtomicU64::new(0),
        bar: bar.clone(),
    });
    let clock = Arc::clone(governor.clock());
    let watch = tokio::spawn(holds(governor, bar.clone()));
    let oracle = server.oracle(oracle_job(args.items, &server));
    let began = clock.now();
    bulk.work(
        Arc::new(Items { base }),
        Arc::clone(&sink),
        CancellationToken::new(),
    )
    .await;
    let elapsed = clock.now().since(began);
    watch.abort();
    bar.finish_and_clear();
    let done = sink.done.load(Ordering::Relaxed);
    Ok(figures(args.items, done, oracle, elapsed, server))
}

/// Shows beside the bar why it stands still, and until when.
async fn holds(governor: Governor, bar: ProgressBar) {
    loop {
        let now = governor.clock().now();
        let longest = governor.held().into_iter().max_by_key(|h| h.hold.until);
        bar.set_message(match longest {
            Some(h) => format!(
                "held: {} ({}), {:.1} s to go",
                h.hold.cause,
                h.hold.source(),
                h.hold.until.since(now).as_secs_f64()
            ),
            None => String::new(),
        });
        tokio::time::sleep(Duration::from_millis(100)).await;
    }
}

pub(super) fn bar(args: &Args, name: &'static str) -> ProgressBar {
    if args.json {
        return ProgressBar::hidden();
    }
    let bar = ProgressBar::new(u64::from(args.items));
    let style =
        ProgressStyle::with_template("  {prefix:<12} {bar:30} {pos:>4}/{len}  {elapsed}  {msg}");
    bar.set_style(style.unwrap_or_else(|_| ProgressStyle::default_bar()));
    bar.set_prefix(name);
    bar
}
