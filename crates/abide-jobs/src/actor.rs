//! The one who writes.
//!
//! A thread owns the connection. It takes what has gathered while it was writing, at most
//! [`GROUP`] jobs, and commits it as one transaction; nobody waits for a group to fill, so a lonely
//! job is written at once and under load the disk makes the groups. Whoever asked is told after the
//! commit, and never before.
//!
//! Where a connection was lost before the commit the group is done anew once there is one. A queue
//! in memory has no thread: there is no disk to wait for, and virtual time needs none to run ahead.

use std::fmt;
use std::time::Duration;

use parking_lot::Mutex;
use tokio::sync::{mpsc, oneshot};

use crate::db::{Db, Fault};
use crate::error::QueueError;
use crate::ops::finish::{Finish, finish};
use crate::ops::submit::{NewJob, Submitted, submit};

/// The most jobs in one transaction.
pub(crate) const GROUP: usize = 100;

/// What may wait for the writer; whoever comes then waits too.
const QUEUE: usize = 1024;

/// How often a group is tried whose connection was lost, and how long is waited in between: a
/// server that starts anew takes seconds.
const TRIES: u32 = 30;
const AGAIN: Duration = Duration::from_millis(500);

type Told<T> = oneshot::Sender<Result<T, QueueError>>;
type Work = Box<dyn FnMut(&mut dyn Db) -> Result<(), Fault> + Send>;
type Reply = Box<dyn FnOnce(Result<(), QueueError>) + Send>;

/// What the writer is asked for.
pub(crate) enum Op {
    Submit(Vec<NewJob>, Told<Vec<Submitted>>),
    Finish(Box<Finish>, Told<bool>),
    Other(Work, Reply),
    /// Outside of any transaction.
    Alone(Work, Reply),
}

impl Op {
    fn weight(&self) -> usize {
        match self {
            Self::Submit(jobs, _) => jobs.len(),
            Self::Finish(..) | Self::Other(..) | Self::Alone(..) => 1,
        }
    }
}

/// The way to the writer.
pub(crate) enum Actor {
    Here(Mutex<Box<dyn Db>>),
    Thread(mpsc::Sender<Op>, String),
}

impl fmt::Debug for Actor {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Actor").finish_non_exhaustive()
    }
}

impl Actor {
    /// Works on the caller's own thread.
    pub(crate) fn here(db: Box<dyn Db>) -> Self {
        Self::Here(Mutex::new(db))
    }

    /// Starts a thread.
    pub(crate) fn thread(mut db: Box<dyn Db>, name: &str) -> std::io::Result<Self> {
        let (tx, mut rx) = mpsc::channel::<Op>(QUEUE);
        let place = db.place().to_owned();
        std::thread::Builder::new()
            .name(name.to_owned())
            .spawn(move || {
                while let Some(first) = rx.blocking_recv() {
                    let mut group: Vec<Op> = vec![first];
                    let mut weight = group.iter().map(Op::weight).sum::<usize>();
                    while weight < GROUP
                        && let Ok(op) = rx.try_recv()
                    {
                        weight += op.weight();
                        group.push(op);
                    }
                    work(db.as_mut(), group);
                }
            })?;
        Ok(Self::Thread(tx, place))
    }

    pub(crate) async fn send(&self, op: Op) -> Result<(), QueueError> {
        match self {
            Self::Here(db) => {
                work(db.lock().as_mut(), vec![op]);
                Ok(())
            }
            Self::Thread(tx, place) => {
                let sent = tx.send(op).await;
                sent.map_err(|_| QueueError::Closed(place.clone()))
            }
        }
    }

    /// Does something in a transaction and waits for the commit. It may be done again where the
    /// connection is lost.
    pub(crate) async fn call<T: Send + 'static>(
        &self,
        work: impl FnMut(&mut dyn Db) -> Result<T, Fault> + Send + 'static,
    ) -> Result<T, QueueError> {
        self.wait(work, Op::Other).await
    }

    /// Does something outside of any transaction.
    pub(crate) async fn alone<T: Send + 'static>(
        &self,
        work: impl FnMut(&mut dyn Db) -> Result<T, Fault> + Send + 'static,
    ) -> Result<T, QueueError> {
        self.wait(work, Op::Alone).await
    }

    async fn wait<T: Send + 'static>(
        &self,
        mut work: impl FnMut(&mut dyn Db) -> Result<T, Fault> + Send + 'static,
        op: impl FnOnce(Work, Reply) -> Op,
    ) -> Result<T, QueueError> {
        let (tell, told) = oneshot::channel();
        let slot = std::sync::Arc::new(Mutex::new(None));
        let fill = std::sync::Arc::clone(&slot);
        let work: Work = Box::new(move |db| {
            *fill.lock() = Some(work(db)?);
            Ok(())
        });
        let closed = self.closed();
        let nothing = closed.clone();
        let reply: Reply = Box::new(move |result| {
            let value = result.and_then(|()| slot.lock().take().ok_or(nothing));
            // A caller that has left needs no answer.
            let _ = tell.send(value);
        });
        self.send(op(work, reply)).await?;
        told.await.map_err(|_| closed)?
    }

    fn closed(&self) -> QueueError {
        QueueError::Closed(match self {
            Self::Here(_) => "memory".to_owned(),
            Self::Thread(_, place) => place.clone(),
        })
    }

    /// Writes jobs down, with whatever else is written just now.
    pub(crate) async fn submit(&self, jobs: Vec<NewJob>) -> Result<Vec<Submitted>, QueueError> {
        let (tell, told) = oneshot::channel();
        self.send(Op::Submit(jobs, tell)).await?;
        told.await.map_err(|_| self.closed())?
    }

    /// Writes an end down, with whatever else is written just now.
    pub(crate) async fn finish(&self, end: Box<Finish>) -> Result<bool, QueueError> {
        let (tell, told) = oneshot::channel();
        self.send(Op::Finish(end, tell)).await?;
        told.await.map_err(|_| self.closed())?
    }
}

/// Does a group, and tells whoever asked.
fn work(db: &mut dyn Db, group: Vec<Op>) {
    let (alone, mut group): (Vec<Op>, Vec<Op>) = group
        .into_iter()
        .partition(|op| matches!(op, Op::Alone(..)));
    if !group.is_empty() {
        let mut tries = 0;
        let done = loop {
            tries += 1;
            match transaction(db, &mut group) {
                Err(Fault::Lost(why)) if tries < TRIES => {
                    tracing::warn!(place = db.place(), why, "the queue is out of reach; again");
                    std::thread::sleep(AGAIN);
                }
                done => break done,
            }
        };
        answer(group, done.map_err(|e| e.about(db.place())));
    }
    for op in alone {
        if let Op::Alone(mut work, reply) = op {
            reply(work(db).map_err(|e| e.about(db.place())));
        }
    }
}

/// What a group came to, in the order of its submissions and of its ends.
struct Done {
    submitted: Vec<Submitted>,
    heard: Vec<bool>,
}

fn transaction(db: &mut dyn Db, group: &mut [Op]) -> Result<Done, Fault> {
    db.begin()?;
    let done = all(db, group);
    match done {
        Ok(done) => db.commit().map(|()| done),
        Err(e) => {
            db.rollback();
            Err(e)
        }
    }
}

fn all(db: &mut dyn Db, group: &mut [Op]) -> Result<Done, Fault> {
    let mut new: Vec<NewJob> = Vec::new();
    for op in group.iter() {
        if let Op::Submit(jobs, _) = op {
            new.extend(jobs.iter().cloned());
        }
    }
    let submitted = match new.is_empty() {
        true => Vec::new(),
        false => submit(db, &new)?,
    };
    let ends: Vec<&Finish> = group
        .iter()
        .filter_map(|op| match op {
            Op::Finish(end, _) => Some(&**end),
            _ => None,
        })
        .collect();
    let heard = match ends.is_empty() {
        true => Vec::new(),
        false => finish(db, &ends)?,
    };
    for op in group.iter_mut() {
        if let Op::Other(work, _) = op {
            work(db)?;
        }
    }
    Ok(Done { submitted, heard })
}

fn answer(group: Vec<Op>, done: Result<Done, QueueError>) {
    // Callers that have left need no answer.
    match done {
        Ok(done) => {
            let (mut submitted, mut heard) = (done.submitted.into_iter(), done.heard.into_iter());
            for op in group {
                match op {
                    Op::Submit(jobs, tell) => {
                        let theirs = submitted.by_ref().take(jobs.len()).collect();
                        let _ = tell.send(Ok(theirs));
                    }
                    Op::Finish(_, tell) => {
                        let _ = tell.send(Ok(heard.next().unwrap_or_default()));
                    }
                    Op::Other(_, reply) | Op::Alone(_, reply) => reply(Ok(())),
                }
            }
        }
        Err(e) => {
            for op in group {
                match op {
                    Op::Submit(_, tell) => drop(tell.send(Err(e.clone()))),
                    Op::Finish(_, tell) => drop(tell.send(Err(e.clone()))),
                    Op::Other(_, reply) | Op::Alone(_, reply) => reply(Err(e.clone())),
                }
            }
        }
    }
}
