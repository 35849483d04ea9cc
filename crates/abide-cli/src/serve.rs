//! `abide serve`: the gateway for programs in any language.

use std::fs::OpenOptions;
use std::net::{SocketAddr, TcpListener};
use std::num::NonZeroUsize;
use std::path::PathBuf;
use std::sync::Arc;

use abide_config::{Config, Setup, Use};
use abide_gateway::settings::{Settings, Upstream};
use abide_gateway::{Format, Gateway, Log, Serving};
use anyhow::Context;

use crate::exit::{Exit, Usage};
use crate::state::State;

/// Threads where nobody said how many: two are plenty for what people ask of APIs, and one of them
/// alone hands on more than ten thousand requests a second.
const THREADS: usize = 2;

/// Serve programs in any language: point their base URL at it
///
/// A request for http://127.0.0.1:4180/github/repos/rust-lang/rust is held, paced and repeated as
/// abide does, and answered as GitHub answers it. All who use it share one set of holds.
#[derive(Debug, clap::Args)]
pub(crate) struct Args {
    /// Where to listen
    #[arg(long, value_name = "ADDRESS", default_value = "127.0.0.1:4180")]
    listen: SocketAddr,
    /// A provider of your own and where it is asked, as shop=https://api.shop.example/v1
    #[arg(long, value_name = "NAME=URL")]
    upstream: Vec<String>,
    /// Worker threads [default: 2, or as many as there are processors]
    #[arg(long, value_name = "N")]
    threads: Option<NonZeroUsize>,
    /// Where the access log goes; - is the terminal [default: -]
    #[arg(long, value_name = "FILE")]
    access_log: Option<PathBuf>,
    /// How a line of the access log looks
    #[arg(long, value_name = "FORMAT", default_value = "text")]
    log_format: LogFormat,
    /// Write one success of so many into the access log; refusals are always written
    #[arg(long, value_name = "N", default_value_t = 1)]
    log_sample: u32,
    /// The folder of the state, :memory: for none [default: the platform's]
    #[arg(long, env = "ABIDE_STATE", value_name = "DIR")]
    state: Option<PathBuf>,
    /// The configuration file [default: abide.toml here, else in the user's configuration folder]
    #[arg(long, env = "ABIDE_CONFIG", value_name = "FILE")]
    config: Option<PathBuf>,
}

#[derive(Clone, Copy, Debug, clap::ValueEnum)]
enum LogFormat {
    Json,
    Text,
}

pub(crate) fn run(args: &Args) -> anyhow::Result<Exit> {
    let setup = setup(args)?;
    let state = State::open(args.state.as_deref(), false)?;
    let governor = setup.governor().store(Arc::new(state.store)).build()?;
    let call = setup.config().call(Use::Call, None);
    let gateway = Gateway::new(settings(setup.config())?, governor, call, log(args)?)?;
    let gateway = Arc::new(gateway);
    let listener = TcpListener::bind(args.listen)
        .with_context(|| format!("{} cannot be listened on", args.listen))?;
    let address = listener.local_addr()?;
    let runtime = tokio::runtime::Builder::new_current_thread()
        .enable_all()
        .build()
        .context("the async runtime cannot start")?;
    let serving = Serving::start(&gateway, &listener, threads(args))?;
    eprintln!("abide: listening on http://{address}; try http://{address}/github/rate_limit");
    runtime.block_on(async {
        let looking = gateway.governor().keep_looking();
        stopped().await;
        eprintln!("abide: finishing what is under way; once more to stop at once");
        tokio::select! {
            ended = serving.drain() => ended?,
            () = stopped() => {}
        }
        looking.abort();
        anyhow::Ok(())
    })?;
    gateway.close();
    gateway
        .governor()
        .save()
        .context("what was learned could not be saved")?;
    Ok(Exit::Done)
}

fn setup(args: &Args) -> anyhow::Result<Setup> {
    let mut config = crate::config::load(args.config.as_deref(), Vec::new())?;
    for told in &args.upstream {
        let flag = format!("--upstream {told}");
        let Some((name, url)) = told.split_once('=') else {
            return Err(Usage(format!("{flag}: expected NAME=URL")).into());
        };
        config
            .set_upstream(name, url, &flag)
            .map_err(|why| Usage(format!("{flag}: {why}")))?;
    }
    let catalogue = crate::catalogue::load(None, &config)?;
    crate::config::setup(config, catalogue, Use::Call)
}

fn settings(config: &Config) -> anyhow::Result<Settings> {
    let mut settings = Settings::default();
    for (name, upstream) in config.upstreams() {
        let base = upstream.url().as_str().parse();
        let base = base.with_context(|| format!("the upstream of {name}"))?;
        settings.upstreams.push(Upstream::new(name, base));
    }
    Ok(settings)
}

fn log(args: &Args) -> anyhow::Result<Log> {
    let format = match args.log_format {
        LogFormat::Json => Format::Json,
        LogFormat::Text => Format::Text,
    };
    let path = args.access_log.as_ref().filter(|p| p.as_os_str() != "-");
    let log = match path {
        None => Log::to(std::io::stdout(), format, args.log_sample),
        Some(path) => {
            let file = OpenOptions::new().create(true).append(true).open(path);
            let what = || format!("the access log {} cannot be written", path.display());
            Log::to(file.with_context(what)?, format, args.log_sample)
        }
    };
    log.context("the access log cannot begin")
}

fn threads(args: &Args) -> usize {
    let there = std::thread::available_parallelism().map_or(1, NonZeroUsize::get);
    args.threads.map_or(there.min(THREADS), NonZeroUsize::get)
}

/// Whoever runs it wants it to end.
async fn stopped() {
    #[cfg(unix)]
    {
        use tokio::signal::unix::{SignalKind, signal};
        match signal(SignalKind::terminate()) {
            Ok(mut asked) => {
                tokio::select! {
                    _ = asked.recv() => {}
                    _ = tokio::signal::ctrl_c() => {}
                }
            }
            Err(_) => drop(tokio::signal::ctrl_c().await),
        }
    }
    #[cfg(not(unix))]
    drop(tokio::signal::ctrl_c().await);
}
