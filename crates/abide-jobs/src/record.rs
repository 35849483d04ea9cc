//! A job as it stands: what is shown of it, and what its worker goes by.

use std::fmt;
use std::str::FromStr;

use abide::core::WallTime;
use serde::{Deserialize, Serialize, Serializer};

use crate::db::{Fault, Row};

/// Names a job in its queue, in the order of submission.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize)]
#[serde(transparent)]
pub struct JobId(pub i64);

impl fmt::Display for JobId {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        self.0.fmt(f)
    }
}

impl FromStr for JobId {
    type Err = std::num::ParseIntError;

    fn from_str(text: &str) -> Result<Self, Self::Err> {
        text.parse().map(Self)
    }
}

/// How a job stands.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, Serialize)]
#[serde(rename_all = "snake_case")]
#[non_exhaustive]
pub enum State {
    /// A person did not want it any more.
    Cancelled,
    /// It comes back when its provider asked for; that is no failure.
    Deferred,
    /// It did what it was to do.
    Done,
    /// It did not, and is not tried again.
    Failed,
    /// It waits for its turn, or for its time.
    Queued,
    /// A worker has it.
    Running,
}

impl State {
    /// All of them, in the order of a job's life.
    pub const ALL: [Self; 6] = [
        Self::Queued,
        Self::Running,
        Self::Deferred,
        Self::Done,
        Self::Failed,
        Self::Cancelled,
    ];

    /// The word used in output and stores.
    pub const fn as_str(self) -> &'static str {
        match self {
            Self::Cancelled => "cancelled",
            Self::Deferred => "deferred",
            Self::Done => "done",
            Self::Failed => "failed",
            Self::Queued => "queued",
            Self::Running => "running",
        }
    }

    /// Nothing more comes of it by itself.
    pub const fn is_over(self) -> bool {
        matches!(self, Self::Cancelled | Self::Done | Self::Failed)
    }

    /// It waits, for whatever.
    pub const fn waits(self) -> bool {
        matches!(self, Self::Queued | Self::Deferred)
    }
}

impl fmt::Display for State {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(self.as_str())
    }
}

impl FromStr for State {
    type Err = String;

    fn from_str(word: &str) -> Result<Self, Self::Err> {
        let found = Self::ALL.into_iter().find(|s| s.as_str() == word);
        found.ok_or_else(|| format!("{word:?} is no state of a job"))
    }
}

/// A job as it stands.
#[derive(Clone, Debug, PartialEq, Serialize)]
#[non_exhaustive]
pub struct Job {
    /// Its number.
    pub id: JobId,
    /// How it stands.
    pub state: State,
    /// Its queue.
    pub queue: String,
    /// Whom it asks, and as whose account: closed and opened together.
    pub lane: String,
    /// Whom it asks.
    pub provider: Option<String>,
    /// How urgent it is, as RFC 9218 counts: 0 first, 7 last.
    pub urgency: u8,
    /// Not before then. Of a deferred job, when it comes back.
    #[serde(serialize_with = "instant")]
    pub due: WallTime,
    /// Its class, by which it is treated.
    pub class: String,
    /// `http`, `webhook`, or the name of its handler.
    pub kind: String,
    /// What it is, for people: no secret is in it.
    pub title: String,
    /// Whether it changes something at its provider.
    pub writes: bool,
    /// No second one of that key.
    pub unique_key: Option<String>,
    /// One running at a time of that key.
    pub one_key: Option<String>,
    /// Tries that count, the one under way included.
    pub attempts: u32,
    /// How often it was put off, ever.
    pub deferrals: u32,
    /// How often since it last made progress.
    pub in_a_row: u32,
    /// How often its worker died with it.
    pub kills: u32,
    /// When it was submitted.
    #[serde(serialize_with = "instant")]
    pub created: WallTime,
    /// When its last try began.
    #[serde(serialize_with = "instants")]
    pub started: Option<WallTime>,
    /// When it was over.
    #[serde(serialize_with = "instants")]
    pub ended: Option<WallTime>,
    /// Of no use after that.
    #[serde(serialize_with = "instants")]
    pub deadline: Option<WallTime>,
    /// Why it stands so.
    pub reason: Option<String>,
    /// The hold that keeps it, where one is known.
    pub hold: Option<String>,
    /// What happened to it, the latest last; the oldest are dropped.
    pub history: Vec<String>,
    /// Who is told when it is over, without what is secret in it.
    pub webhook: Option<String>,
    /// The worker that has it, or had it last.
    pub worker: Option<String>,
    /// How far it got, as it says itself.
    #[serde(skip)]
    pub(crate) checkpoint: Option<Vec<u8>>,
    #[serde(skip)]
    pub(crate) input: Option<Vec<u8>>,
    /// Which claim this is: what an earlier one tells is not heard.
    #[serde(skip)]
    pub(crate) token: i64,
    #[serde(skip)]
    pub(crate) intent: bool,
    #[serde(skip)]
    pub(crate) beat: Option<WallTime>,
    /// How long its result is kept, in nanoseconds.
    #[serde(skip)]
    pub(crate) keep: Option<i64>,
    /// From when its age counts.
    #[serde(skip)]
    pub(crate) since: WallTime,
}

fn instant<S: Serializer>(at: &WallTime, to: S) -> Result<S::Ok, S::Error> {
    to.collect_str(at)
}

fn instants<S: Serializer>(at: &Option<WallTime>, to: S) -> Result<S::Ok, S::Error> {
    match at {
        Some(at) => to.collect_str(at),
        None => to.serialize_none(),
    }
}

/// The columns of a job, in the order in which [`Job::read`] reads them.
pub(crate) const COLUMNS: &str = "id, state, queue, lane, provider, urgency, due, class, kind, \
    title, writes, unique_key, one_key, attempts, deferrals, in_a_row, kills, created, started, \
    ended, deadline, reason, hold, history, webhook, worker, checkpoint, input, token, intent, \
    beat, keep, since";

/// The same without what only its worker needs, and which may be large.
pub(crate) const SHOWN: &str = "id, state, queue, lane, provider, urgency, due, class, kind, \
    title, writes, unique_key, one_key, attempts, deferrals, in_a_row, kills, created, started, \
    ended, deadline, reason, hold, history, webhook, worker, NULL, NULL, token, intent, beat, keep, \
    since";

impl Job {
    pub(crate) fn read(row: &Row) -> Result<Self, Fault> {
        let state = row.text(1)?;
        Ok(Self {
            id: JobId(row.int(0)?),
            state: state.parse().map_err(Fault::Damaged)?,
            queue: row.text(2)?,
            lane: row.text(3)?,
            provider: row.opt_text(4)?,
            urgency: u8::try_from(row.count(5)?.min(7)).unwrap_or(7),
            due: row.time(6)?,
            class: row.text(7)?,
            kind: row.text(8)?,
            title: row.text(9)?,
            writes: row.flag(10)?,
            unique_key: row.opt_text(11)?,
            one_key: row.opt_text(12)?,
            attempts: row.count(13)?,
            deferrals: row.count(14)?,
            in_a_row: row.count(15)?,
            kills: row.count(16)?,
            created: row.time(17)?,
            started: row.opt_time(18)?,
            ended: row.opt_time(19)?,
            deadline: row.opt_time(20)?,
            reason: row.opt_text(21)?,
            hold: row.opt_text(22)?,
            history: history::lines(row.opt_text(23)?.as_deref()),
            webhook: row.opt_text(24)?,
            worker: row.opt_text(25)?,
            checkpoint: row.opt_blob(26)?,
            input: row.opt_blob(27)?,
            token: row.int(28)?,
            intent: row.flag(29)?,
            beat: row.opt_time(30)?,
            keep: row.opt_int(31)?,
            since: row.time(32)?,
        })
    }
}

/// What happened to a job, a line each.
pub(crate) mod history {
    use abide::core::WallTime;

    /// The most lines kept: a job that was put off for a week is told by its last days.
    pub(crate) const MOST: usize = 20;

    pub(crate) fn lines(text: Option<&str>) -> Vec<String> {
        text.map(|t| t.lines().map(str::to_owned).collect())
            .unwrap_or_default()
    }

    /// The lines with one more at the end, as they are stored.
    pub(crate) fn with(lines: &[String], at: WallTime, what: &str) -> String {
        let first = (lines.len() + 1).saturating_sub(MOST);
        let mut text = lines.get(first..).unwrap_or_default().join("\n");
        if !text.is_empty() {
            text.push('\n');
        }
        let what = what.replace(['\n', '\r'], " ");
        text.push_str(&format!("{at} {what}"));
        text
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_history_is_bounded_and_keeps_the_latest() {
        let mut lines = Vec::new();
        for n in 0..50 {
            let text = history::with(&lines, WallTime::from_unix_secs(n), &format!("line\n{n}"));
            lines = history::lines(Some(&text));
        }
        assert_eq!(lines.len(), history::MOST);
        assert!(lines[19].ends_with("line 49"), "{:?}", lines[19]);
    }

    #[test]
    fn states_are_words() {
        for state in State::ALL {
            assert_eq!(state.to_string().parse(), Ok(state));
        }
    }
}
