//! A shared store that ends with the process: for tests of several who share one.
//!
//! It does what a store on the network does, at once and in memory, and breaks when it is told to.

use std::collections::BTreeMap;
use std::fmt;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::task::{Poll, Waker};

use abide_core::WallTime;

use super::{Answer, Ask, Book, Later, Lender, Lent, Lost};
use crate::kept::Kept;
use crate::{Changed, Store, StoreError, StoreKey, StoredGate};

/// Tells the time.
type Wall = Arc<dyn Fn() -> WallTime + Send + Sync>;

/// Several who share it each have a [`Reader`].
#[derive(Clone)]
pub struct Shelf {
    wall: Wall,
    secret: [u8; 32],
    inner: Arc<Mutex<Inner>>,
}

/// How it is.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub enum Trouble {
    /// Well.
    #[default]
    None,
    /// It cannot be used, saying this.
    Lost(String),
    /// It does not answer until it is in another state.
    Slow,
}

#[derive(Default)]
struct Inner {
    book: Book,
    readers: BTreeMap<u64, Unread>,
    trouble: Trouble,
    waiting: Vec<Waker>,
    asked: u64,
}

/// What a process has not heard yet, or could not say.
#[derive(Default)]
struct Unread {
    changed: Vec<StoreKey>,
    unsaid: Vec<StoredGate>,
    /// The last word about each gate: an older one only adds to it.
    said: BTreeMap<StoreKey, Kept>,
    hook: Option<Arc<Changed>>,
}

impl fmt::Debug for Shelf {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Shelf").finish_non_exhaustive()
    }
}

impl Shelf {
    /// An empty one, with the clock that all go by.
    pub fn new(wall: impl Fn() -> WallTime + Send + Sync + 'static) -> Self {
        Self {
            wall: Arc::new(wall),
            secret: [7; 32],
            inner: Arc::default(),
        }
    }

    /// One more process.
    pub fn reader(&self) -> Reader {
        let mut inner = self.lock();
        let who = inner.readers.keys().next_back().map_or(1, |last| last + 1);
        inner.readers.insert(who, Unread::default());
        Reader {
            shelf: self.clone(),
            who,
        }
    }

    /// Breaks it, or makes it well: what could not be said meanwhile is said then.
    pub fn trouble(&self, trouble: Trouble) {
        let mut inner = self.lock();
        inner.trouble = trouble;
        let mut hooks = Vec::new();
        if inner.trouble == Trouble::None {
            let now = (self.wall)();
            let whos: Vec<u64> = inner.readers.keys().copied().collect();
            for who in whos {
                let unsaid = inner
                    .readers
                    .get_mut(&who)
                    .map(|r| std::mem::take(&mut r.unsaid));
                for gate in unsaid.unwrap_or_default() {
                    hooks.extend(inner.put(now, who, gate));
                }
            }
        }
        let waiting = std::mem::take(&mut inner.waiting);
        drop(inner);
        waiting.into_iter().for_each(Waker::wake);
        hooks.iter().for_each(|hook| hook());
    }

    /// Forgets everything.
    pub fn flush_all(&self) {
        self.lock().book = Book::default();
    }

    /// How often it was asked.
    pub fn asked(&self) -> u64 {
        self.lock().asked
    }

    /// What is in it.
    pub fn book(&self) -> Book {
        self.lock().book.clone()
    }

    fn lock(&self) -> MutexGuard<'_, Inner> {
        self.inner.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

impl Inner {
    /// Takes in a word, and says whom to tell that there is something to hear.
    fn put(&mut self, now: WallTime, who: u64, gate: StoredGate) -> Vec<Arc<Changed>> {
        let (key, mut word) = Kept::of(gate);
        let reader = self.readers.entry(who).or_default();
        let said = reader
            .said
            .entry(key.clone())
            .or_insert_with(|| word.clone());
        let latest = word.revision >= said.revision;
        said.absorb(word.clone(), latest);
        if !latest {
            word = said.clone();
        }
        self.book.hears(now, who, key.clone(), word);
        let others = self.readers.iter_mut().filter(|(other, _)| **other != who);
        let mut hooks = Vec::new();
        for (_, unread) in others {
            if !unread.changed.contains(&key) {
                unread.changed.push(key.clone());
            }
            hooks.extend(unread.hook.clone());
        }
        hooks
    }
}

/// A process that shares a [`Shelf`].
#[derive(Clone, Debug)]
pub struct Reader {
    shelf: Shelf,
    who: u64,
}

impl Reader {
    fn later<T: 'static>(
        &self,
        does: impl Fn(&mut Inner, WallTime) -> T + Send + 'static,
    ) -> Later<T> {
        let shelf = self.shelf.clone();
        Box::pin(std::future::poll_fn(move |cx| {
            let mut inner = shelf.lock();
            match &inner.trouble {
                Trouble::None => Poll::Ready(Ok(does(&mut inner, (shelf.wall)()))),
                Trouble::Lost(why) => Poll::Ready(Err(Lost(why.clone()))),
                Trouble::Slow => {
                    inner.waiting.push(cx.waker().clone());
                    Poll::Pending
                }
            }
        }))
    }
}

impl Lender for Reader {
    fn ask(&self, ask: Ask) -> Later<Answer> {
        let who = self.who;
        self.later(move |inner, now| {
            inner.asked += 1;
            inner.book.ask(now, who, &ask)
        })
    }

    fn give_back(&self, ask: &Ask, unused: &Lent) {
        let mut inner = self.shelf.lock();
        if inner.trouble == Trouble::None {
            inner
                .book
                .take_back((self.shelf.wall)(), self.who, ask, unused);
        }
    }

    fn peers(&self) -> u32 {
        u32::try_from(self.shelf.lock().readers.len()).unwrap_or(u32::MAX)
    }

    fn greet(&self) -> Later<()> {
        let who = self.who;
        self.later(move |inner, now| {
            inner.book.greet(now, who);
        })
    }
}

impl Store for Reader {
    fn secret(&self) -> [u8; 32] {
        self.shelf.secret
    }

    fn load(&self, now: WallTime) -> Result<Vec<StoredGate>, StoreError> {
        Ok(self.shelf.lock().book.told_all(now))
    }

    fn put(&self, gate: StoredGate) {
        let mut inner = self.shelf.lock();
        if inner.trouble != Trouble::None {
            let unread = inner.readers.entry(self.who).or_default();
            unread.unsaid.push(gate);
            return;
        }
        let hooks = inner.put((self.shelf.wall)(), self.who, gate);
        drop(inner);
        hooks.iter().for_each(|hook| hook());
    }

    fn changes(&self, now: WallTime) -> Result<Vec<StoredGate>, StoreError> {
        let mut inner = self.shelf.lock();
        if inner.trouble != Trouble::None {
            return Ok(Vec::new());
        }
        let unread = inner.readers.entry(self.who).or_default();
        let changed = std::mem::take(&mut unread.changed);
        let told = changed.iter().flat_map(|key| inner.book.told(key, now));
        Ok(told.collect())
    }

    fn flush(&self) -> Result<(), StoreError> {
        match &self.shelf.lock().trouble {
            Trouble::None => Ok(()),
            Trouble::Lost(why) => Err(lost(why)),
            Trouble::Slow => Err(lost("it does not answer")),
        }
    }

    fn on_change(&self, hook: Box<Changed>) -> bool {
        let mut inner = self.shelf.lock();
        inner.readers.entry(self.who).or_default().hook = Some(Arc::from(hook));
        true
    }
}

fn lost(why: &str) -> StoreError {
    StoreError::Shared {
        store: "in memory".to_owned(),
        why: why.to_owned(),
    }
}
