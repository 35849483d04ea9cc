//! How close a client comes to the fastest schedule a provider permits, and what it costs the
//! provider: `cargo run --release -p abidance -- --virtual --json FILE`.
//!
//! One row a scenario and controller: medians over seeds of what varies, the worst of what must
//! never happen (bans, lost items, sends inside a hold). The oracle is the simulated provider's
//! own arithmetic; nobody who is measured knows it.

mod charts;
mod limits;
mod measure;
mod offgrid;
mod row;
mod scenario;
mod table;

use std::path::PathBuf;
use std::process::ExitCode;

use abide_core::control::Adaptive;
use anyhow::{Result, bail};
use clap::{Parser, ValueEnum};

use crate::measure::Setup;
use crate::scenario::Scenario;

/// How close a client comes to the fastest schedule a provider permits.
#[derive(Debug, Parser)]
struct Args {
    /// In virtual time: hours pass in a moment, and the same seed gives the same run.
    #[arg(long = "virtual")]
    in_virtual_time: bool,
    /// Only these scenarios (`a`, `b2`, `c-known`, `a-second`, `z3` ...), separated by commas.
    #[arg(long, value_delimiter = ',')]
    scenario: Vec<String>,
    /// Items a run.
    #[arg(long, default_value_t = 1_000)]
    items: u32,
    /// Items in hand, and requests on the wire.
    #[arg(long, default_value_t = 32)]
    concurrency: u32,
    /// Runs a row, each with its own seed.
    #[arg(long, default_value_t = 20)]
    seeds: u64,
    /// Which controllers, separated by commas.
    #[arg(long, value_enum, value_delimiter = ',', default_values_t = [Controller::Abide])]
    controller: Vec<Controller>,
    /// Write the rows here.
    #[arg(long)]
    json: Option<PathBuf>,
    /// Draw the first run of each row into this directory.
    #[arg(long)]
    charts: Option<PathBuf>,
    /// Fail when a row misses what it must reach.
    #[arg(long)]
    check: bool,
}

/// Who steers the pace once the provider has refused.
#[derive(Clone, Copy, Debug, PartialEq, Eq, ValueEnum)]
enum Controller {
    /// What abide does by default.
    Abide,
    /// Additive increase, multiplicative decrease.
    Aimd,
    /// TCP's, on a rate.
    Cubic,
}

impl Controller {
    fn adaptive(self) -> Adaptive {
        match self {
            Self::Abide => Adaptive::default(),
            Self::Aimd => Adaptive::Aimd,
            Self::Cubic => Adaptive::Cubic,
        }
    }

    const fn name(self) -> &'static str {
        match self {
            Self::Abide => "abide",
            Self::Aimd => "aimd",
            Self::Cubic => "cubic",
        }
    }
}

fn main() -> Result<ExitCode> {
    let args = Args::parse();
    if !args.in_virtual_time {
        bail!("say --virtual");
    }
    let names = if args.scenario.is_empty() {
        scenario::names()
    } else {
        args.scenario.clone()
    };
    let mut rows = Vec::new();
    for name in &names {
        let scenario = Scenario::named(name)?;
        for controller in &args.controller {
            let setup = Setup {
                items: args.items,
                width: args.concurrency,
                adaptive: controller.adaptive(),
                watched: args.charts.is_some(),
            };
            let runs: Vec<_> = (0..args.seeds)
                .map(|seed| measure::run(&scenario, &setup, seed))
                .collect();
            if let (Some(dir), Some(first)) = (&args.charts, runs.first()) {
                charts::draw(dir, name, controller.name(), &first.report)?;
            }
            rows.push(row::Row::of(name, controller.name(), args.items, &runs));
            table::line(rows.last());
        }
    }
    if let Some(file) = &args.json {
        table::write(file, &rows)?;
    }
    if args.check && !table::check(&rows) {
        return Ok(ExitCode::FAILURE);
    }
    Ok(ExitCode::SUCCESS)
}
