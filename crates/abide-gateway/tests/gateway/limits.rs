//! Bounds of time and size: whoever is slow, silent or endless is let go, and keeps no place.
//!
//! Each bound is set small, and the test waits for what must follow, however long that takes.

use std::sync::mpsc;

use crate::rig::{Gate, Peer, aside, ms, ok, pattern, shop, until};

#[test]
fn gw_a_head_that_drips_ends() {
    let peer = Peer::well();
    let gate = Gate::changed(&shop(peer.at, ""), |s| s.limits.head_read = ms(300));
    let mut caller = gate.caller();
    caller.send("GET /shop/x HTTP/1.1\r\nHost: localhost\r\nX-One: 1\r\n");
    caller.wire.rest();
    // One that sends a field now and then is no faster.
    let mut caller = gate.caller();
    caller.send("GET /shop/x HTTP/1.1\r\nHost: localhost\r\n");
    let mut sender = caller.wire.socket.try_clone().unwrap();
    let dripping = aside(move || {
        use std::io::Write as _;
        while sender.write_all(b"X-More: 1\r\n").is_ok() {
            std::thread::sleep(ms(50));
        }
    });
    caller.wire.rest();
    drop(caller);
    dripping.join().unwrap();
    // Nor is one that says nothing at all.
    gate.caller().wire.rest();
    assert_eq!(peer.connections(), 0);
}

#[test]
fn gw_a_connection_between_two_requests_is_not_kept_for_ever() {
    let peer = Peer::well();
    let gate = Gate::changed(&shop(peer.at, ""), |s| s.limits.head_read = ms(300));
    let mut caller = gate.caller();
    caller.ask("GET /shop/x", "", "");
    assert_eq!(caller.answer().status(), 200);
    assert_eq!(caller.wire.rest(), b"");
}

#[test]
fn gw_an_upload_that_stands_still_ends() {
    let (told, came) = mpsc::channel();
    let told = parking_lot::Mutex::new(told);
    let peer = Peer::raw(move |mut wire| {
        let request = wire.message(false, false);
        let _ = told.lock().send(request.is_some_and(|r| r.whole));
    });
    let gate = Gate::changed(&shop(peer.at, ""), |s| s.limits.body_idle = ms(300));
    let mut caller = gate.caller();
    let host = gate.at;
    caller.send(format!(
        "POST /shop/x HTTP/1.1\r\nHost: {host}\r\nContent-Length: 100\r\n\r\nonly this"
    ));
    let got = caller.answer();
    assert!((400..600).contains(&got.status()), "{got:?}");
    assert!(!came.recv().unwrap(), "the provider took it for whole");
}

#[test]
fn gw_an_answer_that_stands_still_ends() {
    let peer = Peer::raw(|mut wire| {
        let _ = wire.message(false, false);
        let _ = wire.send("HTTP/1.1 200 OK\r\nContent-Length: 100\r\n\r\nonly this");
        let _ = wire.rest();
    });
    let gate = Gate::changed(&shop(peer.at, ""), |s| s.limits.body_idle = ms(300));
    let got = gate.get("/shop/x");
    assert!(!got.whole);
    until("the provider is left", || peer.gone() == 1);
}

#[test]
fn gw_a_caller_that_takes_nothing_is_let_go() {
    let peer = Peer::raw(|mut wire| {
        let _ = wire.message(false, false);
        let len = 64 * 1024 * 1024;
        let _ = wire.send(format!("HTTP/1.1 200 OK\r\nContent-Length: {len}\r\n\r\n"));
        let _ = wire.send(pattern(len));
    });
    let gate = Gate::changed(&shop(peer.at, ""), |s| s.limits.body_idle = ms(300));
    let mut caller = gate.caller();
    caller.ask("GET /shop/large", "", "");
    until("the provider is left", || peer.gone() == 1);
}

/// However slowly it comes: what never stands still passes.
#[test]
fn gw_a_slow_answer_that_goes_on_passes() {
    let peer = Peer::raw(|mut wire| {
        let _ = wire.message(false, false);
        let _ = wire.send("HTTP/1.1 200 OK\r\nContent-Length: 12\r\n\r\n");
        for n in 0..12 {
            let _ = wire.send([b'a' + n]);
            std::thread::sleep(ms(100));
        }
        let _ = wire.rest();
    });
    let gate = Gate::changed(&shop(peer.at, ""), |s| s.limits.body_idle = ms(900));
    let got = gate.get("/shop/x");
    assert_eq!((got.text(), got.whole), ("abcdefghijkl".to_owned(), true));
}

#[test]
fn gw_a_provider_that_never_answers_is_504() {
    let peer = Peer::raw(|mut wire| drop(wire.rest()));
    let gate = Gate::changed(&shop(peer.at, "attempts = 2"), |s| s.limits.head = ms(300));
    let got = gate.ask("POST /shop/x", "", "{}");
    assert_eq!(
        (got.status(), got.error()),
        (504, Some("http_response_timeout"))
    );
    assert_eq!(peer.connections(), 1, "a write is sent once");
    let got = gate.get("/shop/x");
    assert_eq!(
        (got.status(), got.error()),
        (504, Some("http_response_timeout"))
    );
    assert_eq!(peer.connections(), 3, "a read is sent as often as it may");
}

#[test]
fn gw_heads_are_bounded() {
    let peer = Peer::well();
    let gate = Gate::changed(&shop(peer.at, ""), |s| s.limits.head_size = 8 * 1024);
    let large = "x".repeat(16 * 1024);
    for head in [
        format!("GET /shop/{large} HTTP/1.1\r\nHost: localhost\r\n\r\n"),
        format!("GET /shop/x HTTP/1.1\r\nHost: localhost\r\nX: {large}\r\n\r\n"),
        format!(
            "GET /shop/x HTTP/1.1\r\nHost: localhost\r\n{}\r\n",
            "X: y\r\n".repeat(5_000)
        ),
    ] {
        let mut caller = gate.caller();
        let _ = caller.wire.send(head);
        // What was not read may take the answer back.
        if let Some(got) = caller.answered(false) {
            assert!(matches!(got.status(), 400 | 414 | 431), "{got:?}");
        }
    }
    assert_eq!(peer.connections(), 0);
    let fits = "x".repeat(4 * 1024);
    assert_eq!(
        gate.ask("GET /shop/x", &format!("X: {fits}\r\n"), "")
            .status(),
        200
    );
}

#[test]
fn gw_one_address_has_so_many_connections() {
    let peer = Peer::well();
    let gate = Gate::changed(&shop(peer.at, ""), |s| {
        s.limits.connections_per_client = Some(2);
    });
    let mut kept: Vec<_> = (0..2).map(|_| gate.caller()).collect();
    for caller in &mut kept {
        caller.ask("GET /shop/x", "", "");
        assert_eq!(caller.answer().status(), 200);
    }
    let mut third = gate.caller();
    let _ = third
        .wire
        .send("GET /shop/x HTTP/1.1\r\nHost: localhost\r\n\r\n");
    assert!(third.answered(false).is_none());
    kept.pop();
    until("a place is free again", || {
        let mut caller = gate.caller();
        let _ = caller
            .wire
            .send("GET /shop/x HTTP/1.1\r\nHost: localhost\r\n\r\n");
        caller.answered(false).is_some_and(|a| a.status() == 200)
    });
}

/// Beyond all places nobody is refused: who comes waits to be accepted.
#[test]
fn gw_who_comes_beyond_all_connections_waits() {
    let peer = Peer::new(|_, _| ok("well"));
    let gate = Gate::changed(&shop(peer.at, ""), |s| s.limits.connections = 1);
    // Its places were counted when it began.
    let mut first = gate.caller();
    first.ask("GET /shop/1", "", "");
    assert_eq!(first.answer().status(), 200);
    let mut second = gate.caller();
    second.ask("GET /shop/2", "", "");
    first.ask("GET /shop/3", "", "");
    assert_eq!(first.answer().status(), 200);
    assert_eq!(peer.last().target(), "/3", "the second is not served yet");
    drop(first);
    assert_eq!(second.answer().status(), 200);
}
