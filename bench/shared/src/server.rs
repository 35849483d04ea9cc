//! A server of its own, which ends with the bench.

use std::io::{BufRead as _, BufReader};
use std::net::TcpListener;
use std::process::{Child, Command, Stdio};

use anyhow::Context as _;
use tempfile::TempDir;

#[derive(Debug)]
pub(crate) struct Server {
    child: Child,
    port: u16,
    _dir: TempDir,
}

impl Server {
    pub(crate) fn start() -> anyhow::Result<Self> {
        let dir = tempfile::tempdir()?;
        let port = TcpListener::bind(("127.0.0.1", 0))?.local_addr()?.port();
        let mut child = Command::new("redis-server")
            .args(["--port", &port.to_string(), "--save", ""])
            .current_dir(dir.path())
            .stdout(Stdio::piped())
            .spawn()
            .context("redis-server: apt-get install redis-server")?;
        let out = child.stdout.take().context("no output")?;
        let mut lines = BufReader::new(out).lines();
        while !lines
            .next()
            .context("it ended")??
            .contains("Ready to accept")
        {}
        std::thread::spawn(move || lines.for_each(drop));
        Ok(Self {
            child,
            port,
            _dir: dir,
        })
    }

    pub(crate) fn url(&self) -> String {
        format!("redis://127.0.0.1:{}", self.port)
    }
}

impl Drop for Server {
    fn drop(&mut self) {
        let _ = self.child.kill();
        let _ = self.child.wait();
    }
}
