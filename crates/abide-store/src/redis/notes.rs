//! What persons said of holds.

use std::collections::HashMap;

use ::redis::cmd;
use abide_core::WallTime;
use abide_core::hold::HoldId;

use super::fault::Fault;
use super::inner::{Inner, Up};
use super::offset::moved;
use crate::HoldNote;
use crate::note::NOTES;

/// Adds a note, and forgets those whose holds have ended.
pub(super) async fn write(inner: &Inner, mut up: Up, note: HoldNote) -> Result<(), Fault> {
    let code = &inner.scripts.note;
    let mut call = code.call([inner.keys.notes.as_str()].into_iter());
    call.arg("")
        .arg(NOTES)
        .arg(format!("{:016x}", note.hold.0))
        .arg(moved(note.until, inner.offset.get()).as_unix_nanos());
    if let Some(reason) = &note.reason {
        call.arg(reason);
    }
    code.run::<String>(&mut up.connection, &call)
        .await
        .map(drop)
}

/// All notes whose holds have not ended at `now`.
pub(super) async fn read(inner: &Inner, mut up: Up, now: WallTime) -> Result<Vec<HoldNote>, Fault> {
    let mut all = cmd("HGETALL");
    all.arg(&inner.keys.notes);
    let all: HashMap<String, String> = all.query_async(&mut up.connection).await?;
    let notes = all
        .iter()
        .filter_map(|(id, text)| note(id, text, inner.offset.get()));
    let mut notes: Vec<HoldNote> = notes.filter(|n| n.until > now).collect();
    notes.sort_unstable_by_key(|n| n.hold);
    Ok(notes)
}

fn note(id: &str, text: &str, offset: i64) -> Option<HoldNote> {
    let (until, reason) = match text.split_once(' ') {
        Some((until, reason)) => (until, Some(reason.to_owned())),
        None => (text, None),
    };
    let until = WallTime::from_unix_nanos(until.parse().ok()?);
    Some(HoldNote {
        hold: HoldId(u64::from_str_radix(id, 16).ok()?),
        until: moved(until, -offset),
        reason,
    })
}
