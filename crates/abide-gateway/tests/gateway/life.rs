//! Coming and going: whom it opens to, readiness, and an end in good order.

use crate::rig::{Caller, Gate, Peer, shop, until};

#[test]
fn gw_off_this_machine_it_needs_to_know_who_may_come() {
    let peer = Peer::well();
    let text = shop(peer.at, "");
    let refused = Gate::at("0.0.0.0:0", &text, |_| {})
        .err()
        .unwrap()
        .to_string();
    assert!(
        refused.contains("client_token") && refused.contains("allow_from"),
        "{refused}"
    );
    for more in [
        "client_token = \"0123456789abcdef\"",
        "allow_from = [\"192.0.2.0/24\"]",
    ] {
        let gate = Gate::at("0.0.0.0:0", &format!("{text}[gateway]\n{more}\n"), |_| {}).unwrap();
        let port = gate.at.port();
        let mut caller = Caller::to(([127, 0, 0, 1], port).into());
        caller.ask("GET /shop/x", "", "");
        let got = caller.answer();
        assert_eq!(
            (got.status(), got.error()),
            (401, Some("http_request_denied")),
            "{more}"
        );
    }
    let gate = Gate::of(&format!(
        "{text}[gateway]\nallow_from = [\"127.0.0.0/8\"]\n"
    ));
    assert_eq!(gate.get("/shop/x").status(), 200);
    let gate = Gate::of(&format!(
        "{text}[gateway]\nclient_token = \"0123456789abcdef\"\n"
    ));
    let got = gate.ask("GET /shop/x", "Abide-Token: 0123456789abcdef\r\n", "");
    assert_eq!(got.status(), 200);
    assert_eq!(peer.last().header("abide-token"), None);
    assert_eq!(peer.requests(), 2);
}

/// Row 129: readiness fails first, what is under way ends, whoever waits gets an answer.
#[test]
fn gw129_it_ends_in_good_order() {
    let (go, wait) = std::sync::mpsc::channel::<()>();
    let wait = parking_lot::Mutex::new(wait);
    let peer = Peer::new(move |request, _| match request.target() {
        "/slow" => {
            wait.lock().recv().unwrap();
            crate::rig::ok("done")
        }
        _ => crate::rig::reply(429, "Retry-After: 600\r\n", "no"),
    });
    let mut gate = Gate::changed(&shop(peer.at, ""), |s| {
        s.limits.leave = crate::rig::ms(1_500);
        s.limits.drain = crate::rig::secs(2);
    });
    assert_eq!(gate.get("/-/ready").status(), 200);
    let mut idle = gate.caller();
    idle.ask("GET /-/live", "", "");
    assert_eq!(idle.answer().status(), 200);
    let slow = gate.aside("GET /shop/slow", "");
    peer.until(1);
    gate.ask("GET /shop/held", "Prefer: wait=0\r\n", "");
    let waits = gate.aside("GET /shop/waits", "Prefer: wait=7200\r\n");
    gate.until_waiting(1);
    let ending = gate.drain();
    until("it says that it is not ready", || {
        gate.get("/-/ready").status() == 503
    });
    assert!(gate.get("/-/ready").text().contains("draining"));
    assert_eq!(gate.get("/-/live").status(), 200, "work is still taken");
    // Then nobody is let in, and who does nothing is let go.
    assert_eq!(idle.wire.rest(), b"");
    until("nobody is let in", || {
        std::net::TcpStream::connect(gate.at).is_err()
    });
    go.send(()).unwrap();
    assert_eq!(slow.join().unwrap().text(), "done");
    let got = waits.join().unwrap();
    assert_eq!(got.status(), 503, "{got:?}");
    let told = got.json();
    assert!(told["retry_at"].is_string(), "{told}");
    assert!(got.retry_after().unwrap() > 500);
    ending.join().unwrap();
    assert_eq!(peer.requests(), 2);
}

/// A tunnel and a stream that never end do not keep it.
#[test]
fn gw129_what_never_ends_is_ended() {
    let peer = Peer::raw(|mut wire| {
        let _ = wire.head();
        let _ = wire.send("HTTP/1.1 101 So\r\nConnection: upgrade\r\nUpgrade: x\r\n\r\n");
        let _ = wire.rest();
    });
    let mut gate = Gate::before(&peer);
    let mut caller = gate.caller();
    caller.ask(
        "GET /shop/socket",
        "Connection: upgrade\r\nUpgrade: x\r\n",
        "",
    );
    assert_eq!(caller.answer().status(), 101);
    gate.drain().join().unwrap();
    assert_eq!(caller.wire.rest(), b"");
}
