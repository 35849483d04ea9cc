//! A bulk of lookups: rows that are whatever calls the program makes, not one request each.
//!
//! What is waited out and when the asking ends is [`abide_core::run`]'s to say, as for a run of
//! requests. Only the primary provider has a say: another one's hold fails its own row at most.
//! A lookup makes its calls without patience of their own ([`Lookup::options`]); the run waits.

use std::fmt;
use std::pin::Pin;
use std::sync::Arc;
use std::task::{Context, Poll};
use std::time::Duration;

use abide_core::call::Safety;
use abide_core::run::{End, Item, LaneId, Run, RunPolicy, Step};
use abide_core::{Instant, Verdict};
use parking_lot::Mutex;
use tokio::sync::mpsc;
use tokio::task::{JoinError, JoinHandle, JoinSet};

use crate::call::CallError;
use crate::chain::ChainError;
use crate::client::CallOptions;
use crate::error::{Error, TurnedAway};
use crate::governor::Governor;
use crate::patience::Patience;

/// Reports that may wait for whoever takes them: a lookup takes longer than taking its report.
const REPORTS: usize = 64;

/// A timer counts whole milliseconds: sleeping for less would not let time pass.
const TICK: Duration = Duration::from_millis(1);

/// How often a worker without a row looks whether a lane has a hand free again, where no opening
/// is known: workers are no more than hands, so it is seldom.
const HAND: Duration = Duration::from_millis(50);

/// An error that may be a refusal.
pub trait MayBeTurned {
    /// The refusal, if it is one.
    fn turned(&self) -> Option<&TurnedAway>;
}

impl MayBeTurned for Error {
    fn turned(&self) -> Option<&TurnedAway> {
        Self::turned(self)
    }
}

impl<E> MayBeTurned for CallError<E> {
    fn turned(&self) -> Option<&TurnedAway> {
        Some(Self::turned(self))
    }
}

impl<E> MayBeTurned for ChainError<E> {
    fn turned(&self) -> Option<&TurnedAway> {
        Some(Self::turned(self))
    }
}

/// One row being looked up.
#[derive(Clone, Debug)]
pub struct Lookup {
    /// Which.
    pub item: Item,
    options: CallOptions,
}

impl Lookup {
    /// How its calls are to be made: without waiting, since the run waits.
    pub fn options(&self) -> CallOptions {
        self.options.clone()
    }
}

/// How one row ended.
#[derive(Debug)]
#[non_exhaustive]
pub enum Ended<T, E> {
    /// It was found, or whatever the lookup made of it.
    Found(T),
    /// Its last lookup failed, after its waits.
    Failed(E),
    /// Its lookup panicked.
    Panicked,
    /// It was not asked for: the primary provider is asked no more.
    Skipped {
        /// Why.
        cause: Verdict,
        /// When to come back, if anyone knows.
        retry_at: Option<Instant>,
    },
}

/// What a bulk of lookups came to.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
#[non_exhaustive]
pub struct LookedUp {
    /// Rows found.
    pub found: u32,
    /// Rows whose lookup failed.
    pub failed: u32,
    /// Rows not asked for.
    pub skipped: u32,
}

/// A bulk of lookups.
///
/// ```
/// # tokio::runtime::Builder::new_multi_thread().enable_all().build().unwrap().block_on(async {
/// use abide::run::Lookups;
/// use abide::{Failed, Governor, Said};
///
/// let governor = Governor::builder().build().unwrap();
/// let rows = Lookups::new(&governor, "books.example", Default::default());
/// let made = governor.clone();
/// let done = rows
///     .run(
///         0..3,
///         move |row| {
///             let governor = made.clone();
///             async move {
///                 let find = |_| async { Ok::<_, Failed<()>>(row.item * 2) };
///                 governor.call_with("books.example", &row.options(), find).await
///             }
///         },
///         |row, ended| println!("{row}: {ended:?}"),
///     )
///     .await;
/// assert_eq!(done.found, 3);
/// # });
/// ```
pub struct Lookups {
    governor: Governor,
    primary: Arc<str>,
    run: Run,
    lane: LaneId,
    options: CallOptions,
    policy: RunPolicy,
}

impl fmt::Debug for Lookups {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Lookups")
            .field("primary", &self.primary)
            .field("policy", &self.policy)
            .finish_non_exhaustive()
    }
}

/// What the workers share.
struct Shared {
    governor: Governor,
    primary: Arc<str>,
    run: Mutex<Run>,
    lane: LaneId,
    options: CallOptions,
}

impl Lookups {
    /// A bulk whose rows depend on this provider.
    pub fn new(governor: &Governor, primary: &str, policy: RunPolicy) -> Self {
        let mut run = Run::new(policy.clone());
        let options = CallOptions {
            safety: Some(Safety::Read),
            patience: Some(Patience::FailFast),
            ..CallOptions::default()
        };
        Self {
            governor: governor.clone(),
            primary: primary.into(),
            lane: run.lane(),
            run,
            options,
            policy,
        }
    }

    /// How a lookup's calls are made, but for their patience.
    #[must_use]
    pub fn options(mut self, options: CallOptions) -> Self {
        self.options = options;
        self.options.patience = Some(Patience::FailFast);
        self
    }

    /// Looks up these rows, as many at once as the policy says; `take` is told how each ended.
    pub async fn run<T, E, F, A>(
        mut self,
        rows: impl IntoIterator<Item = Item>,
        lookup: F,
        mut take: impl FnMut(Item, Ended<T, E>),
    ) -> LookedUp
    where
        F: Fn(Lookup) -> A + Send + Sync + 'static,
        A: Future<Output = Result<T, E>> + Send + 'static,
        T: Send + 'static,
        E: MayBeTurned + Send + 'static,
    {
        for row in rows {
            self.run.add(self.lane, row, 0);
        }
        let shared = Arc::new(Shared {
            governor: self.governor,
            primary: self.primary,
            run: Mutex::new(self.run),
            lane: self.lane,
            options: self.options,
        });
        let (tell, mut told) = mpsc::channel(REPORTS);
        let lookup = Arc::new(lookup);
        let mut workers = JoinSet::new();
        for _ in 0..self.policy.concurrency.max(1) {
            let (shared, lookup, tell) = (Arc::clone(&shared), Arc::clone(&lookup), tell.clone());
            workers.spawn(async move {
                while let Some(row) = shared.next().await {
                    let (ended, end) = shared.work(row, &*lookup).await;
                    let now = shared.governor.clock().now();
                    shared.run.lock().end(now, shared.lane, row, &end);
                    if tell.send((row, ended)).await.is_err() {
                        return;
                    }
                }
            });
        }
        drop(tell);
        let mut sum = LookedUp::default();
        while let Some((row, ended)) = told.recv().await {
            match &ended {
                Ended::Found(_) => sum.found += 1,
                Ended::Failed(_) | Ended::Panicked => sum.failed += 1,
                Ended::Skipped { .. } => sum.skipped += 1,
            }
            take(row, ended);
        }
        while workers.join_next().await.is_some() {}
        loop {
            let stopped = shared.run.lock().take_stopped();
            let Some((_, row, stop)) = stopped else {
                return sum;
            };
            sum.skipped += 1;
            let (cause, retry_at) = (stop.cause, stop.retry_at);
            take(row, Ended::Skipped { cause, retry_at });
        }
    }
}

impl Shared {
    /// The next row; waits while the lane is closed and has some.
    async fn next(&self) -> Option<Item> {
        loop {
            let now = self.governor.clock().now();
            let opens = {
                let mut run = self.run.lock();
                if let Some((_, row)) = run.take(now) {
                    return Some(row);
                }
                if run.pending() == 0 || run.stop(self.lane).is_some() {
                    return None;
                }
                run.next_opening(now)
            };
            // The lane has no hand free, or is closed for a while.
            let nap = opens.map_or(HAND, |at| at.since(now));
            tokio::time::sleep(nap.max(TICK)).await;
        }
    }

    async fn work<T, E, F, A>(&self, row: Item, lookup: &F) -> (Ended<T, E>, End)
    where
        F: Fn(Lookup) -> A,
        A: Future<Output = Result<T, E>> + Send + 'static,
        T: Send + 'static,
        E: MayBeTurned + Send + 'static,
    {
        loop {
            let asked = Lookup {
                item: row,
                options: self.options.clone(),
            };
            // Apart, so that a lookup that panics costs its row and nothing else.
            let made = Aborting(tokio::spawn(lookup(asked))).await;
            let error = match made {
                Ok(Ok(found)) => return (Ended::Found(found), End::Answered),
                Ok(Err(error)) => error,
                Err(_) => return (Ended::Panicked, End::Failed),
            };
            let clock = self.governor.clock();
            let Some(turned) = error.turned().filter(|t| t.provider == self.primary) else {
                return (Ended::Failed(error), End::Failed);
            };
            let now = clock.now();
            let own = self.governor.provider(&self.primary).state();
            let held = own.retry_at.map(|wall| clock.moment().instant_at(wall));
            let refusal = &turned.refusal;
            let step = self.run.lock().turned(now, self.lane, row, refusal, held);
            match step {
                Step::Over(end) => return (Ended::Failed(error), end),
                Step::Again(at) => tokio::time::sleep(at.since(now).max(TICK)).await,
            }
        }
    }
}

/// A task that ends with whoever waits for it.
struct Aborting<T>(JoinHandle<T>);

impl<T> Future for Aborting<T> {
    type Output = Result<T, JoinError>;

    fn poll(mut self: Pin<&mut Self>, cx: &mut Context<'_>) -> Poll<Self::Output> {
        Pin::new(&mut self.0).poll(cx)
    }
}

impl<T> Drop for Aborting<T> {
    fn drop(&mut self) {
        self.0.abort();
    }
}
