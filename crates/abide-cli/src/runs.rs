//! `abide runs`: the bulk runs this installation knows.

use std::path::PathBuf;

use abide::store::sqlite::ledger::RunInfo;

use crate::exit::{Exit, Usage};
use crate::state::State;

/// List, show or forget bulk runs.
#[derive(Debug, clap::Args)]
pub(crate) struct Args {
    #[command(subcommand)]
    verb: Verb,
    /// Where state is kept
    #[arg(long, env = "ABIDE_STATE", value_name = "DIR", global = true)]
    state: Option<PathBuf>,
    /// Print JSON
    #[arg(long, global = true)]
    json: bool,
}

#[derive(Debug, clap::Subcommand)]
enum Verb {
    /// All runs, the youngest first
    List,
    /// One run
    Show {
        /// Its name
        name: String,
    },
    /// Forget runs; their outputs are not touched
    Rm {
        /// Their names
        #[arg(required = true)]
        names: Vec<String>,
    },
}

pub(crate) fn run(args: &Args) -> anyhow::Result<Exit> {
    let Some(state) = State::existing(args.state.as_deref())? else {
        match &args.verb {
            Verb::List if args.json => println!("[]"),
            Verb::List => println!("no runs"),
            _ => return Err(Usage("there is no run of that name: no state here".into()).into()),
        }
        return Ok(Exit::Done);
    };
    match &args.verb {
        Verb::List => {
            let runs = state.store.runs()?;
            if args.json {
                let all: Vec<_> = runs.iter().map(json).collect();
                println!("{}", serde_json::Value::from(all));
            } else if runs.is_empty() {
                println!("no runs");
            } else {
                for run in &runs {
                    let (c, items) = (run.counts, run.items);
                    println!(
                        "{:<28} {:<12} {:>8} of {items} finished ({} done, {} not found, {} skipped, \
                         {} failed)",
                        run.name,
                        run.state,
                        c.finished(),
                        c.done,
                        c.not_found,
                        c.skipped,
                        c.failed
                    );
                }
            }
        }
        Verb::Show { name } => {
            let run = state.store.run(name).map_err(|e| Usage(e.to_string()))?;
            if args.json {
                println!("{}", json(&run));
            } else {
                show(&run);
            }
        }
        Verb::Rm { names } => {
            for name in names {
                state
                    .store
                    .remove_run(name)
                    .map_err(|e| Usage(e.to_string()))?;
                println!("run {name} is forgotten");
            }
        }
    }
    Ok(Exit::Done)
}

fn show(run: &RunInfo) {
    let (c, t) = (run.counts, run.progress.totals);
    println!("run        {} ({})", run.name, run.state);
    println!(
        "input      {} ({}), {} items",
        run.input, run.kind, run.items
    );
    println!(
        "output     {}",
        run.output.as_deref().unwrap_or("standard output")
    );
    println!("begun      {}", run.created);
    println!("owner      {} since {}", run.owner.who, run.owner.since);
    println!("finished   {}", c.finished());
    println!("  done       {}", c.done);
    println!("  not found  {}", c.not_found);
    println!("  skipped    {}", c.skipped);
    println!("  failed     {}", c.failed);
    println!("requests   {} sent, {} refused", t.sent, t.refused);
    println!("held       {:.1} s", t.held.as_secs_f64());
}

fn json(run: &RunInfo) -> serde_json::Value {
    let (c, t) = (run.counts, run.progress.totals);
    serde_json::json!({
        "name": run.name,
        "state": run.state.as_str(),
        "input": run.input,
        "kind": run.kind,
        "output": run.output,
        "created": run.created.to_string(),
        "items": run.items,
        "done": c.done,
        "not_found": c.not_found,
        "skipped": c.skipped,
        "failed": c.failed,
        "requests": t.sent,
        "refusals": t.refused,
        "held_seconds": t.held.as_secs_f64(),
    })
}
