//! One call after another against a scripted provider, in virtual time.
//!
//! The core's own machines are driven as a shell drives them; only the answers are made up.

use std::time::Duration;

use abide_core::budget::RepeatCause;
use abide_core::call::{Attempt, Call, CallPolicy, Plan, Safety};
use abide_core::classify::{Answer, RequestView, classify};
use abide_core::gate::{GateKey, GateSpec};
use abide_core::policy::ProviderPolicy;
use abide_core::provider::{Action, Admit, Outcome, Pass, Provider, Request, Start, Ticket};
use abide_core::refusal::Refusal;
use abide_core::{ClassifyPolicy, Finding, Instant, Moment, Scope, Skew, Verdict, signal};
use http::header::RETRY_AFTER;
use http::{HeaderMap, HeaderValue, Method, StatusCode};

use super::{moment, ms};

/// A status and its `Retry-After`, empty for none.
pub(crate) type Heard<'a> = (u16, &'a str);

/// A provider as a client knows it, at an instant of its own.
pub(crate) struct Site {
    pub(crate) now: Instant,
    /// There and back.
    pub(crate) trip: Duration,
    pub(crate) dice: f64,
    pub(crate) classify: ClassifyPolicy,
    pub(crate) provider: Provider,
    skew: Skew,
}

/// What came of a call.
#[derive(Debug)]
pub(crate) struct Told {
    /// When each attempt was sent.
    pub(crate) sends: Vec<Instant>,
    /// When each answer was received.
    pub(crate) answers: Vec<Instant>,
    /// When the caller was told.
    pub(crate) at: Moment,
    pub(crate) waited: Duration,
    /// What the last answer was found to mean.
    pub(crate) verdict: Option<Verdict>,
    /// Absent when the last answer was handed over.
    pub(crate) refusal: Option<Box<Refusal>>,
}

impl Told {
    /// The refusal of a call that got no answer.
    pub(crate) fn refusal(&self) -> &Refusal {
        self.refusal.as_deref().unwrap()
    }
}

impl Site {
    pub(crate) fn new() -> Self {
        Self::with(ProviderPolicy::default())
    }

    pub(crate) fn with(policy: ProviderPolicy) -> Self {
        Self {
            now: Instant::from_secs(1_000),
            trip: ms(40),
            dice: 0.5,
            classify: ClassifyPolicy::default(),
            provider: Provider::new(policy, 1),
            skew: Skew::new(),
        }
    }

    /// Makes one call of a read; the answers are for its attempts in turn, the last one for all
    /// that follow.
    pub(crate) fn ask(&mut self, policy: &CallPolicy, answers: &[Heard<'_>]) -> Told {
        let mut call = Call::new(policy.clone(), Safety::Read, self.now);
        let mut told = Told {
            sends: Vec::new(),
            answers: Vec::new(),
            at: Moment::default(),
            waited: Duration::ZERO,
            verdict: None,
            refusal: None,
        };
        told.refusal = loop {
            let pass = match self.leave_to_send(&mut call) {
                Ok(pass) => pass,
                Err(r) => break Some(Box::new(call.turned_away(self.now, *r))),
            };
            call.sent(self.now);
            told.sends.push(self.now);
            self.now = self.now.after(self.trip);
            told.answers.push(self.now);
            let heard = answers[(told.sends.len() - 1).min(answers.len() - 1)];
            let (finding, retry_on) = self.read(heard);
            told.verdict = Some(finding.verdict);
            self.provider.observe(self.now, &pass, &finding);
            let attempt = Attempt {
                finding: &finding,
                retry_on,
                cause: match finding.verdict.is_refusal() {
                    true => RepeatCause::Refusal,
                    false => RepeatCause::Failure,
                },
                unsent: false,
                kept: true,
            };
            let plan = call.plan(self.now, &attempt, self.provider.budget(), self.dice);
            self.provider
                .settle(self.now, pass, &Outcome::Answered(finding));
            match plan {
                Plan::Again => {}
                Plan::Return => break None,
                Plan::Fail(r) => break Some(r),
            }
        };
        told.at = moment(self.now);
        told.waited = call.total_waited();
        told
    }

    fn leave_to_send(&mut self, call: &mut Call) -> Result<Pass, Box<Refusal>> {
        let gates = [GateSpec::new(GateKey(1), Scope::Provider)];
        let limits = call.asks(self.now);
        let mut request = Request::new(self.provider.gates(self.now, &gates));
        request.not_before = limits.not_before;
        request.expires = limits.expires;
        request.hold_limit = limits.hold_limit;
        let mut next = match self.provider.admit(self.now, &request) {
            Admit::Go(pass) => pass,
            Admit::Waiting(ticket) => self.wait(ticket)?,
            Admit::Refuse(r) => return Err(r),
        };
        loop {
            match self.provider.start(self.now, next) {
                Start::Go(pass) => return Ok(pass),
                Start::Back(ticket) => next = self.wait(ticket)?,
            }
        }
    }

    fn wait(&mut self, ticket: Ticket) -> Result<Pass, Box<Refusal>> {
        loop {
            while let Some(action) = self.provider.poll() {
                match action {
                    Action::Grant(t, pass) if t == ticket => return Ok(pass),
                    Action::Refuse(t, refusal) if t == ticket => return Err(refusal),
                    _ => {}
                }
            }
            let due = self.provider.next_wake().unwrap();
            self.now = self.now.max(due);
            self.provider.wake(self.now);
        }
    }

    fn read(&mut self, (status, retry_after): Heard<'_>) -> (Finding, bool) {
        let status = StatusCode::from_u16(status).unwrap();
        let mut headers = HeaderMap::new();
        if !retry_after.is_empty() {
            let value = HeaderValue::from_str(retry_after).unwrap();
            headers.insert(RETRY_AFTER, value);
        }
        let signal = signal::read(status, &headers, moment(self.now), &mut self.skew);
        let answer = Answer {
            signal: &signal,
            headers: &headers,
            sample: None,
            complete: true,
            trailers: None,
        };
        let view = RequestView {
            method: &Method::GET,
            path: "/",
            accepts_json: false,
        };
        let finding = classify(&view, &answer, None, &self.classify);
        let retry_on = self.classify.retry_on.covers(status, &finding);
        (finding, retry_on)
    }
}
