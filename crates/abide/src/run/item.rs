//! One item of a run: its call, and what its end means.

use std::sync::Arc;
use std::time::Duration;

use abide_core::call::{Call, Safety};
use abide_core::refusal::RefusalKind;
use abide_core::run::{Answered, End, Item, LaneId, Turn};
use abide_core::{Finding, Instant, Scope, Verdict};
use bytes::Bytes;

use super::lanes::Lane;
use super::working::Driver;
use super::{Outcome, Report, Sink, Source, Wanted};
use crate::admission::Admission;
use crate::client::{CallOptions, Hooks, Refused};
use crate::error::{Error, TurnedAway};
use crate::permit::Permit;
use crate::response::{BodyError, Response};
use crate::shard::Handle;

/// A run's say in the call of one of its items.
struct ItemHooks<'a, S, K> {
    driver: &'a Driver<S, K>,
    lane: LaneId,
    item: Item,
    wanted: Patience,
    body: Option<Bytes>,
    /// Sends so far.
    sent: u32,
}

/// What an item waits at holds at most.
#[derive(Clone, Copy)]
struct Patience {
    /// All together.
    all: Duration,
    /// At once.
    once: Duration,
}

impl<S: Source, K: Sink> Hooks for ItemHooks<'_, S, K> {
    const REPEATS_BODIES: bool = true;

    async fn acquire(
        &mut self,
        shard: &Handle,
        admission: &Admission,
        call: &mut Call,
    ) -> Result<Permit, Refused> {
        let lane = self.driver.lanes.get(self.lane);
        let elsewhere;
        let mut admission = admission;
        if !Arc::ptr_eq(shard, &lane.shard) || admission.target != lane.target {
            // A redirect led elsewhere, or the lane does not tell routes apart: it hears nothing
            // of the gates there.
            elsewhere = Admission {
                closing_max: Some(self.wanted.once),
                ..admission.clone()
            };
            admission = &elsewhere;
        }
        let mut closed = lane.closed.subscribe();
        let refusal = {
            let permit = Permit::acquire(shard, admission, call);
            tokio::pin!(permit);
            loop {
                let now = self.driver.now();
                let state = closed.borrow_and_update().clone();
                let too_long = state.until.is_some_and(|t| t.since(now) > self.wanted.once);
                if state.leave || too_long {
                    break state.refusal();
                }
                tokio::select! {
                    biased;
                    permit = &mut permit => {
                        self.sent += u32::from(permit.is_ok());
                        return permit.map_err(|r| match r.kind {
                            // Nothing may be sent any more, which is not the provider's word.
                            RefusalKind::Closed => Refused::Left,
                            _ => Refused::Turned(r),
                        });
                    }
                    () = self.driver.stop.cancelled() => return Err(Refused::Left),
                    changed = closed.changed() => {
                        if changed.is_err() {
                            return Err(Refused::Left);
                        }
                    }
                }
            }
        };
        Err(Refused::Turned(Box::new(
            call.turned_away(self.driver.now(), refusal),
        )))
    }

    async fn collect(&mut self, response: &mut Response) -> Result<(), BodyError> {
        self.body = Some(response.collect(self.driver.policy.max_body).await?);
        Ok(())
    }

    fn repeats_after(&mut self, now: Instant, finding: &Finding) -> bool {
        let lane = self.driver.lanes.get(self.lane);
        let held = lane.shard.held(&lane.target).map(|h| h.until);
        let until = finding.waited_until(held).unwrap_or(now);
        self.driver
            .run
            .lock()
            .refused_within(now, self.lane, self.item, until, self.wanted.all)
            == Turn::Wait
    }
}

/// Works one item to its end. `None` when the run was interrupted before it was sent.
pub(super) async fn work<S: Source, K: Sink>(
    driver: &Arc<Driver<S, K>>,
    lane: LaneId,
    item: Item,
) -> Option<(Report, End)> {
    let l = driver.lanes.get(lane);
    let wanted = match driver.source.load(item) {
        Ok(wanted) => wanted,
        Err(why) => return Some((failed(item, l, why), End::Failed)),
    };
    let mut wanted = wanted;
    let name = wanted.name.take();
    let (request, mut options, patience) = prepare(driver, &l.shard, item, wanted);
    options.target = (!l.coarse).then(|| l.target.clone());
    let write = options.before_start.is_some();
    let mut hooks = ItemHooks {
        driver,
        lane,
        item,
        wanted: patience,
        body: None,
        sent: 0,
    };
    let result = driver.client.run(request, &options, &mut hooks).await;
    let (body, sent) = (hooks.body.take(), hooks.sent);
    let ended = match result {
        Ok(response) => Some(answered(driver, item, l, &response, body)),
        Err(Error::Left) => None,
        Err(Error::Turned(t)) => {
            let (report, end) = turned(driver, item, l, &t);
            // An item of less patience than its lane's says nothing about its provider.
            let own = patience.all < driver.run.lock().policy_of(lane).patience
                && matches!(&end, End::Refused(r) if r.kind == RefusalKind::Held);
            // Nor does another provider, to which a redirect led.
            let elsewhere = t.provider != *l.shard.name();
            // One of many routes says nothing about the others.
            let narrow = l.coarse && t.refusal.scope == Scope::Route;
            let end = if own || elsewhere || narrow {
                End::Failed
            } else {
                end
            };
            Some((report, end))
        }
        Err(e) => {
            let report = failed(item, l, e.to_string());
            Some((
                Report {
                    attempts: sent,
                    ..report
                },
                End::Failed,
            ))
        }
    };
    ended.map(|(report, end)| {
        (
            Report {
                write,
                name,
                ..report
            },
            end,
        )
    })
}

fn prepare<S: Source, K: Sink>(
    driver: &Arc<Driver<S, K>>,
    shard: &Handle,
    item: Item,
    wanted: Wanted,
) -> (reqwest::Request, CallOptions, Patience) {
    let mut request = reqwest::Request::new(wanted.method, wanted.url);
    *request.headers_mut() = wanted.headers;
    *request.body_mut() = wanted.body.map(Into::into);
    let safety = wanted.safety;
    // A redirect may make a write of what only reads here, so the intent is at hand for it.
    let may_write = safety.unwrap_or_else(|| Safety::of(request.method())) != Safety::Read;
    let run = driver.policy.run_of(shard.name());
    let all = wanted.patience.unwrap_or(run.patience);
    let once = run.wait_max.map_or(all, |most| all.min(most));
    let mut call = driver.policy.call_of(shard.name()).clone();
    call.patience = once;
    call.wait_max = None;
    let mut options = CallOptions {
        call: Some(call),
        safety,
        urgency: wanted.urgency,
        fair: driver.fair,
        cost: wanted.cost,
        attempt_timeout: driver.policy.attempt_timeout,
        wire: Some(Arc::clone(&driver.wire)),
        ..CallOptions::default()
    };
    if may_write {
        let driver = Arc::clone(driver);
        options.before_start = Some(Arc::new(move || {
            let driver = Arc::clone(&driver);
            Box::pin(async move { driver.sink.intend(item).await })
        }));
    }
    (request, options, Patience { all, once })
}

fn report(item: Item, lane: &Lane) -> Report {
    Report {
        item,
        outcome: Outcome::Failed,
        cause: None,
        status: None,
        attempts: 0,
        waited: Duration::ZERO,
        provider: Some(Arc::clone(lane.shard.name())),
        retry_at: None,
        reason: None,
        body: None,
        content_type: None,
        write: false,
        name: None,
    }
}

fn failed(item: Item, lane: &Lane, why: String) -> Report {
    Report {
        reason: Some(why),
        ..report(item, lane)
    }
}

fn answered<S: Source, K: Sink>(
    driver: &Driver<S, K>,
    item: Item,
    lane: &Lane,
    response: &Response,
    body: Option<Bytes>,
) -> (Report, End) {
    let status = response.status();
    let verdict = response.finding().verdict;
    let listed = driver.policy.is_done(status);
    let outcome = match Answered::of(status, listed, verdict) {
        Answered::Done => Outcome::Done,
        Answered::NotFound => Outcome::NotFound,
        Answered::Failed => Outcome::Failed,
    };
    let reason = (outcome == Outcome::Failed).then(|| match verdict {
        Verdict::AuthError => format!("{status}: the credential or permission was refused"),
        Verdict::Success => format!("{status} does not count as done"),
        _ if listed => format!("{status}: its content says {verdict}"),
        _ => status.to_string(),
    });
    let content_type = response.headers().get(http::header::CONTENT_TYPE);
    let report = Report {
        outcome,
        cause: Some(verdict),
        status: Some(status),
        attempts: response.attempts(),
        waited: response.waited(),
        reason,
        body,
        content_type: content_type
            .and_then(|v| v.to_str().ok())
            .map(str::to_owned),
        ..report(item, lane)
    };
    (report, End::Answered)
}

fn turned<S: Source, K: Sink>(
    driver: &Driver<S, K>,
    item: Item,
    lane: &Lane,
    t: &TurnedAway,
) -> (Report, End) {
    let r = &t.refusal;
    let refused = r.cause.is_some_and(Verdict::is_refusal)
        || matches!(
            r.kind,
            RefusalKind::Held
                | RefusalKind::BreakerOpen
                | RefusalKind::Closed
                | RefusalKind::Offline
        );
    let end = if refused {
        End::Refused(Box::new(r.clone()))
    } else if r.cause == Some(Verdict::Unavailable) {
        let now = driver.now();
        let closed = lane.closed.borrow().until.filter(|t| *t > now);
        End::Unavailable {
            open: closed.is_some(),
            retry_at: closed,
        }
    } else {
        End::Failed
    };
    let report = Report {
        outcome: if refused {
            Outcome::Skipped
        } else {
            Outcome::Failed
        },
        cause: r.cause,
        status: t.last.as_ref().map(|l| l.status),
        attempts: r.attempts,
        waited: r.waited,
        retry_at: t.retry_at(),
        reason: Some(t.to_string()),
        body: t
            .last
            .as_ref()
            .map(|l| l.sample.clone())
            .filter(|_| !refused),
        ..report(item, lane)
    };
    (report, end)
}
