//! The `abide` command: one file a verb, no decision of its own.

mod catalogue;
mod config;
mod demo;
mod exit;
mod explain;
mod fetch;
mod hold;
mod holds;
mod jobs;
mod knobs;
mod lift;
mod log;
mod own_profiles;
mod plan;
mod providers;
mod run;
mod runs;
mod seal;
mod serve;
mod shown;
mod signals;
mod state;
mod status;
mod submit;
mod table;
mod talk;
mod token;
mod worker;

use std::process::ExitCode;

use clap::{Parser, Subcommand};

use crate::exit::Exit;

/// A request makes and lets go of several dozen small pieces of memory.
#[global_allocator]
static MEMORY: mimalloc::MiMalloc = mimalloc::MiMalloc;

/// Makes any program a well-behaved client of the APIs it calls.
#[derive(Debug, Parser)]
#[command(version, propagate_version = true, max_term_width = 100)]
struct Cli {
    #[command(subcommand)]
    verb: Verb,
}

#[derive(Debug, Subcommand)]
enum Verb {
    /// Show the main job end to end against a simulated provider on this machine.
    Demo(demo::Args),
    Config(config::Args),
    Explain(Box<explain::Args>),
    Fetch(Box<fetch::Args>),
    Hold(hold::Args),
    Holds(holds::Args),
    Jobs(jobs::Args),
    Lift(lift::Args),
    Plan(Box<plan::Args>),
    Providers(providers::Args),
    Run(run::Args),
    Runs(runs::Args),
    Serve(Box<serve::Args>),
    Status(status::Args),
    Submit(Box<submit::Args>),
    Worker(Box<worker::Args>),
}

fn main() -> ExitCode {
    let cli = match Cli::try_parse() {
        Ok(cli) => cli,
        Err(e) => {
            // Help and version are answers; everything else is a usage error.
            let code = if e.use_stderr() {
                Exit::Usage
            } else {
                Exit::Done
            };
            let _ = e.print();
            return code.into();
        }
    };
    let result = match cli.verb {
        Verb::Run(args) => return or_tell(run::run(&args)),
        Verb::Demo(args) => demo::run(&args),
        Verb::Config(args) => config::run(&args),
        Verb::Explain(args) => explain::run(&args),
        Verb::Fetch(args) => fetch::run(&args),
        Verb::Hold(args) => hold::run(&args),
        Verb::Holds(args) => holds::run(&args),
        Verb::Jobs(args) => jobs::run(&args),
        Verb::Lift(args) => lift::run(&args),
        Verb::Plan(args) => plan::run(&args),
        Verb::Providers(args) => providers::run(&args),
        Verb::Runs(args) => runs::run(&args),
        Verb::Serve(args) => serve::run(&args),
        Verb::Status(args) => status::run(&args),
        Verb::Submit(args) => submit::run(&args),
        Verb::Worker(args) => worker::run(&args),
    };
    or_tell(result.map(ExitCode::from))
}

fn or_tell(result: anyhow::Result<ExitCode>) -> ExitCode {
    result.unwrap_or_else(|e| {
        eprintln!("abide: {e:#}");
        Exit::of(&e).into()
    })
}
