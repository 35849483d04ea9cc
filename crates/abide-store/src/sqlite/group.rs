//! One transaction of the writer: words about gates and jobs together.

use rusqlite::{Connection, TransactionBehavior};

use super::fault::Fault;
use super::gates;
use super::message::{Job, Word, Words, Work};
use crate::{StoreError, StoreKey};

/// Writes one group. When the words cannot be written they come back, and the jobs, which have
/// somebody waiting, are tried without them.
pub(super) fn round(
    conn: &mut Connection,
    me: i64,
    words: Words,
    jobs: Vec<Job>,
    path: &str,
) -> Result<(), (Words, StoreError)> {
    match commit(conn, me, &words, jobs, path) {
        Ok(()) => Ok(()),
        Err((jobs, e)) => {
            if !jobs.is_empty() {
                // Without words the jobs have all been answered.
                let _ = commit(conn, me, &[], jobs, path);
            }
            Err((words, e))
        }
    }
}

/// One transaction. Fails only for the words; jobs that were not tried come back.
fn commit(
    conn: &mut Connection,
    me: i64,
    words: &[(StoreKey, Word)],
    jobs: Vec<Job>,
    path: &str,
) -> Result<(), (Vec<Job>, StoreError)> {
    let tx = match conn.transaction_with_behavior(TransactionBehavior::Immediate) {
        Ok(tx) => tx,
        Err(e) => return refuse(words, jobs, Fault::from(e).about(path)),
    };
    let written = words
        .iter()
        .try_for_each(|(key, word)| gates::write(&tx, me, key, word));
    if let Err(e) = written {
        return Err((jobs, e.about(path)));
    }
    let mut done = Vec::with_capacity(jobs.len());
    for job in jobs {
        match in_savepoint(&tx, job.work) {
            Ok(()) => done.push(job.reply),
            Err(e) => (job.reply)(Err(e.about(path))),
        }
    }
    let result = tx.commit().map_err(|e| Fault::from(e).about(path));
    done.into_iter().for_each(|reply| reply(result.clone()));
    result.map_err(|e| (Vec::new(), e))
}

fn refuse(
    words: &[(StoreKey, Word)],
    jobs: Vec<Job>,
    e: StoreError,
) -> Result<(), (Vec<Job>, StoreError)> {
    jobs.into_iter().for_each(|j| (j.reply)(Err(e.clone())));
    if words.is_empty() {
        return Ok(());
    }
    Err((Vec::new(), e))
}

/// A job alone in its transaction inside the transaction.
fn in_savepoint(conn: &Connection, work: Work) -> Result<(), Fault> {
    conn.prepare_cached("SAVEPOINT job")?.execute([])?;
    let result = work(conn);
    if result.is_err() {
        // Where a full disk has already rolled everything back there is no savepoint any more.
        let _ = conn.execute_batch("ROLLBACK TO job");
    }
    if let Err(e) = conn.prepare_cached("RELEASE job")?.execute([]) {
        result?;
        return Err(e.into());
    }
    result
}
