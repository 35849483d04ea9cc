//! Nobody is led into an inner network by a name, an address or a redirect.

use crate::rig::{Gate, Peer, reply, shop};

/// Everybody may be asked, once, and name servers are not waited for.
fn open() -> Gate {
    let text = "[defaults]\nattempts = 1\n[gateway]\nallow_unlisted = true\n";
    Gate::changed(text, |s| s.limits.connect = crate::rig::secs(2))
}

/// Even where everybody may be asked.
#[test]
fn gw_inner_addresses_are_refused_by_number() {
    let peer = Peer::well();
    let gate = open();
    let port = peer.at.port();
    for host in [
        "127.0.0.1",
        "[::1]",
        "[::ffff:127.0.0.1]",
        "169.254.169.254",
        "[fd00:ec2::254]",
        "10.0.0.1",
        "192.168.1.1",
        "172.16.0.1",
        "100.64.0.1",
        "0.0.0.0",
        "[::]",
        "127.1",
        "2130706433",
        "0x7f000001",
        "017700000001",
    ] {
        for what in [
            format!("GET http://{host}:{port}/x"),
            format!("CONNECT {host}:{port}"),
        ] {
            let got = gate.ask(&what, "", "");
            assert!(
                (got.status() == 502 && got.error() != Some("connection_refused"))
                    || got.status() == 400
                    || got.status() == 403,
                "{what} {got:?}"
            );
        }
    }
    assert_eq!(peer.connections(), 0);
}

/// It is looked at where a name leads, whatever the name is.
#[test]
fn gw_names_that_lead_inside_are_refused() {
    let peer = Peer::well();
    let gate = open();
    let port = peer.at.port();
    for host in ["localhost", "LOCALHOST", "localhost.", "ip6-localhost"] {
        for what in [
            format!("GET http://{host}:{port}/x"),
            format!("CONNECT {host}:{port}"),
        ] {
            let got = gate.ask(&what, "", "");
            let error = got.error();
            let known = matches!(error, Some("destination_ip_prohibited" | "dns_error"));
            assert!(got.status() == 502 && known, "{what} {got:?}");
        }
    }
    assert_eq!(peer.connections(), 0);
    let got = gate.ask(&format!("GET http://localhost:{port}/x"), "", "");
    assert_eq!(got.error(), Some("destination_ip_prohibited"));
    // Where that leads says nothing of the provider, and is no failure of it.
    assert_eq!(gate.front.now().governor().held().len(), 0);
}

/// An address that the operator wrote down himself is his own business.
#[test]
fn gw_what_the_operator_named_is_reached() {
    let peer = Peer::well();
    assert_eq!(Gate::before(&peer).get("/shop/x").status(), 200);
    let port = peer.at.port();
    let gate = Gate::of(&format!(
        "[providers.shop]\nhosts = [\"localhost:{port}\"]\n"
    ));
    let got = gate.ask(&format!("GET http://localhost:{port}/x"), "", "");
    assert_eq!(got.status(), 200);
    // Another port of the same name was not named.
    let got = gate.ask("GET http://localhost:1/x", "", "");
    assert_eq!(got.status(), 403);
}

#[test]
fn gw_redirects_are_handed_on_and_never_followed() {
    let inside = Peer::well();
    let to = inside.at;
    let peer = Peer::saying([reply(302, &format!("Location: http://{to}/meta\r\n"), "")]);
    let gate = Gate::of(&shop(peer.at, ""));
    let got = gate.get("/shop/x");
    assert_eq!(got.status(), 302);
    assert_eq!(
        got.header("location"),
        Some(format!("http://{to}/meta").as_str())
    );
    assert_eq!((inside.connections(), peer.requests()), (0, 1));
}

/// A path leads to its provider, and nowhere else, however it is written.
#[test]
fn gw_no_path_names_another_host() {
    let (inside, peer) = (Peer::well(), Peer::well());
    let gate = Gate::before(&peer);
    let to = inside.at;
    for path in [
        format!("/shop@{to}/x"),
        format!("/shop//{to}/x"),
        format!("/shop/http://{to}/x"),
        format!("/shop/\\{to}/x"),
        format!("/shop/@{to}/x"),
        format!("/shop/../../{to}/x"),
        format!("/shop:@{to}/x"),
        format!("//{to}/x"),
    ] {
        let mut caller = gate.caller();
        caller.ask(&format!("GET {path}"), "", "");
        let _ = caller.answered(false);
    }
    assert_eq!(inside.connections(), 0);
    let own = peer.at.to_string();
    assert!(peer.seen().iter().all(|s| s.all("host") == [own.as_str()]));
}
