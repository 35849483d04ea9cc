//! SQLite: `jobs.db` in the folder of the state, for the processes of one machine.
//!
//! Write-ahead log and `synchronous = FULL`: a job that was accepted survives a power cut, which is
//! what "durable" is for; groups share the disk's latency. The file belongs to its owner only.

use std::fs::{DirBuilder, OpenOptions};
use std::path::Path;
use std::time::Duration;

use rusqlite::types::{ToSqlOutput, ValueRef};
use rusqlite::{CachedStatement, Connection, ErrorCode, OpenFlags, ToSql, TransactionBehavior};

use super::schema::{KNOWN, STEPS, in_words};
use super::{Args, Db, Fault, Row, Value};

/// Marks the file as a queue of abide's: the letters "abij".
const APPLICATION: i64 = 0x6162_696A;

/// How long one process waits for another's transaction. Transactions take milliseconds; a machine
/// that swaps may need seconds.
const BUSY: Duration = Duration::from_secs(10);

/// Statements that are kept prepared: more than there are.
const STATEMENTS: usize = 64;

/// A connection to a file, or to memory.
pub(crate) struct Sqlite {
    conn: Connection,
    place: String,
    /// What other processes have committed, as last seen.
    version: i64,
}

impl Sqlite {
    /// Opens (or makes, for its owner only) the file, and brings it up to date.
    pub(crate) fn open(path: &Path) -> Result<Self, Fault> {
        make(path).map_err(|e| Fault::Sql(e.to_string()))?;
        let flags = OpenFlags::SQLITE_OPEN_READ_WRITE | OpenFlags::SQLITE_OPEN_NO_MUTEX;
        let conn = Connection::open_with_flags(path, flags)?;
        conn.busy_timeout(BUSY)?;
        Self::prepared(conn, path.display().to_string())
    }

    /// One that ends with the process.
    pub(crate) fn in_memory() -> Result<Self, Fault> {
        Self::prepared(Connection::open_in_memory()?, ":memory:".to_owned())
    }

    fn prepared(mut conn: Connection, place: String) -> Result<Self, Fault> {
        conn.set_prepared_statement_cache_capacity(STATEMENTS);
        check(&conn)?;
        // Before the first table: room is given back piece by piece.
        conn.pragma_update(None, "auto_vacuum", "INCREMENTAL")?;
        journal(&conn)?;
        conn.pragma_update(None, "synchronous", "FULL")?;
        migrate(&mut conn)?;
        Ok(Self {
            conn,
            place,
            version: 0,
        })
    }

    fn run<T>(
        &self,
        sql: &str,
        rows: &[Args],
        mut each: impl FnMut(&mut CachedStatement<'_>, &Args) -> rusqlite::Result<T>,
    ) -> Result<Vec<T>, Fault> {
        let mut statement = self.conn.prepare_cached(sql)?;
        let done = rows.iter().map(|args| each(&mut statement, args));
        Ok(done.collect::<rusqlite::Result<_>>()?)
    }
}

impl Db for Sqlite {
    fn begin(&mut self) -> Result<(), Fault> {
        Ok(self
            .conn
            .prepare_cached("BEGIN IMMEDIATE")?
            .execute([])
            .map(drop)?)
    }

    fn commit(&mut self) -> Result<(), Fault> {
        Ok(self.conn.prepare_cached("COMMIT")?.execute([]).map(drop)?)
    }

    fn rollback(&mut self) {
        // Where a full disk has already rolled back there is nothing left to do.
        let _ = self.conn.execute_batch("ROLLBACK");
    }

    fn query_each(&mut self, sql: &str, rows: &[Args]) -> Result<Vec<Vec<Row>>, Fault> {
        self.run(sql, rows, |statement, args| {
            let columns = statement.column_count();
            let mut found = Vec::new();
            let mut rows = statement.query(rusqlite::params_from_iter(args))?;
            while let Some(row) = rows.next()? {
                let values = (0..columns).map(|at| row.get_ref(at).map(value));
                found.push(Row(values.collect::<rusqlite::Result<_>>()?));
            }
            Ok(found)
        })
    }

    fn execute_each(&mut self, sql: &str, rows: &[Args]) -> Result<Vec<u64>, Fault> {
        self.run(sql, rows, |statement, args| {
            let changed = statement.execute(rusqlite::params_from_iter(args))?;
            Ok(changed as u64)
        })
    }

    fn changed(&mut self) -> Result<bool, Fault> {
        let version: i64 = self
            .conn
            .prepare_cached("PRAGMA data_version")?
            .query_row([], |r| r.get(0))?;
        let changed = version != self.version;
        self.version = version;
        Ok(changed)
    }

    fn shrink(&mut self) -> Result<(), Fault> {
        let mut statement = self.conn.prepare("PRAGMA incremental_vacuum")?;
        let mut pages = statement.query([])?;
        while pages.next()?.is_some() {}
        drop(pages);
        drop(statement);
        // The log is written back and cut off, where nobody reads it just now.
        let log = "PRAGMA wal_checkpoint(TRUNCATE)";
        Ok(self.conn.query_row(log, [], |_| Ok(()))?)
    }

    fn place(&self) -> &str {
        &self.place
    }
}

fn value(of: ValueRef<'_>) -> Value {
    match of {
        ValueRef::Null => Value::Null,
        ValueRef::Integer(n) => Value::Int(n),
        // No column has any; one that somebody put there is no number of ours.
        ValueRef::Real(_) => Value::Blob(Vec::new()),
        ValueRef::Text(t) => Value::Text(String::from_utf8_lossy(t).into_owned()),
        ValueRef::Blob(b) => Value::Blob(b.to_owned()),
    }
}

impl ToSql for Value {
    fn to_sql(&self) -> rusqlite::Result<ToSqlOutput<'_>> {
        Ok(ToSqlOutput::Borrowed(match self {
            Self::Null => ValueRef::Null,
            Self::Int(n) => ValueRef::Integer(*n),
            Self::Text(t) => ValueRef::Text(t.as_bytes()),
            Self::Blob(b) => ValueRef::Blob(b),
        }))
    }
}

impl From<rusqlite::Error> for Fault {
    fn from(e: rusqlite::Error) -> Self {
        match e.sqlite_error_code() {
            Some(ErrorCode::DatabaseCorrupt | ErrorCode::NotADatabase) => {
                Self::Damaged(e.to_string())
            }
            _ => Self::Sql(e.to_string()),
        }
    }
}

/// Refuses a file that is another program's or a later abide's, before anything is written to it.
fn check(conn: &Connection) -> Result<(), Fault> {
    let pragma = |name: &str| conn.pragma_query_value(None, name, |r| r.get::<_, i64>(0));
    // One transaction: between two reads another process may have made the tables.
    let tx = conn.unchecked_transaction()?;
    let tables: i64 = tx.query_row("SELECT count(*) FROM sqlite_schema", [], |r| r.get(0))?;
    let (application, version) = (pragma("application_id")?, pragma("user_version")?);
    tx.finish()?;
    let fresh = application == 0 && version == 0 && tables == 0;
    match version {
        _ if !fresh && application != APPLICATION => Err(Fault::Damaged(
            "it is another program's database".to_owned(),
        )),
        found if found > KNOWN => Err(Fault::Newer { found }),
        _ => Ok(()),
    }
}

/// Brings the file to the version this program knows. Safe when several processes do so at once:
/// whoever comes second finds it done.
fn migrate(conn: &mut Connection) -> Result<(), Fault> {
    let tx = conn.transaction_with_behavior(TransactionBehavior::Immediate)?;
    let version: i64 = tx.pragma_query_value(None, "user_version", |r| r.get(0))?;
    let done = usize::try_from(version).unwrap_or(usize::MAX);
    if done < STEPS.len() {
        for step in STEPS.iter().skip(done) {
            let serial = "INTEGER PRIMARY KEY AUTOINCREMENT";
            tx.execute_batch(&in_words(step, "INTEGER", "BLOB", serial))?;
        }
        tx.pragma_update(None, "application_id", APPLICATION)?;
        tx.pragma_update(None, "user_version", KNOWN)?;
    }
    Ok(tx.commit()?)
}

/// Turns the write-ahead log on. SQLite does not wait for others here, so we do.
fn journal(conn: &Connection) -> Result<(), Fault> {
    let mut tries = 0;
    loop {
        let mode = conn.query_row("PRAGMA journal_mode = WAL", [], |r| r.get::<_, String>(0));
        let Err(e) = mode else { return Ok(()) };
        let busy = matches!(
            e.sqlite_error_code(),
            Some(ErrorCode::DatabaseBusy | ErrorCode::DatabaseLocked)
        );
        if !busy || tries > 500 {
            return Err(e.into());
        }
        tries += 1;
        std::thread::sleep(Duration::from_millis(20));
    }
}

/// Makes folder and file, readable by their owner only. What exists keeps its permissions: they
/// are the owner's choice.
fn make(path: &Path) -> std::io::Result<()> {
    if let Some(dir) = path.parent() {
        let mut builder = DirBuilder::new();
        builder.recursive(true);
        #[cfg(unix)]
        std::os::unix::fs::DirBuilderExt::mode(&mut builder, 0o700);
        builder.create(dir)?;
    }
    let mut options = OpenOptions::new();
    options.read(true).write(true).create(true).truncate(false);
    #[cfg(unix)]
    std::os::unix::fs::OpenOptionsExt::mode(&mut options, 0o600);
    options.open(path).map(drop)
}
