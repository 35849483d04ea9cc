//! Looking at jobs.

use abide::core::WallTime;
use serde::Serialize;

use crate::db::{Db, Fault, Value};
use crate::record::{COLUMNS, Job, JobId, SHOWN, State};
use crate::results::StoredResult;

/// Which jobs are listed.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
#[non_exhaustive]
pub struct Filter {
    /// Those in this state.
    pub state: Option<State>,
    /// Those of this queue.
    pub queue: Option<String>,
    /// Those that ask this provider.
    pub provider: Option<String>,
    /// Those of this class.
    pub class: Option<String>,
    /// Those submitted before this one.
    pub before: Option<JobId>,
    /// So many at most, the youngest first; 100 where nothing is said.
    pub most: Option<u32>,
}

/// How many jobs of a queue stand how.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
pub struct Count {
    /// The queue.
    pub queue: String,
    /// How they stand.
    pub state: State,
    /// How many.
    pub jobs: u64,
}

/// A queue of which nothing is begun.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Paused {
    /// The queue.
    pub queue: String,
    /// Until then; `None` until a person says so.
    pub until: Option<WallTime>,
    /// Why.
    pub reason: Option<String>,
}

/// A page of a listing where nothing is said of its length: what fits on a screen twice.
const PAGE: u32 = 100;

pub(crate) fn get(db: &mut dyn Db, id: JobId, whole: bool) -> Result<Option<Job>, Fault> {
    let columns = if whole { COLUMNS } else { SHOWN };
    let sql = format!("SELECT {columns} FROM jobs WHERE id = ?1");
    let rows = db.query(&sql, vec![id.0.into()])?;
    rows.first().map(Job::read).transpose()
}

pub(crate) fn list(db: &mut dyn Db, filter: &Filter) -> Result<Vec<Job>, Fault> {
    let mut wanted = vec!["id < ?1".to_owned()];
    let before = filter.before.map_or(i64::MAX, |id| id.0);
    let mut args = vec![Value::Int(before)];
    let told = [
        ("state", filter.state.map(|s| s.as_str().to_owned())),
        ("queue", filter.queue.clone()),
        ("provider", filter.provider.clone()),
        ("class", filter.class.clone()),
    ];
    for (column, value) in told {
        if let Some(value) = value {
            args.push(value.into());
            wanted.push(format!("{column} = ?{}", args.len()));
        }
    }
    args.push(Value::Int(i64::from(filter.most.unwrap_or(PAGE))));
    let sql = format!(
        "SELECT {SHOWN} FROM jobs WHERE {} ORDER BY id DESC LIMIT ?{}",
        wanted.join(" AND "),
        args.len()
    );
    db.query(&sql, args)?.iter().map(Job::read).collect()
}

pub(crate) fn counts(db: &mut dyn Db) -> Result<Vec<Count>, Fault> {
    let sql = "SELECT queue, state, count(*) FROM jobs GROUP BY queue, state ORDER BY queue, state";
    let rows = db.query(sql, Vec::new())?;
    let count = |row: &crate::db::Row| {
        Ok(Count {
            queue: row.text(0)?,
            state: row.text(1)?.parse().map_err(Fault::Damaged)?,
            jobs: row.int(2)?.max(0).unsigned_abs(),
        })
    };
    rows.iter().map(count).collect()
}

pub(crate) fn paused(db: &mut dyn Db) -> Result<Vec<Paused>, Fault> {
    let sql = "SELECT name, paused_until, reason FROM queues WHERE paused_until IS NOT NULL \
        ORDER BY name";
    let rows = db.query(sql, Vec::new())?;
    let read = |row: &crate::db::Row| {
        Ok(Paused {
            queue: row.text(0)?,
            until: Some(row.time(1)?).filter(|t| *t < WallTime::MAX),
            reason: row.opt_text(2)?,
        })
    };
    rows.iter().map(read).collect()
}

pub(crate) fn result(db: &mut dyn Db, id: JobId) -> Result<Option<StoredResult>, Fault> {
    let sql = "SELECT status, headers, body, file, size, expires FROM results WHERE job = ?1";
    let rows = db.query(sql, vec![id.0.into()])?;
    rows.first().map(StoredResult::read).transpose()
}

/// The first job of a lane, whole.
pub(crate) fn first(db: &mut dyn Db, lane: &super::plan::Lane) -> Result<Option<Job>, Fault> {
    let sql = format!(
        "SELECT {COLUMNS} FROM jobs WHERE ready = 1 AND queue = ?1 AND lane = ?2 AND urgency = ?3 \
         ORDER BY due, id LIMIT 1"
    );
    let args = vec![
        lane.queue.as_str().into(),
        lane.name.as_str().into(),
        Value::Int(lane.urgency),
    ];
    db.query(&sql, args)?.first().map(Job::read).transpose()
}
