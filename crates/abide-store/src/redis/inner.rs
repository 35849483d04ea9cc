//! What the store's handles and its thread share.

use std::collections::HashSet;
use std::sync::atomic::{AtomicU32, Ordering};
use std::sync::mpsc::sync_channel;
use std::sync::{Arc, Mutex, MutexGuard, OnceLock, PoisonError};
use std::time::Duration;

use ::redis::aio::MultiplexedConnection;
use ::redis::cmd;
use abide_core::WallTime;
use tokio::runtime::Handle;
use tokio::sync::{Notify, watch};

use super::fault::Fault;
use super::keys::{Keys, hex};
use super::mirror::Mirror;
use super::offset::Offset;
use super::options::Options;
use super::place::Place;
use super::queue::Queue;
use super::script::Scripts;
use super::{asking, record};
use crate::kept::Kept;
use crate::lend::{Ask, Lent};
use crate::{Changed, StoreError, StoreKey};

/// Whoever waits on the calling thread waits no longer than this.
pub(super) const BLOCK: Duration = Duration::from_secs(5);

/// Whether the server can be asked.
#[derive(Clone, Debug)]
pub(super) enum Line {
    /// Not now, and why.
    Down(String),
    Up(Up),
}

/// A way to the server.
#[derive(Clone, Debug)]
pub(super) struct Up {
    pub(super) connection: MultiplexedConnection,
}

pub(super) struct Inner {
    pub(super) options: Options,
    pub(super) place: Place,
    pub(super) keys: Keys,
    pub(super) scripts: Scripts,
    /// This process, among all that share the store.
    pub(super) who: u64,
    /// The store's secret and what makes its epoch, where it has none.
    pub(super) first: ([u8; 32], String),
    pub(super) secret: OnceLock<[u8; 32]>,
    pub(super) offset: Offset,
    pub(super) line: watch::Sender<Line>,
    pub(super) quit: watch::Sender<bool>,
    /// Something went wrong on the line: it should be looked at.
    pub(super) doubted: Notify,
    pub(super) queue: Queue,
    mirror: Mutex<Mirror>,
    hook: Mutex<Option<Arc<Changed>>>,
    /// Providers that the server has been told of.
    listed: Mutex<HashSet<String>>,
    peers: AtomicU32,
    pub(super) runtime: Handle,
}

fn lock<T>(of: &Mutex<T>) -> MutexGuard<'_, T> {
    of.lock().unwrap_or_else(PoisonError::into_inner)
}

impl Inner {
    pub(super) fn new(
        place: Place,
        options: Options,
        runtime: Handle,
        who: u64,
        first: ([u8; 32], String),
    ) -> Self {
        let secret = options
            .known_secret
            .map_or_else(OnceLock::new, OnceLock::from);
        Self {
            keys: Keys::new(&options.prefix),
            scripts: Scripts::new(),
            first,
            secret,
            offset: Offset::default(),
            line: watch::Sender::new(Line::Down("it was not met yet".to_owned())),
            quit: watch::Sender::new(false),
            doubted: Notify::new(),
            queue: Queue::default(),
            mirror: Mutex::default(),
            hook: Mutex::default(),
            listed: Mutex::default(),
            peers: AtomicU32::new(1),
            place,
            options,
            who,
            runtime,
        }
    }

    pub(super) fn wall(&self) -> WallTime {
        (self.options.wall)()
    }

    pub(super) fn up(&self) -> Result<Up, Fault> {
        match &*self.line.borrow() {
            Line::Up(up) => Ok(up.clone()),
            Line::Down(why) => Err(Fault::new(why.as_str())),
        }
    }

    pub(super) fn goes_down(&self, why: &str) {
        self.line.send_replace(Line::Down(why.to_owned()));
        self.queue.fails(why);
    }

    pub(super) fn doubt(&self) {
        self.doubted.notify_one();
    }

    pub(super) async fn quits(&self) {
        // The sender lives as long as this.
        let _ = self.quit.subscribe().wait_for(|quits| *quits).await;
    }

    pub(super) fn peers(&self) -> u32 {
        self.peers.load(Ordering::Relaxed)
    }

    pub(super) fn counts(&self, peers: u32) {
        self.peers.store(peers.max(1), Ordering::Relaxed);
    }

    pub(super) fn mirror(&self) -> MutexGuard<'_, Mirror> {
        lock(&self.mirror)
    }

    /// Calls whoever wants to know that there is something to hear.
    pub(super) fn calls(&self) {
        let hook = lock(&self.hook).clone();
        if let Some(hook) = hook {
            hook();
        }
    }

    pub(super) fn hook(&self, hook: Arc<Changed>) {
        *lock(&self.hook) = Some(hook);
    }

    /// The server may have forgotten which providers there are.
    pub(super) fn unlist(&self) {
        lock(&self.listed).clear();
    }

    /// Says a word. What the server knows of the gate now.
    pub(super) async fn say(
        &self,
        mut up: Up,
        key: &StoreKey,
        word: &Kept,
        now: &str,
    ) -> Result<Kept, Fault> {
        let provider = key.provider.as_str();
        let listed = lock(&self.listed).contains(provider);
        if !listed {
            let mut add = cmd("SADD");
            add.arg(&self.keys.providers).arg(provider);
            add.exec_async(&mut up.connection).await?;
            lock(&self.listed).insert(provider.to_owned());
        }
        let code = &self.scripts.put;
        let (gate, gates) = (
            self.keys.gate(provider, &key.gate),
            self.keys.gates(provider),
        );
        let mut call = code.call([gate.as_str(), gates.as_str()].into_iter());
        call.arg(now)
            .arg(self.who)
            .arg(&self.keys.news)
            .arg(hex(&key.gate))
            .arg(provider);
        let offset = self.offset.get();
        record::tell(&mut call, word, offset);
        let asked = self.wall();
        let (at, told): (String, String) = code.run(&mut up.connection, &call).await?;
        self.meets(asked, &at);
        record::read(&told, offset).ok_or_else(|| Fault::new("a record there makes no sense"))
    }

    /// Something was published.
    pub(super) fn hears(&self, message: &str) {
        let Some((who, gate, provider, told)) = record::news(message) else {
            // Somebody has met an empty store, and asks whose it was: a greeting fills it.
            self.doubt();
            return;
        };
        // Its own words were answered already.
        if who == self.who {
            return;
        }
        let key = super::keys::store_key(provider, gate);
        let kept = record::read(told, self.offset.get());
        if let (Some(key), Some(kept)) = (key, kept) {
            let news = self.mirror().hears(&key, kept, self.wall());
            if news {
                self.calls();
            }
        }
    }

    /// The server's time came with an answer.
    pub(super) fn meets(&self, asked: WallTime, server: &str) {
        if let Ok(server) = server.parse() {
            self.offset.meets(asked, server, self.wall());
        }
    }

    pub(super) fn give_back(self: &Arc<Self>, ask: &Ask, unused: &Lent) {
        let Ok(up) = self.up() else { return };
        let (inner, ask, unused) = (Arc::clone(self), ask.clone(), unused.clone());
        self.runtime.spawn(async move {
            // Where it fails, what was lent lapses.
            let _ = asking::take_back(&inner, up, &ask, &unused, "").await;
        });
    }

    /// Does something on the store's thread, and waits for it on this one.
    pub(super) fn block<T: Send + 'static>(
        &self,
        does: impl Future<Output = Result<T, Fault>> + Send + 'static,
    ) -> Result<T, StoreError> {
        let (tell, told) = sync_channel(1);
        self.runtime.spawn(async move {
            // A caller that has left needs no answer.
            let _ = tell.send(does.await);
        });
        let done = told
            .recv_timeout(BLOCK)
            .unwrap_or_else(|_| Err(Fault::late(BLOCK)));
        done.map_err(|fault| self.cannot(fault.why))
    }

    pub(super) fn cannot(&self, why: String) -> StoreError {
        StoreError::Shared {
            store: self.place.shown.clone(),
            why,
        }
    }
}
