//! `abide holds`: what is held, until when, and why.

use reqwest::Method;
use serde_json::Value;

use crate::exit::Exit;
use crate::shown;
use crate::table::table;
use crate::talk::{self, list, text};

/// List the holds of a gateway that runs
#[derive(Debug, clap::Args)]
pub(crate) struct Args {
    /// Print JSON
    #[arg(long)]
    json: bool,
    #[command(flatten)]
    gateway: talk::Gateway,
}

pub(crate) fn run(args: &Args) -> anyhow::Result<Exit> {
    let told = args.gateway.api(Method::GET, "holds", None)?;
    let holds = list(&told, "holds");
    let out = if args.json {
        format!("{told:#}\n")
    } else if holds.is_empty() {
        "nothing is held\n".to_owned()
    } else {
        let head = ["ID", "PROVIDER", "SCOPE", "UNTIL", "SET BY", "WHY"];
        let rows: Vec<_> = holds.iter().map(row).collect();
        table(head, &rows)
    };
    shown::print(&out)?;
    Ok(Exit::Done)
}

fn row(hold: &Value) -> [String; 6] {
    let of = |key| text(hold, key).to_owned();
    [
        of("id"),
        of("provider"),
        of("scope"),
        of("until"),
        of("set_by"),
        talk::why(hold),
    ]
}
