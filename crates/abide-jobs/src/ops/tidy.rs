//! Forgetting what is over, a piece at a time, so that nobody waits long for it.

use abide::core::WallTime;

use crate::db::{Db, Fault, Value};
use crate::record::State;

/// Rows that go in one transaction.
const PIECE: i64 = 500;

/// What went.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub(crate) struct Gone {
    pub(crate) jobs: u64,
    pub(crate) results: u64,
    /// Files of results that are to be removed.
    pub(crate) files: Vec<String>,
    /// There may be more.
    pub(crate) more: bool,
}

/// Forgets jobs of a state that were over before then, and their results.
pub(crate) fn jobs(db: &mut dyn Db, state: State, before: WallTime) -> Result<Gone, Fault> {
    let sql = "SELECT id FROM jobs WHERE ended IS NOT NULL AND ended < ?1 AND state = ?2 \
        ORDER BY ended LIMIT ?3";
    let args = vec![before.into(), state.as_str().into(), Value::Int(PIECE)];
    let rows = db.query(sql, args)?;
    let ids: Vec<Vec<Value>> = rows
        .iter()
        .map(|r| Ok(vec![Value::Int(r.int(0)?)]))
        .collect::<Result<_, Fault>>()?;
    let mut gone = results_of(db, &ids)?;
    let deleted = db.execute_each("DELETE FROM jobs WHERE id = ?1", &ids)?;
    gone.jobs = deleted.iter().sum();
    gone.more = ids.len() as i64 == PIECE;
    Ok(gone)
}

/// Forgets results whose time is over.
pub(crate) fn results(db: &mut dyn Db, now: WallTime) -> Result<Gone, Fault> {
    let sql = "SELECT job FROM results WHERE expires < ?1 ORDER BY expires LIMIT ?2";
    let rows = db.query(sql, vec![now.into(), Value::Int(PIECE)])?;
    let ids: Vec<Vec<Value>> = rows
        .iter()
        .map(|r| Ok(vec![Value::Int(r.int(0)?)]))
        .collect::<Result<_, Fault>>()?;
    let mut gone = results_of(db, &ids)?;
    gone.more = ids.len() as i64 == PIECE;
    Ok(gone)
}

fn results_of(db: &mut dyn Db, ids: &[Vec<Value>]) -> Result<Gone, Fault> {
    let mut gone = Gone::default();
    let removed = db.query_each("DELETE FROM results WHERE job = ?1 RETURNING file", ids)?;
    for row in removed.iter().flatten() {
        gone.results += 1;
        gone.files.extend(row.opt_text(0)?);
    }
    Ok(gone)
}
