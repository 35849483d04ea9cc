//! Heads, bodies and trailers pass as they are, piece by piece, and no more of them than the other side
//! takes.

use std::sync::mpsc;
use std::time::Duration;

use crate::rig::{Caller, Gate, Peer, aside, ms, ok, pattern, reply, shop};

/// More than sockets and libraries keep between two ends.
const MUCH: usize = 48 * 1024 * 1024;
/// Long enough that whoever has room would have taken more.
const STILL: Duration = ms(700);

#[test]
fn gw_a_connection_serves_one_request_after_the_other() {
    let peer = Peer::well();
    let gate = Gate::before(&peer);
    let mut caller = gate.caller();
    for n in 0..5 {
        caller.ask(&format!("GET /shop/{n}?a=b%20c"), "", "");
        assert_eq!(caller.answer().text(), "well");
        assert_eq!(peer.last().target(), format!("/{n}?a=b%20c"));
    }
    assert_eq!(peer.connections(), 1, "the one to the provider is kept too");
}

#[test]
fn gw_pipelined_requests_are_answered_in_their_order() {
    let peer = Peer::new(|request, _| ok(request.target()));
    let gate = Gate::before(&peer);
    let mut caller = gate.caller();
    let host = gate.at;
    let one = |n| format!("GET /shop/{n} HTTP/1.1\r\nHost: {host}\r\n\r\n");
    caller.send(format!("{}{}{}", one(1), one(2), one(3)));
    for n in 1..4 {
        assert_eq!(caller.answer().text(), format!("/{n}"));
    }
}

#[test]
fn gw_answers_without_a_body_have_none() {
    let peer = Peer::new(|request, _| match (request.method(), request.target()) {
        ("HEAD", _) => "HTTP/1.1 200 OK\r\nContent-Length: 1234\r\n\r\n".to_owned(),
        (_, "/204") => "HTTP/1.1 204 No Content\r\n\r\n".to_owned(),
        (_, "/304") => "HTTP/1.1 304 Not Modified\r\nETag: \"x\"\r\n\r\n".to_owned(),
        _ => ok(""),
    });
    let gate = Gate::before(&peer);
    let mut caller = gate.caller();
    caller.ask("HEAD /shop/x", "", "");
    let got = caller.answer_to_head();
    assert_eq!(
        (got.status(), got.header("content-length")),
        (200, Some("1234"))
    );
    for (path, status) in [("/shop/204", 204), ("/shop/304", 304), ("/shop/empty", 200)] {
        caller.ask(&format!("GET {path}"), "", "");
        let got = caller.answer();
        assert_eq!((got.status(), got.body.len()), (status, 0));
    }
    // Nothing was left on the connection that would be taken for the next answer.
    caller.ask("GET /shop/more", "", "");
    assert_eq!(caller.answer().status(), 200);
}

#[test]
fn gw_chunks_and_trailers_pass_both_ways() {
    let peer = Peer::saying([
        "HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\nTrailer: X-Sum\r\n\r\n\
         4\r\nback\r\n6\r\n again\r\n0\r\nX-Sum: 42\r\n\r\n"
            .to_owned(),
    ]);
    let gate = Gate::before(&peer);
    let mut caller = gate.caller();
    let host = gate.at;
    caller.send(format!(
        "PUT /shop/x HTTP/1.1\r\nHost: {host}\r\nTransfer-Encoding: chunked\r\nTE: trailers\r\n\
         Trailer: X-Check\r\n\r\n5\r\nthere\r\n3;ext=1\r\n go\r\n0\r\nX-Check: 7\r\n\r\n"
    ));
    let got = caller.answer();
    assert_eq!((got.text(), got.whole), ("back again".to_owned(), true));
    assert_eq!(got.trailers, [("x-sum".to_owned(), "42".to_owned())]);
    let asked = peer.last();
    assert_eq!((asked.text(), asked.whole), ("there go".to_owned(), true));
    assert_eq!(asked.trailers, [("x-check".to_owned(), "7".to_owned())]);
    // Whether we take trailers is told for ourselves.
    assert_eq!(asked.header("te"), Some("trailers"));
    caller.ask("GET /shop/x", "", "");
    let got = caller.answer();
    assert_eq!(
        (got.text(), got.trailers.len()),
        ("back again".to_owned(), 0)
    );
    assert_eq!(peer.last().header("te"), None);
}

/// The second event is said once the first one has arrived, so nothing may keep it back.
#[test]
fn gw_events_pass_one_by_one() {
    let (arrived, next) = mpsc::channel::<()>();
    let next = parking_lot::Mutex::new(next);
    let peer = Peer::raw(move |mut wire| {
        let _ = wire.message(false, false);
        let _ = wire.send(
            "HTTP/1.1 200 OK\r\nContent-Type: text/event-stream\r\nTransfer-Encoding: chunked\r\n\r\n",
        );
        for n in 0..20 {
            let event = format!("data: {n}\n\n");
            let _ = wire.send(format!("{:x}\r\n{event}\r\n", event.len()));
            next.lock().recv().unwrap();
        }
        let _ = wire.send("0\r\n\r\n");
    });
    let gate = Gate::before(&peer);
    let mut caller = gate.caller();
    caller.ask("POST /shop/chat", "Accept: text/event-stream\r\n", "{}");
    assert_eq!(caller.wire.head().unwrap().status(), 200);
    for n in 0..20 {
        assert_eq!(
            caller.wire.chunk().unwrap(),
            format!("data: {n}\n\n").as_bytes()
        );
        arrived.send(()).unwrap();
    }
    assert_eq!(caller.wire.chunk().unwrap(), b"");
}

#[test]
fn gw_a_large_answer_waits_for_whoever_takes_it() {
    let (told, stuck) = mpsc::channel();
    let told = parking_lot::Mutex::new(told);
    let peer = Peer::raw(move |mut wire| {
        let _ = wire.message(false, false);
        let _ = wire.send(format!("HTTP/1.1 200 OK\r\nContent-Length: {MUCH}\r\n\r\n"));
        let bytes = pattern(MUCH);
        let sent = wire.send_until_stuck(&bytes, STILL);
        told.lock().send(sent).unwrap();
        let _ = wire.send(&bytes[sent..]);
    });
    let gate = Gate::before(&peer);
    let mut caller = gate.caller();
    caller.ask("GET /shop/large", "", "");
    let sent = stuck.recv().unwrap();
    assert!(
        sent < MUCH,
        "the gateway took all of it in: nobody else did"
    );
    let got = caller.answer();
    assert!(got.whole && got.body == pattern(MUCH));
}

#[test]
fn gw_a_large_upload_streams_and_waits_for_the_provider() {
    let (told, go) = mpsc::channel::<()>();
    let go = parking_lot::Mutex::new(go);
    let peer = Peer::raw(move |mut wire| {
        let head = wire.head().unwrap();
        assert_eq!(
            head.header("content-length"),
            Some(MUCH.to_string().as_str())
        );
        go.lock().recv().unwrap();
        let body = wire.exact(MUCH).unwrap();
        let same = body == pattern(MUCH);
        let _ = wire.send(ok(if same { "same" } else { "other" }));
    });
    let gate = Gate::before(&peer);
    let mut caller = gate.caller();
    let host = gate.at;
    caller.send(format!(
        "POST /shop/large HTTP/1.1\r\nHost: {host}\r\nContent-Length: {MUCH}\r\n\r\n"
    ));
    let bytes = pattern(MUCH);
    let sent = caller.wire.send_until_stuck(&bytes, STILL);
    assert!(
        sent < MUCH,
        "the gateway took all of it in: nobody else did"
    );
    told.send(()).unwrap();
    caller.send(&bytes[sent..]);
    assert_eq!(caller.answer().text(), "same");
}

/// What fits into `body.replay` streams too: the provider reads its beginning before its end is sent.
#[test]
fn gw_a_small_body_streams_as_well() {
    let (told, begun) = mpsc::channel();
    let told = parking_lot::Mutex::new(told);
    let peer = Peer::raw(move |mut wire| {
        wire.head().unwrap();
        assert_eq!(wire.chunk().unwrap(), b"first");
        told.lock().send(()).unwrap();
        assert_eq!(wire.chunk().unwrap(), b"second");
        let _ = wire.send(ok("both"));
    });
    let gate = Gate::before(&peer);
    let mut caller = gate.caller();
    let host = gate.at;
    caller.send(format!(
        "POST /shop/x HTTP/1.1\r\nHost: {host}\r\nTransfer-Encoding: chunked\r\n\r\n5\r\nfirst\r\n"
    ));
    begun.recv().unwrap();
    caller.send("6\r\nsecond\r\n0\r\n\r\n");
    assert_eq!(caller.answer().text(), "both");
}

#[test]
fn gw120_a_refused_body_is_sent_again_whole_where_that_was_wished() {
    let no = reply(429, "Retry-After: 1\r\n", "no");
    let peer = Peer::saying([no, ok("well")]);
    let gate = Gate::of(&shop(peer.at, "retry.write = \"refused-only\""));
    let body = String::from_utf8(vec![b'x'; 60 * 1024]).unwrap();
    let got = gate.ask("POST /shop/x", "Idempotency-Key: \"k1\"\r\n", &body);
    assert_eq!(
        (got.status(), got.header("abide-attempts")),
        (200, Some("2"))
    );
    let seen = peer.seen();
    assert!(seen.len() == 2 && seen.iter().all(|s| s.text() == body && s.whole));
    // Row 120: one key for all of them.
    assert!(seen.iter().all(|s| s.all("idempotency-key") == ["\"k1\""]));
}

#[test]
fn gw_who_expects_to_be_asked_for_its_body_is_asked_once_it_is_sent() {
    let peer = Peer::refusing_once(600);
    let gate = Gate::before(&peer);
    let mut caller = gate.caller();
    let ask = |caller: &mut Caller| {
        let host = caller.at;
        caller.send(format!(
            "POST /shop/x HTTP/1.1\r\nHost: {host}\r\nContent-Length: 4\r\n\
             Expect: 100-continue\r\nPrefer: wait=1\r\n\r\n"
        ));
    };
    ask(&mut caller);
    assert_eq!(caller.answer().status(), 100);
    caller.send("body");
    assert_eq!(caller.answer().status(), 429);
    assert_eq!(peer.last().text(), "body");
    // Whoever is turned away is not asked for what nobody will read.
    let mut second = gate.caller();
    ask(&mut second);
    assert_eq!(second.answer().status(), 429);
    assert_eq!(peer.requests(), 1);
}

#[test]
fn gw_a_caller_of_http_1_0_is_answered_as_it_reads() {
    let peer = Peer::saying(["HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n\
         4\r\nwell\r\n0\r\n\r\n"
        .to_owned()]);
    let gate = Gate::before(&peer);
    let mut caller = gate.caller();
    caller.send("GET /shop/x HTTP/1.0\r\nHost: localhost\r\n\r\n");
    let reading = aside(move || {
        let mut caller = caller;
        let got = caller.answer();
        (
            got.header("transfer-encoding").map(str::to_owned),
            got.text(),
        )
    });
    assert_eq!(reading.join().unwrap(), (None, "well".to_owned()));
}
