//! What a person does to jobs and queues.

use abide::core::WallTime;

use super::finish::release;
use super::submit::{NewJob, submit};
use crate::db::{Db, Fault, Value};
use crate::record::{Job, JobId, SHOWN, State, history};

/// What is to be done to a job.
#[derive(Clone, Debug)]
pub(crate) enum Act {
    /// It is not wanted any more; who is to be told is told.
    Cancel(Option<NewJob>),
    /// Its deferral, or its time, is waited for no longer.
    RunNow,
    /// It is over, and is tried again from the beginning of its counts.
    Retry,
    /// It is more or less urgent than it was.
    Prioritise(u8),
}

/// Why it was not done.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Denied {
    NoSuchJob,
    NotNow(State, &'static str),
}

impl Act {
    const fn word(&self) -> &'static str {
        match self {
            Self::Cancel(_) => "cancelled",
            Self::RunNow => "run now",
            Self::Retry => "retried",
            Self::Prioritise(_) => "made more or less urgent",
        }
    }

    const fn fits(&self, state: State) -> bool {
        match self {
            Self::Cancel(_) | Self::Prioritise(_) => !state.is_over(),
            Self::RunNow => state.waits(),
            Self::Retry => matches!(state, State::Failed | State::Cancelled),
        }
    }
}

/// Does it, where the job's state allows it.
pub(crate) fn act(
    db: &mut dyn Db,
    id: JobId,
    act: &Act,
    now: WallTime,
) -> Result<Result<Job, Denied>, Fault> {
    let Some(job) = one(db, id)? else {
        return Ok(Err(Denied::NoSuchJob));
    };
    if !act.fits(job.state) {
        return Ok(Err(Denied::NotNow(job.state, act.word())));
    }
    if let Some(key) = &job.one_key {
        db.take(key, true)?;
    }
    let mut args: Vec<Value> = vec![id.0.into()];
    let sql = match act {
        Act::Cancel(hook) => {
            if let Some(hook) = hook {
                submit(db, std::slice::from_ref(hook))?;
            }
            let text = history::with(&job.history, now, "cancelled by a person");
            args.extend([Value::from(now), Value::from(text)]);
            "UPDATE jobs SET state = 'cancelled', ready = 0, ended = ?2, history = ?3, \
             token = token + 1, reason = 'cancelled by a person' WHERE id = ?1"
        }
        Act::RunNow => {
            let text = history::with(&job.history, now, "run now, by a person");
            args.extend([Value::from(now), Value::from(text)]);
            "UPDATE jobs SET state = 'queued', due = ?2, history = ?3, in_a_row = 0, \
             reason = NULL, hold = NULL \
             WHERE id = ?1 AND state IN ('queued', 'deferred')"
        }
        Act::Retry => {
            let text = history::with(&job.history, now, "retried by a person");
            args.extend([Value::from(now), Value::from(text)]);
            "UPDATE jobs SET state = 'queued', ready = 1, due = ?2, since = ?2, history = ?3, \
             attempts = 0, in_a_row = 0, kills = 0, ended = NULL, deadline = NULL, \
             intent = 0, reason = NULL, hold = NULL, token = token + 1 \
             WHERE id = ?1 AND state IN ('failed', 'cancelled')"
        }
        Act::Prioritise(urgency) => {
            args.push((*urgency).into());
            "UPDATE jobs SET urgency = ?2 WHERE id = ?1"
        }
    };
    db.execute(sql, args)?;
    if let (Act::Cancel(_), Some(key)) = (act, &job.one_key) {
        release(db, key)?;
    }
    db.tell()?;
    let job = one(db, id)?;
    Ok(job.ok_or(Denied::NoSuchJob))
}

/// One job, as it is shown.
fn one(db: &mut dyn Db, id: JobId) -> Result<Option<Job>, Fault> {
    let sql = format!("SELECT {SHOWN} FROM jobs WHERE id = ?1");
    let rows = db.query(&sql, vec![id.0.into()])?;
    rows.first().map(Job::read).transpose()
}

/// Nothing of a queue is begun until then.
pub(crate) fn pause(
    db: &mut dyn Db,
    queue: &str,
    until: WallTime,
    reason: Option<&str>,
) -> Result<(), Fault> {
    let sql = "INSERT INTO queues (name, paused_until, reason) VALUES (?1, ?2, ?3) \
        ON CONFLICT (name) DO UPDATE SET paused_until = excluded.paused_until, \
        reason = excluded.reason";
    db.execute(sql, vec![queue.into(), until.into(), reason.into()])?;
    Ok(())
}

/// A queue goes on; whether it stood.
pub(crate) fn resume(db: &mut dyn Db, queue: &str) -> Result<bool, Fault> {
    let gone = db.execute("DELETE FROM queues WHERE name = ?1", vec![queue.into()])?;
    db.tell()?;
    Ok(gone > 0)
}
