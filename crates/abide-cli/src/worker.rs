//! `abide worker`: makes the requests that were submitted.

use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};

use abide::Client;
use abide_config::{Flag, Setup};
use abide_jobs::{FindCredential, State, Told, Worker};
use anyhow::Context;
use http::{HeaderName, HeaderValue};
use tokio_util::sync::CancellationToken;

use crate::exit::Exit;
use crate::jobs::place::{Place, block_on, length};
use crate::knobs::number;
use crate::shown::plain;

/// Make the requests that were submitted, when their providers allow it
///
/// Runs until it is told to end (SIGTERM, Ctrl-C); what is under way then may finish. Several may
/// run, on several machines where the queue is in PostgreSQL. A line is printed for each try that
/// ended.
#[derive(Debug, clap::Args)]
pub(crate) struct Args {
    /// Jobs at a time
    #[arg(long, short, default_value_t = 8, value_parser = clap::value_parser!(u32).range(1..=4096))]
    concurrency: u32,
    /// A queue to work; may be given several times [default: all]
    #[arg(long = "queue", value_name = "NAME")]
    queues: Vec<String>,
    /// Work off what is due now, and end
    #[arg(long)]
    once: bool,
    /// After how long a silent worker loses its jobs, told to all workers of a queue alike
    /// [default: 30s]
    #[arg(long, value_name = "TIME")]
    lease: Option<String>,
    /// How long a request waits at its gates before its job is put back [default: 10s]
    #[arg(long, value_name = "TIME")]
    wait: Option<String>,
    /// The earliest return after a refusal [default: 30s]
    #[arg(long, value_name = "TIME")]
    defer_floor: Option<String>,
    /// The longest time to come back that is waited for [default: 26h]
    #[arg(long, value_name = "TIME")]
    defer_ceiling: Option<String>,
    /// Deferrals in a row; 0 fails at the first refusal [default: 3]
    #[arg(long, value_name = "N")]
    defer_in_a_row: Option<u32>,
    /// The age beyond which a job does not come back [default: 7d]
    #[arg(long, value_name = "TIME")]
    defer_max_age: Option<String>,
    /// Tries that may go wrong, the first one included [default: 4]
    #[arg(long, value_name = "N", value_parser = clap::value_parser!(u32).range(1..=100))]
    attempts: Option<u32>,
    /// A name to know it by, where several run
    #[arg(long, default_value = "worker")]
    name: String,
    /// Print a line of JSON for each try that ended
    #[arg(long)]
    json: bool,
    /// Print nothing
    #[arg(long, short)]
    quiet: bool,
    #[command(flatten)]
    place: Place,
}

/// How tries ended so far.
#[derive(Debug, Default)]
struct Tally {
    failed: AtomicU64,
    deferred: AtomicU64,
}

pub(crate) fn run(args: &Args) -> anyhow::Result<Exit> {
    let setup = args.place.setup(flags(args))?;
    block_on(work(args, &setup))
}

async fn work(args: &Args, setup: &Setup) -> anyhow::Result<Exit> {
    let governor = args.place.governor(setup)?;
    let queue = args.place.queue(governor.clone())?;
    let tally = Arc::new(Tally::default());
    let mut worker = Worker::builder(queue)
        .client(client(setup, &governor)?)
        .credentials(finding())
        .policy(setup.config().defer())
        .concurrency(args.concurrency as usize)
        .queues(args.queues.iter().cloned())
        .name(&args.name)
        .tell(telling(args, &tally));
    if let Some(lease) = &args.lease {
        worker = worker.lease(length("--lease", lease)?);
    }
    if let Some(wait) = &args.wait {
        worker = worker.wait(length("--wait", wait)?);
    }
    let worker = worker.build();
    let looking = governor.keep_looking();
    let exit = match args.once {
        true => {
            worker.round().await?;
            match (
                tally.failed.load(Ordering::Relaxed),
                tally.deferred.load(Ordering::Relaxed),
            ) {
                (0, 0) => Exit::Done,
                (0, _) => Exit::Later,
                _ => Exit::Failed,
            }
        }
        false => {
            let stop = CancellationToken::new();
            let stopping = tokio::spawn(stops(stop.clone()));
            if !args.quiet {
                eprintln!("abide: {} is at work; Ctrl-C ends it", worker.name());
            }
            worker.run(stop).await?;
            stopping.abort();
            Exit::Done
        }
    };
    looking.abort();
    governor
        .save()
        .context("what was learned could not be saved")?;
    Ok(exit)
}

/// The options that set a knob.
fn flags(args: &Args) -> Vec<Flag> {
    let given = [
        ("--defer-floor", "defer.floor", args.defer_floor.clone()),
        (
            "--defer-ceiling",
            "defer.ceiling",
            args.defer_ceiling.clone(),
        ),
        (
            "--defer-in-a-row",
            "defer.in_a_row",
            number(args.defer_in_a_row),
        ),
        (
            "--defer-max-age",
            "defer.max_age",
            args.defer_max_age.clone(),
        ),
        ("--attempts", "defer.attempts", number(args.attempts)),
    ];
    let flag = |(name, key, value): (&str, &'static str, Option<String>)| {
        let name = name.to_owned();
        value.map(|value| Flag { name, key, value })
    };
    given.into_iter().filter_map(flag).collect()
}

fn client(setup: &Setup, governor: &abide::Governor) -> anyhow::Result<Client> {
    let fetch = setup.config().fetch();
    let own = concat!("abide/", env!("CARGO_PKG_VERSION"));
    let agent = match (&fetch.user_agent, &fetch.contact) {
        (Some(text), _) => text.clone(),
        (None, Some(contact)) => format!("{own} ({contact})"),
        (None, None) => own.to_owned(),
    };
    let http = reqwest::Client::builder()
        .user_agent(agent)
        .connect_timeout(fetch.timeout)
        .read_timeout(fetch.timeout);
    let builder = setup.client_builder(governor.clone()).http(http);
    Ok(builder.build()?)
}

/// Counts how tries end, and tells of each.
fn telling(args: &Args, tally: &Arc<Tally>) -> impl Fn(&Told) + Send + Sync + 'static {
    let (tally, json, quiet) = (Arc::clone(tally), args.json, args.quiet);
    move |told| {
        match told.state {
            State::Failed => tally.failed.fetch_add(1, Ordering::Relaxed),
            State::Deferred | State::Queued => tally.deferred.fetch_add(1, Ordering::Relaxed),
            _ => 0,
        };
        let line = match json {
            _ if quiet => return,
            true => serde_json::json!({
                "id": told.id,
                "state": told.state,
                "title": told.title,
                "until": told.until.map(|t| t.to_string()),
                "reason": told.reason,
            })
            .to_string(),
            false => {
                let until = told
                    .until
                    .map_or_else(String::new, |t| format!(" until {t}"));
                let why = told
                    .reason
                    .as_deref()
                    .map_or_else(String::new, |r| format!(": {r}"));
                let title = plain(&told.title);
                format!(
                    "{:>8} {:<8}{until} {title}{}",
                    told.id,
                    told.state,
                    plain(&why)
                )
            }
        };
        // A reader that has seen enough ends nothing here.
        let _ = crate::shown::print(&format!("{line}\n"));
    }
}

/// Ends it when it is told to end.
async fn stops(stop: CancellationToken) {
    #[cfg(unix)]
    {
        use tokio::signal::unix::{SignalKind, signal};
        if let Ok(mut asked) = signal(SignalKind::terminate()) {
            tokio::select! {
                _ = asked.recv() => {}
                _ = tokio::signal::ctrl_c() => {}
            }
            stop.cancel();
            return;
        }
    }
    drop(tokio::signal::ctrl_c().await);
    stop.cancel();
}

/// Where a credential is found: its header, and `env:NAME` or `file:PATH`.
pub(crate) fn credential_form(name: &str) -> Result<(HeaderName, &str, &str), String> {
    let looks =
        || format!("{name:?} is no credential; give [HEADER=]env:NAME or [HEADER=]file:PATH");
    let (header, place) = match name.split_once('=') {
        Some((header, place)) if !header.contains(':') => {
            let header = HeaderName::try_from(header).map_err(|_| looks())?;
            (header, place)
        }
        _ => (http::header::AUTHORIZATION, name),
    };
    match place.split_once(':') {
        Some((kind @ ("env" | "file"), what)) if !what.is_empty() => Ok((header, kind, what)),
        _ => Err(looks()),
    }
}

fn finding() -> FindCredential {
    Arc::new(|name: &str| {
        let (header, kind, what) = credential_form(name)?;
        let value = match kind {
            "env" => std::env::var(what).map_err(|_| format!("the variable {what} is not set"))?,
            _ => {
                std::fs::read_to_string(what).map_err(|e| format!("{what} cannot be read: {e}"))?
            }
        };
        let value = HeaderValue::try_from(value.trim());
        let value = value.map_err(|_| format!("what {name} names is no header's value"))?;
        Ok((header, value))
    })
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::exit::Usage;

    #[test]
    fn credentials_are_named_in_two_ways() {
        let (header, kind, what) = credential_form("env:SHOP").unwrap();
        assert_eq!(
            (header.as_str(), kind, what),
            ("authorization", "env", "SHOP")
        );
        let (header, kind, what) = credential_form("X-Key=file:/a=b").unwrap();
        assert_eq!((header.as_str(), kind, what), ("x-key", "file", "/a=b"));
        for wrong in ["SHOP", "env:", "Bearer s3cr3t", "vault:x"] {
            assert!(credential_form(wrong).is_err(), "{wrong}");
        }
    }

    #[test]
    fn an_error_of_usage_is_one() {
        let e = length("--wait", "soon").unwrap_err();
        assert!(e.downcast_ref::<Usage>().is_some());
    }
}
