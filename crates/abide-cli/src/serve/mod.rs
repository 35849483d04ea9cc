//! `abide serve`: the gateway for programs in any language.

mod files;
mod manager;
mod reload;

use std::fs::OpenOptions;
use std::num::NonZeroUsize;
use std::path::PathBuf;
use std::sync::Arc;

use abide::profile::Catalogue;
use abide_config::{Config, File, Flag, GatewayPolicy, Setup, Use};
use abide_gateway::settings::Settings;
use abide_gateway::{Format, Front, Gateway, Listener, Log, ServeError, Serving};
use anyhow::{Context, anyhow};

use self::reload::InForce;
use crate::exit::{Exit, Usage, no_gateway, wrong};
use crate::log::{self, Shape};
use crate::signals::Signals;
use crate::state::State;
use crate::token;

/// Serve programs in any language: point their base URL at it
///
/// A request for http://127.0.0.1:4180/github/repos/rust-lang/rust is held, paced and repeated as
/// abide does, and answered as GitHub answers it. All who use it share one set of holds. Whatever
/// `[gateway]` of abide.toml says may be given by a variable too (ABIDE_GATEWAY_LISTEN).
#[derive(Debug, clap::Args)]
pub(crate) struct Args {
    /// Where to listen: an address and port, or unix:/PATH [default: 127.0.0.1:4180]
    #[arg(long, value_name = "ADDRESS")]
    listen: Option<String>,
    /// A provider of your own and where it is asked, as shop=https://api.shop.example/v1
    #[arg(long, value_name = "NAME=URL")]
    upstream: Vec<String>,
    /// Let it be used as a proxy to hosts that nothing names
    #[arg(long)]
    allow_unlisted: bool,
    /// A file with the token that callers must show
    #[arg(long, value_name = "FILE")]
    client_token_file: Option<String>,
    /// Worker threads [default: 2, at most one a processor]
    #[arg(long, value_name = "N")]
    threads: Option<String>,
    /// Where the access log goes: a file, - for the standard output, none [default: -]
    #[arg(long, value_name = "FILE")]
    access_log: Option<String>,
    /// How a line of the access log looks: text or json [default: text]
    #[arg(long, value_name = "FORMAT")]
    log_format: Option<String>,
    /// Write one success of so many into the access log; refusals are always written [default: 1]
    #[arg(long, value_name = "N")]
    log_sample: Option<String>,
    /// The folder of the state, :memory: for none [default: the platform's]
    #[arg(long, env = "ABIDE_STATE", value_name = "DIR")]
    state: Option<PathBuf>,
    /// The configuration file [default: abide.toml here, else in the user's configuration folder]
    #[arg(long, env = "ABIDE_CONFIG", value_name = "FILE")]
    config: Option<PathBuf>,
}

pub(crate) fn run(args: &Args) -> anyhow::Result<Exit> {
    files::allow_many();
    // Whatever is written into the file from now on is seen.
    let in_force = InForce::begin(args.config.as_deref())?;
    let setup = setup(args, in_force.file())?;
    let told = setup.config().gateway();
    log::begin(match told.log_json {
        true => Shape::Json,
        false => Shape::Text,
    })?;
    let settings = settings(setup.config(), setup.catalogue())?;
    let listener = Listener::bind(&told.listen).map_err(wrong)?;
    let mut listener = match (&told.tls_cert, &told.tls_key) {
        (Some(cert), Some(key)) => listener.with_tls(cert, key).map_err(wrong)?,
        (None, None) => listener,
        _ => {
            return Err(
                Usage("gateway.tls_cert and gateway.tls_key need each other".into()).into(),
            );
        }
    };
    let admin = match &told.admin_listen {
        Some(address) => {
            listener = listener.without_admin();
            let admin = Listener::bind(address).map_err(wrong)?;
            // Whoever has certificates for the one port wants none of it in the clear.
            let admin = match (&told.tls_cert, &told.tls_key) {
                (Some(cert), Some(key)) if admin.is_off_loopback() => {
                    admin.with_tls(cert, key).map_err(wrong)?
                }
                _ => admin,
            };
            Some(admin.only_admin())
        }
        None => None,
    };
    let state = State::open(args.state.as_deref(), false)?;
    let token = match told.admin_token {
        // One that is named is nobody else's to make.
        Some(_) => None,
        None => Some(token::made(args.state.as_deref())?),
    };
    let governor = setup.governor().store(Arc::new(state.store)).build()?;
    let call = setup.config().call(Use::Gateway, None);
    let gateway = Gateway::new(settings, governor, call, access_log(&told)?);
    let mut gateway = gateway.map_err(no_gateway)?;
    if let Some(token) = token {
        gateway = gateway.with_admin_token(token);
    }
    let front = Front::new(gateway);
    let runtime = tokio::runtime::Builder::new_current_thread()
        .enable_all()
        .build()
        .context("the async runtime cannot start")?;
    // Nobody is told that we are ready before we listen for what may be asked of us then.
    let entered = runtime.enter();
    let (mut signals, by_hand) = (Signals::begin()?, reload::Asked::begin());
    drop(entered);
    let there = std::thread::available_parallelism().map_or(1, NonZeroUsize::get);
    let serving = Serving::start(&front, &listener, told.threads.min(there));
    let serving = serving.map_err(|e| match e {
        ServeError::Gateway(e) => no_gateway(e),
        e => e.into(),
    })?;
    let serving = match &admin {
        Some(admin) => serving.and_admin(admin)?,
        None => serving,
    };
    let url = listener.url();
    eprintln!("abide: listening on {url}; try {url}/github/rate_limit");
    manager::is_ready();
    let gateway = front.now();
    let ended = runtime.block_on(async {
        let looking = gateway.governor().keep_looking();
        let watched = tokio::spawn(manager::keep_alive(serving.pulse()));
        let reloads = reload::keep_reading(args, &setup, &front, in_force, by_hand);
        let whole = tokio::select! {
            _ = signals.next() => true,
            () = gateway.asked_to_end() => true,
            () = reloads => true,
            () = gateway.lost_a_worker() => false,
        };
        manager::stops();
        let ended = match whole {
            // The others wait for it, and it does not come.
            false => Err(anyhow!(
                "a worker came to an end; what it served is cut off"
            )),
            true => {
                eprintln!("abide: finishing what is under way; once more to stop at once");
                tokio::select! {
                    ended = serving.drain() => ended.map_err(Into::into),
                    _ = signals.next() => Ok(()),
                }
            }
        };
        looking.abort();
        watched.abort();
        ended
    });
    gateway.close();
    let saved = gateway.governor().save();
    ended?;
    saved.context("what was learned could not be saved")?;
    // Whoever waits for a worker that does not end would wait for ever.
    runtime.shutdown_background();
    Ok(Exit::Done)
}

fn usage(why: impl std::fmt::Display) -> anyhow::Error {
    Usage(why.to_string()).into()
}

fn setup(args: &Args, file: Option<&File>) -> anyhow::Result<Setup> {
    let config = config(args, file)?;
    let catalogue = crate::catalogue::load(None, &config)?;
    crate::config::setup(config, catalogue, Use::Gateway)
}

/// What a configuration says of the gateway, and how it is shown.
fn settings(config: &Config, catalogue: &Catalogue) -> anyhow::Result<Settings> {
    let mut settings = Settings::read(config).map_err(wrong)?;
    let mut shown = config.clone();
    shown.know(catalogue);
    settings.shown = abide_config::show_json(&shown);
    Ok(settings)
}

/// What is configured now: flags, variables, the file.
fn config(args: &Args, file: Option<&File>) -> anyhow::Result<Config> {
    let mut config = crate::config::with(file, flags(args))?;
    for told in &args.upstream {
        let flag = format!("--upstream {}", abide_config::without_secrets(told));
        let Some((name, url)) = told.split_once('=') else {
            return Err(usage(format!("{flag}: expected NAME=URL")));
        };
        config
            .set_upstream(name, url, &flag)
            .map_err(|why| usage(format!("{flag}: {why}")))?;
    }
    Ok(config)
}

fn flags(args: &Args) -> Vec<Flag> {
    let unlisted = args.allow_unlisted.then(|| "true".to_owned());
    let told = [
        ("--listen", "gateway.listen", &args.listen),
        ("--allow-unlisted", "gateway.allow_unlisted", &unlisted),
        (
            "--client-token-file",
            "gateway.client_token_file",
            &args.client_token_file,
        ),
        ("--threads", "gateway.threads", &args.threads),
        ("--access-log", "gateway.access_log", &args.access_log),
        ("--log-format", "gateway.log_format", &args.log_format),
        ("--log-sample", "gateway.log_sample", &args.log_sample),
    ];
    let flag = |(name, key, value): (&str, &'static str, &Option<String>)| {
        Some(Flag {
            name: name.to_owned(),
            key,
            value: value.clone()?,
        })
    };
    told.into_iter().filter_map(flag).collect()
}

fn access_log(told: &GatewayPolicy) -> anyhow::Result<Log> {
    let format = match told.log_json {
        true => Format::Json,
        false => Format::Text,
    };
    let log = match told.access_log.as_deref() {
        None => Ok(Log::none()),
        Some("-") => Log::to(std::io::stdout(), format, told.log_sample),
        Some(path) => {
            let file = OpenOptions::new().create(true).append(true).open(path);
            let what = || {
                format!("the access log {path} cannot be written; choose another by --access-log")
            };
            Log::to(file.with_context(what)?, format, told.log_sample)
        }
    };
    log.context("the access log cannot begin")
}
