//! One bulk: its items, its workers, what came of it.

use std::sync::Arc;
use std::sync::atomic::{AtomicU32, Ordering};
use std::time::Duration;

use abide::clock::Clock;
use abide::sim::policy::Job as Load;
use abide::sim::{Answer, Request, Truth, scenarios};
use abide::testing::{self, Sim, Virtual};
use anyhow::Context;

use crate::Run;

/// Sends of one item that every client is told, where it can be told.
pub(crate) const ATTEMPTS: u32 = 8;

/// The rate that limiters are told: what the first provider really allows. Which limit the others
/// have nobody is told.
pub(crate) const RATE: u32 = 50;

/// One bulk.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Job {
    pub(crate) scenario: &'static str,
    pub(crate) items: u32,
    pub(crate) workers: u32,
}

/// What came of it.
#[derive(Debug)]
pub(crate) struct Outcome {
    pub(crate) truth: Truth,
    /// Items that the client says are done.
    pub(crate) claimed: u32,
    pub(crate) took: Duration,
    /// The fastest possible.
    pub(crate) oracle: Duration,
}

/// A provider and its clock, as a client meets them.
#[derive(Clone, Debug)]
pub(crate) struct World {
    pub(crate) sim: Sim,
    pub(crate) clock: Arc<Virtual>,
    oracle: Duration,
}

impl World {
    pub(crate) fn new(job: Job) -> anyhow::Result<Self> {
        let named = || scenarios::named(job.scenario, 7).context("there is no such scenario");
        let clock = testing::clock();
        let load = Load::new(u64::from(job.items), Duration::from_millis(20))
            .starting(clock.moment())
            .with_workers(u64::from(job.workers));
        Ok(Self {
            oracle: named()?.oracle(load),
            sim: Sim::new(named()?, &clock),
            clock,
        })
    }

    /// One item's exchange; `None` where the connection closes.
    pub(crate) async fn ask(&self, item: u32) -> Option<Answer> {
        self.sim.exchange(Request::item(item.to_string())).await
    }

    pub(crate) fn outcome(&self, claimed: u32) -> Outcome {
        Outcome {
            truth: self.sim.truth(),
            claimed,
            took: self.clock.elapsed(),
            oracle: self.oracle,
        }
    }
}

/// Works the items of a job; `one` says whether an item is done.
pub(crate) async fn work<F, A>(job: Job, one: F) -> u32
where
    F: Fn(u32) -> A + Clone + 'static,
    A: Future<Output = bool> + 'static,
{
    let (next, done) = (Arc::new(AtomicU32::new(0)), Arc::new(AtomicU32::new(0)));
    let set = tokio::task::LocalSet::new();
    for _ in 0..job.workers {
        let (next, done, one) = (Arc::clone(&next), Arc::clone(&done), one.clone());
        set.spawn_local(async move {
            loop {
                let item = next.fetch_add(1, Ordering::Relaxed);
                if item >= job.items {
                    return;
                }
                let ok = one(item).await;
                done.fetch_add(u32::from(ok), Ordering::Relaxed);
            }
        });
    }
    set.await;
    done.load(Ordering::Relaxed)
}

/// Runs a client with time standing still while anybody works.
pub(crate) fn in_virtual_time(run: Run, job: Job) -> anyhow::Result<Outcome> {
    let runtime = tokio::runtime::Builder::new_current_thread()
        .enable_all()
        .start_paused(true)
        .build()?;
    runtime.block_on(run(job))
}
