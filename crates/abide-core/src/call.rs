//! One call: its attempts, its patience, and whether it may be sent again.
//!
//! Only here is "may this be sent again" decided. Waiting is bounded by its sum: patience bounds
//! all of it (queue, holds, backoff), `wait.max` a single wait, the deadline everything. There is
//! no sleep after the last attempt, and a write is sent once unless its policy says otherwise.

use std::time::Duration;

use crate::backoff::Backoff;
use crate::budget::{Budget, RepeatCause};
use crate::finding::Finding;
use crate::refusal::{DecidedBy, Refusal, RefusalKind};
use crate::time::Instant;
use crate::verdict::{Scope, Verdict};

/// Whether a request may be repeated.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Hash)]
#[non_exhaustive]
pub enum Safety {
    /// Changes something, and there is a way to ask whether it did: may be repeated after asking.
    Checked,
    /// Changes nothing at the provider: may be repeated.
    Read,
    /// A write with an idempotency key: may be repeated.
    Idempotent,
    /// Changes something: sent once.
    #[default]
    Write,
}

impl Safety {
    /// The safety of a method where the profile says nothing.
    ///
    /// PUT and DELETE are writes here, although RFC 9110 §9.2.2 calls them idempotent: repeating
    /// a PUT that merges a branch after a 502 merges twice.
    pub fn of(method: &http::Method) -> Self {
        match method.as_str() {
            "GET" | "HEAD" | "OPTIONS" | "TRACE" | "QUERY" => Self::Read,
            _ => Self::Write,
        }
    }
}

/// When a write may be repeated.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Hash)]
#[non_exhaustive]
pub enum WriteRepeat {
    /// Never. The default: only the caller knows what a second one would do.
    #[default]
    Never,
    /// After a refusal, which says that nothing was done (RFC 6585 §4 leaves it open: an opt-in).
    RefusedOnly,
}

/// Which waiting uses patience up.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Hash)]
#[non_exhaustive]
pub enum Queueing {
    /// All of it. The default: somebody waits for this call.
    #[default]
    Counts,
    /// Not the queue, nor holds as such: a run decides itself how long a hold may block it.
    Free,
}

/// The knobs of a call.
#[derive(Clone, Debug, PartialEq)]
#[non_exhaustive]
pub struct CallPolicy {
    /// Sends, the first one included. Default 4: the fourth has never been seen to be the lucky
    /// one much more often than the third.
    pub attempts: u32,
    /// Our own waits between attempts.
    pub backoff: Backoff,
    /// All waiting together. Default 30 s: what a person or an HTTP server waits at most.
    pub patience: Duration,
    /// One wait. Default: the patience.
    pub wait_max: Option<Duration>,
    /// Everything up to the final head. Default none.
    pub deadline: Option<Duration>,
    /// What everything up to the final head may take beyond the patience, where there is no
    /// deadline. Default none; a server has one, since its callers may change their patience, and
    /// nobody is to hang for ever.
    pub beyond: Option<Duration>,
    /// Whether writes may be repeated.
    pub write: WriteRepeat,
    /// Which waiting uses patience up.
    pub queueing: Queueing,
    /// Wait for the retry budget instead of failing. Default off; a run would rather wait.
    pub wait_for_budget: bool,
    /// How large a body may be that is kept to be sent again, in bytes; a larger one is sent once.
    /// Default 64 KiB: most fit, and a call that waits long must not hold much.
    pub body_replay: u64,
    /// The caller would rather have the work put off than wait: its refusals say so. Default off.
    pub defer: bool,
}

impl Default for CallPolicy {
    fn default() -> Self {
        Self {
            attempts: 4,
            backoff: Backoff::default(),
            patience: Duration::from_secs(30),
            wait_max: None,
            deadline: None,
            beyond: None,
            write: WriteRepeat::Never,
            queueing: Queueing::Counts,
            wait_for_budget: false,
            body_replay: 64 * 1024,
            defer: false,
        }
    }
}

impl CallPolicy {
    /// The bound on everything up to the final head, if there is one.
    pub const fn bound(&self) -> Option<Duration> {
        match (self.deadline, self.beyond) {
            (Some(deadline), _) => Some(deadline),
            (None, Some(beyond)) => Some(self.patience.saturating_add(beyond)),
            (None, None) => None,
        }
    }
}

/// What the machine is told of a call that asks for admission.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Limits {
    /// Not before its own backoff is over.
    pub not_before: Instant,
    /// The end of patience or the deadline.
    pub expires: Instant,
    /// The latest end of a closing worth waiting for.
    pub hold_limit: Instant,
}

/// How one attempt ended, as the call sees it.
#[derive(Clone, Copy, Debug)]
pub struct Attempt<'a> {
    /// What was found.
    pub finding: &'a Finding,
    /// Whether `retry.on` names it.
    pub retry_on: bool,
    /// What a repeat costs.
    pub cause: RepeatCause,
    /// No byte of the request went out.
    pub unsent: bool,
    /// The body is still at hand: no stream, and not above [`CallPolicy::body_replay`].
    pub kept: bool,
}

/// What to do next.
#[derive(Clone, Debug, PartialEq, Eq)]
#[must_use]
pub enum Plan {
    /// Hand the answer to the caller.
    Return,
    /// Ask for admission again.
    Again,
    /// Turn the caller away; the last answer goes with it.
    Fail(Box<Refusal>),
}

/// One call in progress.
#[derive(Clone, Debug)]
pub struct Call {
    policy: CallPolicy,
    safety: Safety,
    began: Instant,
    asked_at: Option<Instant>,
    waited: Duration,
    attempts: u32,
    /// Sends of earlier hops of a redirect.
    hops: u32,
    not_before: Instant,
    /// What the attempt before meant that is to be followed by another.
    again: Option<Verdict>,
}

impl Call {
    /// A call that begins now.
    pub const fn new(policy: CallPolicy, safety: Safety, now: Instant) -> Self {
        Self {
            policy,
            safety,
            began: now,
            asked_at: None,
            waited: Duration::ZERO,
            attempts: 0,
            hops: 0,
            not_before: Instant::ORIGIN,
            again: None,
        }
    }

    /// A call that begins when it first asks for admission.
    pub const fn to_begin(policy: CallPolicy, safety: Safety) -> Self {
        Self::new(policy, safety, Instant::FAR)
    }

    /// The bounds of the admission asked for now. Waiting counts from here to
    /// [`sent`](Self::sent).
    pub fn asks(&mut self, now: Instant) -> Limits {
        self.waited(now);
        self.asked_at = Some(now);
        self.began = self.began.min(now);
        let deadline = self.latest();
        if self.policy.queueing == Queueing::Free {
            return Limits {
                not_before: self.not_before,
                expires: deadline,
                hold_limit: deadline,
            };
        }
        let left = self.policy.patience.saturating_sub(self.waited);
        let expires = now.after(left).min(deadline);
        let wait_max = self.policy.wait_max.unwrap_or(self.policy.patience);
        Limits {
            not_before: self.not_before,
            expires,
            hold_limit: now.after(wait_max).min(expires),
        }
    }

    /// The end of the longest single wait that is affordable now.
    fn longest(&self, now: Instant) -> Instant {
        let patience = self.policy.patience;
        now.after(self.policy.wait_max.unwrap_or(patience).min(patience))
    }

    /// The refusal of a redirect that is to be followed too late for this call.
    pub fn too_late(&self, now: Instant, not_before: Instant) -> Option<Refusal> {
        (not_before > self.longest(now).min(self.latest())).then(|| {
            let mut r = Refusal::new(RefusalKind::Held, DecidedBy::Policy);
            r.retry_at = Some(not_before);
            self.complete(&mut r);
            r
        })
    }

    /// The attempt goes on the wire.
    pub fn sent(&mut self, now: Instant) {
        self.waited(now);
        self.attempts += 1;
    }

    fn waited(&mut self, now: Instant) {
        if let Some(at) = self.asked_at.take() {
            self.waited += now.since(at);
        }
    }

    fn deadline(&self) -> Instant {
        let bound = self.policy.bound();
        bound.map_or(Instant::FAR, |d| self.began.after(d))
    }

    /// The latest instant to send: at the deadline itself there is no time left for an answer.
    fn latest(&self) -> Instant {
        match self.policy.bound() {
            Some(_) => self.deadline().before(Duration::from_nanos(1)),
            None => Instant::FAR,
        }
    }

    /// Whether there is a bound on everything.
    pub const fn has_deadline(&self) -> bool {
        self.policy.bound().is_some()
    }

    /// How long an answer may be waited for; `None` without a bound.
    pub fn time_left(&self, now: Instant) -> Option<Duration> {
        self.policy.bound()?;
        Some(self.deadline().since(now))
    }

    /// How much longer this call may wait for what is no gate: a place on the wire, the commitment
    /// of an intent, the answer to a question about it. `None` without a bound.
    pub fn wait_left(&self, now: Instant) -> Option<Duration> {
        let patience = match self.policy.queueing {
            Queueing::Free => None,
            Queueing::Counts => {
                let asking = self.asked_at.map_or(Duration::ZERO, |at| now.since(at));
                let waited = self.waited.saturating_add(asking);
                Some(self.policy.patience.saturating_sub(waited))
            }
        };
        let deadline = self.time_left(now);
        patience.into_iter().chain(deadline).min()
    }

    /// From now on it waits for something that is no gate.
    pub fn waits(&mut self, now: Instant) {
        self.asked_at.get_or_insert(now);
    }

    /// The refusal, unsent, of a call that has no time left for an answer.
    pub fn late(&mut self, now: Instant) -> Option<Refusal> {
        (self.has_deadline() && self.deadline() <= now).then(|| {
            let mut r = Refusal::new(RefusalKind::DeadlineTooSoon, DecidedBy::Deadline);
            self.waited(now);
            self.complete(&mut r);
            r
        })
    }

    /// The refusal, unsent, of a call that waited as long as it was willing to.
    pub fn waited_out(&mut self, now: Instant) -> Refusal {
        let r = Refusal::new(RefusalKind::QueueTooLong, DecidedBy::Policy);
        self.turned_away(now, r)
    }

    /// The deadline passed before an answer came. Nobody knows whether one was on its way, so
    /// this says nothing about the provider.
    pub const fn out_of_time(&self) -> Refusal {
        let mut r = Refusal::new(RefusalKind::DeadlinePassed, DecidedBy::Deadline);
        self.complete(&mut r);
        r
    }

    /// Whether a body of so many bytes is kept to be sent again.
    pub const fn keeps(&self, bytes: u64) -> bool {
        bytes <= self.policy.body_replay
    }

    /// Sends so far, those of earlier hops of a redirect included.
    pub const fn attempts(&self) -> u32 {
        self.hops + self.attempts
    }

    /// The method changed on the way (a redirect after a POST is followed by a GET).
    pub const fn set_safety(&mut self, safety: Safety) {
        self.safety = safety;
    }

    /// Whether this call may change something at the provider.
    pub fn writes(&self) -> bool {
        self.safety != Safety::Read
    }

    /// Whether it has to be asked first if the last attempt did something after all.
    pub fn has_to_check(&self, a: &Attempt<'_>) -> bool {
        self.safety == Safety::Checked && !a.unsent
    }

    /// Whether the attempt under way repeats one, and what that one meant.
    pub const fn repeats(&self) -> Option<Verdict> {
        self.again
    }

    /// All waiting so far.
    pub const fn total_waited(&self) -> Duration {
        self.waited
    }

    /// The answer was a redirect: the next hop is a new question, not a repeat.
    pub fn redirected(&mut self, not_before: Instant) {
        self.hops += self.attempts;
        self.attempts = 0;
        self.again = None;
        self.not_before = not_before;
    }

    /// Completes the refusal of an admission with what this call knows.
    pub fn turned_away(&mut self, now: Instant, mut refusal: Refusal) -> Refusal {
        self.waited(now);
        let deadline = self.deadline();
        let limit = now.after(self.policy.patience.saturating_sub(self.waited));
        if self.has_deadline()
            && deadline <= limit
            && matches!(refusal.kind, RefusalKind::Held | RefusalKind::QueueTooLong)
        {
            refusal.kind = RefusalKind::DeadlineTooSoon;
        }
        self.complete(&mut refusal);
        refusal
    }

    /// Whether an attempt is the last one whatever the budget says: its answer is what was asked
    /// for.
    pub fn returns(&self, a: &Attempt<'_>) -> bool {
        a.finding.verdict.is_answer() && !(a.retry_on && a.kept)
    }

    /// May this be sent again? `dice` is thrown evenly in [0, 1).
    pub fn plan(&mut self, now: Instant, a: &Attempt<'_>, budget: &mut Budget, dice: f64) -> Plan {
        let v = a.finding.verdict;
        if self.returns(a) {
            return Plan::Return;
        }
        if !a.retry_on
            || v == Verdict::QuotaExhausted
            || v == Verdict::Banned
            || !self.may_repeat(a)
        {
            return self.fail(RefusalKind::AttemptsSpent, DecidedBy::Provider, a);
        }
        if self.attempts >= self.policy.attempts {
            return self.fail(RefusalKind::AttemptsSpent, DecidedBy::Policy, a);
        }
        if !a.kept {
            return self.fail(RefusalKind::BodyNotKept, DecidedBy::Policy, a);
        }
        let not_before = self.next_instant(now, a, dice);
        let limits = self.asks(now);
        self.asked_at = None;
        let limit = limits.expires.min(self.longest(now));
        if not_before > limit {
            let (kind, by) = if self.latest() <= limit {
                (RefusalKind::DeadlineTooSoon, DecidedBy::Deadline)
            } else {
                (RefusalKind::Held, DecidedBy::Policy)
            };
            let mut plan = self.fail(kind, by, a);
            if let Plan::Fail(r) = &mut plan {
                r.retry_at = r.retry_at.max(Some(not_before));
            }
            return plan;
        }
        match budget.reserve(now, a.cause) {
            Ok(()) => self.not_before = not_before,
            Err(when) if self.policy.wait_for_budget && when <= limit => {
                self.not_before = not_before.max(when);
            }
            Err(when) => {
                let mut plan = self.fail(RefusalKind::BudgetSpent, DecidedBy::Policy, a);
                if let Plan::Fail(r) = &mut plan {
                    r.retry_at = r.retry_at.max(Some(when));
                }
                return plan;
            }
        }
        self.again = Some(v);
        Plan::Again
    }

    /// The refusal of a call that could go on but will not.
    pub fn give_up(&self, finding: &Finding) -> Refusal {
        self.refusal(RefusalKind::Held, DecidedBy::Policy, finding)
    }

    /// The refusal of a call that ends with this, whatever its attempts left.
    pub fn spent(&self, finding: &Finding) -> Refusal {
        self.refusal(RefusalKind::AttemptsSpent, DecidedBy::Provider, finding)
    }

    fn may_repeat(&self, a: &Attempt<'_>) -> bool {
        match self.safety {
            Safety::Read | Safety::Idempotent | Safety::Checked => true,
            Safety::Write => {
                a.unsent
                    || (self.policy.write == WriteRepeat::RefusedOnly
                        && (a.finding.verdict.is_rate_limited() || a.finding.again == Some(true)))
            }
        }
    }

    /// A hold is waited out at its gate, in line; everything else here.
    fn next_instant(&self, now: Instant, a: &Attempt<'_>, dice: f64) -> Instant {
        let asked = a
            .finding
            .asks
            .iter()
            .filter(|k| k.scope == Scope::Request || !a.finding.holds);
        if let Some(until) = asked.map(|k| k.until).max() {
            return until.max(now);
        }
        if a.finding.holds {
            return now;
        }
        now.after(self.policy.backoff.wait(self.attempts, dice))
    }

    fn fail(&self, kind: RefusalKind, by: DecidedBy, a: &Attempt<'_>) -> Plan {
        Plan::Fail(Box::new(self.refusal(kind, by, a.finding)))
    }

    fn refusal(&self, kind: RefusalKind, by: DecidedBy, finding: &Finding) -> Refusal {
        let mut r = Refusal::new(kind, by);
        r.ask = finding.ask();
        r.retry_at = r.ask.map(|k| k.until);
        r.scope = finding.scope;
        r.cause = Some(finding.verdict);
        self.complete(&mut r);
        r
    }

    /// What only this call knows.
    const fn complete(&self, r: &mut Refusal) {
        r.attempts = self.attempts();
        r.waited = self.waited;
        r.deferrable = self.policy.defer;
    }
}

#[cfg(test)]
mod tests;
