//! `abide providers`: what is known of providers.

mod check;
mod json;
mod list;
mod show;
pub(crate) mod words;

use std::path::PathBuf;

use crate::exit::{Exit, Usage};
use crate::own_profiles::OwnProfiles;
use crate::shown::print;

/// List the providers that are known, show one, or check profiles of your own.
#[derive(Debug, clap::Args)]
#[command(args_conflicts_with_subcommands = true)]
pub(crate) struct Args {
    #[command(subcommand)]
    verb: Option<Verb>,
    /// Show this one in full
    name: Option<String>,
    /// Print JSON
    #[arg(long)]
    json: bool,
    #[command(flatten)]
    from: OwnProfiles,
}

#[derive(Debug, clap::Subcommand)]
enum Verb {
    /// Check profiles: what is wrong, what is hardly meant, and whether their own tests pass
    Check(CheckArgs),
}

#[derive(Debug, clap::Args)]
struct CheckArgs {
    /// The files
    #[arg(required = true, value_name = "FILE")]
    files: Vec<PathBuf>,
    /// Let warnings fail too
    #[arg(long)]
    strict: bool,
}

pub(crate) fn run(args: &Args) -> anyhow::Result<Exit> {
    if let Some(Verb::Check(check)) = &args.verb {
        return check::run(&args.from, &check.files, check.strict);
    }
    let all = args.from.load()?;
    match &args.name {
        None if args.json => print(&format!("{:#}\n", json::list(&all)))?,
        None => print(&list::table(&all))?,
        Some(name) => {
            let Some(profile) = all.get(name) else {
                return Err(Usage(format!("the provider {}", all.unknown(name))).into());
            };
            if args.json {
                print(&format!("{:#}\n", json::profile(&all, &profile)))?;
            } else {
                print(&show::text(&all, &profile))?;
            }
        }
    }
    Ok(Exit::Done)
}
