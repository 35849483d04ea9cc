//! Another configuration while it runs: whole or not at all, and nobody who waits loses anything.

use crate::rig::{Gate, Peer, now, ok, reply, secs, shop};

/// Rows 67 and 127: what holds and who waits stay.
#[test]
fn gw67_gw127_holds_and_those_who_wait_survive() {
    let peer = Peer::refusing_once(3);
    let known = "pace.adaptive = \"off\"\n";
    let gate = Gate::with(&peer, known);
    let began = now();
    let first = gate.aside("GET /shop/first", "");
    gate.until_held();
    let others: Vec<_> = (0..5)
        .map(|n| gate.aside(&format!("GET /shop/{n}"), ""))
        .collect();
    gate.until_waiting(6);
    for more in ["concurrency = 4", "rate = \"50/s\"", ""] {
        gate.renew(&shop(peer.at, &format!("{known}{more}")))
            .unwrap();
        gate.until_waiting(6);
    }
    assert_eq!(
        gate.ask("GET /shop/new", "Prefer: wait=0\r\n", "").status(),
        429
    );
    assert_eq!(first.join().unwrap().status(), 200);
    assert!(
        others
            .into_iter()
            .all(|o| o.join().unwrap().status() == 200)
    );
    assert!(now().since(began) >= secs(3));
    assert_eq!(peer.requests(), 7);
}

/// Row 128: what changed is in force.
#[test]
fn gw128_what_changed_is_in_force() {
    let (one, two) = (Peer::saying([ok("one")]), Peer::saying([ok("two")]));
    let gate = Gate::before(&one);
    assert_eq!(gate.get("/shop/x").text(), "one");
    gate.renew(&shop(two.at, "rate = \"1/1h\"")).unwrap();
    assert_eq!(gate.get("/shop/x").text(), "two");
    let got = gate.ask("GET /shop/x", "Prefer: wait=1\r\n", "");
    assert_eq!(got.status(), 429, "the new rate holds");
    gate.renew(&shop(two.at, "")).unwrap();
    assert_eq!(
        gate.ask("GET /shop/x", "Prefer: wait=1\r\n", "").status(),
        200
    );
    // Somebody new, and somebody who is no more.
    gate.renew(&format!(
        "[providers.other]\nupstream = \"http://{}\"\n",
        one.at
    ))
    .unwrap();
    assert_eq!(gate.get("/other/x").text(), "one");
    assert_eq!(gate.get("/shop/x").status(), 404);
}

/// Row 127: a window that is used up is not filled by reading the same file again.
#[test]
fn gw127_a_balance_is_not_filled_by_reading_the_same_again() {
    let peer = Peer::well();
    let text = shop(peer.at, "limits = [\"3/1h\"]");
    let gate = Gate::of(&text);
    let ask = || gate.ask("GET /shop/x", "Prefer: wait=0\r\n", "").status();
    assert_eq!([ask(), ask()], [200, 200]);
    gate.renew(&text).unwrap();
    assert_eq!([ask(), ask()], [200, 429]);
    gate.renew(&text).unwrap();
    assert_eq!(ask(), 429);
    // A larger one has room for what is more of it.
    gate.renew(&shop(peer.at, "limits = [\"5/1h\"]")).unwrap();
    assert_eq!([ask(), ask(), ask()], [200, 200, 429]);
    assert_eq!(peer.requests(), 5);
}

#[test]
fn gw_a_bad_file_changes_nothing() {
    let peer = Peer::well();
    let gate = Gate::before(&peer);
    for bad in [
        "[providers.shop\n",
        "[providers.shop]\nupstream = \"ftp://x\"\n",
        "[providers.shop]\nupstream = \"http://u:p@x\"\n",
        "[providers.shop]\nrate = \"fast\"\n",
        "[gateway]\nclient_token = \"short\"\n",
        "[gateway]\nname = \"two words\"\n",
        "[[chain]]\nname = \"c\"\nmembers = [{ provider = \"nobody-knows\" }]\n",
    ] {
        let wrong = gate.renew(bad);
        assert!(wrong.is_err(), "{bad}");
        assert_eq!(gate.get("/shop/x").status(), 200, "{bad}");
    }
}

/// What is under way ends as it began.
#[test]
fn gw_what_is_under_way_ends_as_it_began() {
    let (go, wait) = std::sync::mpsc::channel::<()>();
    let wait = parking_lot::Mutex::new(wait);
    let peer = Peer::new(move |_, _| {
        wait.lock().recv().unwrap();
        reply(200, "", "from the old one")
    });
    let gate = Gate::before(&peer);
    let asked = gate.aside("GET /shop/x", "");
    peer.until(1);
    gate.renew("[providers.other]\nupstream = \"http://127.0.0.1:9\"\n")
        .unwrap();
    go.send(()).unwrap();
    assert_eq!(asked.join().unwrap().text(), "from the old one");
}
