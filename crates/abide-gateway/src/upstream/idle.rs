//! Connections that lie idle until the next exchange.
//!
//! The one used last is used next: it is the likeliest to be alive.

use std::collections::{HashMap, VecDeque};
use std::sync::{Arc, Weak};
use std::time::Duration;

use hyper::client::conn::http1;
use parking_lot::Mutex;

use crate::body::Outgoing;

pub(super) type Sender = http1::SendRequest<Outgoing>;

/// Those of one worker.
pub(super) struct Pool {
    idle: Mutex<HashMap<Arc<str>, Host>>,
    /// Kept to each host.
    most: usize,
    /// For how long.
    within: Duration,
}

struct Host {
    name: Arc<str>,
    idle: VecDeque<Idle>,
}

/// A connection that nobody has.
struct Idle {
    sender: Sender,
    /// How often it was there when those that are too old were let go.
    age: u32,
}

/// A connection that somebody has.
pub(super) struct Lent {
    sender: Sender,
    to: Arc<str>,
    pool: Arc<Pool>,
}

impl Pool {
    pub(super) fn new(most: usize, within: Duration) -> Self {
        Self {
            idle: Mutex::default(),
            most,
            within,
        }
    }

    pub(super) fn take(&self, to: &str) -> Option<(Arc<str>, Sender)> {
        let mut all = self.idle.lock();
        let host = all.get_mut(to)?;
        while let Some(Idle { sender, .. }) = host.idle.pop_back() {
            if sender.is_ready() {
                return Some((Arc::clone(&host.name), sender));
            }
        }
        None
    }

    pub(super) fn put(self: &Arc<Self>, to: Arc<str>, sender: Sender) {
        if self.most == 0 {
            return;
        }
        let mut all = self.idle.lock();
        if all.is_empty() {
            tokio::spawn(forget(Arc::downgrade(self), self.within));
        }
        let host = all.entry(to).or_insert_with_key(|name| Host {
            name: Arc::clone(name),
            idle: VecDeque::new(),
        });
        if host.idle.len() >= self.most {
            host.idle.pop_front();
        }
        host.idle.push_back(Idle { sender, age: 0 });
    }
}

/// So often in the time that a connection may lie idle those are looked for that did so for too long:
/// to read the clock twice an exchange costs more than to be exact is worth.
const LOOKS: u32 = 4;

/// Lets go of what lies idle for too long, as long as there is anything.
async fn forget(pool: Weak<Pool>, within: Duration) {
    loop {
        tokio::time::sleep((within / LOOKS).max(Duration::from_millis(10))).await;
        let Some(pool) = pool.upgrade() else {
            return;
        };
        let mut all = pool.idle.lock();
        all.retain(|_, host| {
            host.idle.retain_mut(|idle| {
                idle.age += 1;
                idle.age <= LOOKS && !idle.sender.is_closed()
            });
            !host.idle.is_empty()
        });
        if all.is_empty() {
            return;
        }
    }
}

impl Lent {
    pub(super) const fn new(sender: Sender, to: Arc<str>, pool: Arc<Pool>) -> Self {
        Self { sender, to, pool }
    }

    /// Its exchange is over.
    pub(super) fn give_back(self) {
        let Self {
            mut sender,
            to,
            pool,
        } = self;
        if sender.is_ready() {
            pool.put(to, sender);
        } else if !sender.is_closed() {
            tokio::spawn(async move {
                if sender.ready().await.is_ok() {
                    pool.put(to, sender);
                }
            });
        }
    }
}
