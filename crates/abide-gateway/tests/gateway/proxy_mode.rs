//! The gateway as an HTTP proxy: addresses in the first line, and tunnels.

use crate::rig::{Gate, Peer, now, ok, reply, secs, until};

fn listed(peer: &Peer, more: &str) -> Gate {
    Gate::of(&format!(
        "[providers.shop]\nhosts = [\"{}\"]\n{more}\n",
        peer.at
    ))
}

#[test]
fn gw_an_address_is_asked_as_it_is_written() {
    let peer = Peer::saying([reply(302, "Location: /next\r\n", "")]);
    let gate = listed(&peer, "");
    let at = peer.at;
    let got = gate.ask(
        &format!("GET http://{at}/x%2Fy?a=b"),
        "Proxy-Connection: keep-alive\r\n",
        "",
    );
    let asked = peer.last();
    assert_eq!(
        (asked.target(), asked.all("host")),
        ("/x%2Fy?a=b", vec![at.to_string().as_str()])
    );
    assert_eq!(asked.header("proxy-connection"), None);
    // Its client knows where it asked: nothing leads anywhere else.
    assert_eq!((got.status(), got.header("location")), (302, Some("/next")));
}

#[test]
fn gw_a_proxys_requests_are_held_like_all_others() {
    let peer = Peer::refusing_once(1);
    let gate = listed(&peer, "");
    let at = peer.at;
    let got = gate.ask(&format!("GET http://{at}/x"), "", "");
    assert_eq!(
        (got.status(), got.header("abide-attempts")),
        (200, Some("2"))
    );
    let times = peer.times();
    assert!(times[1].since(times[0]) >= secs(1));
}

#[test]
fn gw_who_is_not_listed_is_refused() {
    let peer = Peer::well();
    let at = peer.at;
    let gate = Gate::of("");
    for what in [format!("GET http://{at}/x"), format!("CONNECT {at}")] {
        let got = gate.ask(&what, "", "");
        assert_eq!(
            (got.status(), got.error()),
            (403, Some("http_request_denied")),
            "{what}"
        );
        assert!(got.text().contains("allow_unlisted"), "{}", got.text());
    }
    assert_eq!(peer.connections(), 0);
}

/// Row 124: what is inside is whatever it is; row 126: nothing of it is lost, however early it came.
#[test]
fn gw124_gw126_a_tunnel_passes_bytes() {
    let peer = Peer::raw(|mut wire| {
        let _ = wire.send("hello\n");
        while let Some(piece) = wire.exact(1) {
            if wire.send(piece).is_err() {
                return;
            }
        }
    });
    let gate = listed(&peer, "");
    let at = peer.at;
    let mut caller = gate.caller();
    // The first bytes of what is inside come with the head.
    caller.send(format!(
        "CONNECT {at} HTTP/1.1\r\nHost: {at}\r\n\r\nearly\n\0"
    ));
    let head = caller.wire.head().unwrap();
    assert_eq!(head.status(), 200);
    assert_eq!(head.header("content-length"), None);
    assert_eq!(caller.wire.exact(13).unwrap(), b"hello\nearly\n\0");
    caller.send("later");
    assert_eq!(caller.wire.exact(5).unwrap(), b"later");
    drop(caller);
    until("the provider is left", || peer.gone() == 1);
}

/// A side that has said all is told to the other one, which may go on.
#[test]
fn gw_a_tunnel_may_be_closed_by_halves() {
    let peer = Peer::raw(|mut wire| {
        let all = wire.rest();
        let _ = wire.send(format!("{} bytes", all.len()));
    });
    let gate = listed(&peer, "");
    let at = peer.at;
    let mut caller = gate.caller();
    caller.send(format!("CONNECT {at} HTTP/1.1\r\nHost: {at}\r\n\r\n"));
    assert_eq!(caller.wire.head().unwrap().status(), 200);
    caller.send("12345");
    caller.wire.half_close();
    assert_eq!(caller.wire.rest(), b"5 bytes");
}

/// Rows 124 and 125: its connection waits at the gates, and counts as one request, whatever is inside.
#[test]
fn gw124_gw125_a_tunnels_connection_waits_at_the_gates() {
    let peer = Peer::well();
    let at = peer.at;
    let gate = listed(&peer, "rate = \"1/1s\"");
    let began = now();
    let mut tunnels = Vec::new();
    for _ in 0..3 {
        let mut caller = gate.caller();
        caller.send(format!("CONNECT {at} HTTP/1.1\r\nHost: {at}\r\n\r\n"));
        assert_eq!(caller.wire.head().unwrap().status(), 200);
        tunnels.push(caller);
    }
    assert!(now().since(began) >= secs(2));
    for caller in &mut tunnels {
        for _ in 0..5 {
            caller.send(format!("GET /inside HTTP/1.1\r\nHost: {at}\r\n\r\n"));
            assert_eq!(caller.answer().text(), "well");
        }
    }
    assert_eq!((peer.requests(), peer.connections()), (15, 3));
}

#[test]
fn gw_a_tunnel_that_cannot_be_opened_says_why() {
    let unused = {
        let listener = std::net::TcpListener::bind("127.0.0.1:0").unwrap();
        listener.local_addr().unwrap()
    };
    let gate = Gate::of(&format!("[providers.shop]\nhosts = [\"{unused}\"]\n"));
    let got = gate.ask(&format!("CONNECT {unused}"), "", "");
    assert_eq!(
        (got.status(), got.error()),
        (502, Some("connection_refused"))
    );
    for bad in ["CONNECT 127.0.0.1", "CONNECT /x"] {
        let mut caller = gate.caller();
        caller.send(format!("{bad} HTTP/1.1\r\nHost: localhost\r\n\r\n"));
        assert!(
            caller.answered(false).is_none_or(|a| a.status() == 400),
            "{bad}"
        );
    }
    // What was refused is no tunnel: nothing behind it is served unseen.
    let mut caller = gate.caller();
    let host = gate.at;
    caller.send(format!(
        "CONNECT evil.example:443 HTTP/1.1\r\nHost: evil.example:443\r\n\r\n\
         GET /-/live HTTP/1.1\r\nHost: {host}\r\n\r\n"
    ));
    assert_eq!(caller.answer().status(), 403);
    assert_eq!(caller.wire.rest(), b"");
}

#[test]
fn gw_a_proxys_caller_shows_the_token_as_proxies_want_it() {
    let peer = Peer::saying([ok("well")]);
    let at = peer.at;
    let gate = listed(&peer, "[gateway]\nclient_token = \"0123456789abcdef\"");
    let got = gate.ask(&format!("GET http://{at}/x"), "", "");
    assert_eq!(got.status(), 407);
    assert!(got.header("proxy-authenticate").unwrap().contains("Basic"));
    let got = gate.ask("GET /shop/x", "", "");
    assert_eq!(
        (got.status(), got.header("www-authenticate")),
        (401, Some("Abide-Token"))
    );
    let basic = "Proxy-Authorization: Basic YW55OjAxMjM0NTY3ODlhYmNkZWY=\r\n";
    assert_eq!(
        gate.ask(&format!("GET http://{at}/x"), basic, "").status(),
        200
    );
    assert_eq!(peer.last().header("proxy-authorization"), None);
    assert_eq!(peer.requests(), 1);
}
