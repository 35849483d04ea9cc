//! Opening the file: folder, permissions, journal.

use std::fs::{DirBuilder, OpenOptions};
use std::io;
use std::path::Path;
use std::time::Duration;

use rusqlite::{Connection, OpenFlags};

use super::fault::Fault;
use super::{Options, schema};
use crate::StoreError;

/// How long one process waits for another's transaction. Transactions take milliseconds; a
/// machine that swaps may need seconds.
const BUSY: Duration = Duration::from_secs(10);

/// Opens the file twice, to write and to read, and brings it up to date.
pub(super) fn open(path: &Path, options: Options) -> Result<(Connection, Connection), StoreError> {
    let name = path.display().to_string();
    make(path).map_err(|e| io_error(&name, &e))?;
    let flags = OpenFlags::SQLITE_OPEN_READ_WRITE | OpenFlags::SQLITE_OPEN_NO_MUTEX;
    let connect = || -> Result<Connection, Fault> {
        let conn = Connection::open_with_flags(path, flags)?;
        conn.busy_timeout(BUSY)?;
        Ok(conn)
    };
    let mut writer = connect().map_err(|e| e.about(&name))?;
    schema::check(&writer, &name)?;
    let prepared = prepare(&mut writer, options).and_then(|()| connect());
    let reader = prepared.map_err(|e| e.about(&name))?;
    // The first read is where damage shows that opening did not find.
    schema::check(&reader, &name)?;
    Ok((writer, reader))
}

/// A store in memory: one connection for both.
pub(super) fn in_memory(options: Options) -> Result<Connection, Fault> {
    let mut conn = Connection::open_in_memory()?;
    limit(&conn, options)?;
    schema::migrate(&mut conn)?;
    Ok(conn)
}

fn prepare(conn: &mut Connection, options: Options) -> Result<(), Fault> {
    journal(conn)?;
    let synchronous = if options.fsync { "FULL" } else { "NORMAL" };
    conn.pragma_update(None, "synchronous", synchronous)?;
    limit(conn, options)?;
    schema::migrate(conn)
}

/// Turns the write-ahead log on. SQLite does not wait for others here, so we do.
fn journal(conn: &Connection) -> Result<(), Fault> {
    let mut tries = 0;
    loop {
        let mode = conn.query_row("PRAGMA journal_mode = WAL", [], |r| r.get::<_, String>(0));
        match mode.map_err(Fault::from) {
            Err(e) if e.is_busy() && tries < 500 => tries += 1,
            Err(e) => return Err(e),
            Ok(_) => return Ok(()),
        }
        std::thread::sleep(Duration::from_millis(20));
    }
}

fn limit(conn: &Connection, options: Options) -> Result<(), Fault> {
    if let Some(max) = options.max_bytes {
        let page: i64 = schema::pragma(conn, "page_size")?;
        let pages = max / u64::try_from(page.max(1)).unwrap_or(4096);
        let pages = i64::try_from(pages.clamp(1, u64::from(u32::MAX) - 2)).unwrap_or(i64::MAX);
        conn.query_row(&format!("PRAGMA max_page_count = {pages}"), [], |_| Ok(()))?;
    }
    Ok(())
}

/// Makes folder and file, readable by their owner only. What exists keeps its permissions: they
/// are the owner's choice.
fn make(path: &Path) -> io::Result<()> {
    if let Some(dir) = path.parent() {
        make_dir(dir)?;
    }
    owner_only(OpenOptions::new().read(true).write(true).create(true)).open(path)?;
    Ok(())
}

/// Makes a folder for its owner only.
pub(super) fn make_dir(dir: &Path) -> io::Result<()> {
    let mut builder = DirBuilder::new();
    builder.recursive(true);
    #[cfg(unix)]
    std::os::unix::fs::DirBuilderExt::mode(&mut builder, 0o700);
    builder.create(dir)
}

/// Whoever makes the file makes it for its owner only.
pub(super) fn owner_only(options: &mut OpenOptions) -> &mut OpenOptions {
    #[cfg(unix)]
    std::os::unix::fs::OpenOptionsExt::mode(options, 0o600);
    options
}

pub(super) fn io_error(path: &str, e: &io::Error) -> StoreError {
    StoreError::Io {
        path: path.to_owned(),
        why: e.to_string(),
    }
}
