//! What callers wish, and what is sent again.

use crate::rig::{Gate, Peer, ms, now, ok, reply, secs, shop};

/// Rows 44, 50 and H19.
#[test]
fn sc_h19_gw50_a_caller_says_how_long_it_waits() {
    let peer = Peer::refusing_once(600);
    let gate = Gate::before(&peer);
    let ask = |prefer: &str| gate.ask("GET /shop/x", &format!("Prefer: {prefer}\r\n"), "");
    let got = ask("wait=0");
    assert_eq!(
        (got.status(), got.header("preference-applied")),
        (429, Some("wait=0"))
    );
    let got = ask("wait=0");
    assert_eq!(
        (got.status(), got.error()),
        (429, Some("http_request_error"))
    );
    assert_eq!(peer.requests(), 1, "0 is at once or not at all");
    // Its own 30 s are over long before the hold is: told at once, not after 30 s.
    assert_eq!(gate.get("/shop/x").status(), 429);
    let peer = Peer::refusing_once(1);
    let gate = Gate::with(&peer, "patience = \"0s\"");
    let got = gate.ask("GET /shop/x", "Prefer: wait=30, handling=lenient\r\n", "");
    assert_eq!(
        (got.status(), got.header("preference-applied")),
        (200, Some("wait=30"))
    );
    assert_eq!(peer.last().header("prefer"), Some("handling=lenient"));
    assert_eq!(
        Gate::before(&Peer::well())
            .get("/shop/x")
            .header("preference-applied"),
        None
    );
}

/// Row 122: the urgent go first, and the others go too.
#[test]
fn gw122_the_urgent_go_first_and_nobody_starves() {
    let peer = Peer::refusing_once(1);
    let gate = Gate::with(
        &peer,
        "concurrency = 1\npace.gentle = false\npace.adaptive = \"off\"",
    );
    gate.ask("GET /shop/held", "Prefer: wait=0\r\n", "");
    let mut all = Vec::new();
    for (path, priority) in [("late", "u=7"), ("plain", ""), ("soon", "u=0, i")] {
        for n in 0..3 {
            let fields = match priority {
                "" => String::new(),
                priority => format!("Priority: {priority}\r\n"),
            };
            all.push(gate.aside(&format!("GET /shop/{path}{n}"), &fields));
            gate.until_waiting(all.len());
        }
    }
    assert!(all.into_iter().all(|a| a.join().unwrap().status() == 200));
    let order: Vec<_> = peer.seen()[1..]
        .iter()
        .map(|s| s.target()[1..].to_owned())
        .collect();
    let expected = [
        "soon0", "soon1", "soon2", "plain0", "plain1", "plain2", "late0", "late1", "late2",
    ];
    assert_eq!(order, expected);
    // How urgent it was to us is told to the provider too, which may use it.
    assert_eq!(peer.seen()[1].header("priority"), Some("u=0, i"));
}

#[test]
fn gw_waiting_requests_take_turns_between_keys() {
    let peer = Peer::refusing_once(1);
    let gate = Gate::with(
        &peer,
        "concurrency = 1\npace.gentle = false\npace.adaptive = \"off\"",
    );
    gate.ask("GET /shop/held", "Prefer: wait=0\r\n", "");
    let mut all = Vec::new();
    for (key, count) in [("many", 6), ("one", 2), ("two", 2)] {
        for n in 0..count {
            let fields = format!("Abide-Key: {key}\r\n");
            all.push(gate.aside(&format!("GET /shop/{key}{n}"), &fields));
            gate.until_waiting(all.len());
        }
    }
    assert!(all.into_iter().all(|a| a.join().unwrap().status() == 200));
    let seen = peer.seen();
    let first: Vec<_> = seen[1..7]
        .iter()
        .map(|s| s.target()[1..].to_owned())
        .collect();
    for key in ["many", "one", "two"] {
        let of = first.iter().filter(|p| p.starts_with(key)).count();
        assert_eq!(of, 2, "{first:?}");
    }
    assert!(seen.iter().all(|s| s.header("abide-key").is_none()));
}

/// GitHub's merge is a PUT: a second one is a second merge.
#[test]
fn gw_a_merge_is_not_sent_again_and_a_read_is() {
    let gate_of = |peer: &Peer| {
        Gate::of(&format!(
            "[providers.hub]\nupstream = \"http://{}\"\nprofile = \"github\"\n\
             backoff.base = \"1ms\"\n",
            peer.at
        ))
    };
    let peer = Peer::saying([reply(502, "", "bad gateway")]);
    let gate = gate_of(&peer);
    let got = gate.ask("PUT /hub/repos/a/b/pulls/1/merge", "", "{}");
    assert_eq!((got.status(), got.text()), (502, "bad gateway".to_owned()));
    assert_eq!(
        (got.header("abide-attempts"), peer.requests()),
        (Some("1"), 1)
    );
    for what in ["POST", "PATCH", "DELETE"] {
        let before = peer.requests();
        gate.ask(&format!("{what} /hub/repos/a/b/issues"), "", "{}");
        assert_eq!(peer.requests(), before + 1, "{what}");
    }
    // Another one: failures in a row open the breaker.
    let peer = Peer::saying([reply(502, "", "bad gateway")]);
    let got = gate_of(&peer).get("/hub/repos/a/b");
    assert_eq!(
        (got.status(), got.header("abide-attempts")),
        (502, Some("4"))
    );
    assert_eq!(peer.requests(), 4);
}

/// Rows 45 and 119: nothing of it was sent, so it is sent again, whatever it is.
#[test]
fn gw45_gw119_what_never_left_is_sent_again() {
    // A port where nobody listens yet.
    let at = {
        let listener = std::net::TcpListener::bind("127.0.0.1:0").unwrap();
        listener.local_addr().unwrap()
    };
    let gate = Gate::of(&shop(at, "attempts = 3\nbackoff.base = \"1ms\""));
    let got = gate.get("/shop/x");
    assert_eq!(
        (got.status(), got.error()),
        (502, Some("connection_refused"))
    );
}

/// An unused connection that the provider closed meanwhile is no failure of a write.
#[test]
fn gw_a_connection_that_went_stale_fails_nobody() {
    let peer = Peer::new(|request, _| match request.target() {
        "/last" => String::new(),
        _ => ok("well"),
    });
    let gate = Gate::with(&peer, "breaker.enabled = false");
    for n in 0..20 {
        let got = gate.ask(&format!("POST /shop/{n}"), "", "{}");
        assert_eq!(got.status(), 200);
        gate.ask("POST /shop/last", "", "{}");
    }
}

/// Row 100: what is tried again, how often, and in how much time.
#[test]
fn gw100_gw132_repeats_are_counted_and_chosen() {
    for (status, requests) in [
        (500, 1),
        (501, 1),
        (502, 3),
        (503, 3),
        (504, 3),
        (404, 1),
        (408, 3),
    ] {
        let peer = Peer::saying([reply(status, "", "x")]);
        let gate = Gate::with(&peer, "backoff.base = \"1ms\"\nattempts = 3");
        assert_eq!(gate.get("/shop/x").status(), status);
        assert_eq!(peer.requests(), requests, "{status}");
    }
}

/// Rows 47 and 51: attempts and waits together stay below what was granted.
#[test]
fn gw47_gw51_repeats_end_with_the_patience() {
    let peer = Peer::saying([reply(503, "Retry-After: 1\r\n", "down")]);
    let gate = Gate::with(&peer, "attempts = 100");
    let began = now();
    let got = gate.ask("GET /shop/x", "Prefer: wait=3\r\n", "");
    assert_eq!(got.status(), 503);
    let waited: f64 = got
        .header("abide-waited")
        .map_or(0.0, |w| w.parse().unwrap());
    assert!(waited <= 3.0, "{waited}");
    assert!(peer.requests() <= 4 && now().since(began) >= secs(1));
    assert!(peer.times().windows(2).all(|t| t[1].since(t[0]) >= secs(1)));
}

/// Rows 38 and 71: an outage with a time is a hold, and none of the caller's making.
#[test]
fn gw_an_outage_that_names_its_end_holds() {
    let peer = Peer::saying([reply(503, "Retry-After: 1\r\n", "down"), ok("well")]);
    let gate = Gate::before(&peer);
    let all: Vec<_> = (0..4)
        .map(|n| gate.aside(&format!("GET /shop/{n}"), ""))
        .collect();
    assert!(all.into_iter().all(|a| a.join().unwrap().status() == 200));
}

/// Row 83, 78 and 79: a breaker skips at once, says so, lets one through and closes again.
#[test]
fn gw73_gw78_gw79_gw83_a_breaker_opens_is_seen_and_closes() {
    let peer = Peer::new(|_, n| match n {
        0..3 => reply(500, "", "broken"),
        _ => ok("well"),
    });
    let gate = Gate::with(
        &peer,
        "breaker.failures = 3\nbreaker.open = \"1s\"\nattempts = 1",
    );
    for _ in 0..3 {
        assert_eq!(gate.get("/shop/x").status(), 500);
    }
    let got = gate.ask("GET /shop/x", "Prefer: wait=0\r\n", "");
    assert_eq!(
        (got.status(), got.error()),
        (503, Some("destination_unavailable"))
    );
    assert_eq!(got.json()["kind"], "breaker_open");
    assert_eq!(got.retry_after(), Some(1));
    assert_eq!(peer.requests(), 3);
    let seen = gate.get("/-/api/v1/providers/shop").json();
    assert_eq!(
        (&seen["healthy"], &seen["available"]),
        (&false.into(), &false.into()),
        "{seen}"
    );
    assert_eq!(
        gate.get("/shop/x").status(),
        200,
        "waited for, and the probe served"
    );
    assert_eq!(
        gate.ask("GET /shop/x", "Prefer: wait=0\r\n", "").status(),
        200
    );
    let times = peer.times();
    assert!(times[3].since(times[2]) >= ms(990));
}

/// Row 73: a refusal opens no breaker, however many there are.
#[test]
fn gw73_refusals_open_no_breaker() {
    let peer = Peer::saying([reply(429, "Retry-After: 0.01\r\n", "no")]);
    let gate = Gate::with(
        &peer,
        "breaker.failures = 2\nattempts = 4\nhint.zero = \"10ms\"",
    );
    for _ in 0..3 {
        assert_eq!(
            gate.ask("GET /shop/x", "Prefer: wait=1\r\n", "").status(),
            429
        );
    }
    assert!(!gate.front.now().governor().provider("shop").is_down());
}
