//! The driver of a run: takes items in hand, tells lanes of holds, hands ends on.

use std::panic::{AssertUnwindSafe, catch_unwind};
use std::sync::Arc;
use std::task::{Context, Poll, Waker};
use std::time::Duration;

use abide_core::provider::Event;
use abide_core::run::{End, Item, LaneId, Run, Stop};
use abide_core::{Instant, Moment, Verdict};
use parking_lot::Mutex;
use tokio::sync::{Notify, Semaphore};
use tokio::task::JoinSet;
use tokio_util::sync::CancellationToken;

use super::item::work;
use super::lanes::{Closed, Lanes};
use super::working::Driver;
use super::{BulkPolicy, Outcome, Report, Sink, Source};
use crate::client::Client;
use crate::shard::NAP;
use crate::target::Target;

/// How long what is on the wire may take once the run was told to stop: longer than an answer
/// takes, shorter than a service manager waits before it kills.
const GRACE: Duration = Duration::from_secs(20);

/// Items in hand over all lanes: each costs a task of a few KiB while it waits.
const HANDS: usize = 16_384;

const BROKE: &str = "a hand of the run broke; its item is unfinished";

/// A bulk run being prepared.
#[derive(Debug)]
pub struct Bulk {
    client: Client,
    policy: BulkPolicy,
    run: Run,
    lanes: Lanes,
}

/// What a run came to, beyond its items' ends.
#[derive(Clone, Debug, Default)]
#[non_exhaustive]
pub struct Totals {
    /// Requests sent.
    pub requests: u64,
    /// Refusals met.
    pub refusals: u64,
    /// Wall time holds blocked the run, lane by lane: provider, time.
    pub held: Vec<(Arc<str>, Duration)>,
    /// Providers that are not asked any more: provider, cause, when to come back.
    pub stopped: Vec<(Arc<str>, Verdict, Option<abide_core::WallTime>)>,
    /// The run was interrupted.
    pub interrupted: bool,
}

impl Bulk {
    /// A run without items.
    pub fn new(client: &Client, policy: BulkPolicy) -> Self {
        let run = Run::new(policy.run.clone());
        Self {
            client: client.clone(),
            policy,
            run,
            lanes: Lanes::default(),
        }
    }

    /// The target of an item, for [`add`](Self::add).
    pub fn target(
        &self,
        method: &http::Method,
        url: &url::Url,
        headers: &http::HeaderMap,
    ) -> Option<Target> {
        self.client.governor().target(method, url, headers)
    }

    /// Adds an item; a smaller `priority` goes first within its provider. `patience` is the
    /// item's own ([`Wanted::patience`](super::Wanted::patience)), if it has one.
    pub fn add(&mut self, target: &Target, item: Item, priority: u8, patience: Option<Duration>) {
        let governor = self.client.governor();
        let lane = self
            .lanes
            .lane(governor, &mut self.run, &self.policy, target, patience);
        self.run.add(lane, item, priority);
    }

    /// Works all items to their end, or until `stop` is cancelled: then what is on the wire is
    /// finished, and what waits is left as it was.
    pub async fn work<S: Source, K: Sink>(
        self,
        source: Arc<S>,
        sink: Arc<K>,
        stop: CancellationToken,
    ) -> Totals {
        let wire = Arc::new(Semaphore::new(self.policy.wire.max(1)));
        let driver = Arc::new(Driver {
            client: self.client,
            policy: self.policy,
            run: Mutex::new(self.run),
            lanes: self.lanes,
            source,
            sink,
            stop,
            wire,
            stopped: Notify::new(),
            fair: 1,
        });
        let before = (driver.client.sent(), driver.client.refused());
        driver.drive().await;
        driver.totals(
            driver.client.sent() - before.0,
            driver.client.refused() - before.1,
        )
    }
}

impl<S: Source, K: Sink> Driver<S, K> {
    async fn drive(self: &Arc<Self>) {
        let mut events = self.governor().changes();
        self.learn_closings();
        // A hand works item after item: a task that only ends when there is nothing to take costs
        // no wake-up an item.
        let mut hands: JoinSet<()> = JoinSet::new();
        let mut ends: Option<Instant> = None;
        loop {
            let stopping = self.stop.is_cancelled();
            if stopping {
                let at = *ends.get_or_insert_with(|| self.now().after(GRACE));
                if at <= self.now() {
                    // What is on the wire for so long is left there; a write's effect is unknown.
                    hands.abort_all();
                }
            }
            if !stopping {
                self.fill(&mut hands);
                self.end_stopped().await;
            }
            let (pending, opening) = {
                let run = self.run.lock();
                (run.pending(), run.next_opening(self.now()))
            };
            if hands.is_empty() && (pending == 0 || stopping) {
                return;
            }
            let next = if stopping { ends } else { opening };
            let opens = next.map(|at| at.since(self.now()));
            tokio::select! {
                ended = hands.join_next(), if !hands.is_empty() => {
                    if let Some(Err(e)) = ended
                        && !e.is_cancelled()
                    {
                        tracing::error!(error = %e, "{BROKE}");
                    }
                }
                event = events.recv() => {
                    if let Some((provider, event)) = event {
                        self.heard(&provider, &event);
                    }
                }
                () = self.stop.cancelled(), if !stopping => {}
                () = self.stopped.notified() => {}
                () = sleep(opens), if opens.is_some() => {}
            }
        }
    }

    /// Gives every item that may be taken a hand. Each hand asks before the next one does: a queue
    /// that is fair to the order of asking is worth nothing when tasks begin in any order.
    fn fill(self: &Arc<Self>, hands: &mut JoinSet<()>) {
        let now = self.now();
        while hands.len() < HANDS {
            let next = self.run.lock().take(now);
            let Some(next) = next else { return };
            let mut hand = Box::pin(Self::hand(Arc::clone(self), next));
            // As far as it comes without waiting; as a task it is polled anew, with its own waker.
            let mut nobody = Context::from_waker(Waker::noop());
            let begun = AssertUnwindSafe(|| hand.as_mut().poll(&mut nobody));
            match catch_unwind(begun) {
                Ok(Poll::Pending) => {
                    hands.spawn(hand);
                }
                Ok(Poll::Ready(())) => {}
                Err(_) => tracing::error!("{BROKE}"),
            }
        }
    }

    /// Works items until there is nothing to take.
    async fn hand(self: Arc<Self>, first: (LaneId, Item)) {
        let mut next = Some(first);
        while let Some((lane, item)) = next {
            let ended = work(&self, lane, item).await;
            self.end(lane, item, ended).await;
            next = if self.stop.is_cancelled() {
                None
            } else {
                let now = self.now();
                self.run.lock().take(now)
            };
        }
    }

    async fn end(&self, lane: LaneId, item: Item, ended: Option<(Report, End)>) {
        let now = self.now();
        match ended {
            Some((report, end)) => {
                self.run.lock().end(now, lane, item, &end);
                let stop = self.run.lock().stop(lane).cloned();
                if let Some(stop) = stop {
                    // Whoever still waits in this lane leaves, and is told why and until when.
                    self.lanes.get(lane).closed.send_modify(|c| {
                        c.leave = true;
                        c.cause = Some(stop.cause);
                        c.until = c.until.max(stop.retry_at);
                    });
                    self.stopped.notify_one();
                }
                self.sink.take(report).await;
            }
            None => self.run.lock().put_back(lane, item, u8::MAX),
        }
    }

    /// Ends the items of stopped lanes, unsent.
    async fn end_stopped(&self) {
        loop {
            let next = self.run.lock().take_stopped();
            let Some((lane, item, stop)) = next else {
                return;
            };
            self.sink.take(self.skipped(lane, item, &stop)).await;
        }
    }

    fn skipped(&self, lane: LaneId, item: Item, stop: &Stop) -> Report {
        let provider = Arc::clone(self.lanes.get(lane).shard.name());
        let moment = self.governor().clock().moment();
        let retry_at = stop.retry_at.map(|t| moment.wall_at(t));
        let why = match stop.cause {
            Verdict::QuotaExhausted => "says its quota is used up",
            Verdict::Banned => "has shut us out",
            Verdict::Unavailable => "keeps failing",
            Verdict::RateLimited => "keeps refusing (rate limited)",
            _ => "keeps refusing",
        };
        let when = match retry_at {
            Some(t) => format!("try again at {t}"),
            None => "try again later".to_owned(),
        };
        Report {
            item,
            outcome: Outcome::Skipped,
            cause: Some(stop.cause),
            status: None,
            attempts: 0,
            waited: Duration::ZERO,
            reason: Some(format!(
                "{provider} {why} and is not asked any more; {when}"
            )),
            provider: Some(provider),
            retry_at,
            body: None,
            content_type: None,
            write: false,
            name: None,
        }
    }

    /// Holds that were in force before this run began.
    fn learn_closings(&self) {
        let now = self.now();
        for lane in self.lanes.ids() {
            self.look(now, lane);
        }
    }

    fn heard(&self, provider: &Arc<str>, event: &Event) {
        let now = self.now();
        match event {
            Event::HoldOpened { key, .. }
            | Event::HoldLengthened { key, .. }
            | Event::BreakerOpened { key, .. }
            | Event::EpisodeEnded { key }
            | Event::HoldLifted { key, .. } => {
                for lane in self.lanes.through(provider, *key) {
                    self.look(now, lane);
                }
            }
            _ => {}
        }
    }

    /// Tells a lane what closes it now: the longest of all closings of its gates, whichever gate
    /// the news came from.
    fn look(&self, now: Instant, lane: LaneId) {
        let l = self.lanes.get(lane);
        let (hold, until) = l.shard.closing(&l.target);
        let mut run = self.run.lock();
        if run.stop(lane).is_some() {
            return;
        }
        run.opened(now, lane);
        let Some(until) = until else {
            drop(run);
            self.lanes.open(lane);
            return;
        };
        let patience = run.policy_of(lane).patience;
        // Whether items of the run's own patience wait; those with one of their own decide alone.
        let _ = run.closed(now, lane, until, patience);
        let leave = !run.affords(now, lane, until);
        drop(run);
        self.lanes.close(
            lane,
            Closed {
                until: Some(until),
                cause: Some(hold.map_or(Verdict::Unavailable, |h| h.cause)),
                ask: hold.and_then(|h| h.ask),
                leave,
            },
        );
    }

    fn totals(&self, requests: u64, refusals: u64) -> Totals {
        let moment: Moment = self.governor().clock().moment();
        let run = self.run.lock();
        let mut totals = Totals {
            requests,
            refusals,
            interrupted: self.stop.is_cancelled(),
            ..Totals::default()
        };
        for lane in self.lanes.ids() {
            let name = self.lanes.get(lane).shard.name();
            let waited = run.closing(moment.now, lane).waited;
            if !waited.is_zero() {
                totals.held.push((Arc::clone(name), waited));
            }
            if let Some(stop) = run.stop(lane) {
                let retry_at = stop.retry_at.map(|t| moment.wall_at(t));
                totals
                    .stopped
                    .push((Arc::clone(name), stop.cause, retry_at));
            }
        }
        totals
    }
}

/// Sleeps, or for ever.
async fn sleep(d: Option<Duration>) {
    match d {
        // A millisecond more: a timer that fires early would only spin.
        // No longer than a nap at once: a timer counts time awake only.
        Some(d) => tokio::time::sleep(d.min(NAP) + Duration::from_millis(1)).await,
        None => std::future::pending().await,
    }
}
