//! `abide status`: how the gateway finds its providers.

use reqwest::{Method, StatusCode};
use serde_json::Value;

use crate::exit::Exit;
use crate::shown;
use crate::table::table;
use crate::talk::{self, list, text};

/// Show how each provider is, as a gateway that runs finds it
///
/// With --ready it says whether the gateway takes work, and exits 0 when it does, else 1.
#[derive(Debug, clap::Args)]
pub(crate) struct Args {
    /// Print JSON
    #[arg(long)]
    json: bool,
    /// Only say whether the gateway is ready
    #[arg(long, conflicts_with = "json")]
    ready: bool,
    #[command(flatten)]
    gateway: talk::Gateway,
}

pub(crate) fn run(args: &Args) -> anyhow::Result<Exit> {
    if args.ready {
        return Ok(ready(&args.gateway));
    }
    let told = args.gateway.api(Method::GET, "providers", None)?;
    if args.json {
        shown::print(&format!("{told:#}\n"))?;
        return Ok(Exit::Done);
    }
    let mut out = String::new();
    if told["offline"] == true {
        out.push_str("our own network is down: nothing but probes is sent\n");
    }
    let providers = list(&told, "providers");
    if providers.is_empty() {
        out.push_str("no provider was asked yet, and none is held\n");
    } else {
        let head = [
            "PROVIDER",
            "STATE",
            "UNTIL",
            "WHY",
            "WAITING",
            "ON THE WIRE",
            "LEARNED",
        ];
        let rows: Vec<_> = providers.iter().map(row).collect();
        out.push_str(&table(head, &rows));
    }
    shown::print(&out)?;
    Ok(Exit::Done)
}

/// Whoever asks this wants one of two answers, so that nobody is there is no error of its own.
fn ready(gateway: &talk::Gateway) -> Exit {
    match gateway.ask(Method::GET, "/-/ready", None) {
        Ok(answer) => {
            println!("{}", shown::plain(answer.text.trim()));
            match answer.status == StatusCode::OK {
                true => Exit::Done,
                false => Exit::Failed,
            }
        }
        Err(e) => {
            println!("not ready: {e:#}");
            Exit::Failed
        }
    }
}

fn row(p: &Value) -> [String; 7] {
    let holds = list(p, "holds");
    let longest = holds.iter().max_by_key(|h| text(h, "until"));
    let available = p["available"] == true;
    let state = match (available, longest, p["healthy"] == true) {
        (false, Some(_), _) => "held",
        (false, None, _) => "down",
        (true, Some(_), _) => "held in part",
        (true, None, false) => "failing",
        (true, None, true) => "well",
    };
    let until = match (available, longest) {
        (true, Some(hold)) => text(hold, "until"),
        _ => text(p, "retry_at"),
    };
    let why = match longest {
        Some(hold) => talk::why(hold),
        None => text(p, "cause").to_owned(),
    };
    let learned: Vec<_> = list(p, "learned")
        .iter()
        .map(|l| text(l, "limit"))
        .collect();
    let mode = text(p, "mode");
    let state = match mode {
        "enforce" => state.to_owned(),
        mode => format!("{state} ({mode})"),
    };
    [
        text(p, "provider").to_owned(),
        state,
        until.to_owned(),
        why,
        p["waiting"].to_string(),
        p["in_flight"].to_string(),
        learned.join("; "),
    ]
}
