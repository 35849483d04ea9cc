//! Rows of gates and holds.

use std::fmt::Write as _;
use std::time::Duration;

use abide_core::WallTime;
use abide_core::hold::HoldId;
use abide_core::time::nanos;
use rusqlite::{Connection, OptionalExtension, Row, params};

use super::fault::Fault;
use super::message::Word;
use super::words;
use crate::kept::Kept;
use crate::{StoreKey, StoredHold};

/// Stands for "more than one process": everybody is told such a row.
const SEVERAL: i64 = 0;

/// Adds a word of process `me` to what the file knows, inside the caller's transaction.
///
/// Nothing is written when the file knows it all. When the file knew more than this process, the
/// row counts as everybody's news, this process included: else a hold set elsewhere just before
/// would never reach us.
pub(super) fn write(conn: &Connection, me: i64, key: &StoreKey, word: &Word) -> Result<(), Fault> {
    let old = read(conn, key)?;
    let latest = word.latest;
    let word = &word.kept;
    let mut new = old.clone().unwrap_or_else(|| word.clone());
    new.absorb(word.clone(), latest);
    // Revisions are a process's own affair and are not stored.
    new.revision = 0;
    if old.as_ref() == Some(&new) {
        return Ok(());
    }
    let ours = new.holds == word.holds && new.counts == word.counts;
    conn.prepare_cached("UPDATE meta SET value = value + 1 WHERE key = 'change'")?
        .execute([])?;
    conn.prepare_cached(
        "INSERT OR REPLACE INTO gates
         VALUES (?1, ?2, ?3, ?4, ?5, ?6, (SELECT value FROM meta WHERE key = 'change'), ?7, ?8, ?9, ?10)",
    )?
    .execute(params![
        key.provider,
        key.gate,
        new.scope.as_str(),
        new.rung,
        new.interval.map(signed_nanos),
        counts_text(&new.counts),
        if ours { me } else { SEVERAL },
        new.failures,
        new.last_success.map(WallTime::as_unix_nanos),
        new.learned.map(|l| l.to_text()),
    ])?;
    conn.prepare_cached("DELETE FROM holds WHERE provider = ?1 AND gate = ?2")?
        .execute(params![key.provider, key.gate])?;
    for hold in &new.holds {
        write_hold(conn, key, hold)?;
    }
    Ok(())
}

fn write_hold(conn: &Connection, key: &StoreKey, hold: &StoredHold) -> Result<(), Fault> {
    conn.prepare_cached("INSERT INTO holds VALUES (?1, ?2, ?3, ?4, ?5, ?6, ?7, ?8, ?9, ?10)")?
        .execute(params![
            key.provider,
            key.gate,
            hold.id.0.cast_signed(),
            hold.cause.as_str(),
            hold.until.as_unix_nanos(),
            hold.ask.map(|a| a.0.as_unix_nanos()),
            hold.ask.map(|a| a.1.as_str()),
            hold.since.as_unix_nanos(),
            hold.probes,
            hold.lifted,
        ])?;
    Ok(())
}

fn read(conn: &Connection, key: &StoreKey) -> Result<Option<Kept>, Fault> {
    let mut statement = conn.prepare_cached(
        "SELECT scope, rung, interval_ns, counts, failures, last_success_ns, learned
         FROM gates WHERE provider = ?1 AND gate = ?2",
    )?;
    let row = statement
        .query_row(params![key.provider, key.gate], |r| Ok(columns(r, 0)))
        .optional()?;
    let Some(kept) = row else { return Ok(None) };
    let mut kept = kept?;
    kept.holds = holds(conn, key)?;
    Ok(Some(kept))
}

fn holds(conn: &Connection, key: &StoreKey) -> Result<Vec<StoredHold>, Fault> {
    let mut statement = conn.prepare_cached(
        "SELECT id, cause, until_ns, ask_ns, ask_source, since_ns, probes, lifted
         FROM holds WHERE provider = ?1 AND gate = ?2",
    )?;
    let mut rows = statement.query(params![key.provider, key.gate])?;
    let mut holds = Vec::new();
    while let Some(row) = rows.next()? {
        holds.push(hold(row)?);
    }
    holds.sort_unstable_by_key(|h| h.id);
    Ok(holds)
}

/// Rows changed after `since` by others than `me`; with `None`, all rows. Also the change that
/// was the last one when they were read.
pub(super) fn changed(
    conn: &Connection,
    since: Option<i64>,
    me: i64,
) -> Result<(Vec<(StoreKey, Kept)>, i64), Fault> {
    // One transaction, so that the rows, their holds and the last change belong together.
    let tx = conn.unchecked_transaction()?;
    let last = last_change(&tx)?;
    let mut found = Vec::new();
    {
        let mut statement = tx.prepare_cached(
            "SELECT provider, gate, scope, rung, interval_ns, counts, failures, last_success_ns,
                    learned
             FROM gates
             WHERE change > ?1 AND writer <> ?2",
        )?;
        // No writer has the smallest number: asking for all rows leaves none out.
        let mut rows = statement.query(params![
            since.unwrap_or(-1),
            if since.is_some() { me } else { i64::MIN }
        ])?;
        while let Some(row) = rows.next()? {
            let gate: Vec<u8> = row.get(1)?;
            let gate = <[u8; 16]>::try_from(gate)
                .map_err(|g| Fault::corrupt(format!("a gate's name of {} bytes", g.len())))?;
            let provider = row.get(0)?;
            found.push((StoreKey { provider, gate }, columns(row, 2)?));
        }
    }
    for (key, kept) in &mut found {
        kept.holds = holds(&tx, key)?;
    }
    tx.finish()?;
    Ok((found, last))
}

pub(super) fn last_change(conn: &Connection) -> Result<i64, Fault> {
    let mut statement = conn.prepare_cached("SELECT value FROM meta WHERE key = 'change'")?;
    Ok(statement.query_row([], |r| r.get(0))?)
}

fn columns(row: &Row<'_>, first: usize) -> Result<Kept, Fault> {
    let interval: Option<i64> = row.get(first + 2)?;
    let learned: Option<String> = row.get(first + 6)?;
    Ok(Kept {
        scope: words::scope(row.get_ref(first)?.as_str().map_err(text)?)?,
        rung: row.get(first + 1)?,
        interval: interval.map(|n| Duration::from_nanos(n.max(0).cast_unsigned())),
        counts: counts(row.get_ref(first + 3)?.as_str().map_err(text)?)?,
        failures: row.get(first + 4)?,
        last_success: row
            .get::<_, Option<i64>>(first + 5)?
            .map(WallTime::from_unix_nanos),
        // What cannot be read any more is learned anew.
        learned: learned.and_then(|text| text.parse().ok()),
        holds: Vec::new(),
        revision: 0,
    })
}

fn hold(row: &Row<'_>) -> Result<StoredHold, Fault> {
    let ask: Option<i64> = row.get(3)?;
    let source: Option<String> = row.get(4)?;
    Ok(StoredHold {
        id: HoldId(row.get::<_, i64>(0)?.cast_unsigned()),
        cause: words::verdict(row.get_ref(1)?.as_str().map_err(text)?)?,
        until: WallTime::from_unix_nanos(row.get(2)?),
        ask: match (ask, source) {
            (Some(at), Some(s)) => Some((WallTime::from_unix_nanos(at), words::source(&s)?)),
            _ => None,
        },
        since: WallTime::from_unix_nanos(row.get(5)?),
        probes: row.get(6)?,
        lifted: row.get(7)?,
    })
}

/// `window:used:end` for each count, separated by blanks.
fn counts_text(counts: &[(u8, u64, WallTime)]) -> String {
    let mut text = String::new();
    for (window, used, end) in counts {
        let blank = if text.is_empty() { "" } else { " " };
        // Writing to a string cannot fail.
        let _ = write!(text, "{blank}{window}:{used}:{}", end.as_unix_nanos());
    }
    text
}

fn counts(text: &str) -> Result<Vec<(u8, u64, WallTime)>, Fault> {
    let parse = |word: &str| {
        let mut parts = word.splitn(3, ':');
        let window = parts.next()?.parse().ok()?;
        let used = parts.next()?.parse().ok()?;
        let end = parts.next()?.parse().ok()?;
        Some((window, used, WallTime::from_unix_nanos(end)))
    };
    text.split_whitespace()
        .map(|word| parse(word).ok_or_else(|| Fault::corrupt(format!("{word:?} is no count"))))
        .collect()
}

fn text(e: rusqlite::types::FromSqlError) -> Fault {
    Fault::corrupt(e.to_string())
}

pub(super) fn signed_nanos(d: Duration) -> i64 {
    i64::try_from(nanos(d)).unwrap_or(i64::MAX)
}
