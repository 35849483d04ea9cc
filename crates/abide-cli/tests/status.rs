//! `abide serve` and the commands that talk to it, as their user meets them.
#![allow(clippy::unwrap_used, reason = "test code")]

mod common;

use std::process::Output;

use abide_sim::policy::Plain;
use common::served::Served;
use common::{Scene, code, err};
use serde_json::Value;

fn run(scene: &Scene, served: &Served, args: &[&str]) -> Output {
    let mut command = scene.abide(args);
    command.env("ABIDE_URL", &served.url).output().unwrap()
}

fn out(output: &Output) -> String {
    assert_eq!(code(output), 0, "{}", err(output));
    String::from_utf8(output.stdout.clone()).unwrap()
}

fn json(output: &Output) -> Value {
    serde_json::from_str(&out(output)).unwrap()
}

#[test]
fn gw_a_person_holds_and_lifts() {
    let scene = Scene::new(Plain::sized(20));
    let served = Served::start(&scene, &[]);
    let abide = |args: &[&str]| run(&scene, &served, args);
    assert_eq!(
        out(&abide(&["status"])),
        "no provider was asked yet, and none is held\n"
    );
    assert_eq!(out(&abide(&["holds"])), "nothing is held\n");
    let held = out(&abide(&[
        "hold",
        "shop",
        "--for",
        "10m",
        "--reason",
        "it moves house",
    ]));
    assert!(held.starts_with("shop is held until "), "{held}");
    let holds = out(&abide(&["holds"]));
    let mut lines = holds.lines();
    assert!(lines.next().unwrap().starts_with("ID "), "{holds}");
    let line = lines.next().unwrap();
    assert!(
        line.contains("shop") && line.contains("operator"),
        "{holds}"
    );
    assert!(line.ends_with("unavailable: it moves house"), "{holds}");
    let status = out(&abide(&["status"]));
    assert!(
        status
            .lines()
            .nth(1)
            .unwrap()
            .starts_with("shop      held   20"),
        "{status}"
    );
    let told = json(&abide(&["status", "--json"]));
    let id = told["providers"][0]["holds"][0]["id"].as_str().unwrap();
    assert_eq!(
        out(&abide(&["lift", "--id", id])),
        "lifted; one probe goes first\n"
    );
    assert_eq!(code(&abide(&["lift", "--id", id])), 2);
    assert_eq!(out(&abide(&["lift", "shop"])), "nothing held it\n");
}

#[test]
fn gw_holds_outlive_the_gateway_and_its_end_is_asked_for() {
    let scene = Scene::new(Plain::sized(20));
    let mut served = Served::start(&scene, &[]);
    let args = [
        "hold",
        "shop",
        "--for",
        "10m",
        "--reason",
        "maintenance",
        "--json",
    ];
    let hold = json(&run(&scene, &served, &args));
    let token = std::fs::read_to_string(scene.path("state/admin.token")).unwrap();
    let runtime = tokio::runtime::Runtime::new().unwrap();
    let asked = runtime.block_on(async {
        let client = reqwest::Client::builder()
            .no_proxy()
            .tls_backend_preconfigured(abide::tls_config(Vec::new()).unwrap());
        let post = client.build().unwrap();
        let post = post.post(format!("{}/-/api/v1/drain", served.url));
        let post = post.bearer_auth(token.trim()).json(&serde_json::json!({}));
        post.send().await.unwrap().status()
    });
    assert_eq!(asked, 202);
    assert_eq!(served.ends(), 0);
    let again = Served::start(&scene, &[]);
    let kept = json(&run(&scene, &again, &["holds", "--json"]));
    for key in ["id", "until", "reason", "set_by"] {
        assert_eq!(kept["holds"][0][key], hold[key], "{key}");
    }
}

#[test]
fn gw_whether_it_is_ready_is_the_exit_code() {
    let scene = Scene::new(Plain::sized(20));
    let mut served = Served::start(&scene, &[]);
    let ready = run(&scene, &served, &["status", "--ready"]);
    assert_eq!((code(&ready), &*ready.stdout), (0, &b"ready\n"[..]));
    served.child.kill().unwrap();
    served.child.wait().unwrap();
    let gone = run(&scene, &served, &["status", "--ready"]);
    assert_eq!(code(&gone), 1);
    let gone = run(&scene, &served, &["status"]);
    assert_eq!(code(&gone), 74);
    assert!(err(&gone).contains("start `abide serve`"), "{}", err(&gone));
}

#[test]
fn gw_the_token_is_found_or_asked_for() {
    let scene = Scene::new(Plain::sized(20));
    let served = Served::start(&scene, &["--state", ":memory:"]);
    assert!(!scene.path("state").join("admin.token").exists());
    let token = served.told.clone().unwrap();
    assert_eq!(token.len(), 43);
    let hold = ["hold", "shop", "--for", "1m"];
    let none = run(&scene, &served, &hold);
    assert_eq!(code(&none), 74);
    assert!(err(&none).contains("ABIDE_TOKEN"), "{}", err(&none));
    let by_variable = |token: &str| {
        let mut command = scene.abide(&hold);
        let command = command
            .env("ABIDE_URL", &served.url)
            .env("ABIDE_TOKEN", token);
        command.output().unwrap()
    };
    assert_eq!(code(&by_variable("wrong-wrong-wrong-wrong")), 74);
    out(&by_variable(&token));
    let file = scene.write("token", &format!("{token}\n"));
    let mut args = hold.to_vec();
    args.extend(["--token-file", file.to_str().unwrap()]);
    out(&run(&scene, &served, &args));
    // Reading is open on this machine.
    out(&run(&scene, &served, &["holds"]));
}

#[test]
fn gw_what_is_wrong_with_a_command_is_told() {
    let scene = Scene::new(Plain::sized(20));
    let served = Served::start(&scene, &[]);
    let wrong = [
        (&["hold", "gihub", "--for", "10m"][..], "abide providers"),
        (&["hold", "shop", "--for", "10"], "write 250ms"),
        (&["hold", "shop"], "--for"),
        (
            &[
                "hold",
                "shop",
                "--for",
                "1m",
                "--until",
                "2099-01-01T00:00:00Z",
            ],
            "cannot be used",
        ),
        (&["lift"], "PROVIDER"),
        (&["lift", "shop"], "nothing was asked"),
        (&["status", "--url", "gibberish"], "gibberish"),
    ];
    for (args, what) in wrong {
        let got = run(&scene, &served, args);
        assert_eq!(code(&got), 2, "{args:?} {}", err(&got));
        assert!(err(&got).contains(what), "{args:?} {}", err(&got));
    }
}

#[test]
fn gw_the_api_may_have_a_listener_of_its_own() {
    let scene = Scene::new(Plain::sized(20));
    let free = std::net::TcpListener::bind("127.0.0.1:0").unwrap();
    let admin = free.local_addr().unwrap().to_string();
    drop(free);
    scene.write(
        "abide.toml",
        &format!("[gateway]\nadmin_listen = \"{admin}\"\n"),
    );
    let served = Served::start(&scene, &[]);
    let there = format!("http://{admin}");
    assert_eq!(code(&run(&scene, &served, &["holds"])), 2);
    let holds = run(&scene, &served, &["holds", "--url", &there]);
    assert_eq!(out(&holds), "nothing is held\n");
    let config = run(&scene, &served, &["status", "--url", &there, "--json"]);
    assert_eq!(json(&config)["offline"], false);
}

#[cfg(unix)]
#[test]
fn gw_a_socket_file_is_asked_too() {
    let scene = Scene::new(Plain::sized(20));
    let socket = format!("unix:{}", scene.path("gateway.sock").display());
    let served = Served::start(&scene, &["--listen", &socket]);
    assert_eq!(served.url, socket);
    out(&run(&scene, &served, &["status"]));
}
