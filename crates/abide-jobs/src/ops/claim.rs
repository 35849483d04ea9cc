//! Giving jobs to a worker.
//!
//! Closed lanes are passed by **before** the fetch: the claim is told which they are, steps over
//! them with one look each, and tells when the first of them opens. Of the open ones it takes what
//! is due.
//!
//! Of jobs with one key (`one_key`) one runs at a time. One that is met while another of its key
//! runs steps aside (`ready = 2`), out of the way of later claims, until that one is over or put
//! off; so each is met once, however many there are.

use std::collections::HashMap;

use abide::core::WallTime;

use super::plan::{Lane, plan};
use crate::db::{Args, Db, Fault, Value};
use crate::record::{COLUMNS, Job};

/// What a worker asks for.
#[derive(Clone, Debug, Default)]
pub(crate) struct Ask {
    /// From these queues; from all where none is named.
    pub(crate) queues: Vec<String>,
    pub(crate) most: usize,
    /// Gates and providers of whose lanes nothing is taken, and until when.
    pub(crate) closed: HashMap<String, WallTime>,
    pub(crate) worker: String,
    pub(crate) now: WallTime,
    /// Jobs claimed so far, for the turns of lanes.
    pub(crate) turn: u64,
}

/// What it gets.
#[derive(Debug, Default)]
pub(crate) struct Claimed {
    pub(crate) jobs: Vec<Job>,
    /// When something may be had that is not to be had now, as far as is known.
    pub(crate) next: Option<WallTime>,
}

/// Rows looked at in one go while their keys are taken: each is met once, so a claim that meets
/// many goes on with the next.
const ROUNDS: usize = 8;

/// The lane after another one: more urgent jobs first, then the next name, then the next queue. A
/// look each, whatever stands between; one look for all three would pass over every job of the
/// lane it comes from.
const AFTER: [&str; 3] = [
    "SELECT queue, lane, urgency, due FROM jobs \
     WHERE ready = 1 AND queue = ?1 AND lane = ?2 AND urgency > ?3 \
     ORDER BY urgency, due, id LIMIT 1",
    "SELECT queue, lane, urgency, due FROM jobs \
     WHERE ready = 1 AND queue = ?1 AND lane > ?2 \
     ORDER BY lane, urgency, due, id LIMIT 1",
    "SELECT queue, lane, urgency, due FROM jobs WHERE ready = 1 AND queue > ?1 \
     ORDER BY queue, lane, urgency, due, id LIMIT 1",
];

const START: &str = "UPDATE jobs SET state = 'running', ready = 0, token = ?2, worker = ?3, \
    beat = ?4, started = ?4, attempts = attempts + 1, intent = 0, reason = NULL, hold = NULL \
    WHERE id = ?1";

const ASIDE: &str = "UPDATE jobs SET ready = 2 WHERE id = ?1";

/// Claims what is due, up to as many as are wanted.
pub(crate) fn claim(db: &mut dyn Db, ask: &Ask) -> Result<Claimed, Fault> {
    let paused = paused(db)?;
    let mut claimed = Claimed::default();
    let mut open = Vec::new();
    for lane in lanes(db)? {
        if !ask.queues.is_empty() && !ask.queues.contains(&lane.queue) {
            continue;
        }
        let pause = paused.get(&lane.queue).filter(|until| **until > ask.now);
        let names = [gate_of(&lane.name), provider_of(&lane.name)];
        let closed = names.iter().filter_map(|name| ask.closed.get(*name));
        let from = pause.into_iter().chain(closed).copied().max();
        match from.map_or(lane.due, |from| from.max(lane.due)) {
            at if at > ask.now => soonest(&mut claimed.next, at),
            _ => open.push(lane),
        }
    }
    let mut left = ask.most;
    for (lane, most) in plan(&open, ask.most, ask.turn) {
        if left == 0 {
            break;
        }
        let got = take(db, ask, &open[lane], most.min(left))?;
        left -= got.len();
        claimed.jobs.extend(got);
    }
    Ok(claimed)
}

/// The gate by which a lane is closed and opened: whom it asks and as whose account, whoever's
/// turn it is within that.
pub(crate) fn gate_of(lane: &str) -> &str {
    lane.split_once(" ~").map_or(lane, |(gate, _)| gate)
}

/// Whom a lane asks. No provider has a blank in its name.
pub(crate) fn provider_of(lane: &str) -> &str {
    lane.split_once(' ').map_or(lane, |(provider, _)| provider)
}

fn soonest(next: &mut Option<WallTime>, at: WallTime) {
    if at < WallTime::MAX {
        *next = Some(next.map_or(at, |next| next.min(at)));
    }
}

/// Every lane with jobs that wait, with the first of them.
pub(crate) fn lanes(db: &mut dyn Db) -> Result<Vec<Lane>, Fault> {
    let mut lanes: Vec<Lane> = Vec::new();
    while let Some(lane) = after(db, lanes.last())? {
        lanes.push(lane);
    }
    Ok(lanes)
}

fn after(db: &mut dyn Db, last: Option<&Lane>) -> Result<Option<Lane>, Fault> {
    let [urgency, name, queue] = AFTER;
    let looks: Vec<(&str, Args)> = match last {
        None => vec![(queue, vec!["".into()])],
        Some(l) => vec![
            (
                urgency,
                vec![
                    l.queue.as_str().into(),
                    l.name.as_str().into(),
                    l.urgency.into(),
                ],
            ),
            (name, vec![l.queue.as_str().into(), l.name.as_str().into()]),
            (queue, vec![l.queue.as_str().into()]),
        ],
    };
    for (sql, args) in looks {
        if let Some(row) = db.query(sql, args)?.first() {
            return Ok(Some(Lane {
                queue: row.text(0)?,
                name: row.text(1)?,
                urgency: row.int(2)?,
                due: row.time(3)?,
            }));
        }
    }
    Ok(None)
}

fn paused(db: &mut dyn Db) -> Result<HashMap<String, WallTime>, Fault> {
    let sql = "SELECT name, paused_until FROM queues WHERE paused_until IS NOT NULL";
    let rows = db.query(sql, Vec::new())?;
    rows.iter().map(|r| Ok((r.text(0)?, r.time(1)?))).collect()
}

/// Takes up to `most` jobs of a lane.
fn take(db: &mut dyn Db, ask: &Ask, lane: &Lane, most: usize) -> Result<Vec<Job>, Fault> {
    let sql = format!(
        "SELECT {COLUMNS} FROM jobs \
         WHERE ready = 1 AND queue = ?1 AND lane = ?2 AND urgency = ?3 AND due <= ?4 \
         ORDER BY due, id LIMIT ?5{}",
        db.skip_locked()
    );
    let mut got: Vec<Job> = Vec::new();
    for _ in 0..ROUNDS {
        let left = most - got.len();
        let args = vec![
            lane.queue.as_str().into(),
            lane.name.as_str().into(),
            Value::Int(lane.urgency),
            ask.now.into(),
            Value::Int(i64::try_from(left).unwrap_or(i64::MAX)),
        ];
        let rows = db.query(&sql, args)?;
        let found = rows.len();
        let (mut start, mut aside): (Vec<Args>, Vec<Args>) = (Vec::new(), Vec::new());
        let before = got.len();
        for row in &rows {
            let mut job = Job::read(row)?;
            if let Some(key) = &job.one_key {
                match is_free(db, key, &got[before..])? {
                    Some(true) => {}
                    Some(false) => {
                        aside.push(vec![job.id.0.into()]);
                        continue;
                    }
                    // Another worker looks at this key just now.
                    None => continue,
                }
            }
            job.token += 1;
            job.attempts += 1;
            job.state = crate::State::Running;
            job.started = Some(ask.now);
            job.reason = None;
            job.hold = None;
            job.intent = false;
            job.worker = Some(ask.worker.clone());
            start.push(vec![
                job.id.0.into(),
                job.token.into(),
                ask.worker.as_str().into(),
                ask.now.into(),
            ]);
            got.push(job);
        }
        db.execute_each(START, &start)?;
        db.execute_each(ASIDE, &aside)?;
        if got.len() >= most || found < left || aside.is_empty() {
            break;
        }
    }
    Ok(got)
}

/// Whether no job of a key runs; `None` where that cannot be told now. `mine` are about to.
fn is_free(db: &mut dyn Db, key: &str, mine: &[Job]) -> Result<Option<bool>, Fault> {
    if mine.iter().any(|j| j.one_key.as_deref() == Some(key)) {
        return Ok(Some(false));
    }
    if !db.take(key, false)? {
        return Ok(None);
    }
    let sql =
        "SELECT id FROM jobs WHERE one_key IS NOT NULL AND state = 'running' AND one_key = ?1";
    Ok(Some(db.query(sql, vec![key.into()])?.is_empty()))
}
