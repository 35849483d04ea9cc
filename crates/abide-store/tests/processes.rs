//! Several real processes, some of them killed: this test binary starts itself.

#![cfg(feature = "sqlite")]
#![allow(
    clippy::unwrap_used,
    reason = "helpers of tests stop at the first surprise"
)]

mod common;

use std::io::{BufRead as _, BufReader, Write as _};
use std::path::Path;
use std::process::{Child, Command, Stdio};

use abide_store::sqlite::ledger::{Finished, NewRun, Outcome, Owner, Progress, RunError, RunState};
use abide_store::{Sqlite, Store};
use common::{at, held, hold};
use tempfile::tempdir;

/// Starts this binary as a child in a role.
fn child(role: &str, dir: &Path) -> Child {
    Command::new(std::env::current_exe().unwrap())
        .args(["--exact", "as_a_child", "--nocapture", "--ignored"])
        .env("ROLE", role)
        .env("DIR", dir)
        .stdout(Stdio::piped())
        .stdin(Stdio::piped())
        .spawn()
        .unwrap()
}

fn owner(who: &str) -> Owner {
    Owner {
        who: who.into(),
        since: at(0),
    }
}

const ITEMS: u32 = 1_000_000;

#[test]
#[ignore = "a role that the other tests start"]
fn as_a_child() {
    let (Ok(role), Ok(dir)) = (std::env::var("ROLE"), std::env::var("DIR")) else {
        return;
    };
    let store = Sqlite::open(Path::new(&dir)).unwrap();
    let mut out = std::io::stdout().lock();
    match role.as_str() {
        "run" => {
            let ledger = store.claim_run("r", owner("the child")).unwrap();
            let mut next = ledger.counts().finished();
            let mut revision = 0;
            while next < ITEMS {
                ledger.intend(&[next + 5]).unwrap();
                let group: Vec<_> = (next..next + 5)
                    .map(|index| Finished {
                        index,
                        outcome: Outcome::Done,
                        retry_at: None,
                    })
                    .collect();
                next += 5;
                let progress = Progress {
                    committed: u64::from(next),
                    ..Progress::default()
                };
                ledger.finish(&group, progress).unwrap();
                revision += 1;
                store.put(held(1, revision, hold(1, i64::from(next))));
                store.flush().unwrap();
                // Told only after the commit: what was told must be there.
                writeln!(out, "\ncommitted {next}").unwrap();
            }
        }
        "secret" => writeln!(out, "\nsecret {:?}", store.secret()).unwrap(),
        "claim" => {
            let _ledger = store.claim_run("r", owner("the child")).unwrap();
            writeln!(out, "\nclaimed").unwrap();
            // Until the parent has seen enough.
            let _ = std::io::stdin().read_line(&mut String::new());
            std::process::abort();
        }
        other => panic!("no role {other}"),
    }
}

/// Reads what the child says until `enough`; its last word with this first word.
fn listen(child: &mut Child, word: &str, mut enough: impl FnMut(usize) -> bool) -> Option<String> {
    let mut last = None;
    let mut heard = 0;
    let lines = BufReader::new(child.stdout.as_mut().unwrap()).lines();
    for line in lines.map_while(Result::ok) {
        if let Some(rest) = line.strip_prefix(word) {
            last = Some(rest.trim().to_owned());
            heard += 1;
            if enough(heard) {
                break;
            }
        }
    }
    last
}

#[test]
fn a_killed_process_loses_nothing_committed() {
    let dir = tempdir().unwrap();
    let new = NewRun {
        name: "r".into(),
        fingerprints: vec![[0; 16]; ITEMS as usize],
        sealed: true,
        ..NewRun::default()
    };
    {
        let store = Sqlite::open(dir.path()).unwrap();
        store.create_run(new, owner("the parent")).unwrap();
    }
    let mut before = 0;
    for kill in 1..=10 {
        let mut process = child("run", dir.path());
        let told = listen(&mut process, "committed ", |n| n == kill * 7);
        process.kill().unwrap();
        process.wait().unwrap();
        let told: u32 = told.unwrap().parse().unwrap();
        let store = Sqlite::open(dir.path()).unwrap();
        let info = store.run("r").unwrap();
        assert_eq!(info.state, RunState::Interrupted, "its claim died with it");
        let ledger = store.claim_run("r", owner("the parent")).unwrap();
        let done = ledger.counts().finished();
        assert!(done >= told && done > before, "{done} of {told}");
        assert_eq!(
            ledger.progress().committed,
            u64::from(done),
            "one transaction"
        );
        assert_eq!(
            info.counts,
            ledger.counts(),
            "the sums agree with the ledger"
        );
        let front = ledger.outcomes();
        assert!(front[..done as usize].iter().all(Option::is_some));
        assert!(front[done as usize..].iter().all(Option::is_none));
        assert!(ledger.open_intents().iter().all(|i| *i >= done));
        let until = store.load(at(0)).unwrap()[0].hold.unwrap().until;
        assert!(until >= at(i64::from(told)), "nor a hold");
        before = done;
    }
}

#[test]
fn a_second_process_is_refused_until_the_first_one_dies() {
    let dir = tempdir().unwrap();
    let store = Sqlite::open(dir.path()).unwrap();
    let new = NewRun {
        name: "r".into(),
        ..NewRun::default()
    };
    drop(store.create_run(new, owner("the parent")).unwrap());
    let mut process = child("claim", dir.path());
    listen(&mut process, "claimed", |_| true).unwrap();
    let e = store.claim_run("r", owner("the parent")).unwrap_err();
    assert_eq!(
        e,
        RunError::Owned {
            name: "r".into(),
            owner: owner("the child")
        }
    );
    process.kill().unwrap();
    process.wait().unwrap();
    store.claim_run("r", owner("the parent")).unwrap();
}

#[test]
fn processes_that_make_the_file_at_once_share_one_secret() {
    for _ in 0..5 {
        let dir = tempdir().unwrap();
        let mut processes: Vec<_> = (0..6).map(|_| child("secret", dir.path())).collect();
        let secrets: Vec<_> = processes
            .iter_mut()
            .map(|p| {
                let secret = listen(p, "secret ", |_| true).unwrap();
                p.wait().unwrap();
                secret
            })
            .collect();
        assert!(secrets.windows(2).all(|w| w[0] == w[1]), "{secrets:?}");
    }
}
