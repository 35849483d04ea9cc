//! Rows of what persons said of holds.

use abide_core::WallTime;
use abide_core::hold::HoldId;
use rusqlite::{Connection, OptionalExtension, Row, params};

use super::fault::Fault;
use crate::note::{HoldNote, NOTES};

const COLUMNS: &str = "SELECT hold, until_ns, reason FROM hold_notes";

/// Adds a note, and forgets those whose holds have ended.
pub(super) fn write(conn: &Connection, note: HoldNote, now: WallTime) -> Result<(), Fault> {
    let id = note.hold.0.cast_signed();
    let before = conn
        .prepare_cached(&format!("{COLUMNS} WHERE hold = ?1"))?
        .query_row([id], row)
        .optional()?;
    let note = note.after(before);
    conn.prepare_cached("INSERT OR REPLACE INTO hold_notes VALUES (?1, ?2, ?3)")?
        .execute(params![id, note.until.as_unix_nanos(), note.reason])?;
    conn.prepare_cached(
        "DELETE FROM hold_notes WHERE until_ns <= ?1 OR hold IN
         (SELECT hold FROM hold_notes ORDER BY until_ns DESC LIMIT -1 OFFSET ?2)",
    )?
    .execute(params![now.as_unix_nanos(), NOTES as i64])?;
    Ok(())
}

pub(super) fn read(conn: &Connection, now: WallTime) -> Result<Vec<HoldNote>, Fault> {
    let mut statement = conn.prepare_cached(&format!("{COLUMNS} WHERE until_ns > ?1"))?;
    let rows = statement.query_map([now.as_unix_nanos()], row)?;
    Ok(rows.collect::<Result<_, _>>()?)
}

fn row(row: &Row<'_>) -> rusqlite::Result<HoldNote> {
    Ok(HoldNote {
        hold: HoldId(row.get::<_, i64>(0)?.cast_unsigned()),
        until: WallTime::from_unix_nanos(row.get(1)?),
        reason: row.get(2)?,
    })
}
