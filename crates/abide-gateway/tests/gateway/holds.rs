//! One refusal holds everybody whom it covers, for as long as was asked, and nobody else.

use crate::rig::{Gate, Peer, ms, now, ok, reply, secs, shop};

/// What is learned from the refusal of a first request is a pace of one in so long a wait: not what is tested
/// here.
const KNOWN: &str = "pace.adaptive = \"off\"";

/// Rows 6, 57 and G01: held, and let go one after the other.
#[test]
fn sc_g01_gw1_gw6_gw57_a_refusal_holds_everybody_and_nobody_is_early() {
    let peer = Peer::refusing_once(1);
    let gate = Gate::with(&peer, KNOWN);
    let first = gate.aside("GET /shop/first", "");
    gate.until_held();
    let others: Vec<_> = (0..20)
        .map(|n| gate.aside(&format!("GET /shop/{n}"), ""))
        .collect();
    let got = first.join().unwrap();
    assert_eq!(
        (got.status(), got.header("abide-attempts")),
        (200, Some("2"))
    );
    let waited: f64 = got.header("abide-waited").unwrap().parse().unwrap();
    assert!(waited >= 1.0, "{waited}");
    for other in others {
        let got = other.join().unwrap();
        // Waiting is no attempt.
        assert_eq!(
            (got.status(), got.header("abide-attempts")),
            (200, Some("1"))
        );
    }
    let times = peer.times();
    assert_eq!(times.len(), 22, "nobody was refused a second time");
    assert!(times[1..].iter().all(|t| t.since(times[0]) >= secs(1)));
}

/// Row 7: decimals wait at least that long.
#[test]
fn gw7_half_a_second_is_half_a_second() {
    let no = reply(429, "Retry-After: 0.5\r\n", "no");
    let peer = Peer::saying([no, ok("well")]);
    assert_eq!(Gate::before(&peer).get("/shop/x").status(), 200);
    let times = peer.times();
    assert!(times[1].since(times[0]) >= ms(500));
}

/// Row 8: zero is no instruction to ask again at once.
#[test]
fn gw8_zero_is_no_hot_loop() {
    let peer = Peer::saying([reply(429, "Retry-After: 0\r\n", "no"), ok("well")]);
    assert_eq!(Gate::before(&peer).get("/shop/x").status(), 200);
    let times = peer.times();
    assert!(times.len() == 2 && times[1].since(times[0]) >= secs(1));
}

/// Rows 2, 4 and 44: what is longer than the caller waits fails now, carrying it, and is not asked again.
#[test]
fn gw2_gw4_gw44_gw51_a_wait_that_is_too_long_is_told_and_not_slept() {
    let peer = Peer::refusing_once(61);
    let gate = Gate::with(&peer, "patience = \"2s\"");
    let got = gate.get("/shop/a");
    assert_eq!((got.status(), got.retry_after()), (429, Some(61)));
    for _ in 0..6 {
        let got = gate.get("/shop/b");
        assert_eq!(got.status(), 429);
        assert!(got.retry_after().unwrap() > 50);
        assert_eq!(got.json()["attempts"], 0);
    }
    assert_eq!(peer.requests(), 1);
}

/// Rows 10, 11 and 12: a wait that only the body tells holds too.
#[test]
fn gw10_gw12_a_wait_told_in_the_body_holds() {
    let body = "{\"error\":{\"message\":\"Rate limit reached. Please try again in 2m 13s.\"}}";
    let no = reply(429, "Content-Type: application/json\r\n", body);
    let peer = Peer::saying([no]);
    let gate = Gate::of(&shop(
        peer.at,
        "profile = \"openai-compatible\"\npatience = \"1s\"",
    ));
    gate.get("/shop/v1/models");
    let got = gate.get("/shop/v1/models");
    assert_eq!(got.status(), 429);
    assert!(
        got.retry_after().is_some_and(|s| (120..=133).contains(&s)),
        "{got:?}"
    );
    assert_eq!(peer.requests(), 1);
}

/// Row 23: a wait of days is that credential's, and is kept to; the others go on.
#[test]
fn gw23_gw70_sc_h16_a_hold_is_the_credentials_whose_it_is() {
    let peer = Peer::new(|request, _| match request.header("authorization") {
        Some("Bearer one") => reply(429, "Retry-After: 124633\r\n", "no"),
        _ => ok("well"),
    });
    let gate = Gate::before(&peer);
    let ask = |who: &str| {
        gate.ask(
            "GET /shop/x",
            &format!("Authorization: Bearer {who}\r\n"),
            "",
        )
    };
    assert_eq!(ask("one").status(), 429);
    assert_eq!(ask("two").status(), 200);
    let got = ask("one");
    assert_eq!(got.status(), 429);
    assert!(got.retry_after().unwrap() > 124_000);
    assert_eq!(peer.requests(), 2);
}

/// Rows 58 and 59: of two words the longer one counts.
#[test]
fn gw58_gw59_the_longer_of_two_words_counts() {
    let (go, wait) = std::sync::mpsc::channel::<()>();
    let wait = parking_lot::Mutex::new(wait);
    let peer = Peer::new(move |request, _| {
        if request.target() == "/late" {
            wait.lock().recv().unwrap();
            return reply(429, "Retry-After: 1\r\n", "shorter");
        }
        reply(429, "Retry-After: 600\r\n", "longer")
    });
    let gate = Gate::before(&peer);
    let late = gate.aside("GET /shop/late", "Prefer: wait=0\r\n");
    peer.until(1);
    assert_eq!(
        gate.ask("GET /shop/x", "Prefer: wait=0\r\n", "").status(),
        429
    );
    go.send(()).unwrap();
    late.join().unwrap();
    let got = gate.ask("GET /shop/y", "Prefer: wait=5\r\n", "");
    assert_eq!(got.status(), 429);
    assert!(got.retry_after().unwrap() > 500, "{got:?}");
    assert_eq!(peer.requests(), 2);
}

/// Rows 64 and H17: a provider that is alone is held, never made to fail by ourselves.
#[test]
fn gw64_gw66_sc_h17_refusals_without_a_time_climb_a_ladder() {
    let no = || reply(429, "", "no");
    let peer = Peer::saying([no(), no(), no(), ok("well")]);
    let gate = Gate::with(&peer, "ladder.base = \"200ms\"\nladder.max = \"10s\"");
    assert_eq!(gate.get("/shop/x").status(), 200);
    let times = peer.times();
    assert_eq!(times.len(), 4);
    for (n, least) in [(1, 200), (2, 400), (3, 800)] {
        assert!(times[n].since(times[n - 1]) >= ms(least), "{n}");
    }
}

/// Row 68: that it goes on is told once, and seen in the figures.
#[test]
fn gw68_sc_h12_a_hold_is_listed_and_its_end_is_told_once() {
    let peer = Peer::refusing_once(1);
    let gate = Gate::before(&peer);
    let governor = gate.front.now().governor().clone();
    let mut events = governor.changes();
    let first = gate.aside("GET /shop/x", "");
    gate.until_held();
    let listed = gate.get("/-/api/v1/holds").json();
    let hold = &listed["holds"][0];
    assert_eq!(hold["provider"], "shop", "{listed}");
    for known in ["cause", "since", "until", "scope"] {
        assert!(!hold[known].is_null(), "{known}: {listed}");
    }
    assert_eq!(first.join().unwrap().status(), 200);
    let (mut opened, mut ended) = (0, 0);
    while let Ok((_, event)) = events.try_recv() {
        let told = format!("{event:?}");
        opened += usize::from(told.starts_with("HoldOpened"));
        ended += usize::from(told.starts_with("EpisodeEnded") || told.starts_with("HoldEnded"));
    }
    assert_eq!((opened, ended), (1, 1));
    assert!(governor.held().is_empty());
}

/// A hold's end is nobody's signal to run: rows 14, 61, 66 and 82.
#[test]
fn gw14_gw61_gw66_gw82_one_goes_first_when_a_hold_ends() {
    let open = std::sync::Arc::new(std::sync::atomic::AtomicBool::new(false));
    let theirs = std::sync::Arc::clone(&open);
    let peer = Peer::new(move |_, n| match n {
        0 => reply(429, "Retry-After: 1\r\n", "no"),
        1 => {
            // The probe takes its time; nobody may come meanwhile.
            std::thread::sleep(ms(300));
            theirs.store(true, std::sync::atomic::Ordering::SeqCst);
            ok("well")
        }
        _ if theirs.load(std::sync::atomic::Ordering::SeqCst) => ok("well"),
        _ => reply(500, "", "a herd"),
    });
    let gate = Gate::with(&peer, KNOWN);
    let all: Vec<_> = (0..12)
        .map(|n| gate.aside(&format!("GET /shop/{n}"), ""))
        .collect();
    let statuses: Vec<_> = all
        .into_iter()
        .map(|a| a.join().unwrap().status())
        .collect();
    // Whoever was on the wire beside the first refusal came before the hold.
    assert!(statuses.iter().all(|s| *s == 200), "{statuses:?}");
}

/// Row 18 and 55: a limit that is known is kept to from the first request on, by waiting.
#[test]
fn gw18_gw53_gw55_a_known_limit_queues_and_refuses_nobody() {
    let peer = Peer::well();
    let gate = Gate::with(
        &peer,
        "rate = \"20/s\"\npace.gentle = false\nconcurrency = 3",
    );
    let began = now();
    let all: Vec<_> = (0..30)
        .map(|n| gate.aside(&format!("GET /shop/{n}"), ""))
        .collect();
    assert!(all.into_iter().all(|a| a.join().unwrap().status() == 200));
    assert!(now().since(began) >= ms(1_400));
    let times = peer.times();
    // In any stretch of half a second no more than the rate gives, and one that was under way.
    for (i, from) in times.iter().enumerate() {
        let within = times[i..]
            .iter()
            .filter(|t| t.since(*from) < ms(500))
            .count();
        assert!(within <= 13, "{within}");
    }
}

/// Row 56: whoever waits in vain is told when its time is up, without anybody else coming by.
#[test]
fn gw56_a_wait_ends_by_itself() {
    let peer = Peer::raw(|mut wire| drop(wire.rest()));
    let gate = Gate::with(&peer, "concurrency = 1\npace.gentle = false");
    let mut stuck = gate.caller();
    stuck.ask("GET /shop/stuck", "", "");
    crate::rig::until("it is on the wire", || peer.bytes() > 0);
    let began = now();
    let got = gate.ask("GET /shop/x", "Prefer: wait=1\r\n", "");
    assert!((429..=504).contains(&got.status()), "{got:?}");
    assert!(now().since(began) >= secs(1));
    assert_eq!(peer.connections(), 1);
}
