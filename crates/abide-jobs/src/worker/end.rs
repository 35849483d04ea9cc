//! How a try ended, as its worker sees it, and what is written down of it.
//!
//! What becomes of the job is the core's decision ([`abide::core::defer`]); here is what it is told
//! and what people read. A deferral is no failure: it is logged at INFO, and counted under a name of
//! its own.

use abide::TurnedAway;
use abide::core::defer::{DeferPolicy, Ended, Fate, Spent, Standing};
use abide::core::{Verdict, WallTime};

use crate::ops::finish::Finish;
use crate::record::{Job, State, history};
use crate::results::JobResult;

/// How a try ended.
#[derive(Debug)]
pub(crate) struct Came {
    pub(crate) ended: Ended,
    /// Why, for people.
    pub(crate) why: Option<String>,
    /// The hold behind it.
    pub(crate) hold: Option<String>,
    pub(crate) result: Option<JobResult>,
}

impl Came {
    pub(crate) const fn done(result: Option<JobResult>) -> Self {
        Self {
            ended: Ended::Done,
            why: None,
            hold: None,
            result,
        }
    }

    pub(crate) fn of(ended: Ended, why: impl Into<String>) -> Self {
        Self {
            ended,
            why: Some(why.into()),
            hold: None,
            result: None,
        }
    }

    pub(crate) fn failed(why: impl Into<String>) -> Self {
        Self::of(Ended::Failed, why)
    }

    pub(crate) fn retry(why: impl Into<String>) -> Self {
        Self::of(Ended::Retry, why)
    }

    /// What a call that came to nothing means for its job: a refusal puts it off.
    pub(crate) fn of_turned(turned: &TurnedAway) -> Self {
        let refusal = &turned.refusal;
        let until = turned.retry_at();
        let refused = refusal.cause.is_some_and(Verdict::is_refusal) || refusal.ask.is_some();
        let ended = match refusal.attempts {
            _ if !refusal.is_retryable() => Ended::Failed,
            0 => Ended::TurnedAway { until },
            _ if refused => Ended::Refused { until },
            _ => Ended::Retry,
        };
        Self::of(ended, turned.to_string())
    }

    /// What the error of a handler means: a refusal of abide's, wherever in it, puts the job off.
    pub(crate) fn of_error(error: &(dyn std::error::Error + 'static)) -> Self {
        let mut next = Some(error);
        while let Some(e) = next {
            let turned = e
                .downcast_ref::<TurnedAway>()
                .or_else(|| e.downcast_ref::<abide::Error>()?.turned());
            if let Some(turned) = turned {
                return Self::of_turned(turned);
            }
            next = e.source();
        }
        Self::retry(error.to_string())
    }
}

/// What a job is known to stand like when a try of it ends.
pub(crate) const fn standing(job: &Job, progressed: bool) -> Standing {
    Standing {
        attempts: job.attempts,
        in_a_row: job.in_a_row,
        progressed,
        created: job.since,
        deadline: job.deadline,
    }
}

/// What is written down of an end.
pub(crate) fn write(
    job: &Job,
    policy: &DeferPolicy,
    progressed: bool,
    came: &Came,
    (now, dice): (WallTime, f64),
) -> Finish {
    let standing = standing(job, progressed);
    let fate = policy.decide(now, &standing, came.ended, dice);
    let why = came.why.clone().unwrap_or_default();
    let mut end = unchanged(job);
    end.in_a_row = DeferPolicy::row(&standing, false);
    match fate {
        Fate::Done => {
            end.state = State::Done;
            end.ended = Some(now);
            count(job, "done");
        }
        Fate::Again(at) => {
            end.state = State::Queued;
            end.due = at;
            let line = format!("attempt {} came to nothing: {why}", job.attempts);
            end.history = Some(history::with(&job.history, now, &line));
            tracing::info!(job = job.id.0, attempts = job.attempts, why, again = %at, "again");
            end.reason = Some(why);
            count(job, "retried");
        }
        Fate::PutOff { at, counted } => {
            end.state = State::Deferred;
            end.due = at;
            // What was put off has used no attempt up.
            end.attempts = job.attempts.saturating_sub(1);
            end.deferrals = job.deferrals.saturating_add(1);
            end.in_a_row = DeferPolicy::row(&standing, counted);
            end.hold = came.hold.clone();
            let line = format!("put off until {at}: {why}");
            end.history = Some(history::with(&job.history, now, &line));
            tracing::info!(
                job = job.id.0,
                provider = job.provider.as_deref(),
                until = %at,
                in_a_row = end.in_a_row,
                why,
                "deferred"
            );
            end.reason = Some(why);
            count(job, "deferred");
        }
        Fate::Failed(spent) => {
            end.state = State::Failed;
            end.ended = Some(now);
            let why = failure(spent, policy, job, why);
            end.history = Some(history::with(&job.history, now, &format!("failed: {why}")));
            tracing::warn!(job = job.id.0, kind = job.kind, why, "a job failed");
            end.reason = Some(why);
            count(job, "failed");
        }
    }
    end
}

/// The job as it was, to be changed.
pub(crate) fn unchanged(job: &Job) -> Finish {
    Finish {
        id: job.id,
        token: job.token,
        state: job.state,
        due: job.due,
        attempts: job.attempts,
        deferrals: job.deferrals,
        in_a_row: job.in_a_row,
        kills: job.kills,
        ended: None,
        reason: None,
        hold: None,
        history: (!job.history.is_empty()).then(|| job.history.join("\n")),
        one_key: job.one_key.clone(),
        result: None,
        webhook: None,
    }
}

fn failure(spent: Spent, policy: &DeferPolicy, job: &Job, why: String) -> String {
    match spent {
        Spent::Itself => why,
        Spent::Attempts => format!("{} attempts came to nothing: {why}", job.attempts),
        Spent::Deferrals => format!(
            "put off {} times in a row (defer.in_a_row): {why}",
            policy.in_a_row
        ),
        Spent::Ask(at) => format!(
            "asked to come back at {at}, later than {} h from now (defer.ceiling): {why}",
            policy.ceiling.as_secs_f64() / 3600.0
        ),
        Spent::Age => format!("too old to come back (defer.max_age, or its deadline): {why}"),
        other => format!("{}: {why}", other.as_str()),
    }
}

#[cfg(feature = "metrics")]
pub(crate) fn count(job: &Job, result: &'static str) {
    let queue = job.queue.clone();
    metrics::counter!("abide.jobs", "queue" => queue, "result" => result).increment(1);
}

#[cfg(not(feature = "metrics"))]
pub(crate) const fn count(_: &Job, _: &'static str) {}
