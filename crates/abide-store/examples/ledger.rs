//! How fast a ledger takes finished items, and what they weigh.
//!
//! `cargo run --release -p abide-store --features sqlite --example ledger`

use std::time::{Duration, Instant};

use abide_store::Sqlite;
use abide_store::sqlite::Options;
use abide_store::sqlite::ledger::{Finished, NewRun, Outcome, Owner, Progress};

const ITEMS: u32 = 1_000_000;

#[expect(clippy::disallowed_methods, reason = "a measurement of real time")]
fn timed(work: impl FnOnce()) -> Duration {
    let began = Instant::now();
    work();
    began.elapsed()
}

fn main() -> Result<(), Box<dyn std::error::Error>> {
    for (group, fsync) in [(100, false), (10, false), (1, false), (100, true)] {
        let dir = tempfile::tempdir()?;
        let store = Sqlite::open_with(dir.path(), Options::default().fsync(fsync))?;
        let new = NewRun {
            name: "bench".to_owned(),
            fingerprints: vec![[7; 16]; ITEMS as usize],
            sealed: true,
            ..NewRun::default()
        };
        let owner = Owner {
            who: "bench".to_owned(),
            since: abide_core::WallTime::default(),
        };
        let ledger = store.create_run(new, owner)?;
        let count = ITEMS / 100 * group.min(100);
        for part in 0..4 {
            let mut result = Ok(());
            let took = timed(|| {
                for first in (part * count / 4..(part + 1) * count / 4).step_by(group as usize) {
                    let ends: Vec<_> = (first..(first + group).min(ITEMS))
                        .map(|index| Finished {
                            index,
                            outcome: Outcome::Done,
                            retry_at: None,
                        })
                        .collect();
                    if let Err(e) = ledger.finish(&ends, Progress::default()) {
                        result = Err(e);
                    }
                }
            });
            result?;
            let rate = f64::from(count / 4) / took.as_secs_f64();
            println!(
                "groups of {group}, fsync {fsync}, quarter {}: {rate:.0} items/s",
                part + 1
            );
        }
        drop((ledger, store));
        let bytes = std::fs::metadata(dir.path().join("state.db"))?.len();
        println!("  {count} finished of {ITEMS} items: {bytes} bytes");
    }
    Ok(())
}
