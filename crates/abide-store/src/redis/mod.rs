//! Redis (6.2 or newer) or Valkey: one store for several machines, which lends leave to send too.
//!
//! Everything is one script a step, in the server, on the server's clock; [`Book`] says what the
//! scripts do, and they are compared with it operation by operation. Holds, lifts, rungs, counts and
//! what was learned are kept in keys that expire when nothing of them matters any more, and are
//! published when they change, so that nobody asks for them again and again. Wall times of a
//! process are converted by how far its clock was found to be from the server's.
//!
//! The store has a thread of its own for its two connections: it may be waited for
//! ([`Store::load`], [`Store::flush`], [`Store::note`]) by whoever is the only thread of a runtime,
//! and it serves whichever runtime asks, or none.
//!
//! While the server is gone, whatever is put is kept, one word a gate. When it is back, or has been
//! emptied, it is told what this process knows beyond it; what it knows beyond this process is told
//! by [`Store::changes`].
//!
//! [`Book`]: crate::lend::Book

mod asking;
mod fault;
mod hello;
mod inner;
mod keys;
mod line;
mod loading;
mod mirror;
mod notes;
mod offset;
mod options;
mod place;
mod queue;
mod record;
mod script;
mod start;
#[cfg(test)]
mod tests;

use std::fmt;
use std::sync::Arc;
use std::time::Duration;

use abide_core::WallTime;

use crate::lend::{Answer, Ask, Later, Lender, Lent, Lost};
use crate::{Changed, HoldNote, Store, StoreError, StoredGate};
use fault::Fault;
use inner::{BLOCK, Inner};
pub use options::Options;
use start::Handle;

/// A store in a Redis server. Clones share it; the last one to go writes what is queued, as far as
/// that takes no longer than a second.
#[derive(Clone)]
pub struct RedisStore {
    handle: Arc<Handle>,
}

/// Without secrets.
impl fmt::Debug for RedisStore {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let mut shown = f.debug_struct("RedisStore");
        shown.field("place", &self.inner().place);
        shown.field("trouble", &self.trouble());
        shown.finish_non_exhaustive()
    }
}

impl RedisStore {
    /// Connects to `redis://user:password@host:6379/0`, `rediss://` (TLS), `redis+unix:///path`, or
    /// `redis+sentinel://user:password@host:26379,host/master/0` (`rediss+sentinel://` with TLS),
    /// where name and password are the server's.
    ///
    /// # Errors
    /// [`StoreError::Shared`] when the address makes no sense, the server cannot be used, or is too
    /// old, or its data are another version's. With [`Options::known_secret`] only for the first:
    /// then the server is sought until it is there.
    pub fn open(url: &str) -> Result<Self, StoreError> {
        Self::open_with(url, Options::default())
    }

    /// As [`open`](Self::open), with options.
    ///
    /// # Errors
    /// As [`open`](Self::open).
    pub fn open_with(url: &str, options: Options) -> Result<Self, StoreError> {
        let handle = Arc::new(start::start(url, options)?);
        Ok(Self { handle })
    }

    /// Why the server cannot be used now, as it was met last; without asking it.
    pub fn trouble(&self) -> Option<String> {
        self.inner().up().err().map(|fault| fault.why)
    }

    fn inner(&self) -> &Arc<Inner> {
        &self.handle.inner
    }
}

impl Store for RedisStore {
    fn secret(&self) -> [u8; 32] {
        let inner = self.inner();
        *inner.secret.get().unwrap_or(&inner.first.0)
    }

    fn load(&self, now: WallTime) -> Result<Vec<StoredGate>, StoreError> {
        let inner = Arc::clone(self.inner());
        self.inner().block(async move {
            loading::reconcile(&inner, inner.up()?).await?;
            Ok(inner.mirror().all(now))
        })
    }

    fn put(&self, gate: StoredGate) {
        let inner = self.inner();
        let now = inner.wall();
        // Queued with the lock held, so that the queue sees revisions in their order.
        let mut mirror = inner.mirror();
        let (key, word) = mirror.says(gate, now);
        inner.queue.put(key, word);
    }

    fn changes(&self, now: WallTime) -> Result<Vec<StoredGate>, StoreError> {
        Ok(self.inner().mirror().changes(now))
    }

    fn on_change(&self, hook: Box<Changed>) -> bool {
        self.inner().hook(Arc::from(hook));
        true
    }

    fn flush(&self) -> Result<(), StoreError> {
        let inner = self.inner();
        let down = self.trouble();
        let within = down.as_ref().map_or(BLOCK, |_| Duration::ZERO);
        let flushed = inner.queue.flush(within);
        flushed.map_err(|why| inner.cannot(down.unwrap_or(why)))
    }

    fn note(&self, note: HoldNote, _now: WallTime) -> Result<(), StoreError> {
        let inner = Arc::clone(self.inner());
        self.inner()
            .block(async move { notes::write(&inner, inner.up()?, note).await })
    }

    fn notes(&self, now: WallTime) -> Result<Vec<HoldNote>, StoreError> {
        let inner = Arc::clone(self.inner());
        self.inner()
            .block(async move { notes::read(&inner, inner.up()?, now).await })
    }
}

impl Lender for RedisStore {
    fn ask(&self, ask: Ask) -> Later<Answer> {
        let inner = self.inner();
        match inner.up() {
            Ok(up) => Box::pin(asking::ask(inner, up, ask)),
            Err(fault) => Box::pin(std::future::ready(Err(Lost(fault.why)))),
        }
    }

    fn give_back(&self, ask: &Ask, unused: &Lent) {
        self.inner().give_back(ask, unused);
    }

    fn peers(&self) -> u32 {
        self.inner().peers()
    }

    fn greet(&self) -> Later<()> {
        let inner = Arc::clone(self.inner());
        let (tell, told) = tokio::sync::oneshot::channel();
        self.inner().runtime.spawn(async move {
            let within = inner.options.ask_within;
            let greets = async { hello::greet(&inner, inner.up()?, "").await };
            let greeted = tokio::time::timeout(within, greets).await;
            let greeted = greeted.unwrap_or_else(|_| Err(Fault::late(within)));
            if greeted.is_err() {
                inner.doubt();
            }
            // Another store than before is the line's affair.
            let _ = tell.send(greeted.map_err(|fault| Lost(fault.why)));
        });
        Box::pin(async move {
            let ended = |_| Err(Lost("this process is ending".to_owned()));
            told.await.unwrap_or_else(ended).map(drop)
        })
    }
}
