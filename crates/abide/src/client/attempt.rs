//! The path of one call: admit, start, send, read, classify, observe, plan.

use std::borrow::Cow;
use std::sync::Arc;
use std::sync::atomic::Ordering;
use std::time::Duration;

use abide_core::call::{Call, Plan, Safety};
use abide_core::classify::{RequestView, TransportKind};
use abide_core::refusal::Refusal;
use abide_core::{Finding, Instant, Moment, Scope};
use abide_profile::Wants;
use bytes::Bytes;
use http::StatusCode;

use super::hooks::{Hooks, Refused};
use super::redirect;
use super::request::outgoing;
use super::{CallOptions, Client};
use crate::admission::Admission;
use crate::cause::Cause;
use crate::error::{Error, LastAnswer};
use crate::exchange::{self, Broke, Head, Read, accepts_json, sample_size};
use crate::inspect::Sampled;
use crate::permit::Permit;
use crate::place::Place;
use crate::response::{BodyError, Response};
use crate::shard::Handle;
use crate::struck::Secrets;
use crate::target::Target;
use crate::transport;
use crate::within::within;

/// How long a body that nobody waits for may take to be read away.
const DRAIN: Duration = Duration::from_secs(1);

/// One exchange: an answer as far as it was looked at, or what it failed of.
type Exchange = Result<Seen, Broke>;

/// An answer as far as it was looked at before anything was decided.
struct Seen {
    inner: reqwest::Response,
    head: Head,
    sampled: Sampled,
}

impl Client {
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
        for (name, value) in &self.inner.headers {
            if !request.headers().contains_key(name) {
                request.headers_mut().append(name, value.clone());
            }
        }
        let known = options.target.clone();
        let route = match known {
            Some(target) => Some((governor.provider_of(&target), target)),
            None => self.route(&request, options),
        };
        let Some((mut shard, mut target)) = route else {
            return Err(Error::Request("its URL names no host".to_owned()));
        };
        let safety = options
            .safety
            .unwrap_or_else(|| safety_of(&shard, &request));
        let safety = match safety {
            // Without a way to ask it is a write like any other.
            Safety::Checked if options.check.is_none() => Safety::Write,
            safety => safety,
        };
        let calls = shard.call();
        let base = calls.get().unwrap_or(&self.inner.call);
        let policy = options.policy(base, || shared.clock.moment());
        let mut call = Call::new(policy, safety, shared.clock.now());
        loop {
            let paced = options.paced && shard.paces(request.url().path());
            let mut permit = self
                .admit(&shard, &target, (options, paced), &mut call, hooks)
                .await?;
            let (method, path) = (request.method().clone(), request.url().path().to_owned());
            let view = RequestView {
                method: &method,
                path: &path,
                accepts_json: accepts_json(request.headers()) || shard.profile().expects_json(),
            };
            let (sent, again) = outgoing(&mut request, &call);
            self.inner.sent.fetch_add(1, Ordering::Relaxed);
            exchange::goes(&shard, &call);
            let (began, own) = (shared.clock.now(), request.timeout().copied());
            let left = call.time_left(began);
            let Some(exchange) = within(left, self.http().execute(sent)).await else {
                // The caller leaves: its place is freed, and the provider is blamed for nothing.
                drop(permit);
                let at = shared.clock.moment();
                return Err(turned(&shard, call.out_of_time(), at, None, None));
            };
            let at = shared.clock.moment();
            let exchange: Exchange = match exchange {
                Ok(inner) => {
                    // A provider is one witness, by whatever host and way it is asked; it is one
                    // also for whoever leaves while its answer is being looked at.
                    permit.answered_at(at.now);
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
                Err(e) => Err(Broke {
                    transport: transport::read(&e, false),
                    cause: Some(Cause::of(&e, &secrets(&request, &shard), shard.profile())),
                }),
            };
            permit.head = None;
            let mut read = self.read(&shard, &view, &exchange);
            if let Err(broke) = &exchange {
                let t = &broke.transport;
                let cut = t.kind == TransportKind::Timeout
                    && own.is_some_and(|own| at.now.since(began) >= own);
                let offline = match cut {
                    true => permit.cut_off(shard.name(), t, own),
                    false => permit.failed(shard.name(), t),
                };
                if offline {
                    read.finding.be_offline();
                }
            }
            permit.observe(&read.finding);
            let enforced = permit.enforced;
            let plan = match (&exchange, enforced) {
                // A rehearsal: the caller sees the answer, whatever it means.
                (Ok(_), false) => Plan::Return,
                (Err(_), false) => Plan::Fail(Box::new(call.spent(&read.finding))),
                _ => self.plan(&shard, &target, &mut call, &read, again, hooks),
            };
            let unknown = call.has_to_check(&read.attempt(again));
            let unknown = unknown.then(|| call.spent(&read.finding));
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
                                let mut read = self.read(&shard, &view, &Err(t.into()));
                                read.retry_on |=
                                    H::REPEATS_BODIES && shard.classify().retry_on.repeats();
                                (read, None, Some(t.into()))
                            }
                            Err(e) => return Err(e.into()),
                        };
                        let plan = match enforced {
                            true => self.plan(&shard, &target, &mut call, &read, again, hooks),
                            false if broken.is_none() => Plan::Return,
                            false => Plan::Fail(Box::new(call.spent(&read.finding))),
                        };
                        match plan {
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
                    let next = self.route(&request, options);
                    (shard, target) = next.ok_or_else(|| redirects(&shard, "to no host".into()))?;
                    if options.safety.is_none() {
                        call.set_safety(safety_of(&shard, &request));
                    }
                }
                (Plan::Again, Ok(seen)) => {
                    let response = self.response(&shard, &view, seen, permit, read.finding, &call);
                    self.drained(response, 0, &call).await;
                    if let Some(answer) = happened(options, &shard, &mut call, unknown).await? {
                        return Ok(answer);
                    }
                }
                (Plan::Again | Plan::Return, Err(_)) => {
                    permit.settle(&read.outcome());
                    if let Some(answer) = happened(options, &shard, &mut call, unknown).await? {
                        return Ok(answer);
                    }
                }
                (Plan::Fail(refusal), Ok(seen)) => {
                    let status = seen.inner.status();
                    let response = self.response(&shard, &view, seen, permit, read.finding, &call);
                    let keep = shard.classify().body_sample;
                    let keep = usize::try_from(keep).unwrap_or(usize::MAX);
                    let sample = self.drained(response, keep, &call).await;
                    let sample = struck(sample, &secrets(&request, &shard), &shard);
                    return Err(turned(
                        &shard,
                        *refusal,
                        at,
                        Some(LastAnswer { status, sample }),
                        None,
                    ));
                }
                (Plan::Fail(refusal), Err(broke)) => {
                    permit.settle(&read.outcome());
                    return Err(turned(&shard, *refusal, at, None, Some(broke)));
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

    fn route(&self, request: &reqwest::Request, options: &CallOptions) -> Option<(Handle, Target)> {
        let place = Place::of_url(request.url())?;
        let governor = &self.inner.governor;
        let account = options.account.as_deref();
        governor.route(request.method(), &place, request.headers(), account)
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
        let plan = exchange::plan(shard, target, call, read, again);
        let now = shard.shared().clock.now();
        if matches!(plan, Plan::Again)
            && read.finding.holds
            && !hooks.repeats_after(now, &read.finding)
        {
            return Plan::Fail(Box::new(call.give_up(&read.finding)));
        }
        plan
    }

    async fn admit(
        &self,
        shard: &Handle,
        target: &Target,
        (options, paced): (&CallOptions, bool),
        call: &mut Call,
        hooks: &mut impl Hooks,
    ) -> Result<Permit, Error> {
        let admission = Admission {
            cost: options.cost.max(1),
            urgency: options.urgency,
            fair: options.fair,
            wire: options.wire.clone(),
            // Only a write has an intent to commit, and a redirect may make one of a read.
            before_start: options.before_start.clone().filter(|_| call.writes()),
            paced,
            ..Admission::to(target.clone())
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
        let parts = (inner.status(), inner.headers());
        let head = Head::read(shard, view, parts, at, permit);
        let sampled = match head.wants {
            Wants::Before => Sampled::read(&mut inner, sample_size(shard)).await,
            _ => Sampled::default(),
        };
        Seen {
            inner,
            head,
            sampled,
        }
    }

    fn read(&self, shard: &Handle, view: &RequestView<'_>, e: &Exchange) -> Read {
        match e {
            Ok(seen) => {
                let (status, headers) = (seen.inner.status(), seen.inner.headers());
                let finding = seen.head.judge(shard, view, (headers, None), &seen.sampled);
                self.found(shard, status, finding)
            }
            Err(broke) => Read::of_failure(shard, &broke.transport),
        }
    }

    /// What a finding about an answer means for the call.
    fn found(&self, shard: &Handle, status: StatusCode, finding: Finding) -> Read {
        if finding.verdict.is_refusal() {
            self.inner.refused.fetch_add(1, Ordering::Relaxed);
        }
        Read::of_answer(shard, status, finding)
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
        let headers = seen.inner.headers();
        let watch = seen.head.watch(shard, view, headers, &seen.sampled);
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

/// Whether a request may be repeated, as far as its provider's profile knows.
fn safety_of(shard: &Handle, request: &reqwest::Request) -> Safety {
    let body = request.body().and_then(reqwest::Body::as_bytes);
    shard.safety(request.method(), request.url().path(), body)
}

/// The answer in place of a write's own, if it happened; `None` to send it again. `unknown` is
/// what its caller is told where that cannot be found out.
async fn happened(
    options: &CallOptions,
    shard: &Handle,
    call: &mut Call,
    unknown: Option<Refusal>,
) -> Result<Option<Response>, Error> {
    let (Some(unknown), Some(check)) = (unknown, &options.check) else {
        return Ok(None);
    };
    let now = shard.shared().clock.now();
    // The caller of this call waits for that one too.
    call.waits(now);
    let told = match within(call.wait_left(now), check.ask()).await {
        Some(Ok(answer)) => return Ok(answer),
        Some(Err(e)) => e.to_string(),
        None => "no answer in the time that was left".to_owned(),
    };
    tracing::warn!(
        provider = %shard.name(),
        error = told,
        "whether a write happened cannot be told: it is not sent again"
    );
    let at = shard.shared().clock.moment();
    Err(turned(shard, unknown, at, None, None))
}

fn secrets(request: &reqwest::Request, shard: &Handle) -> Secrets {
    Secrets::of(request.url(), request.headers(), shard.profile())
}

/// A sample without what its request carried of secrets: some providers echo a key.
fn struck(sample: Bytes, secrets: &Secrets, shard: &Handle) -> Bytes {
    let text = String::from_utf8_lossy(&sample);
    match secrets.strike(&text, shard.profile()) {
        Cow::Borrowed(same) if same.len() == sample.len() => sample.clone(),
        shown => Bytes::from(shown.into_owned()),
    }
}

fn turned(
    shard: &Handle,
    refusal: Refusal,
    at: Moment,
    last: Option<LastAnswer>,
    broke: Option<Broke>,
) -> Error {
    Error::Turned(exchange::turned(shard, refusal, at, last, broke))
}

fn redirects(shard: &Handle, why: String) -> Error {
    Error::Redirect {
        provider: Arc::clone(shard.name()),
        why,
    }
}
