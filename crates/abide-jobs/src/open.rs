//! Opening a queue, whoever keeps it.

use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::sync::atomic::AtomicU64;

use abide::Governor;
use abide::clock::{Clock, System};
use tokio::sync::Notify;

use crate::actor::Actor;
use crate::db::Fault;
use crate::db::sqlite::Sqlite;
use crate::error::QueueError;
use crate::prepare::Maker;
use crate::queue::{Inner, Queue};
use crate::results::Keeping;
use crate::seal::Seal;

/// The file of a queue in its folder.
const FILE: &str = "jobs.db";

/// The folder of results that are too large for the database.
const RESULTS: &str = "results";

/// Opens a [`Queue`].
#[derive(Debug, Default)]
pub struct QueueBuilder {
    governor: Option<Governor>,
    seal: Option<Arc<Seal>>,
    clock: Option<Arc<dyn Clock>>,
    keeping: Keeping,
}

impl QueueBuilder {
    /// Asks this governor whose an address is, and takes the time from its clock.
    #[must_use]
    pub fn governor(mut self, governor: Governor) -> Self {
        self.governor = Some(governor);
        self
    }

    /// The install key, with which requests are sealed. Without one a key is made that ends with
    /// the process: what was stored before cannot be read then.
    #[must_use]
    pub fn seal(mut self, seal: Seal) -> Self {
        self.seal = Some(Arc::new(seal));
        self
    }

    /// Takes the time from another clock.
    #[must_use]
    pub fn clock(mut self, clock: Arc<dyn Clock>) -> Self {
        self.clock = Some(clock);
        self
    }

    /// How results are kept.
    #[must_use]
    pub fn keeping(mut self, keeping: Keeping) -> Self {
        self.keeping = keeping;
        self
    }

    /// Opens (or makes, for its owner only) the queue in a folder: the file `jobs.db`.
    ///
    /// # Errors
    /// When folder or file cannot be made, opened or written, is another program's or damaged, or
    /// a later abide wrote it. The file is left as it was.
    pub fn open(self, dir: &Path) -> Result<Queue, QueueError> {
        let path = dir.join(FILE);
        let about = |e: Fault| e.about(&path.display().to_string());
        let writer = Sqlite::open(&path).map_err(about)?;
        let reader = Sqlite::open(&path).map_err(about)?;
        let thread = |db: Sqlite, name| {
            Actor::thread(Box::new(db), name).map_err(|e| QueueError::Database {
                place: path.display().to_string(),
                why: e.to_string(),
            })
        };
        let reader = thread(reader, "abide-jobs-read")?;
        let writer = thread(writer, "abide-jobs")?;
        self.made(writer, Some(reader), Some(dir.join(RESULTS)), None)
    }

    /// A queue that ends with the process.
    ///
    /// # Errors
    /// When there is no memory for it.
    pub fn in_memory(self) -> Result<Queue, QueueError> {
        let db = Sqlite::in_memory().map_err(|e| e.about(":memory:"))?;
        self.made(Actor::here(Box::new(db)), None, None, None)
    }

    /// Connects to a queue in PostgreSQL, and makes its tables where there are none. `config` is a
    /// connection string, as `host=/run/postgresql user=abide dbname=jobs`. The caller waits until it
    /// is connected.
    ///
    /// # Errors
    /// When the server cannot be reached, or its tables are not abide's.
    #[cfg(feature = "postgres")]
    pub fn connect(self, config: &str) -> Result<Queue, QueueError> {
        use crate::db::postgres::Postgres;
        let news = Arc::new(Notify::new());
        let place = Postgres::place_of(config);
        let connect = || -> Result<_, Fault> {
            let writer = Postgres::connect(config, true)?;
            let reader = Postgres::connect(config, false)?;
            crate::db::postgres::listen(config, &news)?;
            Ok((writer, reader))
        };
        // On a thread of its own: the caller's may have a runtime already.
        let connected = std::thread::scope(|s| s.spawn(connect).join());
        let gone = |_| Fault::Sql("it cannot be connected to".to_owned());
        let connected = connected.map_err(gone).and_then(|c| c);
        let (writer, reader) = connected.map_err(|e| e.about(&place))?;
        let thread = |db: Postgres, name| {
            Actor::thread(Box::new(db), name).map_err(|e| QueueError::Database {
                place: place.clone(),
                why: e.to_string(),
            })
        };
        let reader = thread(reader, "abide-jobs-read")?;
        let writer = thread(writer, "abide-jobs")?;
        self.made(writer, Some(reader), None, Some(news))
    }

    fn made(
        self,
        writer: Actor,
        reader: Option<Actor>,
        results: Option<PathBuf>,
        news: Option<Arc<Notify>>,
    ) -> Result<Queue, QueueError> {
        let no_key = || QueueError::Spec("this machine gives no key to seal with".to_owned());
        let seal = match self.seal {
            Some(seal) => seal,
            None => Arc::new(Seal::fresh().ok_or_else(no_key)?),
        };
        let of_governor = self.governor.as_ref().map(|g| Arc::clone(g.clock()));
        Ok(Queue {
            inner: Arc::new(Inner {
                writer,
                reader,
                clock: self
                    .clock
                    .or(of_governor)
                    .unwrap_or_else(|| Arc::new(System)),
                maker: Maker {
                    governor: self.governor,
                    seal,
                },
                keeping: self.keeping,
                results,
                told: news.is_some(),
                news: news.unwrap_or_default(),
                turn: AtomicU64::new(0),
            }),
        })
    }
}
