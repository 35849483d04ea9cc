//! `abide hold`: nobody asks a provider for a while.

use reqwest::Method;
use serde_json::json;

use crate::exit::Exit;
use crate::shown::{plain, print};
use crate::talk::{self, text};

/// Hold a provider: nothing is sent to it for a while, by nobody
///
/// One that is held already is held for as long as the longer of the two lasts. When it ends, or is
/// lifted, one probe goes first.
#[derive(Debug, clap::Args)]
#[command(group = clap::ArgGroup::new("length").required(true))]
pub(crate) struct Args {
    /// The provider
    provider: String,
    /// How long, as 10m
    #[arg(long, value_name = "TIME", group = "length")]
    r#for: Option<String>,
    /// Until when, as 2026-03-10T12:05:00Z
    #[arg(long, value_name = "INSTANT", group = "length")]
    until: Option<String>,
    /// Why, for whoever finds it later
    #[arg(long, value_name = "TEXT")]
    reason: Option<String>,
    /// Print JSON
    #[arg(long)]
    json: bool,
    #[command(flatten)]
    gateway: talk::Gateway,
}

pub(crate) fn run(args: &Args) -> anyhow::Result<Exit> {
    let body = json!({
        "provider": args.provider,
        "for": args.r#for,
        "until": args.until,
        "reason": args.reason,
    });
    let hold = args.gateway.api(Method::POST, "holds", Some(&body))?;
    let out = match args.json {
        true => format!("{hold:#}\n"),
        false => format!(
            "{} is held until {} ({})\n",
            plain(text(&hold, "provider")),
            plain(text(&hold, "until")),
            plain(text(&hold, "id"))
        ),
    };
    print(&out)?;
    Ok(Exit::Done)
}
