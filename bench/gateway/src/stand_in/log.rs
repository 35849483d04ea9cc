//! An access log, written by a thread of its own in blocks, and counters beside it.

use std::fmt::Write as _;
use std::fs::File;
use std::io::Write as _;
use std::mem;
use std::net::SocketAddr;
use std::path::Path;
use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};
use std::time::{Duration, Instant};

use http::{Method, StatusCode};
use parking_lot::Mutex;

pub(crate) struct Log {
    epoch: Instant,
    lines: Arc<Mutex<String>>,
    requests: AtomicU64,
    buckets: [AtomicU64; 16],
}

impl Log {
    pub(crate) fn open(path: &Path) -> anyhow::Result<Self> {
        let mut file = File::create(path)?;
        let lines = Arc::new(Mutex::new(String::new()));
        let theirs = Arc::clone(&lines);
        std::thread::spawn(move || {
            loop {
                std::thread::sleep(Duration::from_millis(200));
                let block = mem::take(&mut *theirs.lock());
                if file.write_all(block.as_bytes()).is_err() {
                    return;
                }
            }
        });
        Ok(Self {
            #[expect(clippy::disallowed_methods, reason = "a measurement needs real time")]
            epoch: Instant::now(),
            lines,
            requests: AtomicU64::new(0),
            buckets: Default::default(),
        })
    }

    #[expect(clippy::disallowed_methods, reason = "a measurement needs real time")]
    pub(crate) fn now(&self) -> Duration {
        self.epoch.elapsed()
    }

    pub(crate) fn line(&self, peer: SocketAddr, method: &Method, path: &str) -> String {
        let mut line = String::with_capacity(192);
        let _ = write!(
            line,
            "{{\"client\":\"{}\",\"method\":\"{method}\",\"path\":\"{path}\"",
            peer.ip()
        );
        line
    }

    pub(crate) fn done(&self, mut line: String, status: StatusCode, bytes: u64, took: Duration) {
        let micros = took.as_micros();
        let _ = writeln!(
            line,
            ",\"status\":{},\"bytes\":{bytes},\"took\":{micros}}}",
            status.as_u16()
        );
        self.requests.fetch_add(1, Ordering::Relaxed);
        let bucket = (u128::BITS - micros.leading_zeros()).min(15) as usize;
        self.buckets[bucket].fetch_add(1, Ordering::Relaxed);
        self.lines.lock().push_str(&line);
    }
}
