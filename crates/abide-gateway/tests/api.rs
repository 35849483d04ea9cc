//! The admin API over real sockets: what it knows, and what a person may change.
#![allow(clippy::unwrap_used, reason = "test code")]

mod desk;

use std::sync::Arc;
use std::thread;
use std::time::Duration;

use abide_sim::policy::Plain;
use desk::{Desk, until};

#[test]
fn gw_providers_are_told_as_they_are() {
    let desk = Desk::new();
    assert_eq!(
        desk.get("providers").json()["providers"],
        serde_json::json!([])
    );
    assert_eq!(desk.get("providers/shop").status, 404);
    assert_eq!(desk.through("/shop/item/1", "").status, 200);
    let all = desk.get("providers").json();
    assert_eq!(all["offline"], false);
    let shop = &all["providers"][0];
    assert_eq!(shop["provider"], "shop");
    assert_eq!(
        (&shop["healthy"], &shop["available"]),
        (&true.into(), &true.into())
    );
    assert_eq!(
        (&shop["mode"], &shop["failures"]),
        (&"enforce".into(), &0.into())
    );
    assert!(
        shop["last_success"].as_str().unwrap().ends_with('Z'),
        "{shop}"
    );
    assert_eq!(desk.get("providers/shop").json()["provider"], "shop");
    let gates = desk.get("gates").json();
    let scopes = gates["gates"].as_array().unwrap();
    assert!(scopes.iter().any(|g| g["scope"] == "provider"), "{gates}");
    assert_eq!(desk.get("learned").json()["learned"], serde_json::json!([]));
    let version = desk.get("version").json();
    assert_eq!(version["version"], env!("CARGO_PKG_VERSION"));
    assert!(desk.get("config").json()["gateway"].is_object());
}

#[test]
fn gw_views_show_who_is_healthy_and_who_is_available() {
    let desk = Desk::new();
    desk.change("POST", "holds", r#"{"provider":"shop","for":"1m"}"#);
    desk.change(
        "POST",
        "providers/down.example/outcomes",
        r#"{"status":500}"#,
    );
    let names = |view: &str| {
        let told = desk.get(&format!("providers{view}")).json();
        let all = told["providers"].as_array().unwrap().clone();
        let names = all
            .iter()
            .map(|p| p["provider"].as_str().unwrap().to_owned());
        names.collect::<Vec<_>>()
    };
    assert_eq!(names(""), ["down.example", "shop"]);
    assert_eq!(names("?view=available"), ["down.example"]);
    assert_eq!(names("?view=healthy"), ["shop"]);
    assert_eq!(desk.get("providers?view=nice").status, 400);
    assert_eq!(desk.get("providers?vieuw=healthy").status, 400);
}

#[test]
fn gw_a_hold_placed_holds_everybody() {
    let desk = Desk::new();
    let placed = desk.change(
        "POST",
        "holds",
        r#"{"provider":"shop","for":"10m","reason":"the shop moves house"}"#,
    );
    assert_eq!(placed.status, 201, "{placed:?}");
    let hold = placed.json();
    assert_eq!(hold["provider"], "shop");
    assert_eq!(
        (&hold["scope"], &hold["set_by"]),
        (&"provider".into(), &"operator".into())
    );
    assert_eq!(hold["reason"], "the shop moves house");
    let refused = desk.through("/shop/item/1", "Prefer: wait=1\r\n");
    assert_eq!(refused.status, 503, "{refused:?}");
    assert!(
        refused
            .header("retry-after")
            .unwrap()
            .parse::<u64>()
            .unwrap()
            > 590
    );
    assert_eq!(desk.requests(), 0);
    let listed = desk.get("holds").json();
    assert_eq!(listed["holds"], serde_json::json!([hold]));
    let shop = desk.get("providers/shop").json();
    assert_eq!(
        (&shop["available"], &shop["holds"][0]),
        (&false.into(), &hold)
    );
}

#[test]
fn gw_a_hold_only_lengthens() {
    let desk = Desk::new();
    let hold = desk
        .change("POST", "holds", r#"{"provider":"shop","for":"10m"}"#)
        .json();
    let path = format!("holds/{}", hold["id"].as_str().unwrap());
    let longer = desk.change("PATCH", &path, r#"{"for":"1h","reason":"still"}"#);
    assert_eq!(longer.status, 200, "{longer:?}");
    let longer = longer.json();
    assert!(longer["until"].as_str() > hold["until"].as_str());
    assert_eq!(
        (&longer["id"], &longer["reason"]),
        (&hold["id"], &"still".into())
    );
    let shorter = desk
        .change("POST", &format!("{path}/extend"), r#"{"for":"1s"}"#)
        .json();
    assert_eq!(shorter["until"], longer["until"]);
    assert_eq!(
        shorter["reason"], "still",
        "what nobody says anew stays said"
    );
    let again = desk
        .change("POST", "holds", r#"{"provider":"shop","for":"1s"}"#)
        .json();
    assert_eq!(
        (&again["id"], &again["until"]),
        (&hold["id"], &longer["until"])
    );
    assert_eq!(
        desk.change("PATCH", "holds/0000000000000001", r#"{"for":"1h"}"#)
            .status,
        404
    );
    assert_eq!(
        desk.change("PATCH", "holds/x", r#"{"for":"1h"}"#).status,
        404
    );
}

#[test]
fn gw_after_a_lift_one_probe_goes_first() {
    for by_id in [true, false] {
        let desk = Arc::new(Desk::new());
        let hold = desk
            .change("POST", "holds", r#"{"provider":"shop","for":"10m"}"#)
            .json();
        let waiting: Vec<_> = (0..5)
            .map(|n| {
                let desk = Arc::clone(&desk);
                thread::spawn(move || {
                    desk.through(&format!("/shop/item/{n}"), "Prefer: wait=900\r\n")
                        .status
                })
            })
            .collect();
        until("all wait", || {
            desk.get("providers/shop").json()["waiting"] == 5
        });
        assert_eq!(desk.requests(), 0);
        if by_id {
            let path = format!("holds/{}", hold["id"].as_str().unwrap());
            assert_eq!(desk.change("DELETE", &path, "").status, 204);
            assert_eq!(desk.change("DELETE", &path, "").status, 404);
        } else {
            let lifted = desk.change("POST", "providers/shop/lift", "{}").json();
            assert_eq!(lifted["lifted"], serde_json::json!([hold["id"]]));
        }
        until("one goes", || desk.requests() == 1);
        // The provider thinks for 300 ms.
        thread::sleep(Duration::from_millis(150));
        assert_eq!(desk.requests(), 1, "one probe, no herd");
        assert!(waiting.into_iter().all(|w| w.join().unwrap() == 200));
        assert_eq!(desk.get("holds").json()["holds"], serde_json::json!([]));
    }
}

#[test]
fn gw_a_hold_outlives_a_restart() {
    let mut desk = Desk::new();
    let body = r#"{"provider":"shop","for":"10m","reason":"maintenance"}"#;
    let hold = desk.change("POST", "holds", body).json();
    let runtime = tokio::runtime::Runtime::new().unwrap();
    runtime.block_on(desk.drain());
    let again = Desk::over(Arc::clone(&desk.store), Plain::sized(20), |_| {}, None);
    let listed = again.get("holds").json();
    let kept = &listed["holds"][0];
    for key in [
        "id", "provider", "scope", "cause", "until", "set_by", "reason",
    ] {
        assert_eq!(kept[key], hold[key], "{key}");
    }
    assert_eq!(
        again.through("/shop/item/1", "Prefer: wait=0\r\n").status,
        503
    );
    assert_eq!(again.requests(), 0);
    let path = format!("holds/{}", hold["id"].as_str().unwrap());
    assert_eq!(again.change("DELETE", &path, "").status, 204);
    assert_eq!(again.through("/shop/item/1", "").status, 200);
}

#[test]
fn gw_a_hold_of_an_account_that_nobody_used_since_is_seen_lengthened_and_lifted() {
    let mut desk = Desk::new();
    let told = r#"{"verdict":"rate_limited","retry_after":600}"#;
    let shop = desk.change("POST", "providers/shop/outcomes", told).json();
    let id = shop["holds"][0]["id"].as_str().unwrap().to_owned();
    assert_eq!(shop["holds"][0]["scope"], "account");
    let runtime = tokio::runtime::Runtime::new().unwrap();
    runtime.block_on(desk.drain());
    let again = Desk::over(Arc::clone(&desk.store), Plain::sized(20), |_| {}, None);
    let listed = again.get("holds").json();
    assert_eq!(
        (&listed["holds"][0]["id"], &listed["holds"][0]["set_by"]),
        (&id.as_str().into(), &"restored".into())
    );
    let longer = again
        .change("PATCH", &format!("holds/{id}"), r#"{"for":"1h"}"#)
        .json();
    assert!(longer["until"].as_str() > listed["holds"][0]["until"].as_str());
    assert_eq!(
        again.change("DELETE", &format!("holds/{id}"), "").status,
        204
    );
    assert_eq!(again.get("holds").json()["holds"], serde_json::json!([]));
    assert_eq!(
        again.through("/shop/item/1", "Prefer: wait=0\r\n").status,
        200
    );
}

#[test]
fn gw_what_was_met_elsewhere_holds_and_ends_nothing() {
    let desk = Desk::new();
    let tell = |body: &str| desk.change("POST", "providers/shop/outcomes", body);
    let refused = r#"{"status":429,"headers":{"Retry-After":"600"}}"#;
    let shop = tell(refused).json();
    assert_eq!(shop["holds"][0]["cause"], "rate_limited");
    assert_eq!(shop["holds"][0]["ask"]["source"], "retry-after");
    let before = shop["holds"][0]["until"].clone();
    assert_eq!(
        desk.through("/shop/item/1", "Prefer: wait=0\r\n").status,
        429
    );
    assert_eq!(desk.requests(), 0);
    let later = tell(r#"{"verdict":"rate_limited","retry_after":3600}"#).json();
    assert!(later["holds"][0]["until"].as_str() > before.as_str());
    let well = tell(r#"{"status":200}"#).json();
    assert_eq!(well["holds"][0]["until"], later["holds"][0]["until"]);
    let at = r#"{"verdict":"unavailable","retry_at":"2020-01-01T00:00:00Z"}"#;
    assert_eq!(tell(at).status, 200);
}

#[test]
fn gw_what_makes_no_sense_is_told() {
    let desk = Desk::new();
    let wrong = [
        ("holds", r#"{"provider":"shop"}"#, 422),
        (
            "holds",
            r#"{"provider":"shop","for":"10m","until":"2030-01-01T00:00:00Z"}"#,
            422,
        ),
        ("holds", r#"{"provider":"shop","for":"10"}"#, 422),
        ("holds", r#"{"provider":"shop","for":"0s"}"#, 422),
        ("holds", r#"{"provider":"shop","for":"40d"}"#, 422),
        (
            "holds",
            r#"{"provider":"shop","until":"2020-01-01T00:00:00Z"}"#,
            422,
        ),
        ("holds", r#"{"provider":"shop","until":"tomorrow"}"#, 422),
        (
            "holds",
            r#"{"provider":"shop","for":"1m","reason":"a\u001b[2Jb"}"#,
            422,
        ),
        (
            "holds",
            r#"{"provider":"shop","for":"1m","resaon":"x"}"#,
            422,
        ),
        ("holds", r#"{"provider":"gihub","for":"1m"}"#, 404),
        ("holds", r#"{"provider":"","for":"1m"}"#, 404),
        ("holds", r#"{"provider""#, 400),
        ("holds", "", 400),
        ("providers/shop/outcomes", "{}", 422),
        (
            "providers/shop/outcomes",
            r#"{"status":200,"verdict":"success"}"#,
            422,
        ),
        ("providers/shop/outcomes", r#"{"status":42}"#, 422),
        (
            "providers/shop/outcomes",
            r#"{"status":200,"headers":{"a b":"c"}}"#,
            422,
        ),
        (
            "providers/shop/outcomes",
            r#"{"verdict":"rate_limited","retry_after":-1}"#,
            422,
        ),
        ("providers/gihub/outcomes", r#"{"status":200}"#, 404),
        ("providers/shop/lift", "{}", 404),
        ("nothing", "{}", 404),
        ("version", "{}", 405),
    ];
    for (path, body, status) in wrong {
        let got = desk.change("POST", path, body);
        assert_eq!(got.status, status, "{path} {body} {got:?}");
        assert_eq!(
            got.header("content-type"),
            Some("application/problem+json"),
            "{path} {body}"
        );
        let problem = got.json();
        assert_eq!(problem["status"], status);
        assert!(!problem["detail"].as_str().unwrap().is_empty());
    }
    assert_eq!(
        desk.change("POST", "version", "{}").header("allow"),
        Some("GET,HEAD")
    );
    let long = format!(
        r#"{{"provider":"shop","for":"1m","reason":"{}"}}"#,
        "x".repeat(201)
    );
    assert_eq!(desk.change("POST", "holds", &long).status, 422);
    let huge = format!(r#"{{"provider":"{}"}}"#, "x".repeat(70_000));
    assert_eq!(desk.change("POST", "holds", &huge).status, 413);
    assert_eq!(desk.get("holds").json()["holds"], serde_json::json!([]));
}

#[test]
fn gw_draining_is_asked_for() {
    let mut desk = Desk::new();
    let runtime = tokio::runtime::Runtime::new().unwrap();
    let gateway = desk.front.now();
    let soon = runtime.block_on(async {
        tokio::time::timeout(Duration::from_millis(50), gateway.asked_to_end()).await
    });
    assert!(soon.is_err(), "nobody asked");
    assert_eq!(desk.change("POST", "drain", "{}").status, 202);
    runtime.block_on(async {
        let asked = tokio::time::timeout(Duration::from_secs(5), gateway.asked_to_end());
        asked.await.unwrap();
        desk.drain().await;
    });
    assert!(std::net::TcpStream::connect(desk.at).is_err());
}

#[test]
fn gw_the_description_is_served_and_committed() {
    let served = Desk::new().get("openapi.json");
    assert_eq!(served.header("content-type"), Some("application/json"));
    assert_eq!(served.body, abide_gateway::api_document());
    let path = concat!(env!("CARGO_MANIFEST_DIR"), "/../../docs/gateway-api.json");
    let written = std::fs::read_to_string(path).unwrap_or_default();
    let hint = "run: cargo run -p abide-gateway --example api_document > docs/gateway-api.json";
    assert!(
        written == served.body,
        "docs/gateway-api.json is out of date; {hint}"
    );
}
