//! A change of protocol passes bytes both ways; one that is not agreed to leaves an ordinary answer.

use std::sync::mpsc;

use crate::rig::{Caller, Gate, Peer, ok, pattern, until};

const ASKS: &str = "Connection: Upgrade\r\nUpgrade: websocket\r\nSec-WebSocket-Version: 13\r\n\
                    Sec-WebSocket-Key: dGhlIHNhbXBsZSBub25jZQ==\r\n";

/// Agrees, and sends back what it gets.
fn echo() -> Peer {
    Peer::raw(|mut wire| {
        let Some(head) = wire.head() else { return };
        assert_eq!(head.header("upgrade"), Some("websocket"));
        assert!(
            head.header("connection")
                .unwrap()
                .eq_ignore_ascii_case("upgrade")
        );
        assert_eq!(head.header("sec-websocket-version"), Some("13"));
        let _ = wire.send(
            "HTTP/1.1 101 Switching Protocols\r\nConnection: Upgrade\r\nUpgrade: websocket\r\n\
             Sec-WebSocket-Accept: s3pPLMBiTxaQ9kYGzzhZRbK+xOo=\r\n\r\n",
        );
        while let Some(piece) = wire.exact(1) {
            if wire.send(piece).is_err() {
                return;
            }
        }
    })
}

fn opened(gate: &Gate) -> Caller {
    let mut caller = gate.caller();
    caller.ask("GET /shop/socket", ASKS, "");
    let got = caller.answer();
    assert_eq!(got.status(), 101);
    assert_eq!(got.header("upgrade"), Some("websocket"));
    assert!(
        got.header("connection")
            .unwrap()
            .eq_ignore_ascii_case("upgrade")
    );
    assert_eq!(
        got.header("sec-websocket-accept"),
        Some("s3pPLMBiTxaQ9kYGzzhZRbK+xOo=")
    );
    caller
}

#[test]
fn gw_a_websocket_passes_bytes_both_ways() {
    let peer = echo();
    let gate = Gate::before(&peer);
    let mut caller = opened(&gate);
    // Bytes that would be no HTTP, and more of them than anybody keeps.
    for piece in [
        &b"\x81\x85\0\0\0\0hello"[..],
        b"\n\r\n\0GET",
        &pattern(200_000),
    ] {
        let sent = piece.to_vec();
        let mut writer = caller.wire.socket.try_clone().unwrap();
        let writing = crate::rig::aside(move || {
            use std::io::Write as _;
            writer.write_all(&sent).unwrap();
        });
        assert_eq!(caller.wire.exact(piece.len()).unwrap(), piece);
        writing.join().unwrap();
    }
    drop(caller);
    until("the provider is left", || peer.gone() == 1);
}

#[test]
fn gw_the_provider_ends_a_websocket() {
    let peer = Peer::raw(|mut wire| {
        wire.head().unwrap();
        let _ = wire.send(
            "HTTP/1.1 101 Switching Protocols\r\nConnection: Upgrade\r\nUpgrade: websocket\r\n\r\nbye",
        );
    });
    let gate = Gate::before(&peer);
    let mut caller = gate.caller();
    caller.ask("GET /shop/socket", ASKS, "");
    assert_eq!(caller.answer().status(), 101);
    assert_eq!(caller.wire.rest(), b"bye");
}

/// What comes behind the question was not looked at as HTTP: the connection ends with the answer.
#[test]
fn gw_a_change_that_is_not_agreed_to_is_an_ordinary_answer() {
    let peer = Peer::saying([ok("no socket here")]);
    let gate = Gate::before(&peer);
    let host = gate.at;
    let hidden = format!("GET /shop/hidden HTTP/1.1\r\nHost: {host}\r\n\r\n");
    for asks in [
        ASKS,
        // Half a wish: it is none, and still nothing behind it is looked at.
        "Upgrade: websocket\r\n",
        "Connection: Upgrade, HTTP2-Settings\r\nUpgrade: h2c\r\nHTTP2-Settings: AAMAAABkAAQAAP__\r\n",
    ] {
        for path in ["/shop/socket", "/-/live", "/nobody/x"] {
            let mut caller = gate.caller();
            caller.send(format!(
                "GET {path} HTTP/1.1\r\nHost: {host}\r\n{asks}\r\n{hidden}"
            ));
            let got = caller.answer();
            assert_ne!(got.status(), 101);
            assert_eq!(got.header("connection"), Some("close"), "{path} {asks:?}");
            assert_eq!(caller.wire.rest(), b"", "{path} {asks:?}");
        }
    }
    assert!(peer.seen().iter().all(|s| s.target() == "/socket"));
}

#[test]
fn gw_a_websocket_waits_at_the_gates_like_a_request() {
    let told = mpsc::channel();
    let (tell, came) = (parking_lot::Mutex::new(told.0), told.1);
    let peer = Peer::raw(move |mut wire| {
        while let Some(head) = wire.head() {
            let _ = tell.lock().send(crate::rig::now());
            let said = match head.header("upgrade") {
                None => crate::rig::reply(429, "Retry-After: 1\r\n", "no"),
                Some(_) => "HTTP/1.1 101 So\r\nConnection: upgrade\r\nUpgrade: websocket\r\n\r\nin"
                    .to_owned(),
            };
            if wire.send(said).is_err() {
                return;
            }
        }
    });
    let gate = Gate::before(&peer);
    assert_eq!(
        gate.ask("GET /shop/x", "Prefer: wait=0\r\n", "").status(),
        429
    );
    let refused = came.recv().unwrap();
    let mut caller = gate.caller();
    caller.ask("GET /shop/socket", ASKS, "");
    assert_eq!(caller.answer().status(), 101);
    assert!(came.recv().unwrap().since(refused) >= crate::rig::secs(1));
    assert_eq!(caller.wire.exact(2).unwrap(), b"in");
}
