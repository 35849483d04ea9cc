//! A store in a real server, and all that can happen to it.

#![cfg(feature = "redis")]
#![allow(
    clippy::unwrap_used,
    reason = "helpers of tests stop at the first surprise"
)]

mod common;

use std::sync::mpsc::channel;
use std::time::Duration;

use abide_core::WallTime;
use abide_core::hold::HoldId;
use abide_store::lend::{Answer, Ask, GateAsk, Later, Lender as _, Lost, Shape};
use abide_store::redis::Options;
use abide_store::{HoldNote, RedisStore, Store as _, StoreError, StoredHold};
use common::server::{Sentinel, Server, certificates, free_port, tell};
use common::{at, held, hold};

/// Longer than anything takes on a busy machine.
const LONG: Duration = Duration::from_secs(30);

fn open(server: &Server) -> RedisStore {
    RedisStore::open(&server.url()).unwrap()
}

/// Waits for an answer.
fn wait<T>(later: Later<T>) -> Result<T, Lost> {
    let runtime = tokio::runtime::Builder::new_current_thread()
        .enable_time()
        .build()
        .unwrap();
    runtime.block_on(async { tokio::time::timeout(LONG, later).await.unwrap() })
}

/// Looks again and again until something is so.
fn until<T>(what: &str, mut is: impl FnMut() -> Option<T>) -> T {
    for _ in 0..LONG.as_millis() / 10 {
        if let Some(found) = is() {
            return found;
        }
        std::thread::park_timeout(Duration::from_millis(10));
    }
    panic!("never: {what}");
}

/// One request of a bucket of one, which is not full again before the test ends.
fn ask() -> Ask {
    Ask {
        provider: "api.example.org".to_owned(),
        gates: vec![GateAsk {
            gate: [9; 16],
            windows: vec![Shape::Bucket {
                interval: Duration::from_secs(3600),
                burst: 1,
            }],
            cost: 1,
            ahead: 0,
            life: Duration::from_secs(1),
            probe: Duration::from_secs(30),
        }],
    }
}

/// One of a gate without limits.
fn free_ask() -> Ask {
    let mut ask = ask();
    ask.gates[0].windows.clear();
    ask.gates[0].gate = [8; 16];
    ask
}

/// What is said when it cannot be asked.
fn lost(store: &RedisStore, containing: &str) -> String {
    until(containing, || {
        let lost = wait(store.ask(free_ask())).err()?.0;
        lost.contains(containing).then_some(lost)
    })
}

fn well(store: &RedisStore) {
    until("well", || wait(store.ask(free_ask())).ok());
}

fn holds(store: &RedisStore) -> Vec<StoredHold> {
    let told = store.load(at(0)).unwrap_or_default();
    told.into_iter().filter_map(|g| g.hold).collect()
}

/// Waits until somebody who begins now is told of these holds.
fn holds_are(server: &Server, ids: &[u64]) {
    until("the holds", || {
        let fresh = RedisStore::open(&server.url()).ok()?;
        let mut found: Vec<u64> = holds(&fresh).iter().map(|h| h.id.0).collect();
        found.sort_unstable();
        (found == ids).then_some(())
    });
}

#[test]
fn others_hear_at_once_what_one_has_met() {
    let server = Server::start();
    let (one, other) = (open(&server), open(&server));
    let (tell, told) = channel();
    assert!(other.on_change(Box::new(move || tell.send(()).unwrap())));
    one.put(held(1, 1, hold(5, 60)));
    told.recv_timeout(LONG).unwrap();
    let changes = other.changes(at(0)).unwrap();
    assert_eq!(changes[0].hold, Some(hold(5, 60)));
    assert_eq!(other.changes(at(0)).unwrap(), []);
    assert_eq!(one.changes(at(0)).unwrap(), [], "its own word is no news");
}

#[test]
fn what_the_store_knew_better_comes_back_to_whoever_spoke() {
    let server = Server::start();
    let (one, other) = (open(&server), open(&server));
    let mut climbed = held(1, 1, hold(5, 60));
    climbed.rung = Some(3);
    one.put(climbed);
    one.flush().unwrap();
    until("news", || {
        (!other.changes(at(0)).unwrap().is_empty()).then_some(())
    });
    let mut late = held(1, 1, hold(6, 30));
    late.rung = Some(1);
    other.put(late);
    let changes = until("news", || {
        Some(other.changes(at(0)).unwrap()).filter(|c| !c.is_empty())
    });
    assert_eq!(changes[0].rung, Some(3));
}

#[test]
fn a_set_is_lent_and_refused_by_the_server() {
    let server = Server::start();
    let (one, other) = (open(&server), open(&server));
    let Answer::Lent(lent) = wait(one.ask(ask())).unwrap() else {
        panic!("a fresh bucket lends");
    };
    assert!(matches!(wait(other.ask(ask())).unwrap(), Answer::NotNow(_)));
    one.give_back(&ask(), &lent);
    until("given back", || {
        matches!(wait(other.ask(ask())).unwrap(), Answer::Lent(_)).then_some(())
    });
    wait(one.greet()).unwrap();
    assert_eq!(one.peers(), 2);
}

#[test]
fn whoever_leaves_gives_back_what_was_lent_meanwhile() {
    let server = Server::start();
    let store = open(&server);
    for _ in 0..20 {
        drop(store.ask(ask()));
    }
    until("given back", || {
        matches!(wait(store.ask(ask())).unwrap(), Answer::Lent(_)).then_some(())
    });
}

#[test]
fn a_killed_server_is_lost_and_told_again_when_it_is_back() {
    let mut server = Server::start();
    let store = open(&server);
    store.put(held(1, 1, hold(1, 60)));
    store.flush().unwrap();
    server.kill();
    let said = lost(&store, "refused");
    assert!(store.trouble().unwrap().contains("refused"), "{said}");
    store.put(held(2, 1, hold(2, 60)));
    let e = store.flush().unwrap_err();
    assert!(matches!(e, StoreError::Shared { .. }), "{e}");
    assert!(store.load(at(0)).is_err());
    assert_eq!(store.changes(at(0)).unwrap(), []);
    server.restart();
    well(&store);
    holds_are(&server, &[1, 2]);
    store.flush().unwrap();
}

#[test]
fn a_server_that_hangs_is_lost_in_bounded_time() {
    let server = Server::start();
    let store = open(&server);
    well(&store);
    server.pause();
    assert!(
        wait(store.ask(free_ask()))
            .unwrap_err()
            .0
            .contains("timed out")
    );
    // Soon nobody waits for it any more.
    until("down", || store.trouble());
    store.put(held(1, 1, hold(1, 60)));
    server.resume();
    well(&store);
    holds_are(&server, &[1]);
}

#[test]
fn an_emptied_server_is_told_everything_again() {
    let server = Server::start();
    let (one, other) = (open(&server), open(&server));
    let secret = one.secret();
    assert_eq!(other.secret(), secret);
    one.put(held(1, 1, hold(1, 60)));
    one.flush().unwrap();
    until("heard", || {
        Some(other.changes(at(0)).unwrap()).filter(|c| !c.is_empty())
    });
    // Whoever met it is gone: those who heard of it know it still.
    drop(one);
    server.tell(&["flushall"]);
    holds_are(&server, &[1]);
    assert_eq!(open(&server).secret(), secret);
}

#[test]
fn forgotten_scripts_are_told_again() {
    let server = Server::start();
    let store = open(&server);
    server.tell(&["script", "flush"]);
    wait(store.ask(free_ask())).unwrap();
    store.put(held(1, 1, hold(1, 60)));
    store.flush().unwrap();
}

#[test]
fn a_server_that_takes_no_words_is_lost() {
    let server = Server::start();
    let store = open(&server);
    let nobody = free_port().to_string();
    server.tell(&["replicaof", "127.0.0.1", &nobody]);
    lost(&store, "READONLY");
    store.put(held(1, 1, hold(1, 60)));
    assert!(store.flush().is_err());
    server.tell(&["replicaof", "no", "one"]);
    well(&store);
    holds_are(&server, &[1]);
}

#[test]
fn a_full_server_is_lost() {
    let server = Server::start();
    let store = open(&server);
    server.tell(&["config", "set", "maxmemory", "1"]);
    // A gate of its own with a window: something has to be written.
    let said = until("full", || wait(store.ask(ask())).err()).0;
    assert!(said.contains("OOM") || said.contains("maxmemory"), "{said}");
    store.put(held(1, 1, hold(1, 60)));
    assert!(store.flush().is_err());
    server.tell(&["config", "set", "maxmemory", "0"]);
    well(&store);
    holds_are(&server, &[1]);
}

#[test]
fn whoever_may_not_in_is_told_without_the_password() {
    let server = Server::start_with(&[
        "--requirepass",
        "hunter2",
        "--user",
        "u",
        "on",
        ">pass-word",
        "~*",
        "&*",
        "+@all",
    ]);
    let with = |who: &str| RedisStore::open(&format!("redis://{who}127.0.0.1:{}", server.port));
    for who in ["", ":wrong-word@", "u:wrong-word@"] {
        let e = with(who).unwrap_err();
        let said = format!("{e} {e:?}");
        assert!(!said.contains("wrong-word"), "{said}");
        assert!(
            said.to_lowercase().contains("auth")
                || said.contains("WRONGPASS")
                || said.contains("let nobody in"),
            "{said}"
        );
    }
    for who in [":hunter2@", "u:pass-word@"] {
        let store = with(who).unwrap();
        well(&store);
        let shown = format!("{store:?}");
        assert!(
            !shown.contains("hunter2") && !shown.contains("pass-word"),
            "{shown}"
        );
    }
}

#[test]
fn tls_with_a_ca_of_ones_own() {
    let dir = tempfile::tempdir().unwrap();
    let (ca, certificate, key) = certificates(&dir);
    let file = |path: &std::path::Path| path.display().to_string();
    let port = free_port();
    let options = [
        "--port",
        "0",
        "--tls-port",
        &port.to_string(),
        "--tls-auth-clients",
        "no",
        "--tls-ca-cert-file",
        &file(&ca),
        "--tls-cert-file",
        &file(&certificate),
        "--tls-key-file",
        &file(&key),
    ];
    let _server = Server::start_at(port, &options);
    let url = format!("rediss://127.0.0.1:{port}");
    let store = RedisStore::open_with(&url, Options::default().ca_file(&ca)).unwrap();
    well(&store);
    let e = RedisStore::open(&url).unwrap_err();
    assert!(e.to_string().to_lowercase().contains("certificate"), "{e}");
    let none = Options::default().ca_file(dir.path().join("none"));
    let e = RedisStore::open_with(&url, none).unwrap_err();
    assert!(e.to_string().contains("CA file"), "{e}");
}

#[test]
fn a_socket_of_this_machine() {
    let dir = tempfile::tempdir().unwrap();
    let socket = dir.path().join("redis.sock").display().to_string();
    let _server = Server::start_with(&["--unixsocket", &socket]);
    well(&RedisStore::open(&format!("redis+unix://{socket}")).unwrap());
}

#[test]
fn a_failover_leads_to_the_new_master() {
    let mut master = Server::start();
    let replica = Server::start_with(&["--replicaof", "127.0.0.1", &master.port.to_string()]);
    until("a replica", || {
        replica
            .tell(&["info", "replication"])
            .contains("master_link_status:up")
            .then_some(())
    });
    let sentinel = Sentinel::of(master.port);
    until("a replica that is known", || {
        let known = tell(sentinel.port, &["sentinel", "replicas", "master"]);
        known.contains(&replica.port.to_string()).then_some(())
    });
    let url = format!("redis+sentinel://127.0.0.1:{}/master", sentinel.port);
    let store = RedisStore::open(&url).unwrap();
    store.put(held(1, 1, hold(1, 60)));
    store.flush().unwrap();
    master.kill();
    lost(&store, "");
    store.put(held(2, 1, hold(2, 60)));
    well(&store);
    holds_are(&replica, &[1, 2]);
}

#[test]
fn data_of_another_version_are_refused_saying_which() {
    let server = Server::start();
    drop(open(&server));
    server.tell(&["hset", "{abide}:about", "schema", "2"]);
    let said = RedisStore::open(&server.url()).unwrap_err().to_string();
    assert!(
        said.contains("schema version 2") && said.contains("knows 1"),
        "{said}"
    );
    let apart = Options::default().prefix("other");
    well(&RedisStore::open_with(&server.url(), apart).unwrap());
    let braces = Options::default().prefix("a{b");
    assert!(RedisStore::open_with(&server.url(), braces).is_err());
}

#[test]
fn a_process_may_begin_before_its_store() {
    let port = free_port();
    let url = format!("redis://127.0.0.1:{port}");
    assert!(RedisStore::open(&url).is_err(), "nobody knows the secret");
    let known = Options::default().known_secret([3; 32]);
    let store = RedisStore::open_with(&url, known).unwrap();
    assert!(store.trouble().is_some());
    store.put(held(1, 1, hold(1, 60)));
    let server = Server::start_at(port, &[]);
    well(&store);
    holds_are(&server, &[1]);
    assert_eq!(open(&server).secret(), [3; 32]);
    // Another one that remembers another store is no part of this one.
    let other = Options::default().known_secret([4; 32]);
    let other = RedisStore::open_with(&url, other).unwrap();
    lost(&other, "another secret");
}

#[test]
fn clocks_that_are_wrong_agree() {
    let server = Server::start();
    let hour = Duration::from_secs(3600);
    let wrong = move || system().after(hour);
    let wrong = RedisStore::open_with(&server.url(), Options::default().wall(wrong)).unwrap();
    let right = open(&server);
    let mut hold = hold(1, 60);
    let now = system();
    hold.since = now.after(hour);
    hold.until = now.after(hour + Duration::from_secs(60));
    wrong.put(held(1, 1, hold));
    wrong.flush().unwrap();
    let told = right.load(now).unwrap();
    let until = told[0].hold.unwrap().until;
    let off = until.since(now.after(Duration::from_secs(60)));
    let before = now.after(Duration::from_secs(60)).since(until);
    assert!(
        off.max(before) < Duration::from_secs(1),
        "{off:?} {before:?}"
    );
}

#[expect(
    clippy::disallowed_methods,
    reason = "the tests' own look at the clock"
)]
fn system() -> WallTime {
    let now = std::time::SystemTime::now();
    WallTime::default().after(now.duration_since(std::time::UNIX_EPOCH).unwrap())
}

#[test]
fn what_a_person_said_is_told_to_all() {
    let server = Server::start();
    let (one, other) = (open(&server), open(&server));
    let note = |id, s, reason: Option<&str>| HoldNote {
        hold: HoldId(id),
        until: at(s),
        reason: reason.map(str::to_owned),
    };
    one.note(note(1, 60, Some("they asked by mail: \"stop\"")), at(0))
        .unwrap();
    one.note(note(1, 90, None), at(0)).unwrap();
    one.note(note(2, 30, None), at(0)).unwrap();
    let both = [
        note(1, 90, Some("they asked by mail: \"stop\"")),
        note(2, 30, None),
    ];
    assert_eq!(other.notes(at(0)).unwrap(), both);
    assert_eq!(other.notes(at(30)).unwrap(), both[..1]);
}

#[test]
fn the_last_handle_writes_what_is_queued() {
    let server = Server::start();
    let store = open(&server);
    for n in 0..200 {
        store.put(held(n, 1, hold(u64::from(n), 60)));
    }
    drop(store);
    assert_eq!(holds(&open(&server)).len(), 200);
}
