//! SQLite: one file on one machine, shared by any number of processes.
//!
//! One thread owns the connection that writes, a second connection reads, and other processes
//! are heard of by asking SQLite whether the file has changed (a few microseconds when it has
//! not). The journal is a write-ahead log: a process that is killed loses nothing committed; a
//! power cut may lose the last moments unless [`Options::fsync`] is set.
//!
//! The file belongs to its owner only and names no credential; see [`Store::secret`].

mod fault;
mod gates;
mod group;
mod inner;
pub mod ledger;
mod message;
mod notes;
mod open;
mod options;
mod schema;
mod words;
mod writer;

use std::path::{Path, PathBuf};
use std::sync::mpsc::sync_channel;
use std::sync::{Arc, Mutex};

use abide_core::WallTime;
use rusqlite::Connection;

use crate::kept::Kept;
use crate::{HoldNote, Store, StoreError, StoreKey, StoredGate};
use fault::Fault;
use inner::{Inner, lock};
use message::Word;
pub use options::Options;
use writer::Writer;

/// The file's name in its folder.
const FILE: &str = "state.db";

/// A store in a SQLite file. Clones share it; the last one to go writes what is queued.
#[derive(Clone, Debug)]
pub struct Sqlite {
    inner: Arc<Inner>,
}

/// How far [`Store::changes`] has read.
#[derive(Debug)]
struct Seen {
    version: i64,
    change: i64,
}

impl Sqlite {
    /// Opens (or makes, for its owner only) the state in a folder: the file `state.db`.
    ///
    /// # Errors
    /// [`StoreError::Io`] when folder or file cannot be made, opened or written,
    /// [`StoreError::Corrupt`] when the file is damaged or another program's,
    /// [`StoreError::Newer`] when a later abide wrote it. The file is left as it was.
    pub fn open(dir: &Path) -> Result<Self, StoreError> {
        Self::open_with(dir, Options::default())
    }

    /// As [`open`](Self::open), with options.
    ///
    /// # Errors
    /// As [`open`](Self::open).
    pub fn open_with(dir: &Path, options: Options) -> Result<Self, StoreError> {
        let path = dir.join(FILE);
        let (writer, reader) = open::open(&path, options)?;
        let (writer, reader) = (Arc::new(Mutex::new(writer)), Arc::new(Mutex::new(reader)));
        Self::start(
            writer,
            reader,
            Some(dir.to_owned()),
            path.display().to_string(),
        )
    }

    /// A store that ends with the process.
    ///
    /// # Errors
    /// When there is no memory for it.
    pub fn in_memory() -> Result<Self, StoreError> {
        Self::in_memory_with(Options::default())
    }

    /// As [`in_memory`](Self::in_memory), with options.
    ///
    /// # Errors
    /// As [`in_memory`](Self::in_memory).
    pub fn in_memory_with(options: Options) -> Result<Self, StoreError> {
        let path = ":memory:".to_owned();
        let conn = open::in_memory(options).map_err(|e| e.about(&path))?;
        let conn = Arc::new(Mutex::new(conn));
        Self::start(Arc::clone(&conn), conn, None, path)
    }

    fn start(
        writer: Arc<Mutex<Connection>>,
        reader: Arc<Mutex<Connection>>,
        dir: Option<PathBuf>,
        path: String,
    ) -> Result<Self, StoreError> {
        let (secret, me, seen) = {
            let conn = lock(&reader);
            identity(&conn).map_err(|e| e.about(&path))?
        };
        let inner = Inner {
            writer: Writer::start(writer, me, &path)?,
            reader,
            dir,
            path,
            secret,
            me,
            revisions: Mutex::default(),
            seen: Mutex::new(seen),
            claimed: Arc::default(),
        };
        Ok(Self {
            inner: Arc::new(inner),
        })
    }

    /// Why something put is still waiting to be written; `None` while all is well. It is tried
    /// again every second and with every new write.
    pub fn trouble(&self) -> Option<StoreError> {
        self.inner.writer.trouble()
    }
}

/// The store's secret, a name for this opening, and where the changes stand.
fn identity(conn: &Connection) -> Result<([u8; 32], i64, Seen), Fault> {
    let secret: Vec<u8> =
        conn.query_row("SELECT value FROM meta WHERE key = 'secret'", [], |r| {
            r.get(0)
        })?;
    let secret = <[u8; 32]>::try_from(secret)
        .map_err(|s| Fault::corrupt(format!("a secret of {} bytes", s.len())))?;
    // Drawn by SQLite, which asks the system; the lowest bit keeps clear of the reserved zero.
    let me: i64 = conn.query_row("SELECT random() | 1", [], |r| r.get(0))?;
    let seen = Seen {
        version: schema::pragma(conn, "data_version")?,
        change: gates::last_change(conn)?,
    };
    Ok((secret, me, seen))
}

fn told(found: &[(StoreKey, Kept)], now: WallTime) -> Vec<StoredGate> {
    found.iter().flat_map(|(k, g)| g.told(k, now)).collect()
}

impl Store for Sqlite {
    fn secret(&self) -> [u8; 32] {
        self.inner.secret
    }

    fn load(&self, now: WallTime) -> Result<Vec<StoredGate>, StoreError> {
        let inner = &self.inner;
        let mut seen = lock(&inner.seen);
        let (found, last) = inner.read(|conn| gates::changed(conn, None, inner.me))?;
        seen.change = last;
        Ok(told(&found, now))
    }

    fn put(&self, gate: StoredGate) {
        let (key, kept) = Kept::of(gate);
        let mut revisions = lock(&self.inner.revisions);
        let last = revisions.entry(key.clone()).or_insert(0);
        let latest = kept.revision >= *last;
        *last = kept.revision.max(*last);
        // Queued with the lock held, so that the queue sees revisions in their order.
        self.inner.writer.put(key, Word { kept, latest });
    }

    fn changes(&self, now: WallTime) -> Result<Vec<StoredGate>, StoreError> {
        let inner = &self.inner;
        let mut seen = lock(&inner.seen);
        let since = seen.change;
        let found = inner.read(|conn| {
            let version = schema::pragma(conn, "data_version")?;
            if version == seen.version {
                return Ok(Vec::new());
            }
            let (found, last) = gates::changed(conn, Some(since), inner.me)?;
            (seen.version, seen.change) = (version, last);
            Ok(found)
        })?;
        Ok(told(&found, now))
    }

    fn flush(&self) -> Result<(), StoreError> {
        let (tell, told) = sync_channel(1);
        self.inner.writer.flush(Box::new(move |result| {
            // A caller that has left needs no answer.
            let _ = tell.send(result);
        }));
        told.recv()
            .unwrap_or_else(|_| Err(writer::ended(&self.inner.path)))
    }

    fn note(&self, note: HoldNote, now: WallTime) -> Result<(), StoreError> {
        self.inner.write(move |conn| notes::write(conn, note, now))
    }

    fn notes(&self, now: WallTime) -> Result<Vec<HoldNote>, StoreError> {
        self.inner.read(|conn| notes::read(conn, now))
    }
}
