//! The same job as most programs do it: every worker sleeps alone and asks again.

use std::sync::Arc;
use std::sync::atomic::{AtomicU32, AtomicU64, Ordering};
use std::time::Duration;

use abide::clock::{Clock, System};
use anyhow::Context;

use super::bulk::bar;
use super::{Args, Figures, figures, job as oracle_job, provider};

/// How often a plain loop asks for one item: more than most libraries do, so that it gets
/// everything done in the end.
const ATTEMPTS: u32 = 50;

pub(super) async fn job(args: &Args) -> anyhow::Result<Figures> {
    let server = provider()?;
    let http = reqwest::Client::builder()
        .tls_backend_preconfigured(abide::tls_config(Vec::new()).context("no TLS")?)
        .build()
        .context("the plain client cannot be set up")?;
    let oracle = server.oracle(oracle_job(args.items, &server));
    let next = Arc::new(AtomicU32::new(0));
    let done = Arc::new(AtomicU64::new(0));
    let bar = bar(args, "plain retry");
    let began = System.now();
    let mut workers = Vec::new();
    for _ in 0..args.concurrency {
        let (http, base, items) = (http.clone(), server.url(), args.items);
        let (next, done, bar) = (Arc::clone(&next), Arc::clone(&done), bar.clone());
        workers.push(tokio::spawn(async move {
            loop {
                let item = next.fetch_add(1, Ordering::Relaxed);
                if item >= items {
                    return;
                }
                if fetch(&http, &format!("{base}/item/{item}")).await {
                    done.fetch_add(1, Ordering::Relaxed);
                }
                bar.inc(1);
            }
        }));
    }
    for worker in workers {
        worker
            .await
            .context("a worker of the plain loop ended early")?;
    }
    let elapsed = System.now().since(began);
    bar.finish_and_clear();
    Ok(figures(
        args.items,
        done.load(Ordering::Relaxed),
        oracle,
        elapsed,
        server,
    ))
}

async fn fetch(http: &reqwest::Client, url: &str) -> bool {
    for _ in 0..ATTEMPTS {
        let Ok(response) = http.get(url).send().await else {
            continue;
        };
        if response.status().is_success() {
            return response.bytes().await.is_ok();
        }
        let asked = response
            .headers()
            .get("retry-after")
            .and_then(|v| v.to_str().ok());
        let wait = asked.and_then(|v| v.parse().ok()).unwrap_or(1);
        tokio::time::sleep(Duration::from_secs(wait)).await;
    }
    false
}
