//! Either side breaks off: the other one is told, and nothing of it is taken for something whole.

use std::sync::atomic::{AtomicUsize, Ordering};
use std::sync::{Arc, mpsc};

use crate::rig::{Gate, Peer, aside, ms, ok, pattern, reply, until};

#[test]
fn gw_an_answer_that_breaks_off_is_no_whole_answer() {
    for head in [
        "Content-Length: 100\r\n\r\nonly this",
        "Transfer-Encoding: chunked\r\n\r\n9\r\nonly this\r\n",
        "Transfer-Encoding: chunked\r\n\r\n20\r\nonly this",
    ] {
        let peer = Peer::raw(move |mut wire| {
            let _ = wire.message(false, false);
            let _ = wire.send(format!("HTTP/1.1 200 OK\r\n{head}"));
        });
        let gate = Gate::before(&peer);
        let got = gate.get("/shop/x");
        assert_eq!(got.status(), 200);
        assert!(!got.whole, "{head:?} {got:?}");
        assert!("only this".starts_with(&got.text()), "{got:?}");
        assert!(gate.logged("/shop/x").contains("broke"));
    }
}

#[test]
fn gw_a_head_that_never_ends_well_is_502() {
    for said in ["", "HTTP/1.1 200 OK\r\nX", "nonsense\r\n\r\n"] {
        let peer = Peer::raw(move |mut wire| {
            let _ = wire.message(false, false);
            let _ = wire.send(said);
        });
        let gate = Gate::before(&peer);
        let got = gate.ask("POST /shop/x", "", "{}");
        assert_eq!(
            (got.status(), got.error()),
            (502, Some("connection_terminated")),
            "{said:?}"
        );
        assert_eq!(peer.connections(), 1, "a write is sent once");
    }
}

/// A caller's body breaks off: the provider must not take it for the whole.
#[test]
fn gw_a_body_that_breaks_off_is_no_whole_request() {
    for (fields, begun) in [
        ("Content-Length: 100\r\n", "only this"),
        ("Transfer-Encoding: chunked\r\n", "9\r\nonly this\r\n"),
    ] {
        let (told, came) = mpsc::channel();
        let told = parking_lot::Mutex::new(told);
        let peer = Peer::raw(move |mut wire| {
            while let Some(request) = wire.message(false, false) {
                let _ = told.lock().send(request.whole);
                if !request.whole || wire.send(ok("well")).is_err() {
                    return;
                }
            }
        });
        let gate = Gate::before(&peer);
        let mut caller = gate.caller();
        let host = gate.at;
        caller.send(format!(
            "POST /shop/x HTTP/1.1\r\nHost: {host}\r\n{fields}\r\n{begun}"
        ));
        until("the head is through", || peer.bytes() > 0);
        drop(caller);
        assert!(!came.recv().unwrap(), "{fields}");
        // The connection that it broke off on serves nobody else.
        for _ in 0..3 {
            assert_eq!(gate.get("/shop/next").text(), "well");
            assert!(came.recv().unwrap());
        }
    }
}

#[test]
fn gw_who_leaves_a_download_leaves_nothing_behind() {
    let peer = Peer::raw(|mut wire| {
        while let Some(request) = wire.message(false, false) {
            let body = match request.target() {
                "/large" => pattern(32 * 1024 * 1024),
                _ => b"well".to_vec(),
            };
            let head = format!("HTTP/1.1 200 OK\r\nContent-Length: {}\r\n\r\n", body.len());
            if wire.send(head).and_then(|()| wire.send(body)).is_err() {
                return;
            }
        }
    });
    let gate = Gate::before(&peer);
    for n in 1..4 {
        let mut caller = gate.caller();
        caller.ask("GET /shop/large", "", "");
        caller.wire.exact(64 * 1024).unwrap();
        drop(caller);
        until("the provider is left too", || peer.gone() >= n);
        assert_eq!(gate.get("/shop/next").text(), "well");
    }
}

/// Many leave in the middle of an upload, and nobody else's answer is ever theirs.
#[test]
fn gw_resets_in_the_middle_mix_nothing_up() {
    let peer = Peer::new(|request, _| ok(&format!("{}:{}", request.target(), request.body.len())));
    let gate = Gate::before(&peer);
    for n in 0..30_usize {
        let mut leaves = gate.caller();
        let host = gate.at;
        leaves.send(format!(
            "POST /shop/left HTTP/1.1\r\nHost: {host}\r\nContent-Length: 50\r\n\r\nbegun"
        ));
        let stays = gate.ask(&format!("POST /shop/{n}"), "", &"x".repeat(n));
        assert_eq!(stays.text(), format!("/{n}:{n}"));
        drop(leaves);
    }
}

/// A caller that closes its half cannot be told from one that has left: it is taken to have left.
#[test]
fn gw_a_half_closed_caller_has_left() {
    let peer = Peer::refusing_once(600);
    let gate = Gate::before(&peer);
    assert_eq!(
        gate.ask("GET /shop/a", "Prefer: wait=0\r\n", "").status(),
        429
    );
    let mut caller = gate.caller();
    caller.ask("GET /shop/b", "Prefer: wait=3600\r\n", "");
    gate.until_waiting(1);
    caller.wire.half_close();
    gate.until_waiting(0);
    assert!(caller.answered(false).is_none());
}

/// A provider that closes its half after the answer has answered.
#[test]
fn gw_a_half_closed_provider_has_answered() {
    let peer = Peer::raw(|mut wire| {
        let _ = wire.message(false, false);
        let _ = wire.send("HTTP/1.1 200 OK\r\nConnection: close\r\n\r\nto the end");
        wire.half_close();
        let _ = wire.rest();
    });
    let gate = Gate::before(&peer);
    let got = gate.get("/shop/x");
    assert_eq!((got.text(), got.whole), ("to the end".to_owned(), true));
}

/// The answer comes before the body was read: it reaches the caller all the same.
#[test]
fn gw_an_early_answer_ends_an_upload() {
    let answers = Arc::new(AtomicUsize::new(0));
    let theirs = Arc::clone(&answers);
    let peer = Peer::raw(move |mut wire| {
        wire.head().unwrap();
        theirs.fetch_add(1, Ordering::SeqCst);
        let _ = wire.send(reply(413, "Connection: close\r\n", "too much"));
        // Closing with bytes unread would take the answer back.
        let _ = wire.rest();
    });
    let gate = Gate::before(&peer);
    let mut caller = gate.caller();
    let host = gate.at;
    let len = 8 * 1024 * 1024;
    caller.send(format!(
        "POST /shop/x HTTP/1.1\r\nHost: {host}\r\nContent-Length: {len}\r\n\r\n"
    ));
    let mut reader = crate::rig::Wire::new(caller.wire.socket.try_clone().unwrap(), Arc::default());
    let reading = aside(move || reader.message(true, false));
    let _ = caller.wire.send_until_stuck(&pattern(len), ms(500));
    let got = reading.join().unwrap().expect("an answer");
    assert_eq!((got.status(), got.text()), (413, "too much".to_owned()));
    assert_eq!(answers.load(Ordering::SeqCst), 1);
}
