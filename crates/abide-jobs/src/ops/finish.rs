//! Writing down how a try ended.
//!
//! Only who holds the job's latest claim is heard (`token`): a worker that was taken for dead and
//! comes back changes nothing.

use std::collections::BTreeSet;

use abide::core::WallTime;

use super::submit::{NewJob, submit};
use crate::db::{Args, Db, Fault, Value};
use crate::record::{JobId, State};
use crate::results::StoredResult;

/// How a try ended, ready to be written.
#[derive(Clone, Debug)]
pub(crate) struct Finish {
    pub(crate) id: JobId,
    pub(crate) token: i64,
    pub(crate) state: State,
    pub(crate) due: WallTime,
    pub(crate) attempts: u32,
    pub(crate) deferrals: u32,
    pub(crate) in_a_row: u32,
    pub(crate) kills: u32,
    pub(crate) ended: Option<WallTime>,
    pub(crate) reason: Option<String>,
    pub(crate) hold: Option<String>,
    pub(crate) history: Option<String>,
    pub(crate) one_key: Option<String>,
    pub(crate) result: Option<StoredResult>,
    /// Who is told.
    pub(crate) webhook: Option<NewJob>,
}

const FINISH: &str = "UPDATE jobs SET state = ?3, ready = ?4, due = ?5, attempts = ?6, \
    deferrals = ?7, in_a_row = ?8, kills = ?9, ended = ?10, reason = ?11, hold = ?12, \
    history = ?13, intent = 0 WHERE id = ?1 AND token = ?2 AND state = 'running'";

const RESULT: &str = "INSERT INTO results (job, status, headers, body, file, size, expires) \
    VALUES (?1, ?2, ?3, ?4, ?5, ?6, ?7) ON CONFLICT (job) DO UPDATE SET status = excluded.status, \
    headers = excluded.headers, body = excluded.body, file = excluded.file, \
    size = excluded.size, expires = excluded.expires";

impl Finish {
    fn args(&self) -> Args {
        vec![
            self.id.0.into(),
            self.token.into(),
            self.state.as_str().into(),
            self.state.waits().into(),
            self.due.into(),
            self.attempts.into(),
            self.deferrals.into(),
            self.in_a_row.into(),
            self.kills.into(),
            self.ended.into(),
            self.reason.as_deref().into(),
            self.hold.as_deref().into(),
            self.history.as_deref().into(),
        ]
    }
}

/// Writes ends down; of each whether it was heard.
pub(crate) fn finish(db: &mut dyn Db, all: &[&Finish]) -> Result<Vec<bool>, Fault> {
    // In order, so that no two processes wait for each other.
    let keys: BTreeSet<&str> = all.iter().filter_map(|f| f.one_key.as_deref()).collect();
    for key in &keys {
        db.take(key, true)?;
    }
    let rows: Vec<Args> = all.iter().map(|f| f.args()).collect();
    let changed = db.execute_each(FINISH, &rows)?;
    let heard: Vec<bool> = changed.iter().map(|n| *n > 0).collect();
    let told = || all.iter().zip(&heard).filter(|(_, h)| **h).map(|(f, _)| *f);
    let results: Vec<Args> = told()
        .filter_map(|f| f.result.as_ref().map(|r| r.args(f.id)))
        .collect();
    if !results.is_empty() {
        db.execute_each(RESULT, &results)?;
    }
    let hooks: Vec<NewJob> = told().filter_map(|f| f.webhook.clone()).collect();
    if !hooks.is_empty() {
        submit(db, &hooks)?;
    }
    for key in keys {
        release(db, key)?;
    }
    Ok(heard)
}

/// Nobody of this key runs any more: one of those that stepped aside may be had again, one a lane,
/// since a lane may be closed and another open.
pub(crate) fn release(db: &mut dyn Db, key: &str) -> Result<(), Fault> {
    // As lanes are stepped through by a claim.
    const LANE: &str = "SELECT id, queue, lane FROM jobs \
        WHERE ready = 2 AND one_key = ?1 AND queue = ?2 AND lane > ?3 \
        ORDER BY lane, urgency, due, id LIMIT 1";
    const QUEUE: &str = "SELECT id, queue, lane FROM jobs \
        WHERE ready = 2 AND one_key = ?1 AND queue > ?2 \
        ORDER BY queue, lane, urgency, due, id LIMIT 1";
    let mut after = (String::new(), String::new());
    let mut any = false;
    loop {
        let args = vec![key.into(), after.0.as_str().into(), after.1.as_str().into()];
        let mut rows = db.query(LANE, args)?;
        if rows.is_empty() {
            rows = db.query(QUEUE, vec![key.into(), after.0.as_str().into()])?;
        }
        let Some(row) = rows.first() else { break };
        db.execute(
            "UPDATE jobs SET ready = 1 WHERE id = ?1",
            vec![Value::Int(row.int(0)?)],
        )?;
        after = (row.text(1)?, row.text(2)?);
        any = true;
    }
    match any {
        true => db.tell(),
        false => Ok(()),
    }
}
