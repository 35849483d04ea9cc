//! A provider that says what a test wants, and remembers what it was asked.

use std::net::{SocketAddr, TcpListener};
use std::sync::Arc;
use std::sync::atomic::{AtomicU64, AtomicUsize, Ordering};

use abide::core::Instant;
use parking_lot::Mutex;

use super::wire::{Message, Wire};
use super::{now, until};

/// A provider on a free port.
pub struct Peer {
    pub at: SocketAddr,
    shared: Arc<Shared>,
}

#[derive(Default)]
struct Shared {
    seen: Mutex<Vec<(Instant, Message)>>,
    bytes: Arc<AtomicU64>,
    connections: AtomicUsize,
    gone: AtomicUsize,
}

/// An answer with a length.
pub fn reply(status: u16, fields: &str, body: &str) -> String {
    let length = body.len();
    format!("HTTP/1.1 {status} So\r\nContent-Length: {length}\r\n{fields}\r\n{body}")
}

pub fn ok(body: &str) -> String {
    reply(200, "", body)
}

impl Peer {
    /// Each connection is handed to `by`.
    pub fn raw(by: impl Fn(Wire) + Send + Sync + 'static) -> Self {
        Self::over(Arc::default(), by)
    }

    fn over(shared: Arc<Shared>, by: impl Fn(Wire) + Send + Sync + 'static) -> Self {
        let listener = TcpListener::bind("127.0.0.1:0").unwrap();
        let at = listener.local_addr().unwrap();
        let (by, theirs) = (Arc::new(by), Arc::clone(&shared));
        std::thread::spawn(move || {
            while let Ok((socket, _)) = listener.accept() {
                let (by, shared) = (Arc::clone(&by), Arc::clone(&theirs));
                shared.connections.fetch_add(1, Ordering::SeqCst);
                std::thread::spawn(move || {
                    by(Wire::new(socket, Arc::clone(&shared.bytes)));
                    shared.gone.fetch_add(1, Ordering::SeqCst);
                });
            }
        });
        Self { at, shared }
    }

    /// Answers each request; `n` counts them from 0. An empty answer ends the connection.
    pub fn new(by: impl Fn(&Message, usize) -> String + Send + Sync + 'static) -> Self {
        let shared = Arc::<Shared>::default();
        let of = Arc::clone(&shared);
        Self::over(shared, move |mut wire| {
            while let Some(request) = wire.message(false, false) {
                let n = {
                    let mut seen = of.seen.lock();
                    seen.push((now(), request.clone()));
                    seen.len() - 1
                };
                let said = by(&request, n);
                if said.is_empty() || !request.whole || wire.send(said).is_err() {
                    return;
                }
            }
        })
    }

    /// Says these in turn, and the last one from then on.
    pub fn saying<const N: usize>(all: [String; N]) -> Self {
        Self::new(move |_, n| all[n.min(N - 1)].clone())
    }

    /// Answers 200 to all.
    pub fn well() -> Self {
        Self::new(|_, _| ok("well"))
    }

    /// Refuses once, for so many seconds, and is well then.
    pub fn refusing_once(seconds: u64) -> Self {
        let no = reply(429, &format!("Retry-After: {seconds}\r\n"), "no");
        Self::saying([no, ok("well")])
    }

    pub fn seen(&self) -> Vec<Message> {
        self.shared
            .seen
            .lock()
            .iter()
            .map(|(_, m)| m.clone())
            .collect()
    }

    /// When each request had come.
    pub fn times(&self) -> Vec<Instant> {
        self.shared.seen.lock().iter().map(|(at, _)| *at).collect()
    }

    pub fn requests(&self) -> usize {
        self.shared.seen.lock().len()
    }

    /// The last request.
    pub fn last(&self) -> Message {
        self.seen().pop().expect("a request")
    }

    /// Every byte that ever came.
    pub fn bytes(&self) -> u64 {
        self.shared.bytes.load(Ordering::SeqCst)
    }

    pub fn connections(&self) -> usize {
        self.shared.connections.load(Ordering::SeqCst)
    }

    /// Connections that ended.
    pub fn gone(&self) -> usize {
        self.shared.gone.load(Ordering::SeqCst)
    }

    /// Waits for so many requests.
    pub fn until(&self, requests: usize) {
        until(&format!("{requests} requests"), || {
            self.requests() >= requests
        });
    }
}
