//! A simulated provider, a folder, and the real binary.
#![allow(
    dead_code,
    clippy::unwrap_used,
    unreachable_pub,
    reason = "test code; each file uses its part"
)]

pub mod served;

use std::collections::BTreeMap;
use std::fs;
use std::path::PathBuf;
use std::process::{Child, Command, Output, Stdio};
use std::time::Duration;

use abide_sim::Provider;
use abide_sim::http::{Server, ServerOptions};
use abide_sim::policy::Policy;
use serde_json::Value;

pub struct Scene {
    pub dir: tempfile::TempDir,
    pub server: Server,
}

impl Scene {
    pub fn new(policy: impl Policy + 'static) -> Self {
        let server = Server::start(Provider::new(policy), ServerOptions::default()).unwrap();
        Self {
            dir: tempfile::tempdir().unwrap(),
            server,
        }
    }

    pub fn path(&self, name: &str) -> PathBuf {
        self.dir.path().join(name)
    }

    pub fn write(&self, name: &str, text: &str) -> PathBuf {
        let path = self.path(name);
        fs::write(&path, text).unwrap();
        path
    }

    pub fn url(&self, path: &str) -> String {
        format!("{}{path}", self.server.url())
    }

    /// A list of plain items.
    pub fn list(&self, items: usize) -> PathBuf {
        let lines: String = (0..items)
            .map(|i| format!("{}\n", self.url(&format!("/item/{i}"))))
            .collect();
        self.write("list.txt", &lines)
    }

    /// `abide` with a state folder of this scene.
    pub fn abide(&self, args: &[&str]) -> Command {
        let mut c = Command::new(env!("CARGO_BIN_EXE_abide"));
        c.args(args)
            .current_dir(self.dir.path())
            .env("ABIDE_STATE", self.path("state"));
        for name in [
            "HTTP_PROXY",
            "http_proxy",
            "HTTPS_PROXY",
            "https_proxy",
            "ALL_PROXY",
            "all_proxy",
        ] {
            c.env_remove(name);
        }
        c.env_remove("ABIDE_CONFIG").env("HOME", self.dir.path());
        c.stdin(Stdio::null());
        c
    }

    pub fn run(&self, args: &[&str]) -> Output {
        self.abide(args).output().unwrap()
    }

    pub fn start(&self, args: &[&str]) -> Child {
        self.abide(args)
            .stdout(Stdio::piped())
            .stderr(Stdio::piped())
            .spawn()
            .unwrap()
    }

    /// The lines of an output, by id; no id may have two.
    pub fn results(&self, name: &str) -> BTreeMap<String, Value> {
        by_id(&fs::read_to_string(self.path(name)).unwrap())
    }

    /// Waits until the provider has seen this many requests.
    pub fn seen(&self, requests: u64, child: &mut Child) -> bool {
        loop {
            if self.server.read(|t| t.requests) >= requests {
                return true;
            }
            if child.try_wait().unwrap().is_some() {
                return false;
            }
            std::thread::sleep(Duration::from_millis(1));
        }
    }
}

pub fn by_id(text: &str) -> BTreeMap<String, Value> {
    let mut all = BTreeMap::new();
    for line in text.lines() {
        let value: Value = serde_json::from_str(line).unwrap();
        let id = value["id"].as_str().unwrap().to_owned();
        assert!(
            all.insert(id.clone(), value).is_none(),
            "item {id} has two lines"
        );
    }
    all
}

pub fn count(results: &BTreeMap<String, Value>, outcome: &str) -> usize {
    results.values().filter(|r| r["outcome"] == outcome).count()
}

pub fn code(output: &Output) -> i32 {
    output.status.code().unwrap_or(-1)
}

pub fn err(output: &Output) -> String {
    String::from_utf8_lossy(&output.stderr).into_owned()
}
