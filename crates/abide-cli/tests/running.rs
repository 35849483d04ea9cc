//! `abide serve` and `abide run` as whoever runs them meets them: what they tell, their exit codes,
//! changes of the configuration, and how they end.
#![cfg(unix)]
#![allow(clippy::unwrap_used, reason = "test code")]

mod common;

use std::io::{BufRead as _, BufReader};
use std::net::TcpListener;
use std::process::{Child, Command, Stdio};
use std::sync::mpsc::{Receiver, channel};
use std::time::Duration;

use abide_sim::policy::Plain;
use common::{Scene, code, err};

const WITHIN: Duration = Duration::from_secs(30);

/// A gateway that runs, whose every line is heard, and that ends with the test.
struct Heard {
    child: Child,
    lines: Receiver<String>,
    url: String,
}

impl Heard {
    fn start(mut command: Command) -> Self {
        let piped = command.stdout(Stdio::piped()).stderr(Stdio::piped());
        let mut child = piped.spawn().unwrap();
        let lines = BufReader::new(child.stderr.take().unwrap()).lines();
        let (tell, heard) = channel();
        std::thread::spawn(move || lines.map_while(Result::ok).try_for_each(|l| tell.send(l)));
        let mut heard = Self {
            child,
            lines: heard,
            url: String::new(),
        };
        let line = heard.hears("listening on ");
        let (_, rest) = line.split_once("listening on ").unwrap();
        rest.split(';').next().unwrap().clone_into(&mut heard.url);
        heard
    }

    fn hears(&self, what: &str) -> String {
        loop {
            let line = self.lines.recv_timeout(WITHIN);
            let line = line.unwrap_or_else(|_| panic!("it never said {what:?}"));
            if line.contains(what) {
                return line;
            }
        }
    }

    fn tell(&self, signal: &str) {
        tell(&self.child, signal);
    }
}

impl Drop for Heard {
    fn drop(&mut self) {
        let _ = self.child.kill();
        let _ = self.child.wait();
    }
}

fn tell(child: &Child, signal: &str) {
    let kill = Command::new("kill")
        .args([signal, &child.id().to_string()])
        .status();
    assert!(kill.unwrap().success());
}

fn serve(scene: &Scene, more: &[&str]) -> Command {
    let mut args = vec!["serve", "--access-log", "none", "--listen", "127.0.0.1:0"];
    args.extend(more);
    scene.abide(&args)
}

#[test]
fn gw_what_may_be_well_the_next_time_is_no_usage_error() {
    let scene = Scene::new(Plain::sized(20));
    let taken = TcpListener::bind("127.0.0.1:0").unwrap();
    let address = taken.local_addr().unwrap().to_string();
    let got = scene.run(&["serve", "--listen", &address]);
    assert_eq!(code(&got), 74, "{}", err(&got));
    assert!(
        err(&got).contains("choose another by --listen"),
        "{}",
        err(&got)
    );
    for (more, expected) in [
        (&["--access-log", "/nowhere/at/all.log"][..], 74),
        (&["--client-token-file", "/nowhere/at/all"], 74),
        (&["--listen", "gibberish"], 2),
        (&["--listen", "0.0.0.0:0"], 2),
    ] {
        let mut args = vec!["serve"];
        if more[0] != "--listen" {
            args.extend(["--listen", "127.0.0.1:0"]);
        }
        args.extend(more);
        let got = scene.run(&args);
        assert_eq!(code(&got), expected, "{more:?} {}", err(&got));
    }
    scene.write(
        "abide.toml",
        "[gateway]\ntls_cert = \"none.pem\"\ntls_key = \"none.key\"\n",
    );
    let got = scene.run(&["serve", "--listen", "127.0.0.1:0"]);
    assert_eq!(code(&got), 74, "{}", err(&got));
    let mut loud = serve(&scene, &[]);
    let got = loud.env("ABIDE_LOG", "abide=loud").output().unwrap();
    assert_eq!(code(&got), 2, "{}", err(&got));
    assert!(err(&got).contains("ABIDE_LOG"), "{}", err(&got));
}

#[test]
fn gw_what_happens_is_told_a_line_each() {
    let scene = Scene::new(Plain::sized(20));
    let served = Heard::start(serve(&scene, &["--log-format", "json"]));
    let args = ["hold", "github", "--for", "10m", "--reason", "it moves"];
    let mut hold = scene.abide(&args);
    let got = hold.env("ABIDE_URL", &served.url).output().unwrap();
    assert_eq!(code(&got), 0, "{}", err(&got));
    let line = served.hears("held by a person");
    let line: serde_json::Value = serde_json::from_str(&line).unwrap();
    assert_eq!(line["provider"], "github");
    assert_eq!(line["level"], "INFO");
    assert_eq!(line["reason"], "it moves");
}

#[test]
fn gw_a_change_is_taken_over_whole_or_not_at_all() {
    let scene = Scene::new(Plain::sized(20));
    let good = "[gateway]\nclient_token = \"0123456789abcdef\"\n";
    let path = scene.write("abide.toml", good);
    let served = Heard::start(serve(&scene, &["--config", path.to_str().unwrap()]));
    scene.write("abide.toml", "# nothing\n");
    served.hears("read anew and in force");
    scene.write("abide.toml", "");
    let why = served.hears("stays as it was");
    assert!(why.contains("holds nothing any more"), "{why}");
    std::fs::remove_file(&path).unwrap();
    served.hears("stays as it was");
    scene.write("abide.toml", good);
    served.tell("-HUP");
    served.hears("read anew and in force");
    scene.write("abide.toml", "[gateway]\nname = \"no name\"\n");
    served.tell("-HUP");
    let why = served.hears("stays as it was");
    assert!(why.contains("no name for a gateway"), "{why}");
    scene.write(
        "abide.toml",
        "[providers.x]\nupstream = \"http://me:hunter2@x\"\n",
    );
    served.tell("-HUP");
    let why = served.hears("stays as it was");
    assert!(!why.contains("hunter2"), "{why}");
}

#[test]
fn gw_a_token_that_cannot_be_read_hinders_nobody_who_only_reads() {
    let scene = Scene::new(Plain::sized(20));
    let served = Heard::start(serve(&scene, &[]));
    let other = scene.path("other");
    // Whoever may read everything cannot read a folder as a file either.
    std::fs::create_dir_all(other.join("admin.token")).unwrap();
    let asks = |args: &[&str]| {
        let mut command = scene.abide(args);
        let told = command
            .env("ABIDE_URL", &served.url)
            .env("ABIDE_STATE", &other);
        told.output().unwrap()
    };
    let got = asks(&["status"]);
    assert_eq!(code(&got), 0, "{}", err(&got));
    let got = asks(&["hold", "github", "--for", "1m"]);
    assert_eq!(code(&got), 74, "{}", err(&got));
    assert!(err(&got).contains("admin.token"), "{}", err(&got));
}

fn run(scene: &Scene, script: &str) -> Command {
    let mut command = scene.abide(&["run", "--", "sh", "-c", script]);
    command.stdout(Stdio::piped()).stderr(Stdio::piped());
    command
}

#[test]
fn gw_a_child_is_let_in_and_reaches_what_it_could_without_us() {
    let scene = Scene::new(Plain::sized(20));
    scene.write("abide.toml", "[gateway]\nallow_from = [\"192.0.2.0/24\"]\n");
    // An inner host that nobody names, by the proxy: as a program would that heeds no NO_PROXY.
    let script = format!(
        "echo $NO_PROXY $no_proxy; P=${{HTTP_PROXY#http://}}; exec 3<>/dev/tcp/${{P%:*}}/${{P#*:}}; \
         printf 'GET {}/x HTTP/1.1\\r\\nHost: x\\r\\nConnection: close\\r\\n\\r\\n' >&3; head -1 <&3",
        scene.server.url()
    );
    let mut command = scene.abide(&["run", "--", "bash", "-c", &script]);
    let told = command
        .env("NO_PROXY", "corp.example")
        .env_remove("no_proxy");
    let got = told.output().unwrap();
    let out = String::from_utf8(got.stdout.clone()).unwrap();
    let direct = "corp.example,localhost,127.0.0.1,::1";
    assert!(
        out.starts_with(&format!("{direct} {direct}\n")),
        "{out} {}",
        err(&got)
    );
    let status = out.lines().nth(1).unwrap();
    assert!(status.starts_with("HTTP/1.1 200"), "{out} {}", err(&got));
}

#[test]
fn gw_whoever_ends_us_ends_the_child_which_has_its_time() {
    let scene = Scene::new(Plain::sized(20));
    let script = "trap 'echo ended; exit 7' TERM; echo begun; while :; do sleep 0.05; done";
    for (script, expected) in [(script, 7), ("echo begun; exec sleep 60", 128 + 15)] {
        let mut child = run(&scene, script).spawn().unwrap();
        let mut lines = BufReader::new(child.stdout.take().unwrap()).lines();
        assert_eq!(lines.next().unwrap().unwrap(), "begun");
        tell(&child, "-TERM");
        assert_eq!(child.wait().unwrap().code(), Some(expected));
        if expected == 7 {
            assert_eq!(lines.next().unwrap().unwrap(), "ended");
        }
    }
}
