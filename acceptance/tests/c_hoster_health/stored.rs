//! Item 2: kept in SQLite, across restarts and between processes.

use std::sync::atomic::{AtomicU64, Ordering};

use abide::core::{Instant, WallTime};
use abide::testing::Virtual;
use tokio::time::sleep;

use crate::*;

fn store(dir: &tempfile::TempDir) -> Arc<Sqlite> {
    Arc::new(Sqlite::open(dir.path()).unwrap())
}

#[tokio::test(start_paused = true)]
async fn c02_failures_and_the_hold_outlive_the_process() {
    let (p, dir) = (program(), tempfile::tempdir().unwrap());
    {
        let store = store(&dir);
        let first = process(&p, &store);
        fail_often(&first, HOSTER, 3).await;
        // Each failure is written by itself: nobody says goodbye.
        store.flush().unwrap();
    }
    sleep(secs(7)).await;
    let store = store(&dir);
    let second = process(&p, &store);
    let s = state(&second, HOSTER);
    assert_eq!((s.failures, s.healthy, s.available), (3, false, false));
    assert_eq!(held_for(&second, HOSTER), secs(13), "of twenty");
    assert!(!fails(&second, HOSTER).await);
    for (n, step) in [(4, 30), (5, 60)] {
        sleep(held_for(&second, HOSTER)).await;
        assert!(fails(&second, HOSTER).await);
        assert_eq!(state(&second, HOSTER).failures, n);
        assert_eq!(held_for(&second, HOSTER), secs(step));
    }
    store.flush().unwrap();
    let third = process(&p, &store);
    assert_eq!(state(&third, HOSTER).failures, 5);
}

/// Plugin and service are two processes: what one learns the other knows.
#[tokio::test(start_paused = true)]
async fn c02_two_processes_climb_one_ladder() {
    let (p, dir) = (program(), tempfile::tempdir().unwrap());
    let stores = [store(&dir), store(&dir)];
    let processes = [process(&p, &stores[0]), process(&p, &stores[1])];
    for (step, n) in LADDER.into_iter().zip(1..) {
        let (me, other) = (n as usize % 2, (n as usize + 1) % 2);
        assert!(fails(&processes[me], HOSTER).await);
        assert_eq!(held_for(&processes[me], HOSTER), secs(step), "failure {n}");
        stores[me].flush().unwrap();
        processes[other].look().unwrap();
        let s = state(&processes[other], HOSTER);
        assert_eq!((s.failures, s.healthy, s.available), (n, false, false));
        assert!(!works(&processes[other], HOSTER).await, "held there too");
        sleep(secs(step) + ms(1)).await;
    }
    // The background's success makes the hoster visible in the foreground.
    assert!(works(&processes[0], HOSTER).await);
    stores[0].flush().unwrap();
    processes[1].look().unwrap();
    assert!(state(&processes[1], HOSTER).healthy);
    assert!(fails(&processes[1], HOSTER).await);
    assert_eq!(held_for(&processes[1], HOSTER), secs(5));
}

/// A clock whose wall time was set back.
#[derive(Debug)]
struct SetBack {
    clock: Arc<Virtual>,
    back: AtomicU64,
}

impl Clock for SetBack {
    fn now(&self) -> Instant {
        self.clock.now()
    }

    fn wall(&self) -> WallTime {
        let back = self.back.load(Ordering::Relaxed);
        self.clock.wall().before(secs(back))
    }
}

/// A stored hold lasts no longer from now than it ever did, however far the clock jumped.
#[tokio::test(start_paused = true)]
async fn c02_a_clock_set_back_clamps_a_hold_to_its_step() {
    for back in [60, 3_600, 86_400 * 365] {
        let (p, dir) = (program(), tempfile::tempdir().unwrap());
        let clock = Arc::new(SetBack {
            clock: Arc::clone(&p.clock),
            back: AtomicU64::new(0),
        });
        let store = store(&dir);
        let first = process_at(&p, &store, clock.clone());
        fail_often(&first, HOSTER, 3).await;
        store.flush().unwrap();
        clock.back.store(back, Ordering::Relaxed);
        assert_eq!(held_for(&first, HOSTER), secs(20), "waits by no wall clock");
        let second = process_at(&p, &store, clock);
        assert_eq!(held_for(&second, HOSTER), secs(20), "{back} s back");
    }
}
