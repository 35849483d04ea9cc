//! What of a head passes, what ends at the gateway, and what is turned to lead through it.

use crate::rig::{Gate, Peer, ok, reply, shop};

#[test]
fn gw_fields_of_one_hop_end_here_and_the_others_pass() {
    let peer = Peer::saying([reply(
        200,
        "Connection: X-Theirs\r\nX-Theirs: 1\r\nKeep-Alive: timeout=5\r\nProxy-Connection: close\r\n\
         X-Passes: yes\r\nSet-Cookie: a=1\r\nSet-Cookie: b=2\r\n",
        "well",
    )]);
    let gate = Gate::before(&peer);
    let got = gate.ask(
        "GET /shop/x",
        "Connection: keep-alive, X-Once\r\nX-Once: 1\r\nKeep-Alive: timeout=5\r\n\
         Proxy-Connection: keep-alive\r\nProxy-Authorization: Basic eDp5\r\nAbide-Key: k\r\n\
         Prefer: wait=5, return=minimal\r\nAuthorization: Bearer theirs\r\nX-Two: 1\r\nX-Two: 2\r\n\
         Cookie: c=d\r\nAccept-Encoding: gzip\r\nUser-Agent: their/1\r\n",
        "",
    );
    let asked = peer.last();
    for gone in [
        "x-once",
        "keep-alive",
        "proxy-connection",
        "proxy-authorization",
        "abide-key",
        "te",
        "upgrade",
        "forwarded",
        "x-forwarded-for",
    ] {
        assert_eq!(asked.header(gone), None, "{gone}");
    }
    assert!(asked.header("connection").is_none_or(|c| c == "keep-alive"));
    assert_eq!(asked.header("prefer"), Some("return=minimal"));
    assert_eq!(asked.header("authorization"), Some("Bearer theirs"));
    assert_eq!(asked.all("x-two"), ["1", "2"]);
    assert_eq!(asked.header("cookie"), Some("c=d"));
    assert_eq!(asked.header("accept-encoding"), Some("gzip"));
    assert_eq!(asked.header("user-agent"), Some("their/1"));
    assert_eq!(asked.all("host"), [peer.at.to_string()]);
    for gone in ["x-theirs", "keep-alive", "proxy-connection"] {
        assert_eq!(got.header(gone), None, "{gone}");
    }
    assert_eq!(got.header("x-passes"), Some("yes"));
    assert_eq!(got.all("set-cookie"), ["a=1", "b=2"]);
}

/// Nobody may name away, by `Connection`, what keeps requests apart or is put in by us.
#[test]
fn gw_naming_a_field_takes_away_nobody_elses() {
    let peer = Peer::well();
    let gate = Gate::before(&peer);
    let got = gate.ask(
        "POST /shop/x",
        "Connection: Content-Length, Host, Via, Authorization\r\nAuthorization: mine\r\n",
        "body",
    );
    assert_eq!(got.status(), 200);
    let asked = peer.last();
    assert_eq!((asked.text(), asked.whole), ("body".to_owned(), true));
    assert_eq!(asked.all("host"), [peer.at.to_string()]);
    assert!(asked.header("via").is_some());
}

#[test]
fn gw_via_is_told_both_ways_and_forwarded_only_where_it_is_wished() {
    let peer = Peer::saying([reply(200, "Via: 1.1 theirs\r\n", "well")]);
    let gate = Gate::before(&peer);
    let got = gate.ask("GET /shop/x", "Via: 1.0 before\r\nForwarded: for=a\r\n", "");
    let asked = peer.last();
    let via = asked.all("via").join(", ");
    assert!(via.starts_with("1.0 before, 1.1 abide-"), "{via}");
    assert_eq!(asked.all("forwarded"), ["for=a"]);
    let via = got.all("via").join(", ");
    assert!(via.starts_with("1.1 theirs, 1.1 abide-"), "{via}");
    let text = format!(
        "{}[gateway]\nforwarded = true\nname = \"build-box\"\n",
        shop(peer.at, "")
    );
    let gate = Gate::of(&text);
    gate.get("/shop/x");
    let asked = peer.last();
    assert_eq!(asked.all("forwarded"), ["for=127.0.0.1"]);
    assert!(asked.header("via").unwrap().starts_with("1.1 build-box-"));
}

#[test]
fn gw_a_circle_through_two_gateways_is_seen() {
    let first = Peer::well();
    let one = Gate::before(&first);
    let two = Gate::of(&format!(
        "[providers.back]\nupstream = \"http://{}/round\"\n",
        one.at
    ));
    // The first leads to the second, and the second back to the first.
    let round = format!("[providers.round]\nupstream = \"http://{}/back\"\n", two.at);
    one.renew(&format!("{}{round}", shop(first.at, "")))
        .unwrap();
    let got = one.get("/round/x");
    assert_eq!(
        (got.status(), got.error()),
        (508, Some("proxy_loop_detected"))
    );
    // Two gateways behind each other are no circle.
    let three = Gate::of(&format!(
        "[providers.on]\nupstream = \"http://{}/shop\"\n",
        one.at
    ));
    let got = three.get("/on/y");
    assert_eq!((got.status(), first.last().target()), (200, "/y"));
    assert_eq!(
        first.last().all("via").join(",").matches("abide-").count(),
        2
    );
}

/// Page 2 comes through the gateway: by `Link`, by `Location`, with a path in front or without.
#[test]
fn gw_the_next_page_leads_through_the_gateway() {
    let peer = Peer::new(|request, _| {
        let host = request.header("host").unwrap();
        match request.target() {
            "/v1/list" => reply(
                200,
                &format!(
                    "Link: <http://{host}/v1/list?page=2>; rel=\"next\", </v1/list?page=9>; rel=last\r\n\
                     Content-Location: /v1/list\r\n"
                ),
                "one",
            ),
            "/v1/list?page=2" => reply(302, &format!("Location: http://{host}/v1/moved\r\n"), ""),
            "/v1/elsewhere" => reply(302, "Location: https://login.example/v1/in\r\n", ""),
            _ => ok("two"),
        }
    });
    let at = peer.at;
    let gate = Gate::of(&format!(
        "[providers.shop]\nupstream = \"http://{at}/v1\"\n"
    ));
    let own = format!("http://{}", gate.at);
    let got = gate.get("/shop/list");
    let expected =
        format!("<{own}/shop/list?page=2>; rel=\"next\", <{own}/shop/list?page=9>; rel=last");
    assert_eq!(got.header("link"), Some(expected.as_str()));
    assert_eq!(
        got.header("content-location"),
        Some(format!("{own}/shop/list").as_str())
    );
    let got = gate.get("/shop/list?page=2");
    let to = got.header("location").unwrap().strip_prefix(&own).unwrap();
    assert_eq!(gate.get(to).text(), "two");
    assert_eq!(peer.last().target(), "/v1/moved");
    let got = gate.get("/shop/elsewhere");
    assert_eq!(got.header("location"), Some("https://login.example/v1/in"));
    let off =
        format!("[providers.shop]\nupstream = \"http://{at}/v1\"\n[gateway]\nrewrite = false\n");
    let got = Gate::of(&off).get("/shop/list?page=2");
    assert_eq!(
        got.header("location"),
        Some(format!("http://{at}/v1/moved").as_str())
    );
}

#[test]
fn gw_a_host_of_its_own_names_a_provider() {
    let peer = Peer::new(|request, _| match request.target() {
        "/old" => reply(301, "Location: /new\r\n", ""),
        target => ok(target),
    });
    let at = peer.at;
    let gate = Gate::of(&format!(
        "[providers.shop.upstream]\nurl = \"http://{at}\"\naliases = [\"shop.localhost\"]\n"
    ));
    let port = gate.at.port();
    for host in [
        format!("shop.localhost:{port}"),
        "SHOP.localhost".to_owned(),
    ] {
        let mut caller = gate.caller();
        caller.send(format!("GET /x/y?z HTTP/1.1\r\nHost: {host}\r\n\r\n"));
        assert_eq!(caller.answer().text(), "/x/y?z");
        assert_eq!(peer.last().all("host"), [at.to_string()]);
        // What looks like the gateway's own is the provider's there.
        caller.send(format!("GET /-/metrics HTTP/1.1\r\nHost: {host}\r\n\r\n"));
        assert_eq!(caller.answer().text(), "/-/metrics");
        // A caller that follows it stays with the provider.
        caller.send(format!("GET /old HTTP/1.1\r\nHost: {host}\r\n\r\n"));
        let got = caller.answer();
        let to = got.header("location").unwrap();
        let path = to.strip_prefix(&format!("http://{host}")).unwrap_or(to);
        caller.send(format!("GET {path} HTTP/1.1\r\nHost: {host}\r\n\r\n"));
        assert_eq!(caller.answer().text(), "/new", "{to}");
    }
    let mut caller = gate.caller();
    caller.send("GET /x HTTP/1.1\r\nHost: other.localhost\r\n\r\n");
    assert_eq!(caller.answer().status(), 404);
}
