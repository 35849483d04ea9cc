//! Modes for trying out: what is decided is done, only told, or not even decided.

use crate::rig::{Gate, Peer, ok, reply};

#[test]
fn gw_a_gateway_that_rehearses_sends_at_once_and_records() {
    for mode in ["shadow", "observe"] {
        let peer = Peer::saying([reply(429, "Retry-After: 600\r\n", "no"), ok("well")]);
        let gate = Gate::with(&peer, &format!("mode = \"{mode}\""));
        let first = gate.ask("GET /shop/x", "Prefer: wait=0\r\n", "");
        assert_eq!(
            (first.status(), first.text()),
            (429, "no".to_owned()),
            "{mode}"
        );
        for _ in 0..3 {
            let got = gate.ask("GET /shop/x", "Prefer: wait=0\r\n", "");
            assert_eq!(got.status(), 200, "{mode}");
        }
        assert_eq!(peer.requests(), 4, "{mode}");
        let told = gate.get("/-/api/v1/providers/shop").text();
        assert!(told.contains(mode), "{told}");
    }
}

#[test]
fn gw_a_rehearsal_becomes_serious_while_it_runs() {
    let peer = Peer::saying([reply(429, "Retry-After: 600\r\n", "no"), ok("well")]);
    let gate = Gate::with(&peer, "mode = \"shadow\"");
    gate.ask("GET /shop/x", "Prefer: wait=0\r\n", "");
    assert_eq!(
        gate.ask("GET /shop/x", "Prefer: wait=0\r\n", "").status(),
        200
    );
    gate.renew(&crate::rig::shop(peer.at, "mode = \"enforce\""))
        .unwrap();
    // What was met meanwhile holds now.
    let got = gate.ask("GET /shop/x", "Prefer: wait=0\r\n", "");
    assert_eq!(got.status(), 429, "{got:?}");
    assert_eq!(peer.requests(), 2);
}
