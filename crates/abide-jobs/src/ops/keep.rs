//! Showing that a worker lives, and seeing that one does not.
//!
//! A worker writes a beat beside the jobs it has. Whoever watches measures on its **own** clock how
//! long a beat has stood still: no wall clock is compared with another, so one that jumps takes no
//! job away from a worker that lives.

use std::collections::HashMap;
use std::time::Duration;

use abide::core::{Instant, WallTime};

use crate::db::{Db, Fault};
use crate::record::{COLUMNS, Job, JobId};

/// Which claim of which job.
pub(crate) type Held = (JobId, i64);

/// Beats; the claims a worker still has.
pub(crate) fn beat(db: &mut dyn Db, worker: &str, now: WallTime) -> Result<Vec<Held>, Fault> {
    let sql = "UPDATE jobs SET beat = ?2 WHERE state = 'running' AND worker = ?1 \
        RETURNING id, token";
    let rows = db.query(sql, vec![worker.into(), now.into()])?;
    rows.iter()
        .map(|r| Ok((JobId(r.int(0)?), r.int(1)?)))
        .collect()
}

/// Every claim there is, with its last beat.
pub(crate) fn running(db: &mut dyn Db) -> Result<Vec<(Held, Option<WallTime>)>, Fault> {
    let sql = "SELECT id, token, beat FROM jobs WHERE state = 'running' ORDER BY id";
    let rows = db.query(sql, Vec::new())?;
    rows.iter()
        .map(|r| Ok(((JobId(r.int(0)?), r.int(1)?), r.opt_time(2)?)))
        .collect()
}

/// A job that still has that claim, whole.
pub(crate) fn held(db: &mut dyn Db, held: Held) -> Result<Option<Job>, Fault> {
    let sql =
        format!("SELECT {COLUMNS} FROM jobs WHERE id = ?1 AND token = ?2 AND state = 'running'");
    let rows = db.query(&sql, vec![held.0.0.into(), held.1.into()])?;
    rows.first().map(Job::read).transpose()
}

/// Notes how far a job got; whether its claim still stands.
pub(crate) fn checkpoint(db: &mut dyn Db, held: Held, to: Vec<u8>) -> Result<bool, Fault> {
    let sql = "UPDATE jobs SET checkpoint = ?3 WHERE id = ?1 AND token = ?2 AND state = 'running'";
    Ok(db.execute(sql, vec![held.0.0.into(), held.1.into(), to.into()])? > 0)
}

/// Notes that a write is about to be sent; whether its claim still stands.
pub(crate) fn intend(db: &mut dyn Db, held: Held) -> Result<bool, Fault> {
    let sql = "UPDATE jobs SET intent = 1 WHERE id = ?1 AND token = ?2 AND state = 'running'";
    Ok(db.execute(sql, vec![held.0.0.into(), held.1.into()])? > 0)
}

/// The claims that were seen, and since when their beats have stood still.
#[derive(Debug, Default)]
pub(crate) struct Watch(HashMap<Held, (Option<WallTime>, Instant)>);

impl Watch {
    /// Looks at every claim there is; those whose worker has been silent for so long.
    pub(crate) fn silent(
        &mut self,
        now: Instant,
        all: &[(Held, Option<WallTime>)],
        lease: Duration,
    ) -> Vec<Held> {
        let mut seen = HashMap::with_capacity(all.len());
        let mut silent = Vec::new();
        for (held, beat) in all {
            let since = match self.0.get(held) {
                Some((before, since)) if before == beat => *since,
                _ => now,
            };
            if now.since(since) >= lease {
                silent.push(*held);
            }
            seen.insert(*held, (*beat, since));
        }
        self.0 = seen;
        silent
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_beat_that_moves_either_way_is_a_sign_of_life() {
        let mut watch = Watch::default();
        let (lease, held) = (Duration::from_secs(30), (JobId(1), 1));
        let at = |n| Some(WallTime::from_unix_secs(n));
        let see = |watch: &mut Watch, secs, beat| {
            watch.silent(Instant::from_secs(secs), &[(held, beat)], lease)
        };
        assert!(see(&mut watch, 0, at(1000)).is_empty());
        // The wall clock jumped back, and forth: the worker lives.
        assert!(see(&mut watch, 29, at(500)).is_empty());
        assert!(see(&mut watch, 58, at(900_000)).is_empty());
        assert!(see(&mut watch, 87, at(900_000)).is_empty());
        assert_eq!(see(&mut watch, 88, at(900_000)), [held]);
    }
}
