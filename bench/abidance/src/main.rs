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
#[cfg(feature = "real")]
mod real;
mod row;
mod scenario;
mod table;

use std::path::PathBuf;
use std::process::ExitCode;
use std::time::Duration;

use abide_core::control::Adaptive;
use anyhow::{Result, bail};
use clap::{Parser, ValueEnum};

use crate::measure::Setup;
use crate::row::Row;
use crate::scenario::Scenario;

/// How close a client comes to the fastest schedule a provider permits.
#[derive(Debug, Parser)]
struct Args {
    /// In virtual time: hours pass in a moment, and the same seed gives the same run.
    #[arg(long = "virtual")]
    in_virtual_time: bool,
    /// Over real sockets, beside other clients. Nothing is compressed: a run takes its time.
    #[arg(long, conflicts_with = "in_virtual_time")]
    real: bool,
    /// Only these scenarios (`a`, `b2`, `c-known`, `a-second`, `z3` ...), separated by commas.
    #[arg(long, value_delimiter = ',')]
    scenario: Vec<String>,
    /// Items a run; 1,000 in virtual time, 200 over sockets.
    #[arg(long)]
    items: Option<u32>,
    /// Items in hand, and requests on the wire.
    #[arg(long, default_value_t = 32)]
    concurrency: u32,
    /// There and back in milliseconds, in place of the scenario's own.
    #[arg(long)]
    trip: Option<u64>,
    /// Runs a row, each with its own seed; 20 in virtual time, 1 over sockets.
    #[arg(long)]
    seeds: Option<u64>,
    /// Which controllers, separated by commas; over sockets CUBIC, too.
    #[arg(long, value_enum, value_delimiter = ',')]
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
    let rows = if args.in_virtual_time {
        in_virtual_time(&args)?
    } else if args.real {
        over_sockets(&args)?
    } else {
        bail!("say --virtual or --real");
    };
    if let Some(file) = &args.json {
        table::write(file, &rows)?;
    }
    if args.check && !table::check(&rows) {
        return Ok(ExitCode::FAILURE);
    }
    Ok(ExitCode::SUCCESS)
}

/// What was asked for, or else what is usual.
fn or<T: Clone>(asked: &[T], usual: impl FnOnce() -> Vec<T>) -> Vec<T> {
    match asked {
        [] => usual(),
        some => some.to_vec(),
    }
}

fn in_virtual_time(args: &Args) -> Result<Vec<Row>> {
    let mut rows = Vec::new();
    for name in &or(&args.scenario, scenario::names) {
        let mut scenario = Scenario::named(name)?;
        if let Some(trip) = args.trip {
            scenario.trip = Duration::from_millis(trip);
        }
        for controller in or(&args.controller, || vec![Controller::Abide]) {
            let setup = Setup {
                items: args.items.unwrap_or(1_000),
                width: args.concurrency,
                adaptive: controller.adaptive(),
                watched: args.charts.is_some(),
            };
            let runs: Vec<_> = (0..args.seeds.unwrap_or(20))
                .map(|seed| measure::run(&scenario, &setup, seed))
                .collect();
            if let (Some(dir), Some(first)) = (&args.charts, runs.first()) {
                charts::draw(dir, name, controller.name(), &first.report)?;
            }
            rows.push(Row::of(name, controller.name(), setup.items, &runs));
            table::line(rows.last());
        }
    }
    Ok(rows)
}

#[cfg(not(feature = "real"))]
fn over_sockets(_: &Args) -> Result<Vec<Row>> {
    bail!("built without the feature `real`");
}

#[cfg(feature = "real")]
fn over_sockets(args: &Args) -> Result<Vec<Row>> {
    let mut rows = Vec::new();
    for name in &or(&args.scenario, real::names) {
        let scenario = Scenario::named(name)?;
        for client in real::clients(&or(&args.controller, || {
            vec![Controller::Abide, Controller::Cubic]
        })) {
            let items = args.items.unwrap_or(200);
            let seeds = args.seeds.unwrap_or(1);
            rows.push(real::row(
                name,
                &scenario,
                &client,
                (items, args.concurrency, seeds),
            )?);
            table::line(rows.last());
        }
    }
    Ok(rows)
}
