//! What came back for an item: read, classified, told to the gates, planned.

use abide_core::budget::RepeatCause;
use abide_core::call::{Attempt, Plan as Next};
use abide_core::classify::{self, Phase, RequestView, Transport, TransportKind, classify};
use abide_core::provider::Outcome;
use abide_core::run::{End, Turn};
use abide_core::signal;
use abide_core::{Finding, Instant, Moment, Verdict};
use http::Method;

use super::super::ending::Ending;
use super::super::rules::GraphqlRules;
use super::Driver;
use crate::reply::{Answer, What};

impl Driver {
    /// What came back for an item.
    pub(in super::super) fn receive(&mut self, at: Moment, item: u32, what: &What, dice: f64) {
        match what {
            What::Answer(answer) if answer.cut_after.is_none() => {
                self.answered(at, item, answer, dice);
            }
            What::Answer(_) => self.failed(at.now, item, Phase::Body, TransportKind::Reset, dice),
            _ => self.failed(at.now, item, Phase::Head, TransportKind::Reset, dice),
        }
    }

    pub(in super::super) fn time_out(&mut self, now: Instant, item: u32, dice: f64) {
        self.failed(now, item, Phase::Head, TransportKind::Timeout, dice);
    }

    /// The head holds at once; the whole answer settles.
    fn answered(&mut self, at: Moment, item: u32, answer: &Answer, dice: f64) {
        let Some(hand) = self.hands.get(&item) else {
            return;
        };
        let site = &mut self.sites[hand.site];
        let signal = signal::read(answer.status, &answer.headers, at, &mut site.skew);
        let view = RequestView {
            method: &Method::GET,
            path: "/",
            accepts_json: false,
        };
        let part = |sample| classify::Answer {
            signal: &signal,
            headers: &answer.headers,
            sample,
            complete: true,
            trailers: None,
        };
        let policy = &self.plan.classify;
        let head = classify(&view, &part(None), Some(&GraphqlRules), policy);
        if let Some(pass) = &hand.pass {
            site.gates.observe(at.now, pass, &head);
        }
        let whole = classify(
            &view,
            &part(Some(&answer.body)),
            Some(&GraphqlRules),
            policy,
        );
        let retry_on = policy.retry_on.covers(answer.status, &whole);
        let cause = if whole.verdict.is_refusal() {
            RepeatCause::Refusal
        } else {
            RepeatCause::Failure
        };
        self.settle(at.now, item, &whole, retry_on, cause, dice);
    }

    fn failed(&mut self, now: Instant, item: u32, phase: Phase, kind: TransportKind, dice: f64) {
        let transport = Transport { phase, kind };
        let finding = classify::of_transport(&transport);
        // A run may repeat what broke off in its body: nobody has seen any of it.
        let retry_on =
            phase == Phase::Body || self.plan.classify.retry_on.covers_transport(&transport);
        let cause = match kind {
            TransportKind::Timeout => RepeatCause::Timeout,
            _ => RepeatCause::Failure,
        };
        self.settle(now, item, &finding, retry_on, cause, dice);
    }

    fn settle(
        &mut self,
        now: Instant,
        item: u32,
        finding: &Finding,
        retry_on: bool,
        cause: RepeatCause,
        dice: f64,
    ) {
        let Some(hand) = self.hands.get_mut(&item) else {
            return;
        };
        let site = &mut self.sites[hand.site];
        if let Some(pass) = hand.pass.take() {
            site.gates
                .settle(now, pass, &Outcome::Answered(finding.clone()));
        }
        let set = site.gates.gates(now, &site.specs);
        let closed = site.gates.closed_until(now, &set);
        let attempt = Attempt {
            finding,
            retry_on,
            cause,
            unsent: false,
            kept: true,
        };
        match hand.call.plan(now, &attempt, site.gates.budget(), dice) {
            Next::Return => self.returned(now, item, finding.verdict),
            Next::Fail(mut r) => {
                r.retry_at = r.retry_at.max(closed);
                let refused = r.cause.is_some_and(Verdict::is_refusal);
                let end = if refused {
                    End::Refused(r)
                } else {
                    End::Unavailable {
                        open: closed.is_some(),
                        retry_at: closed,
                    }
                };
                self.end(now, item, &end);
            }
            Next::Again => {
                if finding.holds {
                    let until = finding.waited_until(closed).unwrap_or(now);
                    if self
                        .run
                        .refused(now, self.items[item as usize].lane, item, until)
                        == Turn::GiveUp
                    {
                        let mut r = hand.call.give_up(finding);
                        r.retry_at = r.retry_at.max(Some(until));
                        return self.end(now, item, &End::Refused(Box::new(r)));
                    }
                }
                self.ask(now, item);
            }
        }
    }

    fn returned(&mut self, now: Instant, item: u32, verdict: Verdict) {
        let ending = match verdict {
            Verdict::Success => Ending::Done,
            Verdict::NotFound => Ending::NotFound,
            _ => Ending::Failed,
        };
        self.let_go(now, item, &End::Answered);
        self.note(now, item, ending);
    }
}
