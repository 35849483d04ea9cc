//! What is measured: a process that hands requests on.

use std::net::{SocketAddr, TcpListener, TcpStream};
use std::path::Path;
use std::process::{Child, Command, Stdio};
use std::thread::sleep;
use std::time::Duration;

use anyhow::{Context, bail};

use crate::nginx;

/// Which gateway.
#[derive(Clone, Copy, Debug, Eq, PartialEq, clap::ValueEnum)]
pub(crate) enum Kind {
    /// `abide serve` at its defaults.
    Abide,
    /// nginx, with a log and the same fields.
    Nginx,
    /// An empty decision over the client of hyper-util.
    Legacy,
    /// An empty decision over a pool of our own, each connection driven by the call that has it.
    Pool,
}

/// A gateway that runs; it ends with this.
#[derive(Debug)]
pub(crate) struct Subject {
    pub(crate) kind: Kind,
    pub(crate) url: String,
    process: Child,
}

impl Subject {
    /// Starts it, and waits until it answers.
    pub(crate) fn start(
        kind: Kind,
        dir: &Path,
        upstream: SocketAddr,
        threads: usize,
    ) -> anyhow::Result<Self> {
        let listen = free()?;
        let process = match kind {
            Kind::Abide => abide(dir, listen, upstream, threads)?,
            Kind::Nginx => nginx::gateway(dir, listen, upstream, threads)?,
            Kind::Legacy => stand_in("legacy", dir, listen, upstream, threads)?,
            Kind::Pool => stand_in("pool", dir, listen, upstream, threads)?,
        };
        answers(listen)?;
        Ok(Self {
            kind,
            url: match kind {
                Kind::Abide => format!("http://{listen}/provider/"),
                _ => format!("http://{listen}/"),
            },
            process,
        })
    }

    pub(crate) fn pid(&self) -> u32 {
        self.process.id()
    }
}

impl Drop for Subject {
    fn drop(&mut self) {
        end(&mut self.process);
    }
}

/// Ends a process in good order: nginx's master takes its workers along.
pub(crate) fn end(process: &mut Child) {
    let asked = Command::new("kill").arg(process.id().to_string()).status();
    if !asked.is_ok_and(|s| s.success()) {
        let _ = process.kill();
    }
    let _ = process.wait();
}

/// An address nobody listens on yet.
pub(crate) fn free() -> anyhow::Result<SocketAddr> {
    Ok(TcpListener::bind("127.0.0.1:0")?.local_addr()?)
}

/// Waits until somebody listens.
pub(crate) fn answers(address: SocketAddr) -> anyhow::Result<()> {
    for _ in 0..500 {
        if TcpStream::connect(address).is_ok() {
            return Ok(());
        }
        sleep(Duration::from_millis(10));
    }
    bail!("nothing came to listen on {address}");
}

/// The command itself, with its log into a file as the others have.
fn abide(
    dir: &Path,
    listen: SocketAddr,
    upstream: SocketAddr,
    threads: usize,
) -> anyhow::Result<Child> {
    let own = std::env::current_exe()?;
    let command = own.with_file_name("abide");
    Command::new(&command)
        .args(["serve", "--state", ":memory:", "--log-format", "json"])
        .args(["--listen", &listen.to_string()])
        .args(["--upstream", &format!("provider=http://{upstream}")])
        .args(["--threads", &threads.to_string()])
        .arg("--access-log")
        .arg(dir.join("abide.log"))
        .current_dir(dir)
        .env_remove("ABIDE_CONFIG")
        .stdin(Stdio::null())
        .stderr(Stdio::null())
        .spawn()
        .with_context(|| {
            let command = command.display();
            format!("{command} is not built (cargo build --release -p abide-cli)")
        })
}

fn stand_in(
    client: &str,
    dir: &Path,
    listen: SocketAddr,
    upstream: SocketAddr,
    threads: usize,
) -> anyhow::Result<Child> {
    Command::new(std::env::current_exe()?)
        .args(["stand-in", "--client", client])
        .args(["--listen", &listen.to_string()])
        .args(["--upstream", &upstream.to_string()])
        .args(["--threads", &threads.to_string()])
        .arg("--log")
        .arg(dir.join(format!("{client}.log")))
        .stdin(Stdio::null())
        .spawn()
        .context("a stand-in cannot be started")
}
