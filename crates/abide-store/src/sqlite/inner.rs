//! What the handles of one opened file share, and how they write and read.

use std::collections::{BTreeMap, BTreeSet};
use std::fmt;
use std::path::PathBuf;
use std::sync::mpsc::{Receiver, sync_channel};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

use rusqlite::Connection;

use super::Seen;
use super::fault::Fault;
use super::message::Job;
use super::writer::{self, Writer};
use crate::{StoreError, StoreKey};

pub(super) struct Inner {
    pub(super) writer: Writer,
    pub(super) reader: Arc<Mutex<Connection>>,
    /// The file's folder; `None` in memory.
    pub(super) dir: Option<PathBuf>,
    pub(super) path: String,
    pub(super) secret: [u8; 32],
    /// Names this opening among all that share the file.
    pub(super) me: i64,
    /// The latest revision put of each gate.
    pub(super) revisions: Mutex<BTreeMap<StoreKey, u64>>,
    pub(super) seen: Mutex<Seen>,
    /// Runs claimed in memory, where no lock file can be.
    pub(super) claimed: Arc<Mutex<BTreeSet<i64>>>,
}

/// Without the secret.
impl fmt::Debug for Inner {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Inner")
            .field("path", &self.path)
            .finish_non_exhaustive()
    }
}

impl Inner {
    /// Does something in a transaction of the writer's and waits for the commit.
    pub(super) fn write<T: Send + 'static>(
        &self,
        work: impl FnOnce(&Connection) -> Result<T, Fault> + Send + 'static,
    ) -> Result<T, StoreError> {
        self.wait(&self.begin_write(work))
    }

    /// Queues something for the writer, in the order of the calls.
    pub(super) fn begin_write<T: Send + 'static>(
        &self,
        work: impl FnOnce(&Connection) -> Result<T, Fault> + Send + 'static,
    ) -> Receiver<Result<T, StoreError>> {
        let (tell, told) = sync_channel(1);
        let slot = Arc::new(Mutex::new(None));
        let fill = Arc::clone(&slot);
        self.writer.submit(Job {
            work: Box::new(move |conn| {
                let value = work(conn)?;
                *lock(&fill) = Some(value);
                Ok(())
            }),
            reply: Box::new(move |result| {
                let value =
                    result.and_then(|()| lock(&slot).take().ok_or_else(|| writer::ended("")));
                // A caller that has left needs no answer.
                let _ = tell.send(value);
            }),
        });
        told
    }

    pub(super) fn wait<T>(&self, told: &Receiver<Result<T, StoreError>>) -> Result<T, StoreError> {
        told.recv()
            .unwrap_or_else(|_| Err(writer::ended(&self.path)))
    }

    pub(super) fn read<T>(
        &self,
        look: impl FnOnce(&Connection) -> Result<T, Fault>,
    ) -> Result<T, StoreError> {
        look(&lock(&self.reader)).map_err(|e| e.about(&self.path))
    }
}

pub(super) fn lock<T>(mutex: &Mutex<T>) -> MutexGuard<'_, T> {
    mutex.lock().unwrap_or_else(PoisonError::into_inner)
}
