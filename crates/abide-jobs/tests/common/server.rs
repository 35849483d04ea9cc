//! A PostgreSQL server of a test's own: a folder and a socket nobody else knows.
//!
//! It is started by whoever needs it, as another user where root runs the tests (it refuses root),
//! and ends with the last database on it.

use std::fs;
use std::path::{Path, PathBuf};
use std::process::{Child, Command, Stdio};
use std::sync::atomic::{AtomicU32, Ordering};
use std::sync::{Arc, Mutex};
use std::time::Duration;

/// Where the server's programs are, the newest first.
const PLACES: [&str; 6] = [
    "/usr/lib/postgresql/18/bin",
    "/usr/lib/postgresql/17/bin",
    "/usr/lib/postgresql/16/bin",
    "/usr/lib/postgresql/15/bin",
    "/usr/local/pgsql/bin",
    "/usr/local/bin",
];

const MISSING: &str = "no PostgreSQL server here: install one (apt-get install postgresql, or \
    scripts/test, which does so) or put its programs into PATH; these tests are not skipped";

pub struct Server {
    dir: PathBuf,
    bin: PathBuf,
    child: Mutex<Option<Child>>,
}

/// A database of one test.
pub struct Database {
    name: String,
    pub server: Arc<Server>,
}

fn programs() -> PathBuf {
    let path = std::env::var_os("PATH").unwrap_or_default();
    let named = std::env::split_paths(&path).map(|p| p.to_owned());
    let places = PLACES.iter().map(PathBuf::from).chain(named);
    let there = |p: &PathBuf| p.join("initdb").exists() && p.join("postgres").exists();
    places.into_iter().find(there).expect(MISSING)
}

/// Runs a program of the server's, not as root.
fn command(program: &Path) -> Command {
    let root = Command::new("id").arg("-u").output().unwrap().stdout == b"0\n";
    if !root {
        return Command::new(program);
    }
    let mut c = Command::new("runuser");
    c.args(["-u", "postgres", "--"]).arg(program);
    c
}

impl Server {
    pub fn begin() -> Arc<Self> {
        let bin = programs();
        let dir = tempfile::Builder::new()
            .prefix("abide-pg")
            .tempdir()
            .unwrap()
            .keep();
        let open = std::os::unix::fs::PermissionsExt::from_mode(0o777);
        fs::set_permissions(&dir, open).unwrap();
        let made = command(&bin.join("initdb"))
            .args(["-U", "abide", "-A", "trust", "-N", "-D"])
            .arg(dir.join("data"))
            .stdout(Stdio::null())
            .status()
            .unwrap();
        assert!(made.success(), "initdb failed");
        let server = Self {
            dir,
            bin,
            child: Mutex::new(None),
        };
        server.start();
        Arc::new(server)
    }

    pub fn start(&self) {
        let dir = self.dir.display().to_string();
        let child = command(&self.bin.join("postgres"))
            .args(["-D", &format!("{dir}/data"), "-k", &dir, "-h", ""])
            .args(["-c", "max_connections=200", "-c", "log_min_messages=fatal"])
            .args(["-c", "unix_socket_permissions=0777"])
            .stdout(Stdio::null())
            .stderr(Stdio::null())
            .spawn()
            .unwrap();
        *self.child.lock().unwrap() = Some(child);
        for _ in 0..600 {
            if self.psql("postgres", "SELECT 1").is_some() {
                return;
            }
            std::thread::sleep(Duration::from_millis(50));
        }
        panic!("the server does not come up");
    }

    /// Stops it at once, as a crash of its machine would.
    pub fn kill(&self) {
        let pid = fs::read_to_string(self.dir.join("data/postmaster.pid")).unwrap();
        let pid = pid.lines().next().unwrap().to_owned();
        let stopped = Command::new("kill").args(["-QUIT", &pid]).status().unwrap();
        assert!(stopped.success());
        if let Some(mut child) = self.child.lock().unwrap().take() {
            child.wait().unwrap();
        }
    }

    pub fn psql(&self, database: &str, sql: &str) -> Option<String> {
        let out = Command::new(self.bin.join("psql"))
            .args([
                "-h",
                &self.dir.display().to_string(),
                "-U",
                "abide",
                "-d",
                database,
            ])
            .args(["-qtAc", sql])
            .stderr(Stdio::null())
            .output()
            .unwrap();
        let text = String::from_utf8_lossy(&out.stdout).trim().to_owned();
        out.status.success().then_some(text)
    }
}

impl Drop for Server {
    fn drop(&mut self) {
        if self.dir.join("data/postmaster.pid").exists() {
            self.kill();
        }
        let _ = fs::remove_dir_all(&self.dir);
    }
}

impl Database {
    pub fn fresh(server: &Arc<Server>) -> Self {
        static NEXT: AtomicU32 = AtomicU32::new(0);
        let name = format!("t{}", NEXT.fetch_add(1, Ordering::Relaxed));
        let made = server.psql("postgres", &format!("CREATE DATABASE {name}"));
        assert!(made.is_some(), "no database");
        Self {
            name,
            server: Arc::clone(server),
        }
    }

    pub fn config(&self) -> String {
        let dir = self.server.dir.display();
        format!("host={dir} user=abide dbname={}", self.name)
    }

    pub fn psql(&self, sql: &str) -> String {
        self.server.psql(&self.name, sql).unwrap()
    }
}
