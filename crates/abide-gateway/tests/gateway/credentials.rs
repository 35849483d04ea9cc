//! Credentials: put in by the gateway where it has them, kept apart, and told to nobody.

use std::fs;

use crate::rig::{Gate, Peer, ok, reply, shop};

const SECRET: &str = "s3cr3t-of-the-operator";
const THEIRS: &str = "t0ken-of-the-caller";

fn with_credential(peer: &Peer) -> Gate {
    let file = std::env::temp_dir().join(format!("abide-credential-{}", peer.at.port()));
    fs::write(&file, format!("{SECRET}\n")).unwrap();
    let gate = Gate::of(&format!(
        "[providers.shop.upstream]\nurl = \"http://{}\"\n\
         credential = {{ file = \"{}\", prefix = \"Bearer \" }}\n",
        peer.at,
        file.display()
    ));
    fs::remove_file(&file).unwrap();
    gate
}

#[test]
fn gw_a_credential_is_put_in_and_never_told() {
    let peer = Peer::new(|request, _| match request.target() {
        "/refused" => reply(429, "Retry-After: 600\r\n", "no"),
        "/broken" => String::new(),
        _ => ok("well"),
    });
    let gate = with_credential(&peer);
    let mut told = String::new();
    for path in ["x", "broken", "refused", "x"] {
        let fields = format!("Authorization: Bearer {THEIRS}\r\nPrefer: wait=0\r\n");
        let got = gate.ask(&format!("POST /shop/{path}?token={THEIRS}"), &fields, "{}");
        told.push_str(&format!("{got:?} {}", got.text()));
    }
    let bearer = format!("Bearer {SECRET}");
    assert!(
        peer.seen()
            .iter()
            .all(|s| s.all("authorization") == [bearer.as_str()])
    );
    for path in [
        "/-/metrics",
        "/-/api/v1/providers",
        "/-/api/v1/providers/shop",
        "/-/api/v1/holds",
        "/-/api/v1/config",
    ] {
        told.push_str(&gate.get(path).text());
    }
    told.push_str(&gate.logged("/shop/refused"));
    told.push_str(&format!("{:?} {:?}", gate.front, gate.front.now()));
    for secret in [SECRET, THEIRS] {
        assert!(!told.contains(secret), "{told}");
    }
}

/// The access log has paths, and neither queries nor names and passwords.
#[test]
fn gw_the_access_log_has_no_query() {
    let peer = Peer::well();
    let at = peer.at;
    let gate = Gate::of(&format!(
        "[providers.shop]\nhosts = [\"{at}\"]\nupstream = \"http://{at}\"\n"
    ));
    gate.get("/shop/named?api_key=secret1#secret2");
    gate.ask(&format!("GET http://{at}/proxied?api_key=secret3"), "", "");
    gate.ask("GET /nobody?api_key=secret4", "", "");
    let text = gate.logged("/nobody");
    assert!(text.contains("/shop/named") && text.contains("/proxied"));
    assert!(!text.contains("secret"), "{text}");
}

/// Where a provider carries the credential in its path, that part is struck out.
#[test]
fn gw_the_access_log_has_no_credential_of_a_path() {
    let peer = Peer::well();
    let gate = Gate::of(&shop(peer.at, "profile = \"telegram\""));
    for path in [
        "bot123:secret/getMe",
        "bot123:secret",
        "file/bot123:secret/photo.jpg",
    ] {
        gate.get(&format!("/shop/{path}"));
    }
    let text = gate.logged("photo.jpg");
    assert!(!text.contains("secret"), "{text}");
    assert_eq!(peer.seen()[0].target(), "/bot123:secret/getMe");
}

/// A line of the log is one line, whatever is asked.
#[test]
fn gw_no_path_makes_a_line_of_its_own() {
    let peer = Peer::well();
    let gate = Gate::before(&peer);
    gate.get("/shop/a%0aInjected");
    gate.ask("GET /shop/\"quoted\"", "", "");
    gate.get("/shop/end");
    let text = gate.logged("/shop/end");
    assert!(text.lines().all(|l| l.contains(" GET ")), "{text}");
}

/// Labels are names of providers and words of ours.
#[test]
fn sc_g02_gw_figures_have_no_url_and_no_key_as_a_label() {
    let peer = Peer::new(|_, n| match n {
        0 => reply(503, "", "down"),
        _ => ok("well"),
    });
    let gate = Gate::of(&format!(
        "{}[gateway]\nallow_unlisted = true\n",
        shop(peer.at, "backoff.base = \"1ms\"")
    ));
    let fields = format!("Authorization: Bearer {THEIRS}\r\nAbide-Key: {THEIRS}\r\n");
    let got = gate.ask(&format!("GET /shop/path?key={THEIRS}"), &fields, "");
    // How often it was sent is told (`http.request.resend_count` plus one).
    assert_eq!(got.header("abide-attempts"), Some("2"));
    gate.ask(&format!("GET /nobody-{THEIRS}/x"), &fields, "");
    gate.ask(
        &format!("GET http://127.0.0.1:1/{THEIRS}?key={THEIRS}"),
        &fields,
        "",
    );
    let text = gate.get("/-/metrics").text();
    assert!(
        text.contains("abide_requests_total{provider=\"shop\",outcome=\"passed\"} 1"),
        "{text}"
    );
    assert!(!text.contains(THEIRS) && !text.contains("/path"), "{text}");
    for label in text
        .split('{')
        .skip(1)
        .map(|l| l.split('}').next().unwrap())
    {
        for pair in label.split(',') {
            let name = pair.split('=').next().unwrap();
            assert!(matches!(name, "provider" | "outcome" | "le"), "{label}");
            assert!(!pair.contains("://"), "{label}");
        }
    }
}
