//! What is left in the server, and for how long.

use std::time::Duration;

use abide_core::hold::HoldId;
use abide_core::{Scope, Verdict};

use super::Bench;
use crate::kept::Kept;
use crate::lend::{Answer, Ask, GateAsk, PEER_LIFE, Shape};
use crate::redis::asking;
use crate::{StoreKey, StoredGate, StoredHold};

const KEY: &str = "abide:{p}:01010101010101010101010101010101";

fn word(bench: &Bench, seconds: u64, rung: Option<u32>) -> (StoreKey, Kept) {
    Kept::of(StoredGate {
        key: StoreKey {
            provider: "p".to_owned(),
            gate: [1; 16],
        },
        scope: Scope::Provider,
        hold: Some(StoredHold {
            id: HoldId(1),
            cause: Verdict::RateLimited,
            until: bench.now().after(Duration::from_secs(seconds)),
            ask: None,
            since: bench.now(),
            probes: true,
            lifted: false,
        }),
        rung,
        interval: None,
        learned: None,
        failures: 0,
        last_success: None,
        counts: Vec::new(),
        revision: 0,
    })
}

/// For how many seconds a key lives still.
fn lives(bench: &Bench, key: &str) -> i64 {
    bench.server.tell(&["ttl", key]).parse().unwrap()
}

fn say(bench: &Bench, (key, word): (StoreKey, Kept)) {
    let told = bench.told();
    let said = bench.processes[0].say(bench.up.clone(), &key, &word, &told);
    bench.runtime.block_on(said).unwrap();
}

#[test]
fn a_key_lives_until_nothing_in_it_matters() {
    let bench = Bench::new(1);
    say(&bench, word(&bench, 100, None));
    let hold = lives(&bench, KEY);
    assert!((140..=160).contains(&hold), "{hold}");
    say(&bench, word(&bench, 100, Some(1)));
    let learned = lives(&bench, KEY) / 86_400;
    assert!((399..=400).contains(&learned), "{learned}");
}

#[test]
fn a_key_of_windows_lives_as_long_as_they_count() {
    let bench = Bench::new(1);
    let ask = Ask {
        provider: "p".to_owned(),
        gates: vec![GateAsk {
            gate: [1; 16],
            windows: vec![Shape::Sliding {
                limit: 9,
                period: Duration::from_secs(300),
            }],
            cost: 1,
            ahead: 0,
            life: Duration::from_secs(1),
            probe: Duration::from_secs(1),
        }],
    };
    let told = bench.told();
    let asked = asking::run(&bench.processes[0], bench.up.clone(), &ask, &told);
    let answer = bench.runtime.block_on(asked).unwrap();
    assert!(matches!(answer, Answer::Lent(_)));
    let window = lives(&bench, KEY);
    assert!((300..=361).contains(&window), "{window}");
    // A word about the gate does not shorten it.
    say(&bench, word(&bench, 1, None));
    assert!(lives(&bench, KEY) >= window - 10);
}

#[test]
fn nothing_else_is_left_and_secrets_are_in_one_place() {
    let bench = Bench::new(2);
    bench.greet(0);
    assert_eq!(bench.greet(1), 2);
    say(&bench, word(&bench, 1, None));
    let mut keys: Vec<String> = bench
        .server
        .tell(&["keys", "*"])
        .lines()
        .map(str::to_owned)
        .collect();
    keys.sort_unstable();
    let known = [
        KEY,
        "abide:{p}:gates",
        "{abide}:about",
        "{abide}:peers",
        "{abide}:providers",
    ];
    assert_eq!(keys, known);
    let peers = lives(&bench, "{abide}:peers");
    assert!(peers.unsigned_abs() <= PEER_LIFE.as_secs());
    assert_eq!(
        bench.server.tell(&["hget", "{abide}:about", "secret"]),
        "07".repeat(32)
    );
}

#[test]
fn whoever_was_last_heard_long_ago_is_not_there() {
    let bench = Bench::new(2);
    assert_eq!(bench.greet(0), 1);
    assert_eq!(bench.greet(1), 2);
    bench.passes(9_999_999);
    assert_eq!(bench.greet(1), 2);
    bench.passes(1);
    assert_eq!(bench.greet(1), 1);
}
