//! `abide serve` and `abide run` as their user meets them: the real program, its signals, its exit codes.
#![allow(clippy::unwrap_used, reason = "test code")]

mod common;

use std::io::{Read as _, Write as _};
use std::net::{TcpListener, TcpStream};

use abide_sim::policy::{Plain, TokenBucket};
use common::served::Served;
use common::{Scene, code, err};

/// What a plain request is answered: its status and its body.
fn get(url: &str, fields: &str) -> (u16, String) {
    let rest = url.strip_prefix("http://").unwrap();
    let (at, path) = rest.split_once('/').unwrap();
    let mut socket = TcpStream::connect(at).unwrap();
    let head = format!("GET /{path} HTTP/1.1\r\nHost: {at}\r\nConnection: close\r\n{fields}\r\n");
    socket.write_all(head.as_bytes()).unwrap();
    let mut all = Vec::new();
    let _ = socket.read_to_end(&mut all);
    let all = String::from_utf8_lossy(&all).into_owned();
    let status = all.split(' ').nth(1).and_then(|s| s.parse().ok());
    let body = all.split_once("\r\n\r\n").map_or("", |(_, b)| b);
    (status.unwrap_or(0), body.to_owned())
}

fn configured(scene: &Scene, more: &str) -> String {
    let text = format!(
        "[providers.shop]\nupstream = \"{}\"\n[gateway]\nlisten = \"127.0.0.1:0\"\n\
         access_log = \"none\"\n{more}\n",
        scene.server.url()
    );
    scene.write("abide.toml", &text);
    text
}

/// One command, and the first request is served; its answer is the provider's.
#[test]
fn gw_one_command_and_the_first_request_is_served() {
    let scene = Scene::new(Plain::sized(20));
    configured(&scene, "");
    let served = Served::by(&scene, &["serve"]);
    let (status, body) = get(&format!("{}/shop/x", served.url), "");
    assert_eq!((status, body.len()), (200, 20));
    assert_eq!(scene.server.read(|t| t.requests), 1);
    assert_eq!(get(&format!("{}/-/ready", served.url), "").0, 200);
    // Nothing was configured, and it runs as well; providers of the catalogue are known.
    let bare = Scene::new(Plain::sized(20));
    let args = ["serve", "--listen", "127.0.0.1:0", "--access-log", "none"];
    let served = Served::by(&bare, &args);
    assert_eq!(get(&format!("{}/-/ready", served.url), "").0, 200);
    assert_eq!(get(&format!("{}/nobody/x", served.url), "").0, 404);
}

#[test]
fn gw129_a_signal_ends_it_in_good_order() {
    let scene = Scene::new(TokenBucket::new(1, std::time::Duration::from_secs(3600), 1));
    configured(&scene, "drain = \"1s\"");
    let mut served = Served::by(&scene, &["serve"]);
    let url = format!("{}/shop/x", served.url);
    assert_eq!(get(&url, "").0, 200);
    get(&url, "Prefer: wait=0\r\n");
    let waits = std::thread::spawn({
        let url = url.clone();
        move || get(&url, "Prefer: wait=86000\r\n")
    });
    loop {
        let figures = get(&format!("{}/-/metrics", served.url), "").1;
        if figures.contains("abide_waiting{provider=\"shop\"} 1") {
            break;
        }
    }
    served.signal("TERM");
    served.says("finishing what is under way");
    let (status, body) = waits.join().unwrap();
    assert_eq!(status, 503, "{body}");
    assert!(body.contains("retry_at"), "{body}");
    assert_eq!(served.ends(), 0);
    // What was held is held by the next one.
    let again = Served::by(&scene, &["serve"]);
    let (status, body) = get(&format!("{}/shop/x", again.url), "Prefer: wait=0\r\n");
    assert_eq!(status, 429, "{body}");
}

#[test]
fn gw_a_second_signal_ends_it_at_once() {
    let scene = Scene::new(TokenBucket::new(1, std::time::Duration::from_secs(3600), 1));
    configured(&scene, "drain = \"1h\"");
    let mut served = Served::by(&scene, &["serve"]);
    let url = format!("{}/shop/x", served.url);
    get(&url, "");
    get(&url, "Prefer: wait=0\r\n");
    let waits = std::thread::spawn(move || get(&url, "Prefer: wait=86000\r\n"));
    loop {
        let figures = get(&format!("{}/-/metrics", served.url), "").1;
        if figures.contains("abide_waiting{provider=\"shop\"} 1") {
            break;
        }
    }
    served.signal("TERM");
    served.says("once more to stop at once");
    served.signal("TERM");
    assert_eq!(served.ends(), 0);
    assert_eq!(waits.join().unwrap().0, 0, "it was cut off");
}

/// On a signal, and when the file changes; a bad one changes nothing and says where.
#[test]
fn gw_a_changed_file_is_taken_over_and_a_bad_one_is_not() {
    let scene = Scene::new(Plain::sized(20));
    let good = configured(&scene, "");
    let served = Served::by(&scene, &["serve"]);
    let status = |path: &str| get(&format!("{}{path}", served.url), "").0;
    assert_eq!((status("/shop/x"), status("/other/x")), (200, 404));
    // One address stands at one provider only.
    let url = scene.server.url().replace("127.0.0.1", "localhost");
    scene.write(
        "abide.toml",
        &format!("{good}[providers.other]\nupstream = \"{url}\"\n"),
    );
    served.signal("HUP");
    served.says("read anew and in force");
    assert_eq!((status("/shop/x"), status("/other/x")), (200, 200));
    scene.write(
        "abide.toml",
        &format!("{good}[providers.other]\nrate = \"fast\"\n"),
    );
    let said = served.says("stays as it was");
    assert!(said.contains("abide.toml:"), "{said}");
    assert_eq!((status("/shop/x"), status("/other/x")), (200, 200));
}

#[test]
fn gw_a_bad_configuration_says_line_and_column() {
    let scene = Scene::new(Plain::sized(20));
    for (text, place) in [
        ("[gateway]\nlisten = 4180\n", "abide.toml:2:"),
        ("[gateway]\nlisen = \"127.0.0.1:0\"\n", "abide.toml:2:1"),
        (
            "[providers.shop]\n\nupstream = \"ftp://x\"\n",
            "abide.toml:3:",
        ),
        ("[gateway\n", "abide.toml:1:"),
    ] {
        scene.write("abide.toml", text);
        let out = scene.run(&["serve"]);
        assert_eq!(code(&out), 2, "{text} {}", err(&out));
        assert!(err(&out).contains(place), "{text}: {}", err(&out));
    }
}

#[test]
fn gw_off_this_machine_it_refuses_to_start() {
    let scene = Scene::new(Plain::sized(20));
    let out = scene.run(&["serve", "--listen", "0.0.0.0:0"]);
    assert_eq!(code(&out), 2, "{}", err(&out));
    let said = err(&out);
    assert!(
        said.contains("client_token") && said.contains("allow_from"),
        "{said}"
    );
    // With a token it starts, and asks for it.
    scene.write("token", "0123456789abcdef\n");
    let args = ["--listen", "0.0.0.0:0", "--client-token-file", "token"];
    let served = Served::start(&scene, &args);
    let url = served.url.replace("0.0.0.0", "127.0.0.1");
    assert_eq!(get(&format!("{url}/shop/x"), "").0, 401);
    let shown = "Abide-Token: 0123456789abcdef\r\n";
    assert_eq!(get(&format!("{url}/shop/x"), shown).0, 200);
}

#[test]
fn gw_a_port_that_is_taken_is_told() {
    let scene = Scene::new(Plain::sized(20));
    let taken = TcpListener::bind("127.0.0.1:0").unwrap();
    let at = taken.local_addr().unwrap().to_string();
    let out = scene.run(&["serve", "--listen", &at]);
    assert_eq!(code(&out), 74, "{}", err(&out));
    let said = err(&out);
    assert!(
        said.contains(&at) && said.to_lowercase().contains("in use"),
        "{said}"
    );
}

/// A program that knows nothing of it: by a base URL in a variable, and by the proxy's variables.
#[test]
fn gw_a_program_that_cannot_be_told() {
    let scene = Scene::new(Plain::sized(20));
    configured(&scene, "");
    let script = "curl -s -o /dev/null -w '%{http_code} ' \"$SHOP_URL/x\"; \
                  curl -s -o /dev/null -w '%{http_code}' --noproxy '' \"$DIRECT/y\"; exit 7";
    let mut command = scene.abide(&["run", "--set", "SHOP_URL=shop/v1", "--", "sh", "-c", script]);
    command.env("DIRECT", scene.server.url());
    command.env_remove("NO_PROXY").env_remove("no_proxy");
    let out = command.output().unwrap();
    let said = String::from_utf8_lossy(&out.stdout).into_owned();
    assert_eq!((said.as_str(), code(&out)), ("200 200", 7), "{}", err(&out));
    let asked: Vec<_> = scene
        .server
        .truth()
        .items()
        .map(|(id, _)| id.to_owned())
        .collect();
    assert!(
        asked.contains(&"/v1/x".to_owned()) && asked.contains(&"/y".to_owned()),
        "{asked:?}"
    );
    // Both came through the gateway, so it knows the provider.
    let out = scene.run(&["run", "--", "no-such-program"]);
    assert_ne!(code(&out), 0);
    assert!(err(&out).contains("no-such-program"), "{}", err(&out));
    let out = scene.run(&["run", "--set", "nothing", "--", "true"]);
    assert_eq!(code(&out), 2, "{}", err(&out));
}
