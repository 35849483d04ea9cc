//! Failures of the exchange, read from real sockets.

#![allow(clippy::unwrap_used, reason = "a test may panic")]

mod common;

use std::io::{Read as _, Write as _};
use std::net::TcpListener;

use abide::core::classify::TransportKind;
use common::{Peer, Reply, hasty, ms, turned};

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
