//! `abide serve` as a child of the test.
#![allow(
    clippy::disallowed_methods,
    reason = "tests give up after a while, whatever the clock of the library is"
)]

use std::io::{BufRead as _, BufReader};
use std::process::Child;
use std::sync::{Arc, Mutex};
use std::time::{Duration, Instant};

use super::Scene;

/// A gateway that runs, and ends with the test.
pub struct Served {
    pub child: Child,
    pub url: String,
    /// The admin token it told, where it keeps no state.
    pub told: Option<String>,
    lines: Arc<Mutex<Vec<String>>>,
}

impl Served {
    /// Before the scene's provider, `shop`.
    pub fn start(scene: &Scene, more: &[&str]) -> Self {
        let upstream = format!("shop={}", scene.server.url());
        let mut args = vec!["serve", "--access-log", "none", "--upstream", &upstream];
        if !more.contains(&"--listen") {
            args.extend(["--listen", "127.0.0.1:0"]);
        }
        args.extend(more);
        Self::by(scene, &args)
    }

    /// By a whole command line.
    pub fn by(scene: &Scene, args: &[&str]) -> Self {
        let mut child = scene.start(args);
        let mut lines = BufReader::new(child.stderr.take().unwrap()).lines();
        let mut told = None;
        let url = loop {
            let line = lines.next().expect("it ended").unwrap();
            if let Some((_, token)) = line.split_once("admin token, until this process ends: ") {
                told = Some(token.to_owned());
            }
            if let Some((_, rest)) = line.split_once("listening on ") {
                break rest.split(';').next().unwrap().to_owned();
            }
        };
        let all = Arc::<Mutex<Vec<String>>>::default();
        let theirs = Arc::clone(&all);
        std::thread::spawn(move || {
            lines.for_each(|line| theirs.lock().unwrap().extend(line));
        });
        Self {
            child,
            url,
            told,
            lines: all,
        }
    }

    /// Waits for a line that has this in it, and gives it.
    pub fn says(&self, what: &str) -> String {
        let began = Instant::now();
        loop {
            let lines = self.lines.lock().unwrap().clone();
            if let Some(line) = lines.iter().find(|l| l.contains(what)) {
                return line.clone();
            }
            assert!(
                began.elapsed() < Duration::from_secs(60),
                "{what}: {lines:?}"
            );
            std::thread::sleep(Duration::from_millis(10));
        }
    }

    /// Sends it a signal, as `TERM`.
    pub fn signal(&self, name: &str) {
        let pid = self.child.id().to_string();
        let sent = std::process::Command::new("kill")
            .args(["-s", name, &pid])
            .status();
        assert!(sent.unwrap().success());
    }

    /// Until it has ended by itself; its exit code.
    pub fn ends(&mut self) -> i32 {
        let began = Instant::now();
        loop {
            if let Some(status) = self.child.try_wait().unwrap() {
                return status.code().unwrap_or(-1);
            }
            assert!(began.elapsed() < Duration::from_secs(60), "it goes on");
            std::thread::sleep(Duration::from_millis(10));
        }
    }
}

impl Drop for Served {
    fn drop(&mut self) {
        let _ = self.child.kill();
        let _ = self.child.wait();
    }
}
