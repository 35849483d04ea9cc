//! The same three steps without a queue around them: insert, claim and complete in transactions of a
//! hundred, over the same SQLite with the same settings, one thread, prepared statements.

use std::path::Path;

use rusqlite::{Connection, params};

use crate::time::{Watch, per_second};

const GROUP: usize = 100;

pub(crate) fn run(path: &Path, jobs: usize) -> anyhow::Result<f64> {
    let mut conn = Connection::open(path)?;
    conn.query_row("PRAGMA journal_mode = WAL", [], |_| Ok(()))?;
    conn.pragma_update(None, "synchronous", "FULL")?;
    conn.execute_batch(
        "CREATE TABLE jobs (id INTEGER PRIMARY KEY AUTOINCREMENT, state TEXT NOT NULL,
             due INTEGER NOT NULL, payload BLOB NOT NULL);
         CREATE INDEX ready ON jobs (due, id) WHERE state = 'queued';",
    )?;
    let payload = vec![7u8; 96];
    let watch = Watch::begin();
    let mut left = jobs;
    while left > 0 {
        let group = left.min(GROUP);
        left -= group;
        let tx = conn.transaction()?;
        for n in 0..group {
            tx.prepare_cached("INSERT INTO jobs (state, due, payload) VALUES ('queued', ?1, ?2)")?
                .execute(params![n as i64, payload])?;
        }
        tx.commit()?;
        let tx = conn.transaction()?;
        let mut ids = Vec::with_capacity(group);
        {
            let mut next = tx.prepare_cached(
                "SELECT id, payload FROM jobs WHERE state = 'queued' AND due <= ?1
                 ORDER BY due, id LIMIT ?2",
            )?;
            let mut rows = next.query(params![i64::MAX, group as i64])?;
            while let Some(row) = rows.next()? {
                let _: Vec<u8> = row.get(1)?;
                ids.push(row.get::<_, i64>(0)?);
            }
        }
        for id in &ids {
            tx.prepare_cached("UPDATE jobs SET state = 'running' WHERE id = ?1")?
                .execute([id])?;
        }
        tx.commit()?;
        let tx = conn.transaction()?;
        for id in &ids {
            tx.prepare_cached("UPDATE jobs SET state = 'done' WHERE id = ?1")?
                .execute([id])?;
        }
        tx.commit()?;
    }
    Ok(per_second(jobs, watch.elapsed()))
}
