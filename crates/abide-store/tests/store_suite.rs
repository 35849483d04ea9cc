//! What every store must do, run against each of them.

#![allow(
    clippy::unwrap_used,
    reason = "helpers of tests stop at the first surprise"
)]

mod common;

use abide_store::{Memory, Store, StoredHold};
use common::{at, gate, held, hold, key, secs};

/// Runs a check against every store there is.
fn everywhere(check: fn(&dyn Store)) {
    check(&Memory::new([7; 32]));
    #[cfg(feature = "sqlite")]
    {
        check(&abide_store::Sqlite::in_memory().unwrap());
        let dir = tempfile::tempdir().unwrap();
        check(&abide_store::Sqlite::open(dir.path()).unwrap());
    }
    #[cfg(feature = "redis")]
    {
        let server = common::server::Server::start();
        check(&abide_store::RedisStore::open(&server.url()).unwrap());
    }
    check(&abide_store::lend::Shelf::new(|| at(0)).reader());
}

/// The holds a process that starts at `now` is told of one gate.
fn holds(store: &dyn Store, n: u8, now: i64) -> Vec<StoredHold> {
    store.flush().unwrap();
    let gates = store.load(at(now)).unwrap();
    let of_gate = gates.into_iter().filter(|g| g.key == key(n));
    of_gate.filter_map(|g| g.hold).collect()
}

#[test]
fn a_new_store_is_empty() {
    everywhere(|s| assert_eq!(s.load(at(0)).unwrap(), []));
}

#[test]
fn everything_put_comes_back() {
    everywhere(|s| {
        let mut g = held(1, 1, hold(9, 60));
        g.rung = Some(3);
        g.interval = Some(secs(2));
        g.counts = vec![(0, 41, at(100)), (2, 7, at(3600))];
        s.put(g.clone());
        s.flush().unwrap();
        let mut back = s.load(at(1)).unwrap();
        back[0].revision = 1;
        assert_eq!(back, [g]);
    });
}

#[test]
fn a_hold_only_lengthens_within_its_id() {
    everywhere(|s| {
        s.put(held(1, 1, hold(9, 60)));
        s.put(held(1, 2, hold(9, 30)));
        assert_eq!(holds(s, 1, 1)[0].until, at(60));
        s.put(held(1, 3, hold(9, 90)));
        assert_eq!(holds(s, 1, 1)[0].until, at(90));
    });
}

#[test]
fn of_two_holds_the_longer_one_is_in_force() {
    everywhere(|s| {
        s.put(held(1, 1, hold(1, 60)));
        s.put(held(1, 2, hold(2, 5)));
        assert_eq!(holds(s, 1, 1), [hold(1, 60)]);
    });
}

#[test]
fn a_gate_without_a_hold_does_not_clear_one() {
    everywhere(|s| {
        s.put(held(1, 1, hold(1, 60)));
        s.put(gate(1, 2));
        assert_eq!(holds(s, 1, 1), [hold(1, 60)]);
    });
}

#[test]
fn a_lift_is_remembered_until_its_hold_would_have_ended() {
    everywhere(|s| {
        let mut lifted = hold(1, 60);
        lifted.lifted = true;
        s.put(held(1, 1, hold(1, 60)));
        s.put(held(1, 2, lifted));
        assert_eq!(holds(s, 1, 1), [lifted]);
        // Somebody who has not heard of the lift, and even lengthens the hold.
        s.put(held(1, 3, hold(1, 80)));
        assert!(holds(s, 1, 1)[0].lifted);
        assert!(holds(s, 1, 79)[0].lifted, "as long as the hold lasts");
        assert_eq!(holds(s, 1, 80), []);
    });
}

#[test]
fn a_lift_survives_another_hold() {
    everywhere(|s| {
        let mut lifted = hold(1, 60);
        lifted.lifted = true;
        s.put(held(1, 1, lifted));
        s.put(held(1, 2, hold(2, 30)));
        assert_eq!(holds(s, 1, 1), [lifted, hold(2, 30)], "the lift first");
        s.put(held(1, 3, hold(1, 60)));
        assert_eq!(holds(s, 1, 1), [lifted, hold(2, 30)]);
    });
}

#[test]
fn lifting_the_longer_hold_leaves_the_shorter_one() {
    everywhere(|s| {
        s.put(held(1, 1, hold(1, 60)));
        s.put(held(1, 2, hold(2, 30)));
        let mut lifted = hold(1, 60);
        lifted.lifted = true;
        s.put(held(1, 3, lifted));
        assert_eq!(holds(s, 1, 1), [lifted, hold(2, 30)]);
    });
}

#[test]
fn an_expired_hold_is_dropped_and_what_was_learned_stays() {
    everywhere(|s| {
        s.put(held(1, 1, hold(1, 60)));
        let mut learned = held(2, 1, hold(2, 60));
        learned.interval = Some(secs(1));
        s.put(learned);
        s.flush().unwrap();
        let back = s.load(at(60)).unwrap();
        assert_eq!(back.len(), 1, "a hold is over at its end: {back:?}");
        assert_eq!((back[0].hold, back[0].interval), (None, Some(secs(1))));
    });
}

#[test]
fn a_hold_beyond_a_month_is_clamped_and_its_ask_kept() {
    everywhere(|s| {
        let year = 366 * 86_400;
        s.put(held(1, 1, hold(1, year)));
        let told = holds(s, 1, 0);
        assert_eq!(told[0].until, at(31 * 86_400));
        assert_eq!(told[0].ask.map(|a| a.0), Some(at(year)));
    });
}

#[test]
fn a_hold_opened_in_the_future_lasts_no_longer_than_it_ever_did() {
    everywhere(|s| {
        let mut h = hold(1, 100_060);
        h.since = at(100_000);
        s.put(held(1, 1, h));
        let told = holds(s, 1, 0);
        assert_eq!((told[0].since, told[0].until), (at(0), at(60)));
    });
}

#[test]
fn an_older_revision_does_not_bring_an_older_rung_back() {
    everywhere(|s| {
        let mut newer = held(1, 5, hold(1, 60));
        newer.rung = Some(2);
        s.put(newer);
        let mut older = held(1, 4, hold(2, 90));
        older.rung = Some(1);
        s.put(older);
        s.flush().unwrap();
        let back = s.load(at(1)).unwrap();
        assert_eq!(back[0].rung, Some(2));
        // A hold is never lost for being late.
        assert_eq!(back[0].hold, Some(hold(2, 90)));
    });
}

#[test]
fn an_older_revision_is_known_after_the_newer_one_was_written() {
    everywhere(|s| {
        let mut newer = gate(1, 5);
        newer.rung = Some(2);
        s.put(newer);
        s.flush().unwrap();
        let mut older = gate(1, 4);
        older.rung = Some(1);
        s.put(older);
        s.flush().unwrap();
        assert_eq!(s.load(at(1)).unwrap()[0].rung, Some(2));
    });
}

#[test]
fn counts_never_fall_within_a_window() {
    everywhere(|s| {
        for (revision, count) in [
            (1, (0, 50, at(100))),
            (2, (0, 40, at(100))),
            (3, (0, 900, at(50))),
        ] {
            let mut g = gate(1, revision);
            g.counts = vec![count];
            s.put(g);
        }
        s.flush().unwrap();
        assert_eq!(s.load(at(1)).unwrap()[0].counts, [(0, 50, at(100))]);
        let mut next = gate(1, 4);
        next.counts = vec![(0, 1, at(200))];
        s.put(next);
        s.flush().unwrap();
        assert_eq!(s.load(at(1)).unwrap()[0].counts, [(0, 1, at(200))]);
        assert_eq!(s.load(at(200)).unwrap(), [], "over with its window");
    });
}

#[test]
fn what_is_kept_of_a_gate_is_bounded() {
    everywhere(|s| {
        for id in 0..100 {
            let mut h = hold(id, 100 + i64::try_from(id).unwrap());
            h.lifted = true;
            s.put(held(1, id, h));
        }
        let told = holds(s, 1, 1);
        assert_eq!(told.len(), 16);
        assert!(told.iter().all(|h| h.until >= at(184)), "the longest stay");
    });
}

#[test]
fn ones_own_words_are_no_news() {
    everywhere(|s| {
        s.put(held(1, 1, hold(1, 60)));
        s.flush().unwrap();
        assert_eq!(s.changes(at(1)).unwrap(), []);
    });
}

#[test]
fn the_secret_stays_the_same() {
    everywhere(|s| {
        assert_eq!(s.secret(), s.secret());
        assert_ne!(s.secret(), [0; 32]);
    });
}

#[test]
fn the_secret_is_never_printed() {
    everywhere(|s| {
        let printed = format!("{s:?}");
        let secret = format!("{:?}", s.secret());
        assert!(!printed.contains(&secret), "{printed}");
    });
}
