//! Rows of runs.

use std::ops::RangeInclusive;
use std::time::Duration;

use abide_core::WallTime;
use rusqlite::{Connection, OptionalExtension, Row, params};

use super::record;
use super::replay::Sum;
use super::{Counts, Fingerprint, NewRun, Owner, Progress, RunInfo, RunState, Totals};
use crate::sqlite::fault::Fault;
use crate::sqlite::gates::signed_nanos;

/// Fingerprints in one row: 64 KiB.
const PRINTS: usize = 4096;

const COLUMNS: &str = "id, name, input, kind, options, output, created_ns, items, sealed, owner,
    owned_ns, committed, done, not_found, skipped, failed, sent, refused, held_ns";

/// The key of a run's row at a position.
pub(super) const fn key(run: i64, at: u32) -> i64 {
    run << 32 | at as i64
}

pub(super) const fn keys(run: i64) -> RangeInclusive<i64> {
    key(run, 0)..=key(run, u32::MAX)
}

/// Makes the row of a run; `None` when the name is taken.
pub(super) fn insert(conn: &Connection, new: &NewRun, owner: &Owner) -> Result<Option<i64>, Fault> {
    let taken = conn
        .prepare_cached("SELECT 1 FROM runs WHERE name = ?1")?
        .exists([&new.name])?;
    if taken {
        return Ok(None);
    }
    conn.execute(
        "INSERT INTO runs (name, input, kind, options, output, created_ns, items, sealed, owner,
             owned_ns) VALUES (?1, ?2, ?3, ?4, ?5, ?6, 0, ?7, ?8, ?9)",
        params![
            new.name,
            new.input,
            new.kind,
            new.options,
            new.output,
            new.created.as_unix_nanos(),
            new.sealed,
            owner.who,
            owner.since.as_unix_nanos(),
        ],
    )?;
    let run = conn.last_insert_rowid();
    add_prints(conn, run, 0, &new.fingerprints)?;
    Ok(Some(run))
}

/// Appends items; the run then has as many as the result says.
pub(super) fn add_prints(
    conn: &Connection,
    run: i64,
    first: u32,
    prints: &[Fingerprint],
) -> Result<u32, Fault> {
    let mut at = first;
    let mut insert = conn.prepare_cached("INSERT INTO run_prints VALUES (?1, ?2)")?;
    for chunk in prints.chunks(PRINTS) {
        insert.execute(params![key(run, at), chunk.as_flattened()])?;
        let count = u32::try_from(chunk.len()).unwrap_or(u32::MAX);
        at = at
            .checked_add(count)
            .ok_or_else(|| Fault::corrupt("a run of more than 2^32 items"))?;
    }
    conn.prepare_cached("UPDATE runs SET items = ?2 WHERE id = ?1")?
        .execute(params![run, at])?;
    Ok(at)
}

/// Appends the raw lines of items, each after its length.
pub(super) fn add_lines(
    conn: &Connection,
    run: i64,
    first: u32,
    lines: &[Vec<u8>],
) -> Result<(), Fault> {
    let mut packed = Vec::with_capacity(lines.iter().map(|l| l.len() + 4).sum());
    for line in lines {
        let length =
            u32::try_from(line.len()).map_err(|_| Fault::corrupt("a line of 4 GiB or more"))?;
        packed.extend_from_slice(&length.to_le_bytes());
        packed.extend_from_slice(line);
    }
    conn.prepare_cached("INSERT INTO run_items VALUES (?1, ?2)")?
        .execute(params![key(run, first), packed])?;
    Ok(())
}

/// The lines from position `from` on, up to the end of a batch and at most `most`.
pub(super) fn lines(
    conn: &Connection,
    run: i64,
    from: u32,
    most: usize,
) -> Result<Vec<Vec<u8>>, Fault> {
    let mut found = Vec::new();
    let mut at = from;
    while found.len() < most {
        let mut statement = conn.prepare_cached(
            "SELECT key, lines FROM run_items WHERE key BETWEEN ?1 AND ?2
             ORDER BY key DESC LIMIT 1",
        )?;
        let row = statement
            .query_row(params![key(run, 0), key(run, at)], |r| {
                Ok((r.get::<_, i64>(0)?, r.get::<_, Vec<u8>>(1)?))
            })
            .optional()?;
        let Some((first, packed)) = row else { break };
        let before = found.len();
        let skip = usize::try_from(key(run, at) - first).unwrap_or(usize::MAX);
        let room = most - found.len();
        found.extend(unpack(&packed)?.into_iter().skip(skip).take(room));
        if found.len() == before {
            break;
        }
        at = from.saturating_add(u32::try_from(found.len()).unwrap_or(u32::MAX));
    }
    Ok(found)
}

fn unpack(mut packed: &[u8]) -> Result<Vec<Vec<u8>>, Fault> {
    let cut = || Fault::corrupt("a run's items are cut");
    let mut lines = Vec::new();
    while !packed.is_empty() {
        let (length, rest) = packed.split_first_chunk().ok_or_else(cut)?;
        let length = u32::from_le_bytes(*length) as usize;
        let (line, rest) = rest.split_at_checked(length).ok_or_else(cut)?;
        lines.push(line.to_vec());
        packed = rest;
    }
    Ok(lines)
}

/// All fingerprints of a run.
pub(super) fn prints(conn: &Connection, run: i64) -> Result<Vec<Fingerprint>, Fault> {
    let mut all = Vec::new();
    each(conn, "run_prints", "prints", run, |_, bytes| {
        let (prints, rest) = bytes.as_chunks();
        all.extend_from_slice(prints);
        if rest.is_empty() {
            Ok(())
        } else {
            Err(Fault::corrupt("a run's fingerprints are cut"))
        }
    })?;
    Ok(all)
}

/// Takes the whole log into the sum.
pub(super) fn replay(conn: &Connection, run: i64, sum: &mut Sum) -> Result<(), Fault> {
    each(conn, "run_log", "records", run, |at, bytes| {
        sum.next = at.saturating_add(1);
        record::decode(bytes, |r| sum.apply(r))
    })
}

fn each(
    conn: &Connection,
    table: &str,
    column: &str,
    run: i64,
    mut visit: impl FnMut(u32, &[u8]) -> Result<(), Fault>,
) -> Result<(), Fault> {
    let range = keys(run);
    let mut statement = conn.prepare_cached(&format!(
        "SELECT key, {column} FROM {table} WHERE key BETWEEN ?1 AND ?2 ORDER BY key"
    ))?;
    let mut rows = statement.query(params![range.start(), range.end()])?;
    while let Some(row) = rows.next()? {
        let at = u32::try_from(row.get::<_, i64>(0)? - range.start()).unwrap_or(u32::MAX);
        let bytes = row.get_ref(1)?.as_blob();
        visit(at, bytes.map_err(|e| Fault::corrupt(e.to_string()))?)?;
    }
    Ok(())
}

/// Appends a group and writes what it amounts to. False when the run is gone.
pub(super) fn append(
    conn: &Connection,
    at: i64,
    records: &[u8],
    run: i64,
    counts: Counts,
    progress: Progress,
) -> Result<bool, Fault> {
    let whole = |n: u64| i64::try_from(n).unwrap_or(i64::MAX);
    let found = conn
        .prepare_cached(
            "UPDATE runs SET committed = ?2, done = ?3, not_found = ?4, skipped = ?5, failed = ?6,
                 sent = ?7, refused = ?8, held_ns = ?9 WHERE id = ?1",
        )?
        .execute(params![
            run,
            whole(progress.committed),
            counts.done,
            counts.not_found,
            counts.skipped,
            counts.failed,
            whole(progress.totals.sent),
            whole(progress.totals.refused),
            signed_nanos(progress.totals.held),
        ])?;
    if found == 1 && !records.is_empty() {
        conn.prepare_cached("INSERT INTO run_log VALUES (?1, ?2)")?
            .execute(params![at, records])?;
    }
    Ok(found == 1)
}

/// Deletes a run with everything that belongs to it.
pub(super) fn delete(conn: &Connection, run: i64) -> Result<(), Fault> {
    let range = keys(run);
    for table in ["run_log", "run_prints", "run_items"] {
        conn.execute(
            &format!("DELETE FROM {table} WHERE key BETWEEN ?1 AND ?2"),
            params![range.start(), range.end()],
        )?;
    }
    conn.execute("DELETE FROM runs WHERE id = ?1", [run])?;
    Ok(())
}

/// The run of a name, with its number. Its state is not known here.
pub(super) fn by_name(conn: &Connection, name: &str) -> Result<Option<(i64, RunInfo)>, Fault> {
    let mut statement =
        conn.prepare_cached(&format!("SELECT {COLUMNS} FROM runs WHERE name = ?1"))?;
    Ok(statement.query_row([name], info).optional()?)
}

/// All runs, the youngest first.
pub(super) fn all(conn: &Connection) -> Result<Vec<(i64, RunInfo)>, Fault> {
    let mut statement =
        conn.prepare_cached(&format!("SELECT {COLUMNS} FROM runs ORDER BY id DESC"))?;
    let rows = statement.query_map([], info)?;
    Ok(rows.collect::<Result<_, _>>()?)
}

fn info(r: &Row<'_>) -> rusqlite::Result<(i64, RunInfo)> {
    let count = |i| -> rusqlite::Result<u64> { Ok(r.get::<_, i64>(i)?.max(0).cast_unsigned()) };
    let run = RunInfo {
        name: r.get(1)?,
        input: r.get(2)?,
        kind: r.get(3)?,
        options: r.get(4)?,
        output: r.get(5)?,
        created: WallTime::from_unix_nanos(r.get(6)?),
        items: r.get(7)?,
        sealed: r.get(8)?,
        state: RunState::Interrupted,
        owner: Owner {
            who: r.get(9)?,
            since: WallTime::from_unix_nanos(r.get(10)?),
        },
        progress: Progress {
            committed: count(11)?,
            totals: Totals {
                sent: count(16)?,
                refused: count(17)?,
                held: Duration::from_nanos(count(18)?),
            },
        },
        counts: Counts {
            done: r.get(12)?,
            not_found: r.get(13)?,
            skipped: r.get(14)?,
            failed: r.get(15)?,
        },
    };
    Ok((r.get(0)?, run))
}
