//! The path of one call: admit, start, send, read, classify, observe, plan.

use std::sync::Arc;
use std::sync::atomic::Ordering;
use std::time::Duration;

use abide_core::budget::RepeatCause;
use abide_core::call::{Attempt, Call, CallPolicy, Plan};
use abide_core::classify::{Answer, RequestView, Transport, TransportKind, of_transport};
use abide_core::provider::Outcome;
use abide_core::refusal::Refusal;
use abide_core::{Finding, Instant, Moment, Scope, Signal, signal};
use abide_profile::{MAX_BODY, Wants};
use bytes::Bytes;
use http::{HeaderMap, StatusCode};

use super::hooks::{Hooks, Refused};
use super::redirect;
use super::request::{accepts_json, outgoing, within};
use super::{CallOptions, Client};
use crate::error::{Error, LastAnswer, TurnedAway};
use crate::inspect::{self, Sampled, Watch};
use crate::permit::{Admission, Permit};
use crate::response::{BodyError, Response};
use crate::shard::Handle;
use crate::target::Target;
use crate::transport;

/// How long a body that nobody waits for may take to be read away.
const DRAIN: Duration = Duration::from_secs(1);

/// One exchange: an answer as far as it was looked at, or what it failed of.
type Exchange = Result<Seen, Transport>;

/// An answer as far as it was looked at before anything was decided.
struct Seen {
    inner: reqwest::Response,
    signal: Signal,
    sampled: Sampled,
    wants: Wants,
}

impl Client {
    pub(crate) fn policy(&self, options: &CallOptions) -> CallPolicy {
        options
            .call
            .clone()
            .unwrap_or_else(|| self.inner.call.clone())
    }

    /// Makes one call.
    pub(crate) async fn run<H: Hooks>(
        &self,
        mut request: reqwest::Request,
        options: &CallOptions,
        hooks: &mut H,
    ) -> Result<Response, Error> {
        let governor = &self.inner.governor;
        let shared = governor.shared();
        let mut hops = 0;
        if let Some(t) = options.attempt_timeout {
            *request.timeout_mut() = Some(t);
        }
        let known = options.target.clone();
        let Some(mut target) =
            known.or_else(|| governor.target(request.method(), request.url(), request.headers()))
        else {
            return Err(Error::Request("its URL names no host".to_owned()));
        };
        let mut shard = governor.provider_of(&target);
        let safety = options.safety.unwrap_or_else(|| shard.safety(&request));
        let mut call = Call::new(self.policy(options), safety, shared.clock.now());
        loop {
            let mut permit = self
                .admit(&shard, &target, options, &mut call, hooks)
                .await?;
            let (method, path) = (request.method().clone(), request.url().path().to_owned());
            let view = RequestView {
                method: &method,
                path: &path,
                accepts_json: accepts_json(&request) || shard.profile().expects_json(),
            };
            let (sent, again) = outgoing(&mut request, &call);
            self.inner.sent.fetch_add(1, Ordering::Relaxed);
            let left = call.time_left(shared.clock.now());
            let Some(exchange) = within(left, self.http().execute(sent)).await else {
                // The caller leaves: its place is freed, and the provider is blamed for nothing.
                drop(permit);
                let at = shared.clock.moment();
                return Err(turned(&shard, call.out_of_time(), at, None, None));
            };
            let at = shared.clock.moment();
            let exchange: Exchange = match exchange {
                Ok(inner) => {
                    let left = call.time_left(at.now);
                    let looking = Self::look(&shard, &view, inner, at, &mut permit);
                    match within(left, looking).await {
                        Some(seen) => Ok(seen),
                        None => {
                            drop(permit);
                            return Err(turned(&shard, call.out_of_time(), at, None, None));
                        }
                    }
                }
                Err(e) => Err(transport::read(&e, false)),
            };
            permit.head = None;
            let mut read = self.read(&shard, &view, &exchange);
            let host = request.url().host_str().unwrap_or_default();
            match &exchange {
                Ok(_) => permit.answered(host),
                Err(t) if permit.failed(host, t) => read.finding.be_offline(),
                Err(_) => {}
            }
            permit.observe(&read.finding);
            let plan = self.plan(&shard, &target, &mut call, &read, again, hooks);
            match (plan, exchange) {
                (Plan::Return, Ok(seen)) => {
                    let mut response =
                        self.response(&shard, &view, seen, permit, read.finding, &call);
                    let to = match redirect::is_redirect(response.status()) {
                        true if self.inner.max_redirects > 0 => {
                            redirect::location(request.url(), response.headers())
                                .map_err(|why| redirects(&shard, why))?
                        }
                        _ => None,
                    };
                    let Some(to) = to else {
                        let (read, last, broken) = match hooks.collect(&mut response).await {
                            Ok(()) if H::REPEATS_BODIES && response.late => {
                                let status = response.status();
                                let last = LastAnswer {
                                    status,
                                    sample: Bytes::new(),
                                };
                                let finding = response.finding().clone();
                                (self.found(&shard, status, finding), Some(last), None)
                            }
                            Ok(()) => return Ok(response),
                            Err(BodyError::Broken(t)) => {
                                let mut read = self.read(&shard, &view, &Err(t));
                                read.retry_on |=
                                    H::REPEATS_BODIES && shard.classify().retry_on.repeats();
                                (read, None, Some(t))
                            }
                            Err(e) => return Err(e.into()),
                        };
                        match self.plan(&shard, &target, &mut call, &read, again, hooks) {
                            Plan::Fail(refusal) => {
                                let at = shared.clock.moment();
                                return Err(turned(&shard, *refusal, at, last, broken));
                            }
                            Plan::Return if broken.is_none() => return Ok(response),
                            Plan::Again | Plan::Return => continue,
                        }
                    };
                    hops += 1;
                    if hops > self.inner.max_redirects {
                        let why = format!("more than {} times", self.inner.max_redirects);
                        return Err(redirects(&shard, why));
                    }
                    if !again && redirect::keeps_method(request.method(), response.status()) {
                        return Err(redirects(
                            &shard,
                            "a body that can be sent only once".into(),
                        ));
                    }
                    let status = response.status();
                    // Only what was said of following it: a quota told along the way is this
                    // provider's own, and its gates know.
                    let asks = response.finding().asks.iter();
                    let asked = asks.filter(|a| a.scope == Scope::Request).map(|a| a.until);
                    let not_before = asked.max().unwrap_or(Instant::ORIGIN);
                    self.drained(response, 0, &call).await;
                    if let Some(refusal) = call.too_late(at.now, not_before) {
                        return Err(turned(&shard, refusal, at, None, None));
                    }
                    redirect::follow(&mut request, status, to, shard.profile());
                    call.redirected(not_before);
                    let next = governor.target(request.method(), request.url(), request.headers());
                    target = next.ok_or_else(|| redirects(&shard, "to no host".into()))?;
                    shard = governor.provider_of(&target);
                    if options.safety.is_none() {
                        call.set_safety(shard.safety(&request));
                    }
                }
                (Plan::Again, Ok(seen)) => {
                    let response = self.response(&shard, &view, seen, permit, read.finding, &call);
                    self.drained(response, 0, &call).await;
                }
                (Plan::Again | Plan::Return, Err(_)) => {
                    permit.settle(&outcome(&read));
                }
                (Plan::Fail(refusal), Ok(seen)) => {
                    let status = seen.inner.status();
                    let response = self.response(&shard, &view, seen, permit, read.finding, &call);
                    let keep = shard.classify().body_sample;
                    let keep = usize::try_from(keep).unwrap_or(usize::MAX);
                    let sample = self.drained(response, keep, &call).await;
                    return Err(turned(
                        &shard,
                        *refusal,
                        at,
                        Some(LastAnswer { status, sample }),
                        None,
                    ));
                }
                (Plan::Fail(refusal), Err(t)) => {
                    permit.settle(&outcome(&read));
                    return Err(turned(&shard, *refusal, at, None, Some(t)));
                }
            }
        }
    }

    /// Reads away a body that nobody waits for, within reason: a connection that can be used
    /// again is worth a moment, not the caller's deadline.
    async fn drained(&self, response: Response, keep: usize, call: &Call) -> Bytes {
        let left = call.time_left(self.inner.governor.clock().now());
        let left = left.map_or(DRAIN, |left| left.min(DRAIN));
        within(Some(left), response.drain(keep))
            .await
            .unwrap_or_default()
    }

    /// May this be sent again? The core says, and whoever makes the call may give up.
    fn plan(
        &self,
        shard: &Handle,
        target: &Target,
        call: &mut Call,
        read: &Read,
        again: bool,
        hooks: &mut impl Hooks,
    ) -> Plan {
        let attempt = Attempt {
            finding: &read.finding,
            retry_on: read.retry_on,
            cause: read.cause,
            unsent: read.unsent,
            kept: again,
        };
        let dice = shard.shared().dice();
        let mut plan = shard.with(|s, now| call.plan(now, &attempt, s.machine.budget(), dice));
        let now = shard.shared().clock.now();
        if matches!(plan, Plan::Again)
            && read.finding.holds
            && !hooks.repeats_after(now, &read.finding)
        {
            return Plan::Fail(Box::new(call.give_up(&read.finding)));
        }
        if let Plan::Fail(r) = &mut plan
            && r.retry_at.is_none()
            && read.finding.holds
        {
            // Nobody said when, but the hold that was opened for it knows.
            r.retry_at = shard.held(target).map(|h| h.retry_at());
        }
        plan
    }

    async fn admit(
        &self,
        shard: &Handle,
        target: &Target,
        options: &CallOptions,
        call: &mut Call,
        hooks: &mut impl Hooks,
    ) -> Result<Permit, Error> {
        let admission = Admission {
            target: target.clone(),
            cost: options.cost.max(1),
            urgency: options.urgency,
            fair: options.fair,
            wire: options.wire.clone(),
            // Only a write has an intent to commit, and a redirect may make one of a read.
            before_start: options.before_start.clone().filter(|_| call.writes()),
            closing_max: None,
            paced: options.paced,
        };
        match hooks.acquire(shard, &admission, call).await {
            Ok(permit) => Ok(permit),
            Err(Refused::Left) => Err(Error::Left),
            Err(Refused::Turned(r)) => {
                let at = self.inner.governor.clock().moment();
                Err(turned(shard, *r, at, None, None))
            }
        }
    }

    /// Reads the head of an answer, and as much of its body as the rules of its provider need.
    async fn look(
        shard: &Handle,
        view: &RequestView<'_>,
        mut inner: reqwest::Response,
        at: Moment,
        permit: &mut Permit,
    ) -> Seen {
        let (status, headers) = (inner.status(), inner.headers());
        let signal = shard.skewed(|skew| signal::read(status, headers, at, skew));
        let answer = head(&signal, headers);
        let wants = inspect::wants(shard.profile(), view, &answer);
        let mut sampled = Sampled::default();
        if wants == Wants::Before {
            let by_head = inspect::judged(shard.profile(), view, &answer, shard.classify());
            if by_head.holds && shard.profile().rules().head_decides(view, &answer) {
                permit.observe(&by_head);
            }
            // Should the caller leave meanwhile, this is what is known.
            permit.head = by_head.holds.then_some(by_head);
            sampled = Sampled::read(&mut inner, sample_size(shard)).await;
        }
        Seen {
            inner,
            signal,
            sampled,
            wants,
        }
    }

    fn read(&self, shard: &Handle, view: &RequestView<'_>, e: &Exchange) -> Read {
        match e {
            Ok(seen) => {
                let (status, headers) = (seen.inner.status(), seen.inner.headers());
                let mut answer = head(&seen.signal, headers);
                let sample = seen.sampled.bytes(sample_size(shard));
                if seen.wants == Wants::Before {
                    answer.sample = Some(&sample);
                    answer.complete = seen.sampled.is_whole(sample_size(shard));
                }
                let finding = inspect::judged(shard.profile(), view, &answer, shard.classify());
                self.found(shard, status, finding)
            }
            Err(t) => Read {
                finding: of_transport(t),
                retry_on: shard.classify().retry_on.covers_transport(t),
                cause: match t.kind {
                    TransportKind::Timeout => RepeatCause::Timeout,
                    _ => RepeatCause::Failure,
                },
                unsent: t.phase.is_unsent(),
            },
        }
    }

    /// What a finding about an answer means for the call.
    fn found(&self, shard: &Handle, status: StatusCode, finding: Finding) -> Read {
        let refused = finding.verdict.is_refusal();
        if refused {
            self.inner.refused.fetch_add(1, Ordering::Relaxed);
        }
        Read {
            retry_on: shard.classify().retry_on.covers(status, &finding),
            finding,
            cause: if refused {
                RepeatCause::Refusal
            } else {
                RepeatCause::Failure
            },
            unsent: false,
        }
    }

    fn response(
        &self,
        shard: &Handle,
        view: &RequestView<'_>,
        seen: Seen,
        permit: Permit,
        finding: Finding,
        call: &Call,
    ) -> Response {
        let unseen = match seen.wants {
            Wants::Nothing => false,
            Wants::Before => !seen.sampled.is_whole(sample_size(shard)),
            Wants::Beside => true,
        };
        let watch = unseen.then(|| {
            let answer = head(&seen.signal, seen.inner.headers());
            let most = sample_size(shard);
            Watch::new(shard.profile(), view, &answer, most, &seen.sampled)
        });
        Response {
            inner: seen.inner,
            profile: Arc::clone(shard.profile()),
            sampled: seen.sampled,
            watch,
            ended: false,
            permit: Some(permit),
            finding,
            late: false,
            attempts: call.attempts(),
            waited: call.total_waited(),
        }
    }
}

/// An answer of which only the head is known.
const fn head<'a>(signal: &'a Signal, headers: &'a HeaderMap) -> Answer<'a> {
    Answer {
        signal,
        headers,
        sample: None,
        complete: false,
        trailers: None,
    }
}

fn sample_size(shard: &Handle) -> usize {
    let most = usize::try_from(shard.classify().body_sample).unwrap_or(usize::MAX);
    most.min(MAX_BODY)
}

/// What was read of one exchange.
struct Read {
    finding: Finding,
    retry_on: bool,
    cause: RepeatCause,
    unsent: bool,
}

fn outcome(read: &Read) -> Outcome {
    if read.unsent {
        return Outcome::Unreached(read.finding.clone());
    }
    Outcome::Answered(read.finding.clone())
}

fn turned(
    shard: &Handle,
    refusal: Refusal,
    at: Moment,
    last: Option<LastAnswer>,
    transport: Option<Transport>,
) -> Error {
    let provider = Arc::clone(shard.name());
    Error::Turned(Box::new(TurnedAway {
        refusal,
        provider,
        last,
        transport,
        at,
    }))
}

fn redirects(shard: &Handle, why: String) -> Error {
    Error::Redirect {
        provider: Arc::clone(shard.name()),
        why,
    }
}
