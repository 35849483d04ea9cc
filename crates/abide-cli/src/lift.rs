//! `abide lift`: a hold that is no longer wanted.

use reqwest::Method;
use serde_json::json;

use crate::exit::Exit;
use crate::shown::{count, print};
use crate::talk::{self, list, part};

/// Lift a provider's holds, or one of them; one probe goes first
#[derive(Debug, clap::Args)]
#[command(group = clap::ArgGroup::new("which").required(true))]
pub(crate) struct Args {
    /// The provider, whose holds are lifted all
    #[arg(group = "which")]
    provider: Option<String>,
    /// One hold, as `abide holds` names it
    #[arg(long, value_name = "ID", group = "which")]
    id: Option<String>,
    #[command(flatten)]
    gateway: talk::Gateway,
}

pub(crate) fn run(args: &Args) -> anyhow::Result<Exit> {
    let out = match (&args.provider, &args.id) {
        (Some(provider), _) => {
            let path = format!("providers/{}/lift", part(provider)?);
            let told = args.gateway.api(Method::POST, &path, Some(&json!({})))?;
            match list(&told, "lifted").len() {
                0 => "nothing held it\n".to_owned(),
                n => format!("{} lifted; one probe goes first\n", count(n, "hold")),
            }
        }
        (None, Some(id)) => {
            let path = format!("holds/{}", part(id)?);
            args.gateway.api(Method::DELETE, &path, None)?;
            "lifted; one probe goes first\n".to_owned()
        }
        (None, None) => String::new(),
    };
    print(&out)?;
    Ok(Exit::Done)
}
