//! Many at once: thousands wait at one hold, and a gateway that works for long grows no further.
//!
//! `scripts/soak` does the same with ten thousand and for ten minutes, against the real program.

use std::net::SocketAddr;

use tokio::io::{AsyncReadExt as _, AsyncWriteExt as _};
use tokio::net::TcpStream;
use tokio::task::JoinSet;

use crate::rig::{Gate, Peer, ok, secs};

const MANY: usize = 2_000;

/// Each caller is two open files here, and shells allow 1,024.
fn allow_many() {
    use rustix::process::{Resource, getrlimit, setrlimit};
    let mut limit = getrlimit(Resource::Nofile);
    limit.current = limit.maximum;
    setrlimit(Resource::Nofile, limit).unwrap();
    let enough = limit.maximum.is_none_or(|most| most > 3 * MANY as u64);
    assert!(enough, "the hard limit of open files is too low: {limit:?}");
}

/// Asks so often on one connection; the last status.
async fn asked(at: SocketAddr, path: String, times: usize) -> u16 {
    let mut socket = TcpStream::connect(at).await.unwrap();
    let head = format!("GET {path} HTTP/1.1\r\nHost: {at}\r\nPrefer: wait=3600\r\n\r\n");
    let mut status = 0;
    for _ in 0..times {
        socket.write_all(head.as_bytes()).await.unwrap();
        let mut all = Vec::new();
        // Every answer here ends with this word.
        while !all.ends_with(b"well") {
            if socket.read_buf(&mut all).await.unwrap() == 0 {
                break;
            }
        }
        let text = String::from_utf8_lossy(&all);
        status = text.split(' ').nth(1).unwrap().parse().unwrap();
    }
    socket.shutdown().await.unwrap();
    status
}

fn runtime() -> tokio::runtime::Runtime {
    let mut builder = tokio::runtime::Builder::new_current_thread();
    builder.enable_all().build().unwrap()
}

#[test]
fn gw_two_thousand_wait_at_one_hold_and_all_are_served() {
    allow_many();
    // A limit that was named is not enough: a first request that is refused teaches its account's gate a
    // pace of one in so long a wait, which is not what is tested here.
    let peer = Peer::refusing_once(8);
    let gate = Gate::with(
        &peer,
        "rate = \"400/s\"\nburst = 8\nconcurrency = 32\npace.adaptive = \"off\"",
    );
    let first = gate.aside("GET /shop/first", "");
    gate.until_held();
    runtime().block_on(async {
        let mut all = JoinSet::new();
        for n in 0..MANY {
            all.spawn(asked(gate.at, format!("/shop/{n}"), 1));
        }
        while let Some(status) = all.join_next().await {
            assert_eq!(status.unwrap(), 200);
        }
    });
    assert_eq!(first.join().unwrap().status(), 200);
    let times = peer.times();
    assert_eq!(
        times.len(),
        MANY + 2,
        "each was sent once, and the first one twice"
    );
    assert!(
        times[1..].iter().all(|t| t.since(times[0]) >= secs(8)),
        "inside the hold"
    );
    // At the pace: 400 a second and a burst of 8, and what a busy machine may bunch together.
    for (i, from) in times.iter().enumerate().skip(1) {
        let within = times[i..]
            .iter()
            .take_while(|t| t.since(*from) < secs(1))
            .count();
        assert!(within <= 600, "{within} within a second");
    }
    let mut targets: Vec<_> = peer.seen().iter().map(|s| s.target().to_owned()).collect();
    targets.sort();
    targets.dedup();
    assert_eq!(targets.len(), MANY + 1, "nobody's answer was another's");
}

/// Pages that are in memory, in KiB.
fn resident() -> u64 {
    let text = std::fs::read_to_string("/proc/self/statm").unwrap();
    let pages: u64 = text.split(' ').nth(1).unwrap().parse().unwrap();
    pages * 4
}

#[test]
#[cfg(target_os = "linux")]
fn gw_memory_is_flat_at_full_rate() {
    let peer = Peer::raw(|mut wire| {
        let said = ok("well");
        while wire.through(b"\r\n\r\n").is_some() {
            if wire.send(&said).is_err() {
                return;
            }
        }
    });
    let gate = Gate::with(&peer, "pace.gentle = false\nconcurrency = 16");
    let round = |n: usize| {
        runtime().block_on(async {
            let mut all = JoinSet::new();
            for caller in 0..16 {
                // Other paths each time: what is remembered of them is bounded.
                all.spawn(asked(gate.at, format!("/shop/{n}/{caller}"), 250));
            }
            while let Some(status) = all.join_next().await {
                assert_eq!(status.unwrap(), 200);
            }
        });
    };
    (0..3).for_each(round);
    let before = resident();
    (3..9).for_each(round);
    let grown = resident().saturating_sub(before);
    assert!(
        grown < 8 * 1024,
        "24,000 requests more left {grown} KiB behind"
    );
}
