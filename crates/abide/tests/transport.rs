//! Failures of the exchange, read from real sockets.

#![allow(clippy::unwrap_used, reason = "a test may panic")]

mod common;

use std::error::Error as _;
use std::io::{ErrorKind, Read as _, Write as _};
use std::net::{IpAddr, TcpListener};
use std::sync::Arc;
use std::time::Duration;

use abide::core::call::{Call, CallPolicy, Safety};
use abide::core::classify::{Phase, Transport, TransportKind};
use abide::core::ladder::Ladder;
use abide::core::outage::OutagePolicy;
use abide::core::refusal::RefusalKind;
use abide::profile::Catalogue;
use abide::{Admission, Client, Governor, Permit};
use common::{Peer, Reply, hasty, ms, reply, turned};

#[tokio::test]
async fn ra_40_every_failure_of_the_transport_has_its_kind() {
    let kind = |url: String| async move {
        let call = hasty().get(&url).attempts(1).attempt_timeout(ms(2_000));
        turned(call.send().await).transport.unwrap().kind
    };
    assert_eq!(kind(Peer::nobody()).await, TransportKind::Refused);
    let closing = Peer::saying([Reply::Close]);
    assert_eq!(kind(closing.url("/")).await, TransportKind::Reset);
    let silent = Peer::saying([Reply::Silence]);
    assert_eq!(kind(silent.url("/")).await, TransportKind::Timeout);
    // A plain server where a handshake is expected.
    assert_eq!(kind(plain_where_secure()).await, TransportKind::Tls);
    // No such name, by its reserved ending.
    let unknown = "http://nowhere.invalid/".to_owned();
    assert_eq!(kind(unknown).await, TransportKind::Dns);
}

/// Speaks HTTP whatever it is told.
fn plain_where_secure() -> String {
    let listener = TcpListener::bind("127.0.0.1:0").unwrap();
    let address = listener.local_addr().unwrap();
    std::thread::spawn(move || {
        for mut stream in listener.incoming().flatten() {
            let _ = stream.write_all(b"HTTP/1.1 400 Bad Request\r\n\r\n");
            // Until the client leaves.
            let _ = stream.read_to_end(&mut Vec::new());
        }
    });
    format!("https://{address}/")
}

const PROFILE: &str = r#"
name = "looked-into"
hosts = ["peer.example"]

[[rule]]
why = "a refusal hides in a 200"
status = [200]
json = { "$.refused" = true }
verdict = "rate_limited"
"#;

/// Tells that an exchange with a host timed out.
async fn dies(governor: &Governor, host: &str) {
    let url = url::Url::parse(&format!("http://{host}/")).unwrap();
    let target = governor.target(&http::Method::GET, &url, &http::HeaderMap::new());
    let target = target.unwrap();
    let shard = governor.provider_of(&target);
    let now = governor.clock().now();
    let mut call = Call::new(CallPolicy::default(), Safety::Read, now);
    let permit = Permit::acquire(&shard, &Admission::to(target), &mut call).await;
    let dead = Transport {
        phase: Phase::Connect,
        kind: TransportKind::Timeout,
    };
    permit.unwrap().failed(host, &dead);
}

/// Whoever leaves while an answer is looked into has seen that there is one.
#[tokio::test]
async fn inv09_a_head_ends_an_outage_whoever_leaves_before_the_body() {
    let mut all = Catalogue::built_in();
    all.add("own.toml", PROFILE.to_owned()).unwrap();
    let mut outage = OutagePolicy::default();
    outage.probe = Ladder::Steps(vec![Duration::ZERO]);
    let governor = Governor::builder().catalogue(Arc::new(all));
    let governor = governor.outage(Some(outage)).build().unwrap();
    for host in ["a.example", "b.example"] {
        dies(&governor, host).await;
    }
    assert!(governor.is_offline());
    let slow = reply(200).json("{\"refused\":false}");
    let peer = Peer::saying([slow.dripping(Duration::from_secs(3))]);
    let port = url::Url::parse(&peer.url("/")).unwrap().port().unwrap();
    let at = std::net::SocketAddr::from(([127, 0, 0, 1], port));
    let http = reqwest::Client::builder().resolve("peer.example", at);
    let client = Client::builder().http(http).governor(governor);
    let client = client.build().unwrap();
    let call = client.get(&format!("http://peer.example:{port}/"));
    let t = turned(call.deadline(ms(500)).send().await);
    assert_eq!(
        (t.refusal.kind, peer.requests()),
        (RefusalKind::DeadlinePassed, 1)
    );
    assert!(!client.governor().is_offline(), "something answered");
}

/// Nothing can be sent from an address that is not ours; that lies below the connector's error and
/// the client's.
#[tokio::test]
async fn sc_b10_the_evidence_is_found_however_deep_it_lies() {
    let peer = Peer::saying([reply(200)]);
    // Set aside for documentation: no machine has it.
    let nobodys: IpAddr = "192.0.2.1".parse().unwrap();
    if TcpListener::bind((nobodys, 0)).is_ok() {
        // This system lets anybody send from any address.
        return;
    }
    let http = reqwest::Client::builder().local_address(nobodys);
    let client = Client::builder().http(http).build().unwrap();
    let t = turned(client.get(&peer.url("/")).attempts(1).send().await);
    let met = t.transport.unwrap();
    assert_eq!(
        (met.phase, met.kind),
        (Phase::Connect, TransportKind::NoNetwork)
    );
    let cause = t.cause.unwrap();
    assert_eq!(cause.io_kind(), Some(ErrorKind::AddrNotAvailable));
    let mut below = 0;
    let mut next = cause.source();
    while let Some(e) = next {
        (below, next) = (below + 1, e.source());
    }
    assert!(below >= 2, "{below} levels");
    assert_eq!(peer.requests(), 0);
}
