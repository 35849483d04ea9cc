//! A question that several providers answer.

use crate::rig::{Gate, Message, Peer, reply};

fn chain(members: &[(&str, &Peer, &str)], more: &str) -> Gate {
    let mut text = String::new();
    for (name, peer, _) in members {
        text.push_str(&format!(
            "[providers.{name}]\nupstream = \"http://{}\"\nattempts = 1\n{more}\n",
            peer.at
        ));
    }
    text.push_str("[[chain]]\nname = \"book\"\npath = \"/isbn/{isbn}\"\nmembers = [\n");
    for (name, _, told) in members {
        text.push_str(&format!(
            "  {{ provider = \"{name}\", path = \"/{name}/{{isbn}}\"{told} }},\n"
        ));
    }
    text.push_str("]\n");
    Gate::of(&text)
}

fn of(got: &Message) -> (u16, Option<&str>, bool) {
    let degraded = got.header("abide-degraded") == Some("true");
    (got.status(), got.header("abide-provider"), degraded)
}

#[test]
fn gw_a_miss_asks_the_next_and_a_hit_is_returned() {
    let (one, two) = (Peer::saying([reply(404, "", "no such book")]), Peer::well());
    let gate = chain(&[("one", &one, ""), ("two", &two, "")], "");
    let got = gate.get("/book/isbn/978?lang=en");
    assert_eq!(of(&got), (200, Some("two"), false));
    assert_eq!(got.text(), "well");
    assert_eq!(one.last().target(), "/one/978?lang=en");
    assert_eq!(two.last().target(), "/two/978?lang=en");
    let (one, two) = (Peer::well(), Peer::well());
    let gate = chain(&[("one", &one, ""), ("two", &two, "")], "");
    assert_eq!(of(&gate.get("/book/isbn/1")), (200, Some("one"), false));
    assert_eq!(two.requests(), 0);
    assert_eq!(gate.ask("POST /book/isbn/1", "", "{}").status(), 405);
    assert_eq!(gate.get("/book/other/1").status(), 404);
    let mut caller = gate.caller();
    caller.ask("HEAD /book/isbn/1", "", "");
    assert_eq!(caller.answer_to_head().status(), 200);
}

/// Rows 64, 91 and 93 differ here on purpose: a refusal is no reason to spend somebody else's quota,
/// unless he was declared independent or is on this machine.
#[test]
fn gw47_gw49_gw91_gw93_a_refusal_asks_only_who_may_be_asked() {
    let no = || Peer::saying([reply(429, "Retry-After: 600\r\n", "no")]);
    let (one, two) = (no(), Peer::well());
    let gate = chain(&[("one", &one, ""), ("two", &two, "")], "");
    let got = gate.ask("GET /book/isbn/1", "Prefer: wait=1\r\n", "");
    assert_eq!(got.status(), 429);
    assert!(got.retry_after().unwrap() > 500);
    assert_eq!(two.requests(), 0);
    for told in [", independent = true", ", local = true"] {
        let (one, two) = (no(), Peer::well());
        let gate = chain(&[("one", &one, ""), ("two", &two, told)], "");
        for n in 0..2 {
            let got = gate.ask("GET /book/isbn/1", "Prefer: wait=1\r\n", "");
            assert_eq!(of(&got), (200, Some("two"), true), "{n} {told}");
        }
        // The hold is kept to by the chain as well.
        assert_eq!(one.requests(), 1);
    }
    // No header, no time: the same.
    let (one, two) = (Peer::saying([reply(429, "", "no")]), Peer::well());
    let more = "ladder.base = \"600s\"\nladder.max = \"600s\"";
    let gate = chain(
        &[("one", &one, ""), ("two", &two, ", independent = true")],
        more,
    );
    assert_eq!(
        of(&gate.ask("GET /book/isbn/1", "Prefer: wait=1\r\n", "")),
        (200, Some("two"), true)
    );
}

/// Rows 28 and 45 of a chain: all are held, and the earliest time is told.
#[test]
fn gw28_when_all_are_held_a_time_is_told() {
    let one = Peer::saying([reply(429, "Retry-After: 600\r\n", "no")]);
    let two = Peer::saying([reply(429, "Retry-After: 60\r\n", "no")]);
    let gate = chain(
        &[("one", &one, ""), ("two", &two, ", independent = true")],
        "",
    );
    gate.ask("GET /book/isbn/1", "Prefer: wait=0\r\n", "");
    let got = gate.ask("GET /book/isbn/1", "Prefer: wait=0\r\n", "");
    assert_eq!(got.status(), 429);
    assert!(got.retry_after().unwrap() <= 600);
    assert_eq!((one.requests(), two.requests()), (1, 1));
}

/// Row 94: who is down is passed over once his breaker is open.
#[test]
fn gw83_gw94_who_is_down_is_passed_over() {
    let (one, two) = (Peer::saying([reply(500, "", "broken")]), Peer::well());
    let more = "breaker.failures = 2\nbreaker.open = \"5m\"";
    let gate = chain(&[("one", &one, ""), ("two", &two, "")], more);
    for _ in 0..6 {
        gate.ask("GET /book/isbn/1", "Prefer: wait=0\r\n", "");
    }
    let got = gate.ask("GET /book/isbn/1", "Prefer: wait=0\r\n", "");
    assert_eq!(of(&got), (200, Some("two"), true));
    assert_eq!(one.requests(), 2);
}

/// The second of two answers after a miss may be a miss too: then that is the answer.
#[test]
fn gw_a_miss_of_all_is_a_miss() {
    let miss = |who: &str| Peer::saying([reply(404, "X-Their: 1\r\n", who)]);
    let (one, two) = (miss("one"), miss("two"));
    let gate = chain(&[("one", &one, ""), ("two", &two, "")], "");
    let got = gate.get("/book/isbn/1");
    assert_eq!((got.status(), got.header("x-their")), (404, Some("1")));
    assert!(got.header("abide-provider").is_some());
    assert_eq!((one.requests(), two.requests()), (1, 1));
}
