//! The ledger of a run.

#![cfg(feature = "sqlite")]
#![allow(
    clippy::unwrap_used,
    reason = "helpers of tests stop at the first surprise"
)]

mod common;

use abide_store::Sqlite;
use abide_store::sqlite::ledger::{
    Finished, Ledger, NewRun, Outcome, Owner, Progress, RunError, RunState, Totals,
};
use common::{at, secs};
use tempfile::tempdir;

fn run(name: &str, items: usize) -> NewRun {
    NewRun {
        name: name.into(),
        input: "list.txt".into(),
        kind: "list".into(),
        options: "{}".into(),
        output: Some("out.jsonl".into()),
        created: at(0),
        fingerprints: (0..items).map(print).collect(),
        sealed: true,
    }
}

fn print(n: usize) -> [u8; 16] {
    (n as u128).to_le_bytes()
}

fn owner(who: &str) -> Owner {
    Owner {
        who: who.into(),
        since: at(5),
    }
}

fn end(index: u32, outcome: Outcome) -> Finished {
    Finished {
        index,
        outcome,
        retry_at: None,
    }
}

fn upto(committed: u64) -> Progress {
    Progress {
        committed,
        ..Progress::default()
    }
}

#[test]
fn a_run_comes_back_as_it_was_left() {
    let dir = tempdir().unwrap();
    let totals = Totals {
        sent: 12,
        refused: 3,
        held: secs(70),
    };
    {
        let store = Sqlite::open(dir.path()).unwrap();
        let ledger = store
            .create_run(run("r", 10_000), owner("process 1"))
            .unwrap();
        ledger
            .finish(
                &[end(0, Outcome::Done), end(9_999, Outcome::NotFound)],
                upto(200),
            )
            .unwrap();
        let skipped = Finished {
            index: 7,
            outcome: Outcome::Skipped,
            retry_at: Some(at(600)),
        };
        ledger
            .finish(
                &[skipped, end(8, Outcome::Failed)],
                Progress {
                    committed: 400,
                    totals,
                },
            )
            .unwrap();
    }
    let store = Sqlite::open(dir.path()).unwrap();
    let info = store.run("r").unwrap();
    assert_eq!(info.state, RunState::Interrupted);
    assert_eq!(info.owner, owner("process 1"));
    assert_eq!((info.items, info.counts.finished()), (10_000, 4));
    let ledger = store.claim_run("r", owner("process 2")).unwrap();
    assert_eq!(
        ledger.progress(),
        Progress {
            committed: 400,
            totals
        }
    );
    assert_eq!(ledger.outcome(0), Some(Outcome::Done));
    assert_eq!(ledger.outcome(9_999), Some(Outcome::NotFound));
    assert_eq!(
        (ledger.outcome(7), ledger.retry_at(7)),
        (Some(Outcome::Skipped), Some(at(600)))
    );
    assert_eq!(ledger.earliest_retry(), Some(at(600)));
    assert_eq!(ledger.outcomes().iter().flatten().count(), 4);
    assert_eq!(
        ledger.fingerprints().unwrap(),
        (0..10_000).map(print).collect::<Vec<_>>()
    );
    let counts = ledger.counts();
    assert_eq!(
        (counts.done, counts.not_found, counts.skipped, counts.failed),
        (1, 1, 1, 1)
    );
}

#[test]
fn the_last_word_about_an_item_counts() {
    let store = Sqlite::in_memory().unwrap();
    let ledger = store.create_run(run("r", 2), owner("me")).unwrap();
    let skipped = Finished {
        index: 1,
        outcome: Outcome::Skipped,
        retry_at: Some(at(9)),
    };
    ledger
        .finish(&[end(0, Outcome::Done), skipped], upto(1))
        .unwrap();
    ledger.finish(&[end(1, Outcome::Done)], upto(2)).unwrap();
    assert_eq!(ledger.counts().done, 2);
    assert_eq!(ledger.earliest_retry(), None);
    drop(ledger);
    let info = store.run("r").unwrap();
    assert_eq!((info.state, info.counts.skipped), (RunState::Finished, 0));
    assert_eq!(store.claim_run("r", owner("me")).unwrap().counts().done, 2);
}

#[test]
fn an_intent_without_an_end_is_found_after_a_crash() {
    let dir = tempdir().unwrap();
    let store = Sqlite::open(dir.path()).unwrap();
    let ledger = store.create_run(run("r", 5), owner("me")).unwrap();
    ledger.intend(&[1, 2]).unwrap();
    ledger.intend(&[2, 3]).unwrap();
    ledger.finish(&[end(2, Outcome::Done)], upto(10)).unwrap();
    drop(ledger);
    let ledger = store.claim_run("r", owner("me")).unwrap();
    assert_eq!(ledger.open_intents(), [1, 3]);
    ledger
        .finish(
            &[end(1, Outcome::Failed), end(3, Outcome::Failed)],
            upto(30),
        )
        .unwrap();
    assert_eq!(ledger.open_intents(), Vec::<u32>::new());
}

#[test]
fn a_run_has_one_owner() {
    let dir = tempdir().unwrap();
    let store = Sqlite::open(dir.path()).unwrap();
    let other = Sqlite::open(dir.path()).unwrap();
    let ledger = store.create_run(run("r", 1), owner("process 41")).unwrap();
    let refused = other.claim_run("r", owner("process 42")).unwrap_err();
    let owned = RunError::Owned {
        name: "r".into(),
        owner: owner("process 41"),
    };
    assert_eq!(refused, owned);
    assert!(refused.to_string().contains("process 41"), "{refused}");
    assert_eq!(other.run("r").unwrap().state, RunState::Running);
    assert_eq!(other.remove_run("r").unwrap_err(), owned);
    drop(ledger);
    assert_eq!(other.run("r").unwrap().state, RunState::Interrupted);
    let ledger = other.claim_run("r", owner("process 42")).unwrap();
    assert_eq!(store.run("r").unwrap().owner.who, "process 42");
    drop(ledger);
    store.remove_run("r").unwrap();
    assert_eq!(other.run("r").unwrap_err(), RunError::Unknown("r".into()));
}

#[test]
fn a_run_in_memory_has_one_owner_too() {
    let store = Sqlite::in_memory().unwrap();
    let ledger = store.create_run(run("r", 1), owner("a")).unwrap();
    assert!(matches!(
        store.claim_run("r", owner("b")),
        Err(RunError::Owned { .. })
    ));
    drop(ledger);
    store.claim_run("r", owner("b")).unwrap();
}

#[test]
fn looking_at_a_run_never_takes_a_claim_away() {
    let dir = tempdir().unwrap();
    let store = Sqlite::open(dir.path()).unwrap();
    drop(store.create_run(run("r", 1), owner("a")).unwrap());
    std::thread::scope(|s| {
        let look = || (0..1_000).for_each(|_| drop(store.runs().unwrap()));
        let lookers = [s.spawn(look), s.spawn(look), s.spawn(look)];
        while !lookers.iter().all(|l| l.is_finished()) {
            drop(store.claim_run("r", owner("b")).unwrap());
        }
    });
}

#[test]
fn names_and_indices_are_checked() {
    let store = Sqlite::in_memory().unwrap();
    let ledger = store.create_run(run("r", 3), owner("me")).unwrap();
    assert_eq!(
        store.create_run(run("r", 3), owner("me")).unwrap_err(),
        RunError::Exists("r".into())
    );
    for name in ["", "a\nb", &"x".repeat(129)] {
        let e = store.create_run(run(name, 3), owner("me")).unwrap_err();
        assert!(matches!(e, RunError::UnfitName(_)));
    }
    let e = ledger
        .finish(&[end(0, Outcome::Done), end(3, Outcome::Done)], upto(9))
        .unwrap_err();
    assert_eq!(e, RunError::NoSuchItem { index: 3, items: 3 });
    assert_eq!(
        (ledger.outcome(0), ledger.progress()),
        (None, Progress::default())
    );
    assert!(matches!(
        store.claim_run("x", owner("me")),
        Err(RunError::Unknown(_))
    ));
}

#[test]
fn items_of_a_pipe_are_kept() {
    let dir = tempdir().unwrap();
    let store = Sqlite::open(dir.path()).unwrap();
    let new = NewRun {
        sealed: false,
        fingerprints: Vec::new(),
        ..run("r", 0)
    };
    let ledger = store.create_run(new, owner("me")).unwrap();
    let line = |n: usize| format!("https://example.org/{}", "x".repeat(n % 50)).into_bytes();
    for batch in 0..7 {
        let items = (batch * 100..batch * 100 + 100).map(|n| (print(n), line(n)));
        ledger.store_items(items.collect()).unwrap();
    }
    assert_eq!(ledger.items(), 700);
    assert!(!ledger.is_sealed());
    ledger.finish(&[end(699, Outcome::Done)], upto(1)).unwrap();
    drop(ledger);
    assert_eq!(store.run("r").unwrap().state, RunState::Interrupted);
    let ledger = store.claim_run("r", owner("me")).unwrap();
    ledger.seal().unwrap();
    assert_eq!(ledger.outcome(699), Some(Outcome::Done));
    let all: Vec<_> = (0..700).map(line).collect();
    assert_eq!(ledger.stored_items(0, usize::MAX).unwrap(), all);
    assert_eq!(ledger.stored_items(150, 100).unwrap(), all[150..250]);
    assert_eq!(ledger.stored_items(699, 5).unwrap(), all[699..]);
    assert_eq!(ledger.stored_items(700, 5).unwrap(), Vec::<Vec<u8>>::new());
    assert_eq!(ledger.fingerprints().unwrap().len(), 700);
}

#[test]
fn runs_are_listed_youngest_first_and_removed_alone() {
    let store = Sqlite::in_memory().unwrap();
    for name in ["a", "b", "c"] {
        let ledger = store.create_run(run(name, 3), owner("me")).unwrap();
        ledger.finish(&[end(0, Outcome::Done)], upto(5)).unwrap();
    }
    store.remove_run("b").unwrap();
    let names: Vec<_> = store.runs().unwrap().into_iter().map(|r| r.name).collect();
    assert_eq!(names, ["c", "a"]);
    for name in ["a", "c"] {
        let ledger = store.claim_run(name, owner("me")).unwrap();
        assert_eq!(ledger.outcome(0), Some(Outcome::Done));
        assert_eq!(ledger.fingerprints().unwrap().len(), 3);
    }
}

fn finish_all(ledger: &Ledger, from: u32, to: u32) {
    let mut committed = u64::from(from);
    for first in (from..to).step_by(100) {
        let group: Vec<_> = (first..first + 100)
            .map(|i| end(i, Outcome::Done))
            .collect();
        committed += 100;
        ledger.finish(&group, upto(committed)).unwrap();
    }
}

#[test]
fn a_million_items_take_less_than_forty_megabytes() {
    let dir = tempdir().unwrap();
    let store = Sqlite::open(dir.path()).unwrap();
    let ledger = store.create_run(run("r", 1_000_000), owner("me")).unwrap();
    finish_all(&ledger, 0, 1_000_000);
    drop(ledger);
    let ledger = store.claim_run("r", owner("me")).unwrap();
    assert_eq!(ledger.counts().done, 1_000_000);
    drop((ledger, store));
    let files = std::fs::read_dir(dir.path()).unwrap();
    let bytes: u64 = files.map(|f| f.unwrap().metadata().unwrap().len()).sum();
    assert!(bytes < 40_000_000, "{bytes} bytes");
}

#[test]
fn several_threads_may_write_at_once() {
    let dir = tempdir().unwrap();
    let store = Sqlite::open(dir.path()).unwrap();
    let ledger = store.create_run(run("r", 8_000), owner("me")).unwrap();
    std::thread::scope(|s| {
        for part in 0..8 {
            let ledger = &ledger;
            s.spawn(move || {
                for i in part * 1000..part * 1000 + 1000 {
                    ledger.intend(&[i]).unwrap();
                    ledger.finish(&[end(i, Outcome::Done)], upto(7)).unwrap();
                }
            });
        }
    });
    assert_eq!(store.run("r").unwrap().counts.done, 8_000);
    drop(ledger);
    let ledger = store.claim_run("r", owner("me")).unwrap();
    assert_eq!(
        (ledger.counts().done, ledger.open_intents().len()),
        (8_000, 0)
    );
}

#[test]
fn what_is_reopened_is_unfinished_and_a_sent_write_stays_intended() {
    let dir = tempdir().unwrap();
    {
        let store = Sqlite::open(dir.path()).unwrap();
        let ledger = store.create_run(run("r", 2), owner("process 1")).unwrap();
        let ends = [end(0, Outcome::Skipped), end(1, Outcome::Done)];
        ledger.finish(&ends, upto(200)).unwrap();
        ledger.reopen(&[0], &[1], upto(50)).unwrap();
    }
    let store = Sqlite::open(dir.path()).unwrap();
    assert_eq!(store.run("r").unwrap().state, RunState::Interrupted);
    let ledger = store.claim_run("r", owner("process 2")).unwrap();
    assert_eq!(ledger.outcomes(), [None, None]);
    assert_eq!(ledger.open_intents(), [1]);
    assert_eq!(ledger.counts().finished(), 0);
    assert_eq!(ledger.progress().committed, 50);
}
