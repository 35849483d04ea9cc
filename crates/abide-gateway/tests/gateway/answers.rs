//! What callers are told: the provider's words as they are, and the gateway's own with a time and a cause.

use crate::rig::{Gate, Message, Peer, now, reply, secs, shop};

fn problem(got: &Message) -> serde_json::Value {
    assert_eq!(got.header("content-type"), Some("application/problem+json"));
    assert_eq!(got.header("cache-control"), Some("no-store"));
    let told = got.json();
    assert_eq!(told["status"], got.status());
    assert!(!told["title"].as_str().unwrap().is_empty());
    assert!(!told["detail"].as_str().unwrap().is_empty());
    told
}

/// Rows 28, 32 and 33: a refusal of our own says when, rounded up and never 0.
#[test]
fn sc_h10_gw28_gw32_gw33_our_own_refusal_says_when() {
    let peer = Peer::refusing_once(20);
    let gate = Gate::before(&peer);
    let began = now();
    let first = gate.ask("GET /shop/a", "Prefer: wait=1\r\n", "");
    assert_eq!((first.status(), first.text()), (429, "no".to_owned()));
    let got = gate.ask("GET /shop/b", "Prefer: wait=1\r\n", "");
    let passed = now().since(began);
    assert_eq!(
        (got.status(), got.error()),
        (429, Some("http_request_error"))
    );
    assert!(
        got.header("proxy-status")
            .unwrap()
            .contains("status-code=429")
    );
    let after = got.retry_after().unwrap();
    assert!(after <= 20, "{after}");
    // Whoever waits so long is not early.
    assert!(secs(after) + passed >= secs(20), "{after} {passed:?}");
    let told = problem(&got);
    assert_eq!(
        told["type"],
        "https://iana.org/assignments/http-problem-types#quota-exceeded"
    );
    assert!(
        told["retry_at"].is_string() && told["provider"] == "shop",
        "{told}"
    );
    assert_eq!(peer.requests(), 1);
}

#[test]
fn gw32_less_than_a_second_is_told_as_one() {
    let peer = Peer::refusing_once(1);
    let gate = Gate::before(&peer);
    gate.ask("GET /shop/a", "Prefer: wait=0\r\n", "");
    let got = gate.ask("GET /shop/b", "Prefer: wait=0\r\n", "");
    assert_eq!((got.status(), got.retry_after()), (429, Some(1)));
}

#[test]
fn gw29_gw35_sc_h20_a_providers_refusal_passes_as_it_is() {
    let fields = "Retry-After: 600\r\nX-RateLimit-Scope: shared\r\nX-RateLimit-Global: true\r\n\
                  X-RateLimit-Limit: 5\r\nX-RateLimit-Remaining: 0\r\nX-RateLimit-Reset-After: 600.5\r\n\
                  RateLimit-Policy: \"burst\";q=5;w=60\r\nContent-Type: application/json\r\n";
    let body = "{\"message\":\"slow down\",\"retry_after\":600.5,\"global\":true}";
    let peer = Peer::saying([reply(429, fields, body)]);
    let gate = Gate::before(&peer);
    let got = gate.get("/shop/x");
    assert_eq!((got.status(), got.text().as_str()), (429, body));
    for line in fields.lines() {
        let (name, value) = line.split_once(": ").unwrap();
        assert_eq!(got.header(&name.to_ascii_lowercase()), Some(value));
    }
    assert_eq!(got.error(), None, "it is not ours");
    assert_eq!(got.header("abide-attempts"), Some("1"));
}

/// What is left and until when is told on successes too.
#[test]
fn gw34_what_is_left_is_told_on_successes() {
    let peer = Peer::saying([reply(
        200,
        "X-RateLimit-Limit: 60\r\nX-RateLimit-Remaining: 59\r\nRateLimit: \"d\";r=59;t=30\r\n",
        "well",
    )]);
    let got = Gate::before(&peer).get("/shop/x");
    assert_eq!(got.header("x-ratelimit-limit"), Some("60"));
    assert_eq!(got.header("x-ratelimit-remaining"), Some("59"));
    assert_eq!(got.header("ratelimit"), Some("\"d\";r=59;t=30"));
}

/// A limit that names no time is held by the ladder; what is invented is never told as the provider's.
#[test]
fn gw30_a_time_is_told_where_one_is_known() {
    let peer = Peer::saying([reply(429, "", "no")]);
    let gate = Gate::with(&peer, "ladder.base = \"600s\"\nladder.max = \"600s\"");
    let got = gate.ask("GET /shop/x", "Prefer: wait=1\r\n", "");
    assert_eq!((got.status(), got.error()), (429, None));
    assert!(
        got.retry_after().is_some_and(|s| (590..=600).contains(&s)),
        "{got:?}"
    );
    // Where nobody knows, no time is told: a provider that does not exist.
    let got = gate.get("/nobody/x");
    assert_eq!((got.status(), got.retry_after()), (404, None));
}

#[test]
fn gw36_an_error_says_who_refused() {
    let (peer, slow) = (Peer::refusing_once(600), Peer::well());
    let gate = Gate::of(&format!(
        "{}[providers.slow]\nupstream = \"http://{}\"\nrate = \"1/1h\"\n",
        shop(peer.at, ""),
        slow.at
    ));
    let by = |path: &str| {
        let got = gate.ask(&format!("GET {path}"), "Prefer: wait=0\r\n", "");
        (got.error().map(str::to_owned), got)
    };
    assert_eq!(by("/shop/x").0, None, "the provider's own words");
    let (error, got) = by("/shop/x");
    assert_eq!(error.as_deref(), Some("http_request_error"));
    assert_eq!(problem(&got)["decided_by"], "provider");
    assert_eq!(by("/slow/x").1.status(), 200);
    let told = problem(&by("/slow/x").1);
    assert_eq!(told["decided_by"], "queue", "{told}");
    assert!(told["detail"].as_str().unwrap().contains("slow"), "{told}");
}

#[test]
fn gw36_each_cause_has_its_token() {
    let unused = {
        let listener = std::net::TcpListener::bind("127.0.0.1:0").unwrap();
        listener.local_addr().unwrap()
    };
    let tls = Peer::raw(|mut wire| {
        let _ = wire.exact(1);
        let _ = wire.send(reply(400, "", "no TLS here"));
    });
    let silent = Peer::raw(|mut wire| drop(wire.rest()));
    let text = format!(
        "[providers.refused]\nupstream = \"http://{unused}\"\n\
         [providers.nameless]\nupstream = \"http://no-such-host.invalid\"\nattempts = 1\n\
         [providers.tls]\nupstream = \"https://{}\"\n",
        tls.at
    ) + &format!(
        "[providers.silent]\nupstream = \"https://{}\"\nattempts = 1\n",
        silent.at
    );
    // A resolver that does not answer is bounded too.
    let gate = Gate::changed(&text, |s| s.limits.connect = secs(2));
    for (path, status, error) in [
        ("/refused/x", 502, "connection_refused"),
        ("/nameless/x", 502, "dns_error"),
        ("/tls/x", 502, "tls_protocol_error"),
        ("/silent/x", 504, "connection_timeout"),
        ("/nobody/x", 404, "destination_not_found"),
        ("/", 404, "destination_not_found"),
    ] {
        let got = gate.ask(&format!("POST {path}"), "", "{}");
        assert_eq!((got.status(), got.error()), (status, Some(error)), "{path}");
        problem(&got);
        assert_eq!(got.retry_after(), None, "{path}");
    }
}

/// After the last try the caller gets the provider's own last answer.
#[test]
fn gw40_gw41_the_last_answer_is_the_providers_and_sends_are_counted() {
    let peer = Peer::saying([reply(503, "X-Their: 1\r\n", "down for now")]);
    let gate = Gate::with(&peer, "backoff.base = \"1ms\"\nattempts = 3");
    let got = gate.get("/shop/x");
    assert_eq!((got.status(), got.text()), (503, "down for now".to_owned()));
    assert_eq!(got.header("x-their"), Some("1"));
    assert_eq!(got.header("abide-attempts"), Some("3"));
    assert_eq!(peer.requests(), 3);
    assert_eq!(
        gate.ask("POST /shop/x", "", "{}").header("abide-attempts"),
        Some("1")
    );
}

#[test]
fn gw_a_cap_shortens_what_is_advertised_and_not_the_truth() {
    let peer = Peer::refusing_once(600);
    let text = format!("{}[gateway]\nadvertise_cap = \"10s\"\n", shop(peer.at, ""));
    let gate = Gate::of(&text);
    gate.ask("GET /shop/x", "Prefer: wait=0\r\n", "");
    let got = gate.ask("GET /shop/x", "Prefer: wait=0\r\n", "");
    assert_eq!((got.status(), got.retry_after()), (429, Some(10)));
    let told = problem(&got);
    let at: jiff::Timestamp = told["retry_at"].as_str().unwrap().parse().unwrap();
    assert!(
        at.as_second() - jiff::Timestamp::now().as_second() > 500,
        "{told}"
    );
}

/// A hold that comes while an answer is under way cuts nothing off.
#[test]
fn gw43_a_hold_does_not_cut_off_what_is_under_way() {
    let (go, wait) = std::sync::mpsc::channel::<()>();
    let wait = parking_lot::Mutex::new(wait);
    let peer = Peer::raw(move |mut wire| {
        while let Some(request) = wire.message(false, false) {
            if request.target() == "/refused" {
                let _ = wire.send(reply(429, "Retry-After: 600\r\n", "no"));
                continue;
            }
            let _ = wire.send("HTTP/1.1 200 OK\r\nContent-Length: 8\r\n\r\nhalf");
            wait.lock().recv().unwrap();
            let _ = wire.send("half");
        }
    });
    let gate = Gate::before(&peer);
    let mut caller = gate.caller();
    caller.ask("GET /shop/long", "", "");
    assert_eq!(caller.wire.head().unwrap().status(), 200);
    assert_eq!(
        gate.ask("GET /shop/refused", "Prefer: wait=0\r\n", "")
            .status(),
        429
    );
    go.send(()).unwrap();
    assert_eq!(caller.wire.exact(8).unwrap(), b"halfhalf");
}

/// A coding of the content is the caller's to undo: bytes pass as they are, refusals too.
#[test]
fn gw23_bodies_pass_byte_for_byte() {
    let zipped = "\u{1f}\u{8}not really";
    let peer = Peer::saying([reply(200, "Content-Encoding: gzip\r\n", zipped)]);
    let got = Gate::before(&peer).get("/shop/x");
    assert_eq!(got.text(), zipped);
    assert_eq!(got.header("content-encoding"), Some("gzip"));
}
