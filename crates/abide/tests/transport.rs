//! Failures of the exchange, read from real sockets.

#![allow(clippy::unwrap_used, reason = "a test may panic")]

mod common;

use std::error::Error as _;
use std::io::{ErrorKind, Read as _, Write as _};
use std::net::{IpAddr, TcpListener};

use abide::Client;
use abide::core::classify::{Phase, TransportKind};
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
