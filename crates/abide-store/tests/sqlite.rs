//! What the file adds: other processes, restarts, and everything that can be wrong with it.

#![cfg(feature = "sqlite")]
#![allow(
    clippy::unwrap_used,
    reason = "helpers of tests stop at the first surprise"
)]

mod common;

use std::fs;
use std::path::Path;

use abide_store::sqlite::Options;
use abide_store::sqlite::ledger::{NewRun, Owner};
use abide_store::{Sqlite, Store, StoreError};
use common::{at, gate, held, hold, key, secs};
use rusqlite::Connection;
use tempfile::tempdir;

fn open(dir: &Path) -> Sqlite {
    Sqlite::open(dir).unwrap()
}

#[test]
fn two_openings_see_each_others_holds() {
    let dir = tempdir().unwrap();
    let (a, b) = (open(dir.path()), open(dir.path()));
    assert_eq!(a.secret(), b.secret());
    a.put(held(1, 1, hold(1, 60)));
    a.flush().unwrap();
    let news = b.changes(at(1)).unwrap();
    assert_eq!(news.len(), 1);
    assert_eq!((&news[0].key, news[0].hold), (&key(1), Some(hold(1, 60))));
    assert_eq!(b.changes(at(1)).unwrap(), [], "told once");
    assert_eq!(a.changes(at(1)).unwrap(), []);
}

#[test]
fn a_hold_set_elsewhere_just_before_our_own_word_is_news_to_us() {
    let dir = tempdir().unwrap();
    let (a, b) = (open(dir.path()), open(dir.path()));
    a.put(held(1, 1, hold(1, 60)));
    a.flush().unwrap();
    // b has not looked yet and writes the same gate: the row is now b's.
    b.put(held(1, 1, hold(2, 5)));
    b.flush().unwrap();
    assert_eq!(b.changes(at(1)).unwrap()[0].hold, Some(hold(1, 60)));
}

#[test]
fn what_load_has_told_is_no_news() {
    let dir = tempdir().unwrap();
    let a = open(dir.path());
    let b = open(dir.path());
    a.put(held(1, 1, hold(1, 60)));
    a.flush().unwrap();
    assert_eq!(b.load(at(1)).unwrap().len(), 1);
    assert_eq!(b.changes(at(1)).unwrap(), []);
}

#[test]
fn a_lift_reaches_the_others() {
    let dir = tempdir().unwrap();
    let (a, b) = (open(dir.path()), open(dir.path()));
    a.put(held(1, 1, hold(1, 60)));
    a.flush().unwrap();
    let mut lifted = b.changes(at(1)).unwrap()[0].hold.unwrap();
    lifted.lifted = true;
    b.put(held(1, 1, lifted));
    b.flush().unwrap();
    assert!(a.changes(at(2)).unwrap()[0].hold.unwrap().lifted);
}

#[test]
fn a_restart_restores_a_hold_with_its_true_end() {
    let dir = tempdir().unwrap();
    let mut g = held(1, 7, hold(u64::MAX, 3600));
    g.rung = Some(4);
    g.interval = Some(secs(3));
    open(dir.path()).put(g);
    // Dropping the store has written it; an hour less a second later it still holds.
    let again = open(dir.path());
    let back = again.load(at(3599)).unwrap();
    assert_eq!(back[0].hold, Some(hold(u64::MAX, 3600)));
    assert_eq!((back[0].rung, back[0].interval), (Some(4), Some(secs(3))));
    // A new process counts its revisions from the beginning, and is listened to.
    let mut fresh = gate(1, 1);
    fresh.rung = Some(5);
    again.put(fresh);
    again.flush().unwrap();
    assert_eq!(again.load(at(3599)).unwrap()[0].rung, Some(5));
}

#[cfg(unix)]
#[test]
fn folder_and_file_are_their_owners_only() {
    use std::os::unix::fs::PermissionsExt;
    let dir = tempdir().unwrap();
    let state = dir.path().join("a/state");
    let store = open(&state);
    store.put(held(1, 1, hold(1, 60)));
    store.flush().unwrap();
    let _run = store.create_run(
        NewRun {
            name: "r".into(),
            ..NewRun::default()
        },
        owner(),
    );
    let mode = |p: &Path| fs::metadata(p).unwrap().permissions().mode() & 0o777;
    assert_eq!(mode(&state), 0o700);
    for entry in fs::read_dir(&state).unwrap() {
        let path = entry.unwrap().path();
        let most = if path.is_dir() { 0o700 } else { 0o600 };
        assert_eq!(mode(&path), most, "{}", path.display());
    }
}

fn owner() -> Owner {
    Owner {
        who: "process 1".into(),
        since: at(0),
    }
}

#[test]
fn random_bytes_are_refused_and_left_alone() {
    let dir = tempdir().unwrap();
    let file = dir.path().join("state.db");
    // SQLite takes a single byte for an empty file, which is what it writes to one itself.
    for length in [2_usize, 50, 100, 511, 512, 4096, 20_000] {
        let mut n = 12_345_u32;
        let bytes: Vec<u8> = (0..length)
            .map(|_| {
                n = n.wrapping_mul(1_664_525).wrapping_add(1_013_904_223);
                (n >> 24) as u8
            })
            .collect();
        fs::write(&file, &bytes).unwrap();
        let e = Sqlite::open(dir.path()).expect_err(&format!("{length} bytes"));
        assert!(matches!(e, StoreError::Corrupt { .. }), "{length}: {e}");
        assert!(e.to_string().contains("state.db"), "{e}");
        assert_eq!(fs::read(&file).unwrap(), bytes);
    }
}

/// A state file with everything in the file itself and nothing in its journal.
fn settled(dir: &Path) -> Vec<u8> {
    let store = open(dir);
    for n in 0..200 {
        store.put(held(n, 1, hold(u64::from(n), 60)));
    }
    store.flush().unwrap();
    drop(store);
    fs::read(dir.join("state.db")).unwrap()
}

#[test]
fn a_truncated_file_is_never_taken_for_a_good_one() {
    let dir = tempdir().unwrap();
    let whole = settled(dir.path());
    for keep in [100, 1000, 4096, 8192, whole.len() / 2, whole.len() - 4096] {
        fs::write(dir.path().join("state.db"), &whole[..keep]).unwrap();
        let e = Sqlite::open(dir.path()).expect_err(&format!("{keep} bytes kept"));
        assert!(matches!(e, StoreError::Corrupt { .. }), "{keep}: {e}");
    }
}

#[test]
fn flipped_bytes_never_panic() {
    let dir = tempdir().unwrap();
    let whole = settled(dir.path());
    for i in 0..120_usize {
        let mut bytes = whole.clone();
        for k in 0..40 {
            let at = (i * 7919 + k * 104_729) % bytes.len();
            bytes[at] ^= 0x55;
        }
        fs::write(dir.path().join("state.db"), &bytes).unwrap();
        if let Ok(store) = Sqlite::open(dir.path()) {
            let _ = store.load(at(1));
            let _ = store.changes(at(1));
            store.put(held(3, 1, hold(3, 90)));
            let _ = store.flush();
            let _ = store.runs();
        }
        for left in ["state.db-wal", "state.db-shm"] {
            let _ = fs::remove_file(dir.path().join(left));
        }
    }
}

#[test]
fn an_unknown_word_is_damage_not_a_guess() {
    let dir = tempdir().unwrap();
    settled(dir.path());
    let conn = Connection::open(dir.path().join("state.db")).unwrap();
    conn.execute("UPDATE holds SET cause = 'mood'", []).unwrap();
    let e = open(dir.path()).load(at(1)).unwrap_err();
    assert!(e.to_string().contains("mood"), "{e}");
}

#[test]
fn another_programs_database_is_refused_and_left_alone() {
    let dir = tempdir().unwrap();
    let file = dir.path().join("state.db");
    let conn = Connection::open(&file).unwrap();
    conn.execute_batch("CREATE TABLE mine (x); PRAGMA user_version = 1")
        .unwrap();
    drop(conn);
    let before = fs::read(&file).unwrap();
    let e = Sqlite::open(dir.path()).unwrap_err();
    assert!(matches!(e, StoreError::Corrupt { .. }), "{e}");
    assert_eq!(fs::read(&file).unwrap(), before);
}

#[test]
fn a_newer_schema_is_refused_and_says_so() {
    let dir = tempdir().unwrap();
    settled(dir.path());
    let conn = Connection::open(dir.path().join("state.db")).unwrap();
    conn.pragma_update(None, "user_version", 99).unwrap();
    drop(conn);
    let e = Sqlite::open(dir.path()).unwrap_err();
    assert!(matches!(e, StoreError::Newer { found: 99, .. }), "{e}");
    assert!(e.to_string().contains("--state"), "says what to do: {e}");
}

#[test]
fn an_unusable_place_is_one_clear_error() {
    let dir = tempdir().unwrap();
    let file = dir.path().join("a-file");
    fs::write(&file, "").unwrap();
    let under_a_file = Sqlite::open(&file.join("state")).unwrap_err();
    assert!(
        matches!(under_a_file, StoreError::Io { .. }),
        "{under_a_file}"
    );
    let taken = dir.path().join("taken");
    fs::create_dir_all(taken.join("state.db")).unwrap();
    let a_folder = Sqlite::open(&taken).unwrap_err();
    assert!(matches!(a_folder, StoreError::Io { .. }), "{a_folder}");
}

#[cfg(unix)]
#[test]
fn a_read_only_folder_is_one_clear_error() {
    use std::os::unix::fs::PermissionsExt;
    let dir = tempdir().unwrap();
    let state = dir.path().join("state");
    fs::create_dir(&state).unwrap();
    fs::set_permissions(&state, fs::Permissions::from_mode(0o500)).unwrap();
    if fs::write(state.join("probe"), "").is_ok() {
        // A superuser may write anywhere: nothing to see here.
        return;
    }
    let e = Sqlite::open(&state).unwrap_err();
    assert!(matches!(e, StoreError::Io { .. }), "{e}");
    fs::set_permissions(&state, fs::Permissions::from_mode(0o700)).unwrap();
}

#[test]
fn a_full_disk_keeps_what_was_put_and_tries_again() {
    let dir = tempdir().unwrap();
    let options = Options::default().max_bytes(256 * 1024);
    let store = Sqlite::open_with(dir.path(), options).unwrap();
    let ballast = NewRun {
        name: "ballast".into(),
        fingerprints: vec![[1; 16]; 8_000],
        ..NewRun::default()
    };
    drop(store.create_run(ballast, owner()).unwrap());
    let count = 600_u64;
    for n in 0..count {
        let mut g = held(0, 1, hold(n, 60));
        g.key.gate[..8].copy_from_slice(&n.to_le_bytes());
        store.put(g);
    }
    let e = store.flush().unwrap_err();
    assert!(matches!(e, StoreError::Io { .. }), "{e}");
    assert!(e.to_string().contains("full"), "{e}");
    assert_eq!(store.trouble(), Some(e), "told to whoever asks");
    // Room is made, and not a word was lost.
    store.remove_run("ballast").unwrap();
    store.flush().unwrap();
    assert_eq!(store.trouble(), None);
    assert_eq!(store.load(at(1)).unwrap().len() as u64, count);
}

#[test]
fn a_run_on_a_full_disk_fails_and_may_try_again() {
    let dir = tempdir().unwrap();
    let options = Options::default().max_bytes(128 * 1024);
    let store = Sqlite::open_with(dir.path(), options).unwrap();
    let big = |name: &str, items| NewRun {
        name: name.into(),
        fingerprints: vec![[1; 16]; items],
        ..NewRun::default()
    };
    let e = store.create_run(big("big", 20_000), owner()).unwrap_err();
    assert!(e.to_string().contains("full"), "{e}");
    assert_eq!(store.runs().unwrap(), [], "nothing of it is left");
    store.create_run(big("small", 10), owner()).unwrap();
}

#[test]
fn words_kept_from_a_full_disk_are_written_when_there_is_room() {
    let dir = tempdir().unwrap();
    let store = open(dir.path());
    // Another program that holds the lock stands for every passing failure.
    let other = Connection::open(dir.path().join("state.db")).unwrap();
    other
        .execute_batch("ALTER TABLE gates RENAME TO hidden")
        .unwrap();
    store.put(held(1, 1, hold(1, 60)));
    assert!(store.flush().is_err());
    store.put(held(2, 1, hold(2, 60)));
    other
        .execute_batch("ALTER TABLE hidden RENAME TO gates")
        .unwrap();
    store.flush().unwrap();
    assert_eq!(store.trouble(), None);
    assert_eq!(store.load(at(1)).unwrap().len(), 2);
}
