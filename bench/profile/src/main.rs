//! What it costs to know a provider: loading profiles, finding one, judging answers by its rules.
//!
//! `cargo run --release -p bench-profile -- [--quick] [--json FILE]`. Figures are medians of
//! batches, since the machine is shared. Beside those of bodies stands what it costs to parse the
//! same bytes into a value: compare ratios, not nanoseconds.

mod answers;
mod catalogue;
mod hostile;
mod stopwatch;

use std::path::PathBuf;

use clap::Parser;
use serde_json::{Map, Value};

/// Times what profiles cost.
#[derive(Debug, Parser)]
struct Args {
    /// Write figures here, as JSON
    #[arg(long)]
    json: Option<PathBuf>,
    /// A tenth of the batches, and hostile bodies against a few profiles only
    #[arg(long)]
    quick: bool,
    /// Only judge plain successes of this provider, for a profiler
    #[arg(long)]
    profile: Option<String>,
    /// Show what each hostile body costs the profile it costs most
    #[arg(long)]
    hostile: bool,
}

/// What was promised, in nanoseconds.
const BOUNDS: [(&str, f64); 8] = [
    ("plain.generic.classify_ns", 300.0),
    ("plain.github.classify_ns", 300.0),
    ("plain.openai.classify_ns", 300.0),
    ("plain.discord.classify_ns", 300.0),
    ("refusal.github.classify_ns", 20_000.0),
    ("refusal.openai.classify_ns", 20_000.0),
    ("hostile.worst_ns", 5_000_000.0),
    ("catalogue.built_in_ns", 20_000_000.0),
];

fn main() -> anyhow::Result<()> {
    let args = Args::parse();
    let batches = if args.quick { 21 } else { 201 };
    if let Some(provider) = &args.profile {
        answers::repeat(provider, 2_000_000);
        return Ok(());
    }
    let mut figures = Map::new();
    answers::measure(batches, &mut figures);
    answers::every(batches, &mut figures);
    catalogue::measure(batches.min(21), &mut figures);
    hostile::measure(args.quick, args.hostile, &mut figures);
    for (name, value) in &figures {
        let bound = BOUNDS.iter().find(|(n, _)| n == name).map(|b| b.1);
        let told = match (bound, value.as_f64()) {
            (Some(bound), Some(ns)) if ns > bound => format!("  MORE than {bound}"),
            (Some(bound), _) => format!("  of {bound}"),
            _ => String::new(),
        };
        println!("{name:<44} {value}{told}");
    }
    if let Some(path) = &args.json {
        std::fs::write(path, serde_json::to_vec_pretty(&figures)?)?;
    }
    Ok(())
}

/// Puts a figure down.
fn put(figures: &mut Map<String, Value>, name: String, figure: f64) {
    figures.insert(name, Value::from((10.0 * figure).round() / 10.0));
}
