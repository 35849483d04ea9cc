//! A server of its own for a test: on a free port, in a temporary folder, gone with the test.

#![allow(dead_code, reason = "every test file uses a part")]

use std::io::{BufRead as _, BufReader};
use std::net::TcpListener;
use std::path::PathBuf;
use std::process::{Child, Command, Stdio};

use tempfile::TempDir;

/// A running `redis-server`.
#[derive(Debug)]
pub(crate) struct Server {
    child: Child,
    pub(crate) dir: TempDir,
    pub(crate) port: u16,
    options: Vec<String>,
}

/// A port that nobody has.
pub(crate) fn free_port() -> u16 {
    let listener = TcpListener::bind(("127.0.0.1", 0)).unwrap();
    listener.local_addr().unwrap().port()
}

impl Server {
    pub(crate) fn start() -> Self {
        Self::start_with(&[])
    }

    /// Starts one with options such as `--maxmemory 1mb`.
    pub(crate) fn start_with(options: &[&str]) -> Self {
        Self::start_at(free_port(), options)
    }

    pub(crate) fn start_at(port: u16, options: &[&str]) -> Self {
        let dir = tempfile::tempdir().unwrap();
        let options: Vec<String> = options.iter().map(|o| (*o).to_owned()).collect();
        let child = run(port, &dir, &options);
        Self {
            child,
            dir,
            port,
            options,
        }
    }

    pub(crate) fn url(&self) -> String {
        format!("redis://127.0.0.1:{}", self.port)
    }

    /// Kills it as `kill -9` does. What it had not saved, which is everything, is lost.
    pub(crate) fn kill(&mut self) {
        let _ = self.child.kill();
        let _ = self.child.wait();
    }

    /// Starts it anew, on the same port.
    pub(crate) fn restart(&mut self) {
        self.kill();
        self.child = run(self.port, &self.dir, &self.options);
    }

    /// It is there, and does nothing.
    pub(crate) fn pause(&self) {
        self.signal("-STOP");
    }

    pub(crate) fn resume(&self) {
        self.signal("-CONT");
    }

    fn signal(&self, signal: &str) {
        let pid = self.child.id().to_string();
        let status = Command::new("kill").args([signal, &pid]).status().unwrap();
        assert!(status.success());
    }

    /// Tells it something, as a person would.
    pub(crate) fn tell(&self, words: &[&str]) -> String {
        tell(self.port, words)
    }
}

impl Drop for Server {
    fn drop(&mut self) {
        self.kill();
    }
}

/// Tells a server something, as a person would.
pub(crate) fn tell(port: u16, words: &[&str]) -> String {
    let told = Command::new("redis-cli")
        .args([
            "-h",
            "127.0.0.1",
            "-p",
            &port.to_string(),
            "--no-auth-warning",
        ])
        .args(words)
        .output()
        .unwrap_or_else(|e| panic!("redis-cli: {e}; apt-get install redis-server"));
    String::from_utf8_lossy(&told.stdout).trim().to_owned()
}

/// A Sentinel that watches a master by the name of `master`.
#[derive(Debug)]
pub(crate) struct Sentinel {
    child: Child,
    _dir: TempDir,
    pub(crate) port: u16,
}

impl Sentinel {
    pub(crate) fn of(master: u16) -> Self {
        let dir = tempfile::tempdir().unwrap();
        let (port, file) = (free_port(), dir.path().join("sentinel.conf"));
        let config = format!(
            "port {port}\nsentinel monitor master 127.0.0.1 {master} 1\n\
             sentinel down-after-milliseconds master 500\nsentinel failover-timeout master 3000\n"
        );
        std::fs::write(&file, config).unwrap();
        let mut child = spawn(&[file.display().to_string(), "--sentinel".to_owned()], &dir);
        wait_for(&mut child, "+monitor");
        Self {
            child,
            _dir: dir,
            port,
        }
    }
}

impl Drop for Sentinel {
    fn drop(&mut self) {
        let _ = self.child.kill();
        let _ = self.child.wait();
    }
}

fn run(port: u16, dir: &TempDir, options: &[String]) -> Child {
    let mut words: Vec<String> = ["--save", "", "--dir"].map(str::to_owned).into();
    words.push(dir.path().display().to_string());
    // With TLS alone there is no plain port.
    if !options.iter().any(|o| o == "--port") {
        words.extend(["--port".to_owned(), port.to_string()]);
    }
    words.extend(options.iter().cloned());
    let mut child = spawn(&words, dir);
    wait_for(&mut child, "Ready to accept connections");
    child
}

fn spawn(words: &[String], dir: &TempDir) -> Child {
    Command::new("redis-server")
        .args(words)
        .current_dir(dir.path())
        .stdout(Stdio::piped())
        .spawn()
        .unwrap_or_else(|e| panic!("redis-server: {e}; apt-get install redis-server"))
}

/// Reads what it prints until it says this; the rest is read away, so that it is never stuck.
fn wait_for(child: &mut Child, word: &str) {
    let mut lines = BufReader::new(child.stdout.take().unwrap()).lines();
    let mut said = String::new();
    loop {
        let Some(Ok(line)) = lines.next() else {
            panic!("it ended, saying:\n{said}");
        };
        if line.contains(word) {
            break;
        }
        said.push_str(&line);
        said.push('\n');
    }
    std::thread::spawn(move || lines.for_each(drop));
}

/// Makes a CA and a certificate of it for 127.0.0.1: their files, and the key's.
pub(crate) fn certificates(dir: &TempDir) -> (PathBuf, PathBuf, PathBuf) {
    let at = |name: &str| dir.path().join(name);
    let run = |words: &[&str]| {
        let done = Command::new("openssl")
            .args(words)
            .current_dir(dir.path())
            .output()
            .unwrap_or_else(|e| panic!("openssl: {e}; apt-get install openssl"));
        let said = String::from_utf8_lossy(&done.stderr);
        assert!(done.status.success(), "openssl {words:?}: {said}");
    };
    run(&[
        "req",
        "-x509",
        "-newkey",
        "ec",
        "-pkeyopt",
        "ec_paramgen_curve:P-256",
        "-nodes",
        "-days",
        "2",
        "-subj",
        "/CN=test ca",
        "-keyout",
        "ca.key",
        "-out",
        "ca.pem",
    ]);
    run(&[
        "req",
        "-newkey",
        "ec",
        "-pkeyopt",
        "ec_paramgen_curve:P-256",
        "-nodes",
        "-subj",
        "/CN=localhost",
        "-keyout",
        "key.pem",
        "-out",
        "server.csr",
    ]);
    std::fs::write(at("ext"), "subjectAltName=IP:127.0.0.1,DNS:localhost\n").unwrap();
    run(&[
        "x509",
        "-req",
        "-in",
        "server.csr",
        "-CA",
        "ca.pem",
        "-CAkey",
        "ca.key",
        "-CAcreateserial",
        "-days",
        "2",
        "-extfile",
        "ext",
        "-out",
        "server.pem",
    ]);
    (at("ca.pem"), at("server.pem"), at("key.pem"))
}
