//! The one thread that writes.
//!
//! Callers put words about gates and jobs into a queue; the thread takes what has gathered while
//! it was writing (at most [`GROUP`] messages) and commits it as one transaction. Nobody waits
//! for a group to fill: under load the disk makes the groups, and a lonely message is written at
//! once. A job that fails is rolled back alone. Words that cannot be written stay in the queue,
//! gathered by gate so that a full disk does not fill the memory too, and are tried again with
//! the next message, or after a second.

use std::collections::{BTreeMap, VecDeque};
use std::sync::{Arc, Condvar, Mutex, MutexGuard, PoisonError};
use std::thread::JoinHandle;
use std::time::Duration;

use rusqlite::Connection;

use super::group::round;
use super::message::{Job, Reply, Word, Words};
use crate::{StoreError, StoreKey};

/// The most messages in one transaction.
const GROUP: usize = 100;
/// How long after a failure the disk is tried again unasked.
const AGAIN: Duration = Duration::from_secs(1);

#[derive(Default)]
struct Queue {
    gates: BTreeMap<StoreKey, Word>,
    jobs: VecDeque<Job>,
    flushes: Vec<Reply>,
    /// Something came since the last failure.
    news: bool,
    stop: bool,
    /// The thread has ended: nothing more is written.
    ended: bool,
    trouble: Option<StoreError>,
}

struct Shared {
    queue: Mutex<Queue>,
    wake: Condvar,
    path: String,
}

impl Shared {
    fn lock(&self) -> MutexGuard<'_, Queue> {
        self.queue.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

/// The callers' side. Dropping it writes what is queued.
pub(super) struct Writer {
    shared: Arc<Shared>,
    thread: Option<JoinHandle<()>>,
}

impl Writer {
    /// Starts the thread. `me` names this process among those that share the file.
    pub(super) fn start(
        conn: Arc<Mutex<Connection>>,
        me: i64,
        path: &str,
    ) -> Result<Self, StoreError> {
        let shared = Arc::new(Shared {
            queue: Mutex::new(Queue::default()),
            wake: Condvar::new(),
            path: path.to_owned(),
        });
        let theirs = Arc::clone(&shared);
        let thread = std::thread::Builder::new()
            .name("abide-store".to_owned())
            .spawn(move || run(&theirs, &conn, me))
            .map_err(|e| super::open::io_error(path, &e))?;
        Ok(Self {
            shared,
            thread: Some(thread),
        })
    }

    /// Queues a word about a gate.
    pub(super) fn put(&self, key: StoreKey, word: Word) {
        let mut queue = self.shared.lock();
        match queue.gates.get_mut(&key) {
            Some(waiting) => waiting.absorb(word),
            None => {
                queue.gates.insert(key, word);
            }
        }
        queue.news = true;
        self.shared.wake.notify_one();
    }

    /// Queues a job.
    pub(super) fn submit(&self, job: Job) {
        let mut queue = self.shared.lock();
        if queue.ended {
            drop(queue);
            (job.reply)(Err(ended(&self.shared.path)));
            return;
        }
        queue.jobs.push_back(job);
        queue.news = true;
        self.shared.wake.notify_one();
    }

    /// Calls back once every word queued so far is written, or when that failed.
    pub(super) fn flush(&self, reply: Reply) {
        let mut queue = self.shared.lock();
        if queue.ended {
            drop(queue);
            reply(Err(ended(&self.shared.path)));
            return;
        }
        queue.flushes.push(reply);
        queue.news = true;
        self.shared.wake.notify_one();
    }

    /// Why words about gates are still waiting to be written, if they are.
    pub(super) fn trouble(&self) -> Option<StoreError> {
        self.shared.lock().trouble.clone()
    }
}

impl Drop for Writer {
    fn drop(&mut self) {
        self.shared.lock().stop = true;
        self.shared.wake.notify_one();
        if let Some(thread) = self.thread.take() {
            // A thread that panicked has nothing more to say here.
            let _ = thread.join();
        }
    }
}

/// Whatever ends the thread, nobody is left waiting for it.
struct Ending<'a>(&'a Shared);

impl Drop for Ending<'_> {
    fn drop(&mut self) {
        let mut queue = self.0.lock();
        queue.ended = true;
        let (jobs, flushes) = (
            std::mem::take(&mut queue.jobs),
            std::mem::take(&mut queue.flushes),
        );
        drop(queue);
        let replies = jobs.into_iter().map(|j| j.reply).chain(flushes);
        replies.for_each(|reply| reply(Err(ended(&self.0.path))));
    }
}

pub(super) fn ended(path: &str) -> StoreError {
    StoreError::Io {
        path: path.to_owned(),
        why: "its writer has ended".to_owned(),
    }
}

fn run(shared: &Shared, conn: &Mutex<Connection>, me: i64) {
    let _ending = Ending(shared);
    let mut failed = false;
    loop {
        let mut queue = shared.lock();
        while !queue.news && !queue.stop && (failed || queue.gates.is_empty()) {
            if !failed {
                let woken = shared.wake.wait(queue);
                queue = woken.unwrap_or_else(PoisonError::into_inner);
                continue;
            }
            let woken = shared.wake.wait_timeout(queue, AGAIN);
            let (again, timeout) = woken.unwrap_or_else(PoisonError::into_inner);
            queue = again;
            failed = !timeout.timed_out();
        }
        let rest = queue.gates.len() + queue.jobs.len() + queue.flushes.len();
        if queue.stop && (rest == 0 || failed && queue.jobs.is_empty()) {
            return;
        }
        queue.news = queue.jobs.len() > GROUP;
        let words = take_words(&mut queue);
        let count = queue.jobs.len().min(GROUP);
        let jobs: Vec<Job> = queue.jobs.drain(..count).collect();
        // Who asks from now on is not told how this round went: it began without them.
        let mut flushes = std::mem::take(&mut queue.flushes);
        drop(queue);

        let mut conn = conn.lock().unwrap_or_else(PoisonError::into_inner);
        let result = round(&mut conn, me, words, jobs, &shared.path);
        drop(conn);
        failed = result.is_err();

        let mut queue = shared.lock();
        if result.is_ok() && !queue.gates.is_empty() {
            queue.flushes.append(&mut flushes);
        }
        let answer = match result {
            Ok(()) => Ok(()),
            Err((words, e)) => {
                put_back(&mut queue, words);
                Err(e)
            }
        };
        queue.trouble = answer.clone().err().filter(|_| !queue.gates.is_empty());
        drop(queue);
        flushes.into_iter().for_each(|reply| reply(answer.clone()));
    }
}

fn take_words(queue: &mut Queue) -> Words {
    let count = queue.gates.len().min(GROUP);
    (0..count).filter_map(|_| queue.gates.pop_first()).collect()
}

/// Words that could not be written go back under what came meanwhile.
fn put_back(queue: &mut Queue, words: Words) {
    for (key, mut word) in words {
        if let Some(later) = queue.gates.remove(&key) {
            word.absorb(later);
        }
        queue.gates.insert(key, word);
    }
}
