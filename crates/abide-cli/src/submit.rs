//! `abide submit`: requests that are made when their provider allows it, by `abide worker`.

use abide::core::WallTime;
use abide::core::queue::Urgency;
use abide_jobs::JobSpec;
use anyhow::Context;
use http::Method;

use crate::exit::{Exit, Usage};
use crate::jobs::place::{Place, block_on, instant, length};
use crate::shown::print;

/// Submit requests as jobs, which `abide worker` makes
///
/// A job outlives crashes, comes back when its provider asked for, and keeps its answer (abide jobs
/// result). When this returns the jobs are on the disk; their numbers are printed.
#[derive(Debug, clap::Args)]
pub(crate) struct Args {
    /// What is requested
    #[arg(required = true, value_name = "URL")]
    urls: Vec<String>,
    /// The method
    #[arg(long, short = 'X', default_value = "GET")]
    method: String,
    /// A header, as 'Name: value'; sealed with the install key
    #[arg(long = "header", short = 'H', value_name = "HEADER")]
    headers: Vec<String>,
    /// The body; @FILE reads it from a file, @- from the standard input
    #[arg(long, short = 'd', value_name = "TEXT")]
    data: Option<String>,
    /// A credential by name, looked up by the worker: [HEADER=]env:NAME or [HEADER=]file:PATH
    #[arg(long, value_name = "NAME")]
    credential: Option<String>,
    /// No second job of that key
    #[arg(long, value_name = "KEY")]
    unique_key: Option<String>,
    /// One running at a time of that key
    #[arg(long, value_name = "KEY")]
    one_at_a_time: Option<String>,
    /// The provider knows repeats by this key: a write may be sent again
    #[arg(long, value_name = "KEY")]
    idempotency_key: Option<String>,
    /// A refusal means that nothing was done: a write may be sent again after one
    #[arg(long)]
    repeat_refused: bool,
    /// The queue
    #[arg(long, default_value = abide_jobs::DEFAULT_QUEUE)]
    queue: String,
    /// The class, by which it is treated
    #[arg(long, default_value = "default")]
    class: String,
    /// How urgent: 0 first, 7 last
    #[arg(long, default_value_t = 6, value_parser = clap::value_parser!(u8).range(0..=7))]
    urgency: u8,
    /// Not before then: 2026-03-10T12:05:00Z, or so long from now, as 10m
    #[arg(long, value_name = "TIME")]
    at: Option<String>,
    /// Of no use after then
    #[arg(long, value_name = "TIME")]
    deadline: Option<String>,
    /// How long its answer is kept [default: 24h]
    #[arg(long, value_name = "TIME")]
    keep: Option<String>,
    /// An address that is told when it is over, by a signed POST
    #[arg(long, value_name = "URL")]
    webhook: Option<String>,
    /// The variable with the secret that signs it [default: see abide jobs webhook-secret]
    #[arg(long, value_name = "NAME", requires = "webhook")]
    webhook_secret_env: Option<String>,
    /// Print JSON
    #[arg(long)]
    json: bool,
    #[command(flatten)]
    place: Place,
}

pub(crate) fn run(args: &Args) -> anyhow::Result<Exit> {
    if args.unique_key.is_some() && args.urls.len() > 1 {
        let why = "--unique-key: one key is one job; submit the URLs one by one";
        return Err(Usage(why.to_owned()).into());
    }
    let queue = args.place.plain()?;
    let body = args.data.as_deref().map(body).transpose()?;
    let now = abide::clock::Clock::wall(&abide::clock::System);
    let specs: Vec<JobSpec> = args
        .urls
        .iter()
        .map(|url| spec(args, url, body.as_deref(), now))
        .collect::<anyhow::Result<_>>()?;
    let made = block_on(async { Ok(queue.submit_all(specs).await) })?;
    let made = made.map_err(|e| match e {
        abide_jobs::QueueError::Spec(_) => Usage(e.to_string()).into(),
        e => anyhow::Error::from(e),
    })?;
    let out: String = match args.json {
        true => {
            let all: Vec<_> = made
                .iter()
                .map(|m| serde_json::json!({ "id": m.id, "fresh": m.fresh }))
                .collect();
            format!("{}\n", serde_json::Value::from(all))
        }
        false => made
            .iter()
            .map(|m| match m.fresh {
                true => format!("{}\n", m.id),
                false => format!("{} (it was there already)\n", m.id),
            })
            .collect(),
    };
    print(&out)?;
    Ok(Exit::Done)
}

fn spec(args: &Args, url: &str, body: Option<&[u8]>, now: WallTime) -> anyhow::Result<JobSpec> {
    let method = Method::from_bytes(args.method.as_bytes());
    let method = method.map_err(|_| Usage(format!("-X: {:?} is no method", args.method)))?;
    let mut spec = JobSpec::http(method, url)
        .queue(&args.queue)
        .class(&args.class)
        .urgency(Urgency::new(args.urgency));
    for header in &args.headers {
        let pair = header.split_once(':');
        // The text may be a secret: it is not repeated.
        let (name, value) =
            pair.ok_or_else(|| Usage("-H: a header looks like 'Name: value'".to_owned()))?;
        spec = spec.header(name.trim(), value.trim());
    }
    if let Some(body) = body {
        spec = spec.body(body);
    }
    if let Some(name) = &args.credential {
        crate::worker::credential_form(name).map_err(|e| Usage(format!("--credential: {e}")))?;
        spec = spec.credential(name);
    }
    if let Some(key) = &args.unique_key {
        spec = spec.unique(key);
    }
    if let Some(key) = &args.one_at_a_time {
        spec = spec.one_at_a_time(key);
    }
    if let Some(key) = &args.idempotency_key {
        spec = spec.idempotent(key);
    }
    if args.repeat_refused {
        spec = spec.repeat_refused();
    }
    if let Some(at) = &args.at {
        spec = spec.at(instant("--at", at, now)?);
    }
    if let Some(at) = &args.deadline {
        spec = spec.deadline(instant("--deadline", at, now)?);
    }
    if let Some(ttl) = &args.keep {
        spec = spec.keep_result(length("--keep", ttl)?);
    }
    if let Some(url) = &args.webhook {
        let secret = args.webhook_secret_env.as_ref().map(|name| {
            std::env::var(name)
                .map_err(|_| Usage(format!("--webhook-secret-env: {name} is not set")))
        });
        spec = spec.webhook(url, secret.transpose()?);
    }
    Ok(spec)
}

/// A body as it was given, or from a file.
fn body(text: &str) -> anyhow::Result<Vec<u8>> {
    let Some(file) = text.strip_prefix('@') else {
        return Ok(text.as_bytes().to_vec());
    };
    if file == "-" {
        let mut all = Vec::new();
        std::io::Read::read_to_end(&mut std::io::stdin().lock(), &mut all)
            .context("the standard input cannot be read")?;
        return Ok(all);
    }
    std::fs::read(file).with_context(|| format!("-d: {file} cannot be read"))
}
