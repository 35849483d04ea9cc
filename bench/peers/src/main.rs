//! A bulk of items through clients that retry and limit, on the same simulated providers.
//!
//! `cargo run --release -p bench-peers -- [--items N] [--markdown FILE] [--json FILE]`. Time is
//! virtual: nothing is waited for really, and a second run gives the same table. What became of
//! the items is what the provider saw, not what a client says.

mod table;

use std::path::PathBuf;

use bench_peers::{Job, PEERS, Run, abide_call, in_virtual_time};
use clap::Parser;

use crate::table::Row;

/// Compares clients on simulated providers.
#[derive(Debug, Parser)]
struct Args {
    /// Items in a bulk
    #[arg(long, default_value_t = 400)]
    items: u32,
    /// Calls at once
    #[arg(long, default_value_t = 32)]
    workers: u32,
    /// Write the table here
    #[arg(long)]
    markdown: Option<PathBuf>,
    /// Write the figures here, as JSON
    #[arg(long)]
    json: Option<PathBuf>,
}

/// The providers, as in `abide_sim::scenarios`. The quotas are left out: nobody can finish them.
const SCENARIOS: [&str; 8] = ["a", "b", "b2", "c", "d", "e", "f", "g"];

/// Where the part of the page begins that is not made here.
const OTHERS: &str = "\n# The gateway";

fn main() -> anyhow::Result<()> {
    let args = Args::parse();
    let mut rows = Vec::new();
    for scenario in SCENARIOS {
        let job = Job {
            scenario,
            items: args.items,
            workers: args.workers,
        };
        let abide: (&str, Run) = ("abide", |world| Box::pin(abide_call::by_default(world)));
        for (client, run) in [abide].into_iter().chain(PEERS) {
            let outcome = in_virtual_time(run, job)?;
            println!("{}", table::line(client, job, &outcome));
            rows.push(Row {
                client,
                job,
                outcome,
            });
        }
    }
    if let Some(path) = &args.markdown {
        // What others measured stands behind it.
        let before = std::fs::read_to_string(path).unwrap_or_default();
        let others = before.find(OTHERS).map_or("", |at| &before[at..]);
        std::fs::write(path, table::markdown(&rows) + others)?;
    }
    if let Some(path) = &args.json {
        std::fs::write(path, serde_json::to_vec_pretty(&table::json(&rows))?)?;
    }
    Ok(())
}
