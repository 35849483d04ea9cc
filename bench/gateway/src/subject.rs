//! What is measured: a process that hands requests on.

use std::fmt::Write as _;
use std::fs;
use std::io::{Read as _, Write as _};
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
    /// A gateway made with pingora, of `bench/pingora`.
    Pingora,
}

/// One of those measured: which gateway, and how it is set up.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Plan {
    pub(crate) kind: Kind,
    pub(crate) threads: usize,
    /// Providers configured beside the one that is asked.
    pub(crate) providers: usize,
    /// How many of them are held while it is measured.
    pub(crate) held: usize,
    /// Of abide: at how many places a provider is asked at once, where that is not its default.
    pub(crate) concurrency: Option<u32>,
}

impl Plan {
    pub(crate) const fn of(kind: Kind, threads: usize) -> Self {
        Self {
            kind,
            threads,
            providers: 0,
            held: 0,
            concurrency: None,
        }
    }

    /// How it is called in a table.
    pub(crate) fn label(&self) -> String {
        let mut label = format!("{:?}", self.kind).to_lowercase();
        if self.threads != 1 {
            let _ = write!(label, " {} threads", self.threads);
        }
        if self.providers > 0 {
            let _ = write!(label, " {}/{} held", self.held, self.providers);
        }
        if let Some(places) = self.concurrency {
            let _ = write!(label, " at {places}");
        }
        label
    }

    /// What abide is told in its file.
    fn config(&self, upstream: SocketAddr) -> String {
        let mut text = String::new();
        if let Some(places) = self.concurrency {
            let _ = writeln!(text, "[defaults]\nconcurrency = {places}");
        }
        for n in 0..self.providers {
            let address = nginx::address(n, upstream.port());
            let _ = writeln!(text, "[providers.p{n}]\nupstream = \"http://{address}\"");
        }
        text
    }
}

/// A gateway that runs; it ends with this.
#[derive(Debug)]
pub(crate) struct Subject {
    pub(crate) label: String,
    pub(crate) url: String,
    /// Where it listens.
    pub(crate) listen: SocketAddr,
    process: Child,
}

impl Subject {
    /// Starts it, and waits until somebody listens.
    pub(crate) fn start(plan: &Plan, dir: &Path, upstream: SocketAddr) -> anyhow::Result<Self> {
        let subject = Self::begin(plan, dir, upstream)?;
        answers(subject.listen)?;
        for n in 0..plan.held {
            exchange(subject.listen, &format!("/p{n}/long"))?;
        }
        Ok(subject)
    }

    /// Starts it.
    pub(crate) fn begin(plan: &Plan, dir: &Path, upstream: SocketAddr) -> anyhow::Result<Self> {
        let listen = free()?;
        let dir = dir.join(plan.label().replace(['/', ' '], "-"));
        fs::create_dir_all(&dir)?;
        let threads = plan.threads;
        let stand_in = std::env::current_exe()?;
        let process = match plan.kind {
            Kind::Abide => abide(plan, &dir, listen, upstream)?,
            Kind::Nginx => nginx::gateway(&dir, listen, upstream, threads)?,
            Kind::Legacy => other(
                Command::new(stand_in).args(["stand-in", "--client", "legacy"]),
                (&dir, listen, upstream, threads),
            )?,
            Kind::Pool => other(
                Command::new(stand_in).args(["stand-in", "--client", "pool"]),
                (&dir, listen, upstream, threads),
            )?,
            Kind::Pingora => other(
                &mut Command::new(stand_in.with_file_name("bench-pingora")),
                (&dir, listen, upstream, threads),
            )?,
        };
        let path = match plan.kind {
            Kind::Abide => "provider/",
            _ => "",
        };
        Ok(Self {
            label: plan.label(),
            url: format!("http://{listen}/{path}"),
            listen,
            process,
        })
    }

    /// What is asked for below its address.
    pub(crate) fn path(&self) -> &str {
        self.url.splitn(4, '/').last().unwrap_or_default()
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

/// One exchange over a connection of its own; whatever is answered will do.
fn exchange(address: SocketAddr, path: &str) -> anyhow::Result<()> {
    let mut socket = TcpStream::connect(address)?;
    write!(
        socket,
        "GET {path} HTTP/1.1\r\nHost: {address}\r\nPrefer: wait=0\r\nConnection: close\r\n\r\n"
    )?;
    socket.read_to_end(&mut Vec::new())?;
    Ok(())
}

/// The command itself, with its log into a file as the others have.
fn abide(
    plan: &Plan,
    dir: &Path,
    listen: SocketAddr,
    upstream: SocketAddr,
) -> anyhow::Result<Child> {
    let own = std::env::current_exe()?;
    let command = own.with_file_name("abide");
    let config = dir.join("abide.toml");
    fs::write(&config, plan.config(upstream))?;
    Command::new(&command)
        .args(["serve", "--state", ":memory:", "--log-format", "json"])
        .args(["--listen", &listen.to_string()])
        .args(["--upstream", &format!("provider=http://{upstream}")])
        .args(["--threads", &plan.threads.to_string()])
        .arg("--access-log")
        .arg(dir.join("access.log"))
        .arg("--config")
        .arg(config)
        .current_dir(dir)
        .stdin(Stdio::null())
        .stderr(Stdio::null())
        .spawn()
        .with_context(|| {
            let command = command.display();
            format!("{command} is not built (cargo build --release -p abide-cli)")
        })
}

/// One that is told by flags.
fn other(
    command: &mut Command,
    (dir, listen, upstream, threads): (&Path, SocketAddr, SocketAddr, usize),
) -> anyhow::Result<Child> {
    command
        .args(["--listen", &listen.to_string()])
        .args(["--upstream", &upstream.to_string()])
        .args(["--threads", &threads.to_string()])
        .arg("--log")
        .arg(dir.join("access.log"))
        .stdin(Stdio::null())
        .stderr(Stdio::null())
        .spawn()
        .context("it is not built: see the head of bench/gateway/src/main.rs")
}
