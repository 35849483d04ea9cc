//! An access log, written by a thread of its own in blocks, and counters beside it.

use std::fmt::Write as _;
use std::fs::File;
use std::io::{self, Write as _};
use std::mem;
use std::net::IpAddr;
use std::path::Path;
use std::sync::atomic::{AtomicU64, Ordering};
use std::sync::{Arc, Mutex, PoisonError};
use std::thread;
use std::time::{Duration, SystemTime, UNIX_EPOCH};

pub(crate) struct Log {
    lines: Arc<Mutex<String>>,
    requests: AtomicU64,
    buckets: [AtomicU64; 16],
}

impl Log {
    pub(crate) fn open(path: &Path) -> io::Result<Self> {
        let mut file = File::create(path)?;
        let lines = Arc::new(Mutex::new(String::new()));
        let theirs = Arc::clone(&lines);
        thread::spawn(move || {
            loop {
                thread::sleep(Duration::from_millis(200));
                let block = mem::take(&mut *theirs.lock().unwrap_or_else(PoisonError::into_inner));
                if file.write_all(block.as_bytes()).is_err() {
                    return;
                }
            }
        });
        Ok(Self {
            lines,
            requests: AtomicU64::new(0),
            buckets: Default::default(),
        })
    }

    pub(crate) fn line(
        &self,
        client: Option<IpAddr>,
        method: &str,
        path: &str,
        status: u16,
        bytes: usize,
        took: Duration,
    ) {
        let micros = took.as_micros();
        self.requests.fetch_add(1, Ordering::Relaxed);
        let bucket = (u128::BITS - micros.leading_zeros()).min(15) as usize;
        self.buckets[bucket].fetch_add(1, Ordering::Relaxed);
        let at = SystemTime::now().duration_since(UNIX_EPOCH);
        let at = at.unwrap_or_default().as_millis();
        let mut lines = self.lines.lock().unwrap_or_else(PoisonError::into_inner);
        let _ = write!(lines, "{{\"at\":{at},\"client\":\"");
        if let Some(client) = client {
            let _ = write!(lines, "{client}");
        }
        let _ = writeln!(
            lines,
            "\",\"method\":\"{method}\",\"path\":\"{path}\",\"status\":{status},\"bytes\":{bytes},\
             \"took\":{micros}}}"
        );
    }
}
