//! A caller that leaves frees its place at once, wherever it waits, whatever it was sending.

use crate::rig::{Caller, Gate, Peer, aside, until};

fn held() -> (Peer, Gate) {
    let peer = Peer::refusing_once(3600);
    let gate = Gate::before(&peer);
    assert_eq!(
        gate.ask("GET /shop/held", "Prefer: wait=0\r\n", "")
            .status(),
        429
    );
    (peer, gate)
}

fn waits(gate: &Gate, what: &str, body: &str) -> Caller {
    let mut caller = gate.caller();
    caller.ask(what, "Prefer: wait=7200\r\n", body);
    caller
}

#[test]
fn gw50_who_leaves_while_it_waits_is_gone_at_once() {
    let (peer, gate) = held();
    let callers: Vec<_> = (0..5).map(|_| waits(&gate, "GET /shop/x", "")).collect();
    gate.until_waiting(5);
    drop(callers);
    gate.until_waiting(0);
    assert_eq!(peer.requests(), 1);
    assert!(gate.logged(" left ").contains("GET shop /shop/x"));
}

/// A body that nobody has read yet hides nobody's leave.
#[test]
fn gw50_who_leaves_with_a_body_in_its_hands_is_gone_at_once() {
    let (peer, gate) = held();
    let large = "x".repeat(32 * 1024);
    for body in ["{}", large.as_str()] {
        let caller = waits(&gate, "POST /shop/x", body);
        gate.until_waiting(1);
        drop(caller);
        gate.until_waiting(0);
    }
    let mut caller = gate.caller();
    let host = gate.at;
    caller.send(format!(
        "POST /shop/x HTTP/1.1\r\nHost: {host}\r\nPrefer: wait=7200\r\n\
         Transfer-Encoding: chunked\r\n\r\n5\r\nbegun\r\n"
    ));
    gate.until_waiting(1);
    drop(caller);
    gate.until_waiting(0);
    assert_eq!(peer.requests(), 1);
}

#[tokio::test]
async fn gw50_a_stream_that_is_reset_is_gone_at_once() {
    let (peer, gate) = held();
    let mut h2 = crate::rig::Frames::to(gate.at);
    h2.headers(
        &[
            (":method", "GET"),
            (":scheme", "http"),
            (":path", "/shop/x"),
            (":authority", "127.0.0.1"),
            ("prefer", "wait=7200"),
        ],
        true,
    );
    gate.until_waiting(1);
    // CANCEL; the connection stays.
    h2.frame(3, 0, 1, &[0, 0, 0, 8]);
    gate.until_waiting(0);
    assert_eq!(peer.requests(), 1);
}

/// Its place on the wire is free, and the next one has it.
#[test]
fn gw_who_leaves_the_wire_makes_room() {
    let peer = Peer::raw(|mut wire| {
        while let Some(request) = wire.message(false, false) {
            if request.target() == "/stuck" {
                let _ = wire.rest();
                return;
            }
            let _ = wire.send(crate::rig::ok("well"));
        }
    });
    let gate = Gate::with(
        &peer,
        "concurrency = 1\npace.gentle = false\npace.adaptive = \"off\"",
    );
    let mut stuck = gate.caller();
    stuck.ask("GET /shop/stuck", "", "");
    until("it is on the wire", || peer.bytes() > 0);
    let next = gate.aside("GET /shop/next", "");
    gate.until_waiting(1);
    drop(stuck);
    assert_eq!(next.join().unwrap().status(), 200);
    until("the provider is left too", || peer.gone() >= 1);
}

/// The others of the line keep their order and their places.
#[test]
fn gw_who_leaves_the_line_takes_nobody_along() {
    let peer = Peer::refusing_once(1);
    let gate = Gate::with(
        &peer,
        "concurrency = 1\npace.gentle = false\npace.adaptive = \"off\"",
    );
    gate.ask("GET /shop/held", "Prefer: wait=0\r\n", "");
    let mut callers = Vec::new();
    for n in 0..9 {
        let mut caller = gate.caller();
        caller.ask(&format!("GET /shop/{n}"), "", "");
        gate.until_waiting(n + 1);
        callers.push((n, caller));
    }
    callers.retain(|(n, _)| n % 3 != 0);
    gate.until_waiting(6);
    let stay: Vec<_> = callers
        .into_iter()
        .map(|(_, mut caller)| aside(move || caller.answer().status()))
        .collect();
    assert!(stay.into_iter().all(|s| s.join().unwrap() == 200));
    let order: Vec<_> = peer.seen()[1..]
        .iter()
        .map(|s| s.target().to_owned())
        .collect();
    assert_eq!(order, ["/1", "/2", "/4", "/5", "/7", "/8"]);
}
