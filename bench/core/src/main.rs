//! What a decision costs, beside a peer in the same run.
//!
//! `cargo run --release -p bench-core -- [--json FILE]`. Figures are medians of batches, since
//! the machine is shared; compare ratios, not nanoseconds.

mod decision;
mod learner;
mod memory;
mod waiters;

use std::path::PathBuf;

use clap::Parser;

/// Times decisions.
#[derive(Debug, Parser)]
struct Args {
    /// Write figures here, as JSON
    #[arg(long)]
    json: Option<PathBuf>,
    /// Batches a figure
    #[arg(long, default_value_t = 201)]
    batches: usize,
    /// Leave out what takes seconds of real time
    #[arg(long)]
    quick: bool,
    /// Only the plainest figure, for a profiler
    #[arg(long)]
    profile: bool,
}

fn main() -> anyhow::Result<()> {
    let args = Args::parse();
    let mut figures = serde_json::Map::new();
    decision::measure(args.batches, args.profile, &mut figures);
    if args.profile {
        println!("{figures:?}");
        return Ok(());
    }
    memory::measure(&mut figures);
    learner::measure(&mut figures);
    if !args.quick {
        waiters::measure(&mut figures)?;
    }
    for (name, value) in &figures {
        println!("{name:<44} {value}");
    }
    if let Some(path) = &args.json {
        std::fs::write(path, serde_json::to_vec_pretty(&figures)?)?;
    }
    Ok(())
}
