//! Words on their way to the server: one a gate, the last one, with all holds of those before it.

use std::collections::HashMap;
use std::sync::{Arc, Condvar, Mutex, MutexGuard, PoisonError};
use std::time::Duration;

use futures_util::future::join_all;
use tokio::sync::Notify;

use super::inner::{Inner, Line};
use crate::StoreKey;
use crate::kept::Kept;

/// So many words are on the wire together.
const TOGETHER: usize = 128;
/// What the server would not take is said again after so long.
const AGAIN: Duration = Duration::from_millis(200);

#[derive(Debug, Default)]
pub(super) struct Queue {
    state: Mutex<State>,
    /// There is something to say, or another reason to look.
    more: Notify,
    /// All is said.
    idle: Notify,
    /// Something came to an end, for threads that wait.
    ended: Condvar,
}

#[derive(Debug, Default)]
struct State {
    words: HashMap<StoreKey, Kept>,
    /// How many are on the wire.
    sending: usize,
    failed: Option<String>,
}

impl State {
    fn is_idle(&self) -> bool {
        self.words.is_empty() && self.sending == 0
    }

    /// Adds a word, said after whatever waits.
    fn add(&mut self, key: StoreKey, word: Kept) {
        match self.words.get_mut(&key) {
            Some(earlier) => earlier.absorb(word, true),
            None => {
                self.words.insert(key, word);
            }
        }
    }
}

impl Queue {
    fn lock(&self) -> MutexGuard<'_, State> {
        self.state.lock().unwrap_or_else(PoisonError::into_inner)
    }

    pub(super) fn put(&self, key: StoreKey, word: Kept) {
        self.lock().add(key, word);
        self.more.notify_one();
    }

    fn take(&self) -> Vec<(StoreKey, Kept)> {
        let mut state = self.lock();
        let keys: Vec<_> = state.words.keys().take(TOGETHER).cloned().collect();
        state.sending = keys.len();
        let words = keys.into_iter();
        words.filter_map(|k| state.words.remove_entry(&k)).collect()
    }

    /// What was on the wire is said, but for this.
    fn sent(&self, unsaid: Vec<(StoreKey, Kept)>, failed: Option<String>) {
        let mut state = self.lock();
        state.sending = 0;
        for (key, mut word) in unsaid {
            if let Some(later) = state.words.remove(&key) {
                word.absorb(later, true);
            }
            state.words.insert(key, word);
        }
        state.failed = failed;
        let idle = state.is_idle();
        drop(state);
        self.ended.notify_all();
        if idle {
            self.idle.notify_waiters();
        }
    }

    /// The server is gone: whoever waits is told.
    pub(super) fn fails(&self, why: &str) {
        self.lock().failed = Some(why.to_owned());
        self.ended.notify_all();
    }

    /// Waits until all is said, on the calling thread.
    pub(super) fn flush(&self, within: Duration) -> Result<(), String> {
        let mut state = self.lock();
        state.failed = None;
        self.more.notify_one();
        let waits = |s: &mut State| !s.is_idle() && s.failed.is_none();
        let (state, _) = self
            .ended
            .wait_timeout_while(state, within, waits)
            .unwrap_or_else(PoisonError::into_inner);
        match &state.failed {
            _ if state.is_idle() => Ok(()),
            Some(why) => Err(why.clone()),
            None => Err(format!("not all was written within {within:?}")),
        }
    }

    /// Waits until all is said.
    pub(super) async fn drained(&self) {
        loop {
            let idle = self.idle.notified();
            if self.lock().is_idle() {
                return;
            }
            idle.await;
        }
    }
}

/// Says whatever is put, while there is a line.
pub(super) async fn send(inner: Arc<Inner>) {
    let mut line = inner.line.subscribe();
    loop {
        while inner.queue.lock().words.is_empty() {
            inner.queue.more.notified().await;
        }
        let up = match line.wait_for(|l| matches!(l, Line::Up(_))).await.as_deref() {
            Ok(Line::Up(up)) => up.clone(),
            _ => return,
        };
        let words = inner.queue.take();
        let said = words
            .iter()
            .map(|(key, word)| inner.say(up.clone(), key, word, ""));
        let said = join_all(said).await;
        let (mut unsaid, mut failed) = (Vec::new(), None);
        let mut news = false;
        for ((key, word), said) in words.into_iter().zip(said) {
            match said {
                Ok(truth) => news |= inner.mirror().hears(&key, truth, inner.wall()),
                Err(fault) => {
                    failed = Some(fault.why);
                    unsaid.push((key, word));
                }
            }
        }
        let again = failed.is_some();
        inner.queue.sent(unsaid, failed);
        if news {
            inner.calls();
        }
        if again {
            inner.doubt();
            let _ = tokio::time::timeout(AGAIN, inner.queue.more.notified()).await;
        }
    }
}
