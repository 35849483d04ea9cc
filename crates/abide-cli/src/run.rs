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
use tokio::process::{Child, Command};

use crate::exit::{Usage, no_gateway, wrong};
use crate::log::{self, Shape};
use crate::signals::{Asked, Signals};
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

/// Variables by which programs learn whom to ask without the proxy.
const DIRECT: [&str; 2] = ["NO_PROXY", "no_proxy"];

/// This machine itself: what a program starts beside itself is nobody's provider.
const HERE: [&str; 3] = ["localhost", "127.0.0.1", "::1"];

pub(crate) fn run(args: &Args) -> anyhow::Result<ExitCode> {
    let config = config(args)?;
    log::begin(match config.gateway().log_json {
        true => Shape::Json,
        false => Shape::Text,
    })?;
    let mut settings = Settings::read(&config).map_err(wrong)?;
    // Its child could go there without us.
    settings.reach_inner = true;
    // Nobody else uses it, so nobody needs time to look elsewhere.
    settings.limits.leave = std::time::Duration::ZERO;
    let call = config.call(Use::Gateway, None);
    let catalogue = crate::catalogue::load(None, &config)?;
    let setup = crate::config::setup(config, catalogue, Use::Gateway)?;
    let state = State::open(args.state.as_deref(), false)?;
    let governor = setup.governor().store(Arc::new(state.store)).build()?;
    let gateway = Gateway::new(settings, governor, call, Log::none());
    let front = Front::new(gateway.map_err(no_gateway)?);
    let listener = Listener::bind("127.0.0.1:0")?;
    let runtime = tokio::runtime::Builder::new_current_thread()
        .enable_all()
        .build()
        .context("the async runtime cannot start")?;
    let gateway = front.now();
    let code = runtime.block_on(async {
        // A child that is there is one that can be asked to end.
        let mut signals = Signals::begin()?;
        let serving = Serving::start(&front, &listener, 1)?;
        let looking = gateway.governor().keep_looking();
        let mut child = start(args, &listener.url())?;
        let code = tokio::select! {
            code = end_of(&mut child, &mut signals) => code,
            () = gateway.lost_a_worker() => Err(anyhow::anyhow!("the gateway came to an end")),
        };
        // What the child left behind may still be on the wire.
        tokio::select! {
            ended = serving.drain() => ended?,
            _ = signals.next() => {}
        }
        looking.abort();
        code
    });
    let saved = gateway.governor().save();
    runtime.shutdown_background();
    let code = code?;
    saved.context("what was learned could not be saved")?;
    Ok(code)
}

/// What is configured, but for what makes the gateway the child's own.
fn config(args: &Args) -> anyhow::Result<Config> {
    let own = [
        ("gateway.allow_unlisted", "true"),
        ("gateway.allow_from", ""),
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

fn start(args: &Args, url: &str) -> anyhow::Result<Child> {
    let (program, rest) = args
        .command
        .split_first()
        .context("there is no program to run")?;
    let mut command = Command::new(program);
    command.args(rest);
    for name in PROXIES {
        command.env(name, url);
    }
    let told = DIRECT.map(|name| std::env::var(name).unwrap_or_default());
    for name in DIRECT {
        command.env(name, direct(&told));
    }
    // Node heeds these variables only when it is told to.
    command.env("NODE_USE_ENV_PROXY", "1");
    for set in &args.set {
        let Some((name, path)) = set.split_once('=').filter(|(name, _)| !name.is_empty()) else {
            return Err(Usage(format!("--set {set}: expected VAR=PROVIDER/PATH")).into());
        };
        command.env(name, format!("{url}/{}", path.trim_start_matches('/')));
    }
    let child = command.spawn();
    child.with_context(|| format!("{program} cannot be started"))
}

/// Whom the child asks without the proxy: whom it did before, and this machine.
fn direct(told: &[String]) -> String {
    let told = told.iter().flat_map(|all| all.split(','));
    let mut all: Vec<&str> = Vec::new();
    for host in told.map(str::trim).chain(HERE) {
        if !host.is_empty() && !all.contains(&host) {
            all.push(host);
        }
    }
    all.join(",")
}

/// Waits for the child. Whoever wants us to end wants the child to: it is told, and has its time.
async fn end_of(child: &mut Child, signals: &mut Signals) -> anyhow::Result<ExitCode> {
    loop {
        tokio::select! {
            ended = child.wait() => {
                return Ok(code(ended.context("the program cannot be waited for")?));
            }
            asked = signals.next() => hand_on(asked, child),
        }
    }
}

/// Hands a signal on to the child, unless the terminal has sent it to both: twice is often more than
/// once.
#[cfg(unix)]
fn hand_on(asked: Asked, child: &Child) {
    use rustix::process::{Pid, Signal, kill_process};
    let signal = match asked {
        Asked::Interrupt if is_the_terminals() => return,
        Asked::Interrupt => Signal::INT,
        Asked::Terminate => Signal::TERM,
    };
    let pid = child.id().and_then(|id| i32::try_from(id).ok());
    if let Some(pid) = pid.and_then(Pid::from_raw)
        && let Err(e) = kill_process(pid, signal)
    {
        eprintln!("abide: the program cannot be told to end: {e}");
    }
}

#[cfg(not(unix))]
fn hand_on(_: Asked, _: &Child) {}

/// Whether what is typed at a terminal goes to us, and so to the child.
#[cfg(unix)]
fn is_the_terminals() -> bool {
    use rustix::process::getpgrp;
    use rustix::termios::tcgetpgrp;
    let ours = getpgrp();
    tcgetpgrp(std::io::stdin()).is_ok_and(|p| p == ours)
        || tcgetpgrp(std::io::stdout()).is_ok_and(|p| p == ours)
        || tcgetpgrp(std::io::stderr()).is_ok_and(|p| p == ours)
}

/// The code of a program as shells tell it: its own, or 128 and the signal that ended it.
fn code(ended: std::process::ExitStatus) -> ExitCode {
    #[cfg(unix)]
    let signal = std::os::unix::process::ExitStatusExt::signal(&ended);
    #[cfg(not(unix))]
    let signal = None;
    let told = ended.code().or_else(|| signal.map(|s: i32| 128 + s));
    ExitCode::from(told.and_then(|c| u8::try_from(c).ok()).unwrap_or(1))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn whom_the_child_asked_directly_it_still_does() {
        assert_eq!(direct(&[]), "localhost,127.0.0.1,::1");
        let told = [
            "corp.example, 127.0.0.1".to_owned(),
            "corp.example".to_owned(),
        ];
        assert_eq!(direct(&told), "corp.example,127.0.0.1,localhost,::1");
    }
}
