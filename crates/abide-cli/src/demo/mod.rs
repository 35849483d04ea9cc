//! `abide demo`: the main job end to end, judged by the provider's own ground truth.
//!
//! A simulated provider on loopback hides a token bucket (50/s, burst 10, `Retry-After: 1`). The
//! same few hundred requests are sent once by a bulk run and once by a plain retry loop, each to
//! a provider of its own, and the provider tells what it saw.

mod bulk;
mod plain;
mod report;

use std::time::Duration;

use abide_sim::http::{Server, ServerOptions};
use abide_sim::policy::{Hint, TokenBucket};
use abide_sim::{Job, Provider};
use anyhow::Context;

use crate::exit::Exit;

/// The provider's hidden limit.
const RATE: u64 = 50;
const BURST: u64 = 10;

/// Options of `abide demo`.
#[derive(Debug, clap::Args)]
pub(crate) struct Args {
    /// How many items to fetch
    #[arg(long, default_value_t = 400, value_parser = clap::value_parser!(u32).range(1..=5000))]
    items: u32,
    /// Requests on the wire at once
    #[arg(long, default_value_t = 32, value_parser = clap::value_parser!(u32).range(1..=1024))]
    concurrency: u32,
    /// Print one JSON object instead of the report
    #[arg(long)]
    json: bool,
}

/// What one way of doing the job came to; the provider's own counts, apart from `done`.
#[derive(Debug, serde::Serialize)]
pub(crate) struct Figures {
    items: u64,
    done: u64,
    lost: u64,
    requests: u64,
    refused: u64,
    sent_inside_hold: u64,
    seconds: f64,
    oracle_seconds: f64,
    #[serde(skip)]
    accepted: u64,
}

pub(crate) fn run(args: &Args) -> anyhow::Result<Exit> {
    let runtime = tokio::runtime::Builder::new_multi_thread()
        .enable_all()
        .build()
        .context("the async runtime cannot start")?;
    runtime.block_on(async {
        if !args.json {
            report::intro(args.items, args.concurrency);
        }
        let abide = bulk::job(args).await?;
        let plain = plain::job(args).await?;
        if args.json {
            let both = serde_json::json!({ "abide": abide, "plain": plain });
            println!("{both}");
        } else {
            report::print(&abide, &plain);
        }
        Ok(if abide.sent_inside_hold == 0 && abide.lost == 0 {
            Exit::Done
        } else {
            Exit::Failed
        })
    })
}

fn provider() -> anyhow::Result<Server> {
    let bucket = TokenBucket::new(RATE, Duration::from_secs(1), BURST)
        .hinting(Hint::Fixed(Duration::from_secs(1)));
    Server::start(Provider::new(bucket), ServerOptions::default())
        .context("the simulated provider cannot listen on loopback")
}

fn job(items: u32, server: &Server) -> Job {
    Job::new(u64::from(items), Duration::ZERO).starting(server.moment())
}

/// Puts the provider's truth beside what a client believes.
fn figures(items: u32, done: u64, oracle: Duration, elapsed: Duration, server: Server) -> Figures {
    let truth = server.shutdown();
    let accepted = truth.items().filter(|(_, t)| t.accepted > 0).count() as u64;
    Figures {
        items: u64::from(items),
        done,
        lost: u64::from(items).saturating_sub(accepted.min(done)),
        requests: truth.requests,
        refused: truth.refused,
        sent_inside_hold: truth.sent_inside_hold,
        seconds: elapsed.as_secs_f64(),
        oracle_seconds: oracle.as_secs_f64(),
        accepted: truth.accepted,
    }
}
