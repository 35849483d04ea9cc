//! What leave costs that is lent by one Redis, beside a plain GCRA script a request.
//!
//! `cargo run --release -p bench-shared -- [--quick] [--json FILE]`. A server of its own is started
//! on a free port. Figures of one run are comparable with one another, and with no other machine's.
//!
//! * *plain*: the script that libraries of rate limiters run for each request: one key, GCRA. It
//!   knows neither holds nor probes, nor who else is there.
//! * *strict*: one script a request, of abide's: holds, probes and all windows of its gates.
//! * *lease*: abide's, asking for more than one; what is lent is spent in the process.

mod plain;
mod server;
mod spend;
mod table;

use std::path::PathBuf;
use std::time::Duration;

use abide_store::RedisStore;
use abide_store::lend::{Answer, Ask, GateAsk, Lender as _, Shape};
use clap::Parser;

use self::plain::Plain;
use self::server::Server;
use self::spend::Purse;
use self::table::Row;

/// Times what shared leave costs.
#[derive(Debug, Parser)]
struct Args {
    /// Write figures here, as JSON
    #[arg(long)]
    json: Option<PathBuf>,
    /// A quarter of the time
    #[arg(long)]
    quick: bool,
}

/// How many wait for an answer together.
const TOGETHER: [usize; 2] = [1, 64];
/// How much more than one a lease is asked for: a tenth of a second of 10,000 a second.
const AHEAD: u32 = 999;

/// So wide that nobody is turned away: what is timed is the asking.
const WIDE: Shape = Shape::Bucket {
    interval: Duration::from_nanos(100),
    burst: 1_000_000_000,
};

fn ask(gates: u8, ahead: u32) -> Ask {
    let gate = |n| GateAsk {
        gate: [n; 16],
        windows: vec![WIDE],
        cost: 1,
        ahead,
        life: Duration::from_millis(100),
        probe: Duration::from_secs(30),
    };
    Ask {
        provider: "bench".to_owned(),
        gates: (0..gates).map(gate).collect(),
    }
}

#[tokio::main(flavor = "current_thread")]
async fn main() -> anyhow::Result<()> {
    let args = Args::parse();
    let lasts = Duration::from_millis(if args.quick { 500 } else { 2_000 });
    let server = Server::start()?;
    let store = RedisStore::open(&server.url())?;
    let plain = Plain::connect(&server.url()).await?;
    let mut rows = Vec::new();
    for together in TOGETHER {
        let of = plain.clone();
        let bare = Row::time("plain", together, lasts, move || {
            let mut of = of.clone();
            async move { of.ask().await }
        });
        rows.push(bare.await?);
        for (name, gates) in [("strict", 1), ("strict, 3 gates", 3)] {
            let store = store.clone();
            let strict = Row::time(name, together, lasts, move || {
                let answer = store.ask(ask(gates, 0));
                async move {
                    match answer.await? {
                        Answer::Lent(_) => Ok(()),
                        Answer::NotNow(no) => anyhow::bail!("turned away: {no:?}"),
                    }
                }
            });
            rows.push(strict.await?);
        }
        let purse = Purse::new(store.clone(), ask(1, AHEAD));
        let lease = Row::time("lease", together, lasts, move || purse.clone().spend());
        rows.push(lease.await?);
    }
    table::print(&rows);
    if let Some(path) = &args.json {
        std::fs::write(path, serde_json::to_vec_pretty(&table::json(&rows))?)?;
    }
    Ok(())
}
