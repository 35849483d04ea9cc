//! Who may use the admin API, and from where: web pages, proxies and strangers may not.
#![allow(clippy::unwrap_used, reason = "test code")]

mod desk;

use desk::{Desk, TOKEN, raw};

const HOLD: &str = r#"{"provider":"shop","for":"1m"}"#;
const JSON: &str = "Content-Type: application/json\r\n";

fn bearer(token: &str) -> String {
    format!("Authorization: Bearer {token}\r\n")
}

#[test]
fn gw_every_change_needs_the_token() {
    let desk = Desk::new();
    let changes = [
        ("POST", "holds", HOLD),
        ("PATCH", "holds/0000000000000001", r#"{"for":"1m"}"#),
        ("POST", "holds/0000000000000001/extend", r#"{"for":"1m"}"#),
        ("DELETE", "holds/0000000000000001", ""),
        ("POST", "providers/shop/lift", "{}"),
        ("POST", "providers/shop/outcomes", r#"{"status":429}"#),
        ("POST", "drain", "{}"),
    ];
    let wrong = TOKEN.replace("cdef", "cdeF");
    let shown = [
        String::new(),
        bearer(&wrong),
        bearer(""),
        bearer(&TOKEN[1..]),
        format!("Authorization: Basic {TOKEN}\r\n"),
        format!("Authorization: {TOKEN}\r\n"),
        format!("Abide-Token: {TOKEN}\r\n"),
        format!("Cookie: token={TOKEN}\r\n"),
        format!("{}{}", bearer(TOKEN), bearer(TOKEN)),
    ];
    for (method, path, body) in changes {
        for fields in &shown {
            let got = desk.ask(method, path, &format!("{fields}{JSON}"), body);
            assert_eq!(got.status, 401, "{method} {path} {fields:?}");
            assert!(
                got.header("www-authenticate")
                    .unwrap()
                    .starts_with("Bearer")
            );
            assert!(!got.body.contains(TOKEN) && !got.head.contains(TOKEN));
        }
        let got = desk.change(method, path, body);
        assert_ne!(got.status, 401, "{method} {path}");
    }
}

#[test]
fn gw_a_name_pointed_here_is_no_name_of_the_gateway() {
    let desk = Desk::new();
    let ask = |host: &str, path: &str| {
        let token = bearer(TOKEN);
        raw(
            desk.at,
            &format!("GET {path} HTTP/1.1\r\nHost: {host}\r\nConnection: close\r\n{token}\r\n"),
        )
    };
    for host in [
        "evil.example",
        "evil.example:4180",
        "127.0.0.1.evil.example",
        "10.1.2.3",
    ] {
        assert_eq!(ask(host, "/-/api/v1/holds").status, 421, "{host}");
    }
    for host in ["localhost", "127.0.0.1", "[::1]:4180", "abide.localhost:80"] {
        assert_eq!(ask(host, "/-/api/v1/holds").status, 200, "{host}");
    }
    // Two names at once, of which one would do.
    let both = "Host: localhost\r\nHost: evil.example\r\n";
    let got = raw(
        desk.at,
        &format!("GET /-/api/v1/holds HTTP/1.1\r\n{both}Connection: close\r\n\r\n"),
    );
    assert!(got.status == 421 || got.status == 400, "{got:?}");
    let named = Desk::with(|s| s.admin.hosts.push("abide.lan".to_owned()));
    let got = raw(
        named.at,
        "GET /-/api/v1/holds HTTP/1.1\r\nHost: abide.lan\r\nConnection: close\r\n\r\n",
    );
    assert_eq!(got.status, 200);
}

#[test]
fn gw_no_page_of_another_origin_is_answered() {
    let desk = Desk::new();
    let own = format!("Origin: http://{}\r\n", desk.at);
    let foreign = [
        "Origin: http://evil.example\r\n".to_owned(),
        "Origin: null\r\n".to_owned(),
        format!("Origin: https://{}\r\n", desk.at),
        "Origin: http://127.0.0.1:1\r\n".to_owned(),
        "Sec-Fetch-Site: cross-site\r\n".to_owned(),
        "Sec-Fetch-Site: same-site\r\n".to_owned(),
        format!("{own}Origin: http://evil.example\r\n"),
    ];
    for fields in &foreign {
        assert_eq!(
            desk.ask("GET", "holds", fields, "").status,
            403,
            "{fields:?}"
        );
        let all = format!("{fields}{}{JSON}", bearer(TOKEN));
        assert_eq!(
            desk.ask("POST", "holds", &all, HOLD).status,
            403,
            "{fields:?}"
        );
    }
    let all = format!(
        "{own}{}{JSON}Sec-Fetch-Site: same-origin\r\n",
        bearer(TOKEN)
    );
    let got = desk.ask("POST", "holds", &all, HOLD);
    assert_eq!(got.status, 201, "{got:?}");
    assert_eq!(got.header("access-control-allow-origin"), None);
    // What a browser asks before it sends a change.
    let asked = "Origin: http://evil.example\r\nAccess-Control-Request-Method: POST\r\n";
    assert_eq!(desk.ask("OPTIONS", "holds", asked, "").status, 403);
}

#[test]
fn gw_what_a_form_can_send_changes_nothing() {
    let desk = Desk::new();
    for kind in [
        "text/plain",
        "application/x-www-form-urlencoded",
        "multipart/form-data",
        "",
    ] {
        let fields = match kind {
            "" => bearer(TOKEN),
            kind => format!("{}Content-Type: {kind}\r\n", bearer(TOKEN)),
        };
        let changes = [
            ("POST", "holds"),
            ("POST", "drain"),
            ("POST", "providers/shop/lift"),
            ("POST", "providers/shop/outcomes"),
            ("POST", "holds/0000000000000001/extend"),
            ("PATCH", "holds/0000000000000001"),
        ];
        for (method, path) in changes {
            let got = desk.ask(method, path, &fields, HOLD);
            assert_eq!(got.status, 415, "{method} {path} {kind}");
        }
    }
    assert_eq!(desk.get("holds").json()["holds"], serde_json::json!([]));
}

#[test]
fn gw_the_api_is_not_reached_through_the_proxy() {
    let desk = Desk::with(|s| {
        s.allow_unlisted = true;
        s.upstreams[0].aliases.push("shop.test".to_owned());
    });
    let (at, token) = (desk.at, bearer(TOKEN));
    let rest = format!("Connection: close\r\n{token}{JSON}");
    let ask = |line: &str, host: &str| {
        raw(
            at,
            &format!("{line} HTTP/1.1\r\nHost: {host}\r\n{rest}\r\n"),
        )
    };
    let own = at.to_string();
    // In absolute form, by its own address.
    let got = ask(&format!("GET http://{at}/-/api/v1/holds"), &own);
    assert_eq!(got.status, 403, "{got:?}");
    // In absolute form, of others: theirs.
    let got = ask("GET http://localhost:1/-/api/v1/holds", "localhost:1");
    assert_ne!(got.status, 200, "{got:?}");
    // By the name of a provider's host: the provider is asked.
    let got = ask("GET /-/api/v1/holds", "shop.test");
    assert!(!got.body.contains("holds"), "{got:?}");
    assert_eq!(desk.requests(), 1);
    // Not by a tunnel, and what is inside it is none of this.
    let got = ask(&format!("CONNECT {at}"), &own);
    assert!(got.status >= 400, "{got:?}");
    // By ways that lead round.
    for path in [
        "/shop/../-/api/v1/holds",
        "/%2D/api/v1/holds",
        "//-/api/v1/holds",
        "/-%2Fapi/v1/holds",
    ] {
        let got = ask(&format!("GET {path}"), &own);
        assert!(!got.body.contains("\"holds\""), "{path} {got:?}");
    }
}

#[test]
fn gw_a_provider_that_leads_back_here_leads_to_no_api() {
    // The provider is the gateway itself, by way of another.
    let inner = Desk::new();
    let to = format!("http://{}", inner.at);
    let via_itself = Desk::with(|s| {
        s.upstreams.push(abide_gateway::settings::Upstream::new(
            "round",
            to.parse().unwrap(),
        ));
    });
    // What comes by way of another is no program of this machine.
    let got = via_itself.through("/round/-/api/v1/holds", "");
    assert_eq!(got.status, 401, "{got:?}");
    let own = format!("Via: 1.1 {}\r\n", pseudonym(&inner));
    assert_eq!(inner.ask("GET", "holds", &own, "").status, 403);
}

/// The name that a gateway gives itself in `Via`.
fn pseudonym(desk: &Desk) -> String {
    let seen = std::net::TcpListener::bind("127.0.0.1:0").unwrap();
    let to = format!("http://{}", seen.local_addr().unwrap());
    let mut settings = abide_gateway::settings::Settings::default();
    settings
        .upstreams
        .push(abide_gateway::settings::Upstream::new(
            "seen",
            to.parse().unwrap(),
        ));
    desk.front.renew(settings, Default::default()).unwrap();
    let at = desk.at;
    let asking = std::thread::spawn(move || {
        raw(
            at,
            &format!("GET /seen/ HTTP/1.1\r\nHost: {at}\r\nConnection: close\r\n\r\n"),
        )
    });
    let (mut socket, _) = seen.accept().unwrap();
    let mut text = [0; 4096];
    let n = std::io::Read::read(&mut socket, &mut text).unwrap();
    std::io::Write::write_all(&mut socket, b"HTTP/1.1 204 No Content\r\n\r\n").unwrap();
    asking.join().unwrap();
    let text = String::from_utf8_lossy(&text[..n]).to_ascii_lowercase();
    let via = text
        .lines()
        .find_map(|l| l.strip_prefix("via: 1.1 "))
        .unwrap();
    via.trim().to_owned()
}

#[test]
fn gw_where_callers_show_a_token_readers_do_too() {
    let desk = Desk::with(|s| {
        s.access.token = abide_gateway::Secret::new("caller-caller-caller");
    });
    assert_eq!(desk.get("holds").status, 401);
    assert_eq!(
        desk.ask("GET", "holds", "Abide-Token: caller-caller-caller\r\n", "")
            .status,
        200
    );
    assert_eq!(desk.ask("GET", "holds", &bearer(TOKEN), "").status, 200);
    let fields = format!("Abide-Token: caller-caller-caller\r\n{JSON}");
    assert_eq!(desk.ask("POST", "holds", &fields, HOLD).status, 401);
}

#[test]
fn gw_off_this_machine_reading_needs_the_token() {
    let store = std::sync::Arc::new(abide::store::Memory::new([7; 32]));
    let plain = abide_sim::policy::Plain::sized(20);
    let mut desk = Desk::over(store, plain, |_| {}, Some("0.0.0.0:0"));
    desk.admin.set_ip([127, 0, 0, 1].into());
    assert_eq!(desk.get("holds").status, 401);
    assert_eq!(desk.ask("GET", "holds", &bearer(TOKEN), "").status, 200);
    assert_eq!(desk.change("POST", "holds", HOLD).status, 201);
    let figures = |fields: &str| {
        let line = "GET /-/metrics HTTP/1.1\r\nHost: localhost\r\nConnection: close\r\n";
        raw(desk.admin, &format!("{line}{fields}\r\n")).status
    };
    assert_eq!((figures(""), figures(&bearer(TOKEN))), (401, 200));
}

#[test]
fn gw_with_a_listener_of_its_own_it_is_answered_nowhere_else() {
    let desk = Desk::apart();
    assert_ne!(desk.at, desk.admin);
    let at_data = |path: &str| desk.through(path, &bearer(TOKEN)).status;
    assert_eq!((at_data("/-/live"), at_data("/-/ready")), (200, 200));
    assert_eq!(
        (at_data("/-/api/v1/holds"), at_data("/-/metrics")),
        (404, 404)
    );
    assert_eq!(at_data("/shop/item/1"), 200);
    assert_eq!(desk.get("holds").status, 200);
    let at_admin = |path: &str| {
        let line = format!(
            "GET {path} HTTP/1.1\r\nHost: {}\r\nConnection: close\r\n\r\n",
            desk.admin
        );
        raw(desk.admin, &line).status
    };
    assert_eq!((at_admin("/-/live"), at_admin("/-/metrics")), (200, 200));
    assert_eq!(at_admin("/shop/item/1"), 404);
    assert_eq!(desk.requests(), 1);
}
