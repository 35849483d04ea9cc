//! What becomes of a job when one try of it ends: done, failed, tried again, or put off.
//!
//! **Put off** is not **tried again**. A try that went wrong uses an attempt up and waits out a
//! backoff; a refusal says nothing about the job, so it costs no attempt and moves no backoff: the
//! job comes back when the provider asked for, at the floor at the earliest. What bounds it are
//! counts and times of its own: so many deferrals in a row (progress begins the row anew), the
//! ceiling on one ask, and the age of the job. Beyond any of them the job ends as failed, where
//! somebody sees it, and never quietly.
//!
//! Who was turned away **unsent** did not even ask: it is in the place of a job that nobody had
//! fetched, so it goes back to its place uncounted. Else a limit of one a minute would fail every
//! fourth job of a queue for standing in it.
//!
//! Time is wall time here, since jobs outlive processes. The present and the dice are arguments.

mod policy;

use std::time::Duration;

use crate::time::WallTime;

pub use policy::DeferPolicy;

/// What is known of a job when a try of it ends.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Standing {
    /// Tries that count, this one included.
    pub attempts: u32,
    /// Deferrals since the last progress.
    pub in_a_row: u32,
    /// Its checkpoint moved in this try.
    pub progressed: bool,
    /// When it was submitted.
    pub created: WallTime,
    /// Of no use after that.
    pub deadline: Option<WallTime>,
}

/// How one try ended.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub enum Ended {
    /// It did what it was to do.
    Done,
    /// It will never work.
    Failed,
    /// It did not work this time.
    Retry,
    /// The provider refused it, or its handler wants to go on later.
    Refused {
        /// When to come back, if anybody said.
        until: Option<WallTime>,
    },
    /// It was turned away before anything was sent.
    TurnedAway {
        /// When it could have been sent, if anybody knows.
        until: Option<WallTime>,
    },
}

/// What becomes of the job.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Fate {
    /// It is over, and well.
    Done,
    /// It is over.
    Failed(Spent),
    /// It is tried again then; the try counts.
    Again(WallTime),
    /// It comes back then; the try does not count.
    PutOff {
        /// Not before then.
        at: WallTime,
        /// Whether it is one more in the row.
        counted: bool,
    },
}

/// Why a job is over that did not work.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub enum Spent {
    /// It would come back after its deadline, or when it is too old.
    Age,
    /// The provider asked for more time than the ceiling.
    Ask(WallTime),
    /// Its attempts are used up.
    Attempts,
    /// It was put off too often in a row.
    Deferrals,
    /// It said itself that it will never work.
    Itself,
}

impl Spent {
    /// The word used in output and stores.
    pub const fn as_str(self) -> &'static str {
        match self {
            Self::Age => "too_old",
            Self::Ask(_) => "ask_beyond_ceiling",
            Self::Attempts => "attempts_spent",
            Self::Deferrals => "deferrals_spent",
            Self::Itself => "failed",
        }
    }
}

impl DeferPolicy {
    /// What becomes of a job whose try ended so. `dice` is thrown evenly in [0, 1).
    pub fn decide(&self, now: WallTime, job: &Standing, ended: Ended, dice: f64) -> Fate {
        match ended {
            Ended::Done => Fate::Done,
            Ended::Failed => Fate::Failed(Spent::Itself),
            Ended::Retry if job.attempts >= self.attempts => Fate::Failed(Spent::Attempts),
            Ended::Retry => {
                let at = now.after(self.backoff.wait(job.attempts.max(1), dice));
                match self.is_late(at, job) {
                    true => Fate::Failed(Spent::Age),
                    false => Fate::Again(at),
                }
            }
            Ended::TurnedAway { until } => {
                // Nobody asked for this wait: it is how long the way is.
                let at = until.map_or_else(|| now.after(self.floor), |t| t.max(now.after(TURN)));
                match self.too_long(now, at, job) {
                    Some(spent) => Fate::Failed(spent),
                    None => Fate::PutOff { at, counted: false },
                }
            }
            Ended::Refused { until } => {
                let floor = now.after(self.floor);
                let at = until.map_or(floor, |t| t.max(floor));
                let so_far = if job.progressed { 0 } else { job.in_a_row };
                if so_far >= self.in_a_row {
                    return Fate::Failed(Spent::Deferrals);
                }
                match self.too_long(now, at, job) {
                    Some(spent) => Fate::Failed(spent),
                    None => Fate::PutOff { at, counted: true },
                }
            }
        }
    }

    /// The deferrals in a row after one more.
    pub const fn row(job: &Standing, counted: bool) -> u32 {
        let so_far = if job.progressed { 0 } else { job.in_a_row };
        if counted {
            so_far.saturating_add(1)
        } else {
            so_far
        }
    }

    /// Whether a job that died with its worker so often is not given to another one.
    pub const fn is_poison(&self, kills: u32) -> bool {
        kills >= self.kills
    }

    /// Whether a job is not worth a start any more.
    pub fn is_late(&self, at: WallTime, job: &Standing) -> bool {
        let too_old = self.max_age.is_some_and(|age| at > job.created.after(age));
        too_old || job.deadline.is_some_and(|deadline| at > deadline)
    }

    fn too_long(&self, now: WallTime, at: WallTime, job: &Standing) -> Option<Spent> {
        if at > now.after(self.ceiling) {
            return Some(Spent::Ask(at));
        }
        self.is_late(at, job).then_some(Spent::Age)
    }
}

/// The shortest time for which a job that was turned away unsent is put back: shorter ones are not
/// worth being written down.
const TURN: Duration = Duration::from_millis(100);

#[cfg(test)]
mod tests;
