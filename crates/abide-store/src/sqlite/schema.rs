//! The tables, and how they came to be.
//!
//! Every version is a step; a file is brought forward step by step in one transaction, so that a
//! crash in the middle leaves the old version. A file of a later version is refused: reading what
//! one does not understand loses holds. Steps that were released are never edited.

use rusqlite::{Connection, TransactionBehavior};

use super::fault::Fault;
use crate::StoreError;

/// Marks the file as abide's: the letters "abid".
const APPLICATION: i64 = 0x6162_6964;

/// Step N brings a file from version N to N + 1.
const STEPS: [&str; 4] = [FIRST, HEALTH, LEARNED, NOTES];

/// Whether a provider is healthy, and when it last was.
const HEALTH: &str = "
    ALTER TABLE gates ADD COLUMN failures INTEGER NOT NULL DEFAULT 0;
    ALTER TABLE gates ADD COLUMN last_success_ns INTEGER;
";

/// The limits that were learned.
const LEARNED: &str = "ALTER TABLE gates ADD COLUMN learned TEXT;";

/// What persons said of the holds they set.
const NOTES: &str = "
    CREATE TABLE hold_notes (
        hold INTEGER PRIMARY KEY,
        until_ns INTEGER NOT NULL,
        reason TEXT
    ) STRICT;
";

/// Runs keep their rows under `run << 32 | position`, in the order in which they are written, so
/// that a commit appends to the end of a table whatever the run's size.
const FIRST: &str = "
    CREATE TABLE meta (key TEXT PRIMARY KEY, value ANY) STRICT, WITHOUT ROWID;
    INSERT INTO meta VALUES ('secret', randomblob(32)), ('change', 0);

    CREATE TABLE gates (
        provider TEXT NOT NULL,
        gate BLOB NOT NULL,
        scope TEXT NOT NULL,
        rung INTEGER,
        interval_ns INTEGER,
        counts TEXT NOT NULL,
        change INTEGER NOT NULL,
        writer INTEGER NOT NULL,
        PRIMARY KEY (provider, gate)
    ) STRICT, WITHOUT ROWID;
    CREATE INDEX gates_change ON gates (change);

    CREATE TABLE holds (
        provider TEXT NOT NULL,
        gate BLOB NOT NULL,
        id INTEGER NOT NULL,
        cause TEXT NOT NULL,
        until_ns INTEGER NOT NULL,
        ask_ns INTEGER,
        ask_source TEXT,
        since_ns INTEGER NOT NULL,
        probes INTEGER NOT NULL,
        lifted INTEGER NOT NULL,
        PRIMARY KEY (provider, gate, id)
    ) STRICT, WITHOUT ROWID;

    CREATE TABLE runs (
        id INTEGER PRIMARY KEY AUTOINCREMENT,
        name TEXT NOT NULL UNIQUE,
        input TEXT NOT NULL,
        kind TEXT NOT NULL,
        options TEXT NOT NULL,
        output TEXT,
        created_ns INTEGER NOT NULL,
        items INTEGER NOT NULL,
        sealed INTEGER NOT NULL,
        owner TEXT NOT NULL,
        owned_ns INTEGER NOT NULL,
        committed INTEGER NOT NULL DEFAULT 0,
        done INTEGER NOT NULL DEFAULT 0,
        not_found INTEGER NOT NULL DEFAULT 0,
        skipped INTEGER NOT NULL DEFAULT 0,
        failed INTEGER NOT NULL DEFAULT 0,
        sent INTEGER NOT NULL DEFAULT 0,
        refused INTEGER NOT NULL DEFAULT 0,
        held_ns INTEGER NOT NULL DEFAULT 0
    ) STRICT;
    CREATE TABLE run_log (key INTEGER PRIMARY KEY, records BLOB NOT NULL) STRICT;
    CREATE TABLE run_prints (key INTEGER PRIMARY KEY, prints BLOB NOT NULL) STRICT;
    CREATE TABLE run_items (key INTEGER PRIMARY KEY, lines BLOB NOT NULL) STRICT;
";

/// The version this program writes.
pub(super) const KNOWN: i64 = STEPS.len() as i64;

/// Refuses a file that is another program's or a later abide's, before anything is written to it.
pub(super) fn check(conn: &Connection, path: &str) -> Result<(), StoreError> {
    let (application, version, tables) = look(conn).map_err(|e| e.about(path))?;
    let fresh = application == 0 && version == 0 && tables == 0;
    if !fresh && application != APPLICATION {
        return Err(Fault::corrupt("it is another program's database").about(path));
    }
    if version > KNOWN {
        return Err(StoreError::Newer {
            path: path.to_owned(),
            found: version,
            known: KNOWN,
        });
    }
    if !fresh && version < 1 {
        return Err(Fault::corrupt(format!("schema version {version}")).about(path));
    }
    Ok(())
}

/// What the file says it is. Read in one transaction: between two reads another process may have
/// made the tables.
fn look(conn: &Connection) -> Result<(i64, i64, i64), Fault> {
    let tx = conn.unchecked_transaction()?;
    let count = "SELECT count(*) FROM sqlite_schema";
    let tables = tx.query_row(count, [], |r| r.get(0))?;
    let found = (
        pragma(&tx, "application_id")?,
        pragma(&tx, "user_version")?,
        tables,
    );
    tx.finish()?;
    Ok(found)
}

/// Brings the file to the version this program knows. Safe when several processes do so at once:
/// whoever comes second finds it done.
pub(super) fn migrate(conn: &mut Connection) -> Result<(), Fault> {
    let tx = conn.transaction_with_behavior(TransactionBehavior::Immediate)?;
    let version: i64 = pragma(&tx, "user_version")?;
    let done = usize::try_from(version).unwrap_or(usize::MAX);
    if done < STEPS.len() {
        for step in STEPS.iter().skip(done) {
            tx.execute_batch(step)?;
        }
        tx.pragma_update(None, "application_id", APPLICATION)?;
        tx.pragma_update(None, "user_version", KNOWN)?;
    }
    tx.commit()?;
    Ok(())
}

pub(super) fn pragma<T: rusqlite::types::FromSql>(
    conn: &Connection,
    name: &str,
) -> rusqlite::Result<T> {
    conn.pragma_query_value(None, name, |r| r.get(0))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_file_of_the_first_version_is_brought_forward() {
        let mut conn = Connection::open_in_memory().unwrap();
        conn.execute_batch(FIRST).unwrap();
        conn.execute_batch("INSERT INTO gates VALUES ('p', x'00', 'account', 2, 5, '', 1, 1)")
            .unwrap();
        conn.pragma_update(None, "application_id", APPLICATION)
            .unwrap();
        conn.pragma_update(None, "user_version", 1).unwrap();
        check(&conn, "state.db").unwrap();
        migrate(&mut conn).unwrap();
        let kept: (i64, i64, Option<i64>) = conn
            .query_row(
                "SELECT rung, failures, last_success_ns FROM gates",
                [],
                |r| Ok((r.get(0)?, r.get(1)?, r.get(2)?)),
            )
            .unwrap();
        assert_eq!(kept, (2, 0, None));
        assert_eq!(pragma::<i64>(&conn, "user_version").unwrap(), KNOWN);
    }
}
