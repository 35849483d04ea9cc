//! The real program under many callers and for long: `scripts/soak` builds and runs it.
//!
//! ```text
//! soak PROGRAM [WAITING [SECONDS]]
//! ```
//!
//! First so many callers (10,000) wait at one hold: all must be served, none of them inside the hold, and no
//! more in any second than the pace. Then it works at full rate for so long (600 s): what it keeps in memory
//! after the first tenth must not grow. It ends with 1 and says what was wrong.

#![allow(
    clippy::unwrap_used,
    clippy::expect_used,
    missing_docs,
    reason = "a program of the tests"
)]

use std::io::{BufRead as _, BufReader};
use std::net::SocketAddr;
use std::process::{Child, Command, Stdio};
use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};
use std::time::Duration;

use abide::clock::{Clock as _, System};
use abide::core::Instant;
use parking_lot::Mutex;
use tokio::io::{AsyncReadExt as _, AsyncWriteExt as _};
use tokio::net::{TcpListener, TcpStream};
use tokio::task::JoinSet;

const HOLD: Duration = Duration::from_secs(30);
/// Of the provider at which all wait, a second.
const RATE: usize = 1_000;
/// Callers at full rate.
const CALLERS: usize = 64;

/// A provider: `/held` refuses its first request, all else is well.
#[derive(Default)]
struct Peer {
    /// When each request to `/held` came.
    held: Mutex<Vec<Instant>>,
    served: AtomicU64,
}

impl Peer {
    async fn listens(self: Arc<Self>) -> SocketAddr {
        let listener = TcpListener::bind("127.0.0.1:0").await.unwrap();
        let at = listener.local_addr().unwrap();
        tokio::spawn(async move {
            while let Ok((socket, _)) = listener.accept().await {
                tokio::spawn(Arc::clone(&self).serves(socket));
            }
        });
        at
    }

    async fn serves(self: Arc<Self>, mut socket: TcpStream) {
        let mut ahead = Vec::new();
        loop {
            while !ahead.ends_with(b"\r\n\r\n") {
                match socket.read_buf(&mut ahead).await {
                    Ok(0) | Err(_) => return,
                    Ok(_) => {}
                }
            }
            let said: String = match ahead.starts_with(b"GET /held") {
                true => {
                    let mut held = self.held.lock();
                    held.push(System.now());
                    match held.len() {
                        1 => format!(
                            "HTTP/1.1 429 No\r\nRetry-After: {}\r\nContent-Length: 4\r\n\r\nwell",
                            HOLD.as_secs()
                        ),
                        _ => "HTTP/1.1 200 OK\r\nContent-Length: 4\r\n\r\nwell".to_owned(),
                    }
                }
                false => {
                    self.served.fetch_add(1, Ordering::Relaxed);
                    "HTTP/1.1 200 OK\r\nContent-Length: 4\r\n\r\nwell".to_owned()
                }
            };
            ahead.clear();
            if socket.write_all(said.as_bytes()).await.is_err() {
                return;
            }
        }
    }
}

/// The program, which ends with us.
struct Served(Child, SocketAddr);

impl Served {
    fn start(program: &str, peer: SocketAddr, dir: &std::path::Path) -> Self {
        let text = format!(
            "[gateway]\nlisten = \"127.0.0.1:0\"\naccess_log = \"none\"\n\
             [providers.held]\nupstream = \"http://{peer}\"\nrate = \"{RATE}/s\"\nburst = 8\n\
             concurrency = 64\npace.adaptive = \"off\"\n\
             [providers.shop]\nupstream = \"http://localhost:{}\"\nconcurrency = {CALLERS}\n",
            peer.port()
        );
        let file = dir.join("abide.toml");
        std::fs::write(&file, text).unwrap();
        let mut child = Command::new(program)
            .args(["serve", "--state", ":memory:", "--config"])
            .arg(&file)
            .stderr(Stdio::piped())
            .spawn()
            .expect("the program starts");
        let mut lines = BufReader::new(child.stderr.take().unwrap()).lines();
        let url = lines.by_ref().map_while(Result::ok).find_map(|l| {
            Some(
                l.split_once("listening on http://")?
                    .1
                    .split(';')
                    .next()?
                    .to_owned(),
            )
        });
        std::thread::spawn(move || lines.for_each(drop));
        Self(child, url.expect("it listens").parse().unwrap())
    }

    /// What it has in memory, in KiB.
    fn resident(&self) -> u64 {
        let path = format!("/proc/{}/statm", self.0.id());
        let text = std::fs::read_to_string(path).expect("it runs");
        let pages: u64 = text.split(' ').nth(1).unwrap().parse().unwrap();
        pages * 4
    }
}

impl Drop for Served {
    fn drop(&mut self) {
        let _ = self.0.kill();
        let _ = self.0.wait();
    }
}

/// Asks on a connection until told to stop, or `times`; how often it was answered well.
async fn asks(at: SocketAddr, path: String, times: u64, until: Option<Instant>) -> u64 {
    let mut socket = TcpStream::connect(at).await.expect("a connection");
    let head = format!("GET {path} HTTP/1.1\r\nHost: {at}\r\nPrefer: wait=3600\r\n\r\n");
    let (mut well, mut answer) = (0, Vec::with_capacity(1024));
    while well < times && until.is_none_or(|end| System.now() < end) {
        answer.clear();
        socket
            .write_all(head.as_bytes())
            .await
            .expect("it takes requests");
        while !answer.ends_with(b"well") {
            if socket.read_buf(&mut answer).await.expect("it answers") == 0 {
                return well;
            }
        }
        if !answer.starts_with(b"HTTP/1.1 200") {
            return well;
        }
        well += 1;
    }
    well
}

async fn many(served: &Served, peer: &Peer, callers: usize) {
    let (at, idle) = (served.1, served.resident());
    let first = tokio::spawn(asks(at, "/held/held/first".to_owned(), 1, None));
    while peer.held.lock().is_empty() {
        tokio::task::yield_now().await;
    }
    let mut all = JoinSet::new();
    for n in 0..callers {
        all.spawn(asks(at, format!("/held/held/{n}"), 1, None));
    }
    let opened = peer.held.lock()[0];
    tokio::time::sleep(HOLD.saturating_sub(System.now().since(opened)) / 2).await;
    let waiting = served.resident();
    let mut well = 0;
    while let Some(one) = all.join_next().await {
        well += one.unwrap();
    }
    assert_eq!(first.await.unwrap(), 1, "the first one is served");
    assert_eq!(well, callers as u64, "all are served");
    let held = peer.held.lock();
    assert_eq!(held.len(), callers + 2, "each is sent once");
    assert!(
        held[1..].iter().all(|t| t.since(held[0]) >= HOLD),
        "one is inside the hold"
    );
    let mut most = 0;
    for (i, from) in held.iter().enumerate().skip(1) {
        let within = held[i..]
            .iter()
            .take_while(|t| t.since(*from) < Duration::from_secs(1));
        most = most.max(within.count());
    }
    assert!(most <= RATE * 3 / 2, "{most} within a second, of {RATE}");
    let each = waiting.saturating_sub(idle) * 1024 / callers as u64;
    println!(
        "{callers} waited at one hold: all served, at most {most} a second, {each} bytes each"
    );
}

async fn long(served: &Served, peer: &Peer, seconds: u64) {
    let (began, at) = (System.now(), served.1);
    let end = began.after(Duration::from_secs(seconds));
    let mut all = JoinSet::new();
    for n in 0..CALLERS {
        all.spawn(asks(at, format!("/shop/{n}"), u64::MAX, Some(end)));
    }
    let tenth = Duration::from_secs(seconds) / 10;
    let mut seen = Vec::new();
    for n in 1..=10 {
        tokio::time::sleep(tenth).await;
        seen.push(served.resident());
        println!("{:>5} s: {} KiB", tenth.as_secs() * n, seen.last().unwrap());
    }
    let mut well = 0;
    while let Some(one) = all.join_next().await {
        well += one.unwrap();
    }
    assert_eq!(
        peer.served.load(Ordering::Relaxed),
        well,
        "each is sent once"
    );
    let (first, last) = (seen[0], *seen.last().unwrap());
    assert!(
        last <= first + first / 10 + 4096,
        "memory grew from {first} to {last} KiB"
    );
    println!(
        "{} requests a second for {seconds} s, memory flat",
        well / seconds.max(1)
    );
}

#[tokio::main]
async fn main() {
    use rustix::process::{Resource, getrlimit, setrlimit};
    let mut limit = getrlimit(Resource::Nofile);
    limit.current = limit.maximum;
    setrlimit(Resource::Nofile, limit).unwrap();
    let mut args = std::env::args().skip(1);
    let program = args.next().expect("soak PROGRAM [WAITING [SECONDS]]");
    let mut number = |or: u64| args.next().map_or(or, |n| n.parse().expect("a number"));
    let (waiting, seconds) = (number(10_000), number(600));
    let dir = std::env::temp_dir().join(format!("abide-soak-{}", std::process::id()));
    std::fs::create_dir_all(&dir).unwrap();
    let peer = Arc::<Peer>::default();
    let at = Arc::clone(&peer).listens().await;
    let served = Served::start(&program, at, &dir);
    many(&served, &peer, usize::try_from(waiting).unwrap()).await;
    long(&served, &peer, seconds).await;
    drop(served);
    let _ = std::fs::remove_dir_all(&dir);
}
