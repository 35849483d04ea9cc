//! Taking jobs in.

use crate::db::{Args, Db, Fault};
use crate::record::JobId;

/// A job, ready to be written.
#[derive(Clone, Debug)]
pub(crate) struct NewJob {
    /// The values of [`INSERT`], in its order.
    pub(crate) args: Args,
    pub(crate) unique_key: Option<String>,
}

/// What became of a job that was submitted.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub struct Submitted {
    /// Its number; that of the one which has its key already.
    pub id: JobId,
    /// It is a new one.
    pub fresh: bool,
}

const INSERT: &str = "INSERT INTO jobs (state, ready, queue, lane, urgency, due, provider, class, \
    kind, title, writes, unique_key, one_key, created, since, deadline, webhook, keep, input) VALUES ('queued', 1, ?1, ?2, ?3, ?4, \
    ?5, ?6, ?7, ?8, ?9, ?10, ?11, ?12, ?13, ?14, ?15, ?16, ?17) \
    ON CONFLICT (unique_key) WHERE unique_key IS NOT NULL DO NOTHING RETURNING id";

/// Writes jobs down; one whose key is taken is not written.
pub(crate) fn submit(db: &mut dyn Db, jobs: &[NewJob]) -> Result<Vec<Submitted>, Fault> {
    let rows: Vec<Args> = jobs.iter().map(|j| j.args.clone()).collect();
    let made = db.query_each(INSERT, &rows)?;
    let mut submitted = Vec::with_capacity(jobs.len());
    for (job, rows) in jobs.iter().zip(made) {
        submitted.push(match (rows.first(), &job.unique_key) {
            (Some(row), _) => Submitted {
                id: JobId(row.int(0)?),
                fresh: true,
            },
            (None, Some(key)) => Submitted {
                id: known(db, key)?,
                fresh: false,
            },
            (None, None) => return Err(Fault::Damaged("a job was not written".to_owned())),
        });
    }
    if submitted.iter().any(|s| s.fresh) {
        db.tell()?;
    }
    Ok(submitted)
}

fn known(db: &mut dyn Db, key: &str) -> Result<JobId, Fault> {
    let sql = "SELECT id FROM jobs WHERE unique_key = ?1";
    let rows = db.query(sql, vec![key.into()])?;
    // Purged between the two looks, by another process: the caller submits again.
    let gone = || Fault::Lost(format!("the job of the key {key:?} was just removed"));
    Ok(JobId(rows.first().ok_or_else(gone)?.int(0)?))
}
