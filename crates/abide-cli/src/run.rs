//! `abide run -- CMD`: a program that nobody may change, behind a gateway of its own.
//!
//! The gateway is the child's HTTP(S) proxy: by the variables that nearly every HTTP library reads.
//! Plain requests are held, paced and repeated like all others. What goes through a tunnel (https) is
//! opaque: its connections are paced, what is inside is not seen. A program that takes a base URL from
//! a variable is served whole: `--set OPENAI_BASE_URL=openai/v1`.

use std::path::PathBuf;
use std::process::ExitCode;
use std::sync::Arc;

use abide_config::{Config, Flag, Use};
use abide_gateway::settings::Settings;
use abide_gateway::{Front, Gateway, Listener, Log, Serving};
use anyhow::Context;
use tokio::process::Command;

use crate::exit::Usage;
use crate::state::State;

/// Run a program with abide as its HTTP proxy
///
/// HTTP_PROXY, HTTPS_PROXY and ALL_PROXY lead to a gateway that lives as long as the program. Of https
/// only connections are seen and paced; give a base URL by --set where the program takes one. Its exit
/// code is the program's.
#[derive(Debug, clap::Args)]
pub(crate) struct Args {
    /// A variable of the program that takes a base URL, and the provider it is to lead to, as
    /// OPENAI_BASE_URL=openai/v1
    #[arg(long, value_name = "VAR=PROVIDER/PATH")]
    set: Vec<String>,
    /// The folder of the state, :memory: for none [default: the platform's]
    #[arg(long, env = "ABIDE_STATE", value_name = "DIR")]
    state: Option<PathBuf>,
    /// The configuration file [default: abide.toml here, else in the user's configuration folder]
    #[arg(long, env = "ABIDE_CONFIG", value_name = "FILE")]
    config: Option<PathBuf>,
    /// The program and its arguments
    #[arg(
        required = true,
        trailing_var_arg = true,
        allow_hyphen_values = true,
        value_name = "CMD"
    )]
    command: Vec<String>,
}

/// Variables by which programs learn of a proxy.
const PROXIES: [&str; 6] = [
    "HTTP_PROXY",
    "HTTPS_PROXY",
    "ALL_PROXY",
    "http_proxy",
    "https_proxy",
    "all_proxy",
];

pub(crate) fn run(args: &Args) -> anyhow::Result<ExitCode> {
    let config = config(args)?;
    let settings = Settings::read(&config).map_err(|e| Usage(e.to_string()))?;
    let call = config.call(Use::Gateway, None);
    let catalogue = crate::catalogue::load(None, &config)?;
    let setup = crate::config::setup(config, catalogue, Use::Gateway)?;
    let state = State::open(args.state.as_deref(), false)?;
    let governor = setup.governor().store(Arc::new(state.store)).build()?;
    let front = Front::new(Gateway::new(settings, governor, call, Log::none())?);
    let listener = Listener::bind("127.0.0.1:0")?;
    let serving = Serving::start(&front, &listener, 1)?;
    let runtime = tokio::runtime::Builder::new_current_thread()
        .enable_all()
        .build()
        .context("the async runtime cannot start")?;
    let code = runtime.block_on(async {
        let looking = front.now().governor().keep_looking();
        let code = child(args, &listener.url()).await;
        looking.abort();
        // Nobody is left who could wait for anything.
        drop(serving);
        code
    })?;
    let saved = front.now().governor().save();
    saved.context("what was learned could not be saved")?;
    Ok(code)
}

/// What is configured, but for what makes the gateway the child's own.
fn config(args: &Args) -> anyhow::Result<Config> {
    let own = [
        ("gateway.allow_unlisted", "true"),
        ("gateway.client_token", "none"),
        ("gateway.client_token_file", "none"),
    ];
    let flags = own.map(|(key, value)| Flag {
        name: "abide run".to_owned(),
        key,
        value: value.to_owned(),
    });
    crate::config::load(args.config.as_deref(), flags.into())
}

async fn child(args: &Args, url: &str) -> anyhow::Result<ExitCode> {
    let (program, rest) = args
        .command
        .split_first()
        .context("there is no program to run")?;
    let mut command = Command::new(program);
    command.args(rest);
    for name in PROXIES {
        command.env(name, url);
    }
    // Node heeds these variables only when it is told to.
    command.env("NODE_USE_ENV_PROXY", "1");
    for set in &args.set {
        let Some((name, path)) = set.split_once('=').filter(|(name, _)| !name.is_empty()) else {
            return Err(Usage(format!("--set {set}: expected VAR=PROVIDER/PATH")).into());
        };
        command.env(name, format!("{url}/{}", path.trim_start_matches('/')));
    }
    let mut child = command
        .spawn()
        .with_context(|| format!("{program} cannot be started"))?;
    let ended = loop {
        tokio::select! {
            ended = child.wait() => break ended,
            // The terminal sends it to the child as well: we go when it goes.
            _ = tokio::signal::ctrl_c() => {}
        }
    };
    Ok(code(ended.with_context(|| {
        format!("{program} cannot be waited for")
    })?))
}

/// The code of a program as shells tell it: its own, or 128 and the signal that ended it.
fn code(ended: std::process::ExitStatus) -> ExitCode {
    #[cfg(unix)]
    let signal = std::os::unix::process::ExitStatusExt::signal(&ended);
    #[cfg(not(unix))]
    let signal = None;
    let told = ended.code().or(signal.map(|s: i32| 128 + s));
    ExitCode::from(told.and_then(|c| u8::try_from(c).ok()).unwrap_or(1))
}
