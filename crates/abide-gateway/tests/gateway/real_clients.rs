//! Programs with HTTP clients and retry layers of their own: curl, four of Python, two of JavaScript.
//!
//! They use the gateway as their users would, by a changed base URL, and know nothing of it. What it waited
//! out they see as one plain answer; what it turns away tells their own retry layer when to come back.
//! `scripts/clients` installs them; without them these tests fail, unless ABIDE_WITHOUT_CLIENTS=1 says that
//! they may be left out.

use std::path::{Path, PathBuf};
use std::process::Command;

use serde_json::Value;

use crate::rig::{Gate, Peer, now, ok, reply, secs};

const HOW: &str = "run scripts/clients, or set ABIDE_WITHOUT_CLIENTS=1 to leave it out";

/// The clients that a script knows.
const PYTHON: [&str; 5] = ["urllib", "urllib3", "requests", "httpx", "aiohttp"];
const NODE: [&str; 2] = ["fetch", "got"];

fn root() -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("../..")
}

fn scripts() -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/clients")
}

/// `None` where somebody said that clients may be missing.
fn found(program: PathBuf) -> Option<PathBuf> {
    let is_there = Command::new(&program).arg("--version").output().is_ok();
    if !is_there {
        let may_miss = std::env::var_os("ABIDE_WITHOUT_CLIENTS").is_some_and(|v| v == "1");
        assert!(may_miss, "{} is not there: {HOW}", program.display());
        return None;
    }
    Some(program)
}

/// What a client did, as its script tells it: the statuses it saw and the last body.
fn told(mut command: Command) -> (Vec<u64>, String) {
    for name in ["HTTP_PROXY", "http_proxy", "ALL_PROXY", "all_proxy"] {
        command.env_remove(name);
    }
    let out = command.output().unwrap();
    let (text, wrong) = (
        String::from_utf8_lossy(&out.stdout),
        String::from_utf8_lossy(&out.stderr),
    );
    assert!(out.status.success(), "{command:?}: {text}{wrong} ({HOW})");
    let line = text.lines().last().unwrap_or_default();
    let told: Value = serde_json::from_str(line).unwrap_or_else(|e| panic!("{e}: {text}{wrong}"));
    let statuses = told["statuses"].as_array().unwrap().iter();
    (
        statuses.map(|s| s.as_u64().unwrap()).collect(),
        told["body"].as_str().unwrap().to_owned(),
    )
}

fn python(client: &str, does: &str, url: &str) -> Option<(Vec<u64>, String)> {
    let mut command = Command::new(found(root().join("target/tools/clients/py/bin/python"))?);
    command
        .arg(scripts().join("ask.py"))
        .args([client, does, url]);
    Some(told(command))
}

fn node(client: &str, does: &str, url: &str) -> Option<(Vec<u64>, String)> {
    let mut command = Command::new(found("node".into())?);
    command
        .arg(scripts().join("ask.mjs"))
        .args([client, does, url]);
    command.env("ABIDE_CLIENTS", root().join("target/tools/clients/node"));
    Some(told(command))
}

fn curl(more: &[&str], url: &str) -> Option<(Vec<u64>, String)> {
    let mut command = Command::new(found("curl".into())?);
    command.args([
        "--silent",
        "--show-error",
        "--noproxy",
        "*",
        "--output",
        "-",
    ]);
    let written = [
        "--write-out",
        "\n{\"statuses\":[%{http_code}],\"body\":\"\"}\n",
    ];
    command.args(written).args(more).arg(url);
    Some(told(command))
}

fn every(does: &str, url: &str) -> Vec<(&'static str, (Vec<u64>, String))> {
    let python = PYTHON.map(|c| (c, python(c, does, url)));
    let node = NODE.map(|c| (c, node(c, does, url)));
    let all = python.into_iter().chain(node);
    all.filter_map(|(c, told)| Some((c, told?))).collect()
}

#[test]
fn gw_every_client_gets_what_the_provider_said() {
    let peer = Peer::new(|request, _| {
        let said = format!("{} {}", request.method(), request.text());
        reply(200, "Content-Type: text/plain\r\n", &said)
    });
    let gate = Gate::before(&peer);
    let url = format!("http://{}/shop/x?a=b", gate.at);
    for (client, got) in every("get", &url) {
        assert_eq!(got, (vec![200], "GET ".to_owned()), "{client}");
        assert_eq!(peer.last().target(), "/x?a=b", "{client}");
    }
    for (client, got) in every("post", &url) {
        assert_eq!(got, (vec![200], "POST {\"a\": 1}".to_owned()), "{client}");
    }
    for more in [
        &["--http1.1"][..],
        &["--http2-prior-knowledge"],
        &["--http2"],
        &["--http1.0"],
    ] {
        if let Some((statuses, _)) = curl(more, &url) {
            assert_eq!(statuses, [200], "{more:?}");
        }
    }
}

/// As a proxy, by the variables and options that people know.
#[test]
fn gw_every_client_may_use_it_as_its_proxy() {
    let peer = Peer::well();
    let at = peer.at;
    let gate = Gate::of(&format!("[providers.shop]\nhosts = [\"{at}\"]\n"));
    let (url, proxy) = (format!("http://{at}/x"), format!("http://{}", gate.at));
    let Some(program) = found("curl".into()) else {
        return;
    };
    for more in [&["--proxy"][..], &["--proxytunnel", "--proxy"]] {
        let out = Command::new(&program)
            .args(["--silent", "--show-error", "--noproxy", ""])
            .args(more)
            .args([&proxy, &url])
            .output()
            .unwrap();
        assert_eq!(
            String::from_utf8_lossy(&out.stdout),
            "well",
            "{more:?} {out:?}"
        );
    }
    assert_eq!(peer.requests(), 2);
}

/// What the gateway waits out is one plain answer to the client: nobody waits twice.
#[test]
fn gw_what_was_waited_out_is_no_second_wait_of_the_clients_own() {
    for does in ["retry"] {
        for (at, ask) in [("python", PYTHON[1]), ("node", NODE[1])] {
            let peer = Peer::refusing_once(1);
            let gate = Gate::before(&peer);
            let url = format!("http://{}/shop/x", gate.at);
            let told = match at {
                "python" => python(ask, does, &url),
                _ => node(ask, does, &url),
            };
            let Some(got) = told else { continue };
            assert_eq!(got, (vec![200], "well".to_owned()), "{ask}");
            assert_eq!(peer.requests(), 2, "{ask}: the gateway's two");
            let times = peer.times();
            assert!(times[1].since(times[0]) >= secs(1));
        }
    }
}

/// What it turns away tells when to come back, and the client's own retry does so: once, and is served.
#[test]
fn gw_what_is_turned_away_is_retried_once_when_it_was_told() {
    for (at, ask) in [("python", PYTHON[1]), ("node", NODE[1])] {
        let peer = Peer::saying([reply(429, "Retry-After: 2\r\n", "no"), ok("well")]);
        let gate = Gate::with(&peer, "patience = \"0s\"");
        // Somebody else was refused: our client meets the hold only.
        assert_eq!(gate.get("/shop/other").status(), 429);
        let began = now();
        let url = format!("http://{}/shop/x", gate.at);
        let told = match at {
            "python" => python(ask, "retry", &url),
            _ => node(ask, "retry", &url),
        };
        let Some((statuses, body)) = told else {
            continue;
        };
        let expected = match statuses.first() {
            // A client that took longer to start than the hold lasted met nothing at all.
            Some(200) if now().since(began) > secs(1) => vec![200],
            _ => vec![429, 200],
        };
        assert_eq!((statuses, body), (expected, "well".to_owned()), "{ask}");
        assert_eq!(peer.requests(), 2, "{ask}");
        let times = peer.times();
        assert!(times[1].since(times[0]) >= secs(2), "{ask}");
    }
}

/// Events reach a client one by one, not when the stream is over.
#[test]
fn gw_a_client_reads_events_as_they_come() {
    let Some(python) = found(root().join("target/tools/clients/py/bin/python")) else {
        return;
    };
    let peer = Peer::raw(|mut wire| {
        // The second event is said only after the client has asked for it, which it does having read the first.
        let mut n = 0;
        while let Some(request) = wire.message(false, false) {
            if request.target() == "/events" {
                let _ = wire.send(
                    "HTTP/1.1 200 OK\r\nContent-Type: text/event-stream\r\n\
                     Transfer-Encoding: chunked\r\n\r\n9\r\ndata: 0\n\n\r\n",
                );
                // The stream ends with the client only.
                let _ = wire.rest();
                return;
            }
            n += 1;
            let _ = wire.send(ok(&n.to_string()));
        }
    });
    let gate = Gate::before(&peer);
    let mut command = Command::new(python);
    let url = format!("http://{}/shop/events", gate.at);
    command
        .arg(scripts().join("ask.py"))
        .args(["httpx", "events", &url]);
    assert_eq!(told(command), (vec![200], "data: 0".to_owned()));
}
