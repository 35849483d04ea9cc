//! Records of gates: as the server keeps them, and as they are told.

use std::time::Duration;

use ::redis::Cmd;
use abide_core::WallTime;
use abide_core::hold::HoldId;
use abide_core::time::nanos;

use super::offset::moved;
use crate::kept::Kept;
use crate::{StoredHold, words};

/// The fields of a record, in the order in which it is told.
pub(super) const FIELDS: [&str; 8] = [
    "scope", "rung", "interval", "learned", "failures", "ok", "holds", "counts",
];

/// Adds a word to what a script is told; `offset` leads from its clock to the server's.
///
/// Ends of counts are boundaries of a calendar, which is no clock's affair: they stay as they are.
pub(super) fn tell(call: &mut Cmd, word: &Kept, offset: i64) {
    let wall = |at: WallTime| moved(at, offset).as_unix_nanos();
    let flag = |on: bool| if on { "1" } else { "0" };
    call.arg(word.scope.as_str())
        .arg(word.rung.map_or_else(String::new, |r| r.to_string()))
        .arg(
            word.interval
                .map_or_else(String::new, |i| nanos(i).to_string()),
        )
        .arg(word.learned.map_or_else(String::new, |l| l.to_text()))
        .arg(word.failures)
        .arg(
            word.last_success
                .map_or_else(String::new, |t| wall(t).to_string()),
        )
        .arg(word.holds.len());
    for h in &word.holds {
        call.arg(format!("{:016x}", h.id.0))
            .arg(h.cause.as_str())
            .arg(wall(h.until))
            .arg(h.ask.map_or_else(String::new, |a| wall(a.0).to_string()))
            .arg(h.ask.map_or("", |a| a.1.as_str()))
            .arg(wall(h.since))
            .arg(flag(h.probes))
            .arg(flag(h.lifted));
    }
    call.arg(word.counts.len());
    for (window, used, end) in &word.counts {
        call.arg(*window).arg(*used).arg(end.as_unix_nanos());
    }
}

/// Reads a record as it is told; `None` where it makes no sense.
pub(super) fn read(told: &str, offset: i64) -> Option<Kept> {
    let fields: Vec<&str> = told.split('\n').collect();
    of_fields(&fields, offset)
}

/// Reads a record by its fields.
pub(super) fn of_fields(fields: &[&str], offset: i64) -> Option<Kept> {
    let &[scope, rung, interval, learned, failures, ok, holds, counts] = fields else {
        return None;
    };
    let wall = |at: &str| Some(moved(WallTime::from_unix_nanos(at.parse().ok()?), -offset));
    let holds: Option<Vec<_>> = holds.split_whitespace().map(|h| hold(h, offset)).collect();
    let counts: Option<Vec<_>> = counts.split_whitespace().map(count).collect();
    Some(Kept {
        scope: words::scope(scope)?,
        rung: some(rung, |r| r.parse().ok())?,
        interval: some(interval, |i| Some(Duration::from_nanos(i.parse().ok()?)))?,
        // What cannot be read any more is learned anew.
        learned: learned.parse().ok(),
        failures: failures.parse().ok()?,
        last_success: some(ok, wall)?,
        counts: counts?,
        holds: holds?,
        revision: 0,
    })
}

fn hold(text: &str, offset: i64) -> Option<StoredHold> {
    let fields: Vec<&str> = text.split(':').collect();
    let &[id, cause, until, ask, source, since, probes, lifted] = fields.as_slice() else {
        return None;
    };
    let wall = |at: &str| Some(moved(WallTime::from_unix_nanos(at.parse().ok()?), -offset));
    Some(StoredHold {
        id: HoldId(u64::from_str_radix(id, 16).ok()?),
        cause: words::verdict(cause)?,
        until: wall(until)?,
        ask: some(ask, |at| Some((wall(at)?, words::source(source)?)))?,
        since: wall(since)?,
        probes: probes == "1",
        lifted: lifted == "1",
    })
}

fn count(text: &str) -> Option<(u8, u64, WallTime)> {
    let mut parts = text.split(':');
    let window = parts.next()?.parse().ok()?;
    let used = parts.next()?.parse().ok()?;
    let end = WallTime::from_unix_nanos(parts.next()?.parse().ok()?);
    Some((window, used, end))
}

/// Nothing where the text is empty; `None` where it makes no sense.
fn some<T>(text: &str, read: impl FnOnce(&str) -> Option<T>) -> Option<Option<T>> {
    match text {
        "" => Some(None),
        text => read(text).map(Some),
    }
}

/// What was published: by whom, the gate's name, its provider, and its record.
pub(super) fn news(message: &str) -> Option<(u64, &str, &str, &str)> {
    let mut parts = message.splitn(4, '\n');
    let who = parts.next()?.parse().ok()?;
    Some((who, parts.next()?, parts.next()?, parts.next()?))
}
