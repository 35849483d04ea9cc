//! Any future under a provider's gates: the call of an SDK, a library, a local tool.
//!
//! The future is made anew for each attempt, waits for leave like every request of the client,
//! and is repeated only where its safety allows. Its error comes back as it was; what it means is
//! said beside it ([`Failed`]).

mod said;

use std::fmt;
use std::sync::Arc;
use std::time::Duration;

use abide_core::call::{Call, CallPolicy, Plan, Safety};
use abide_core::classify::{Phase, Transport, TransportKind};
use abide_core::provider::Outcome;
use abide_core::refusal::Refusal;
use abide_core::{Finding, Verdict};
use bytes::Bytes;
use http::{HeaderMap, Method, StatusCode};
use parking_lot::Mutex;

pub use said::Said;

use said::Heard;

use crate::admission::Admission;
use crate::client::CallOptions;
use crate::error::{LastAnswer, TurnedAway};
use crate::exchange::{self, Broke};
use crate::governor::Governor;
use crate::permit::Permit;
use crate::shard::Handle;
use crate::target::Target;
use crate::within::within;

/// What an attempt is that took longer than its caller let it: whether anything was sent is not
/// known.
const CUT_OFF: Transport = Transport {
    phase: Phase::Head,
    kind: TransportKind::Timeout,
};

/// One attempt, as whoever makes it sees it.
#[derive(Clone, Debug)]
pub struct Attempt {
    number: u32,
    shard: Handle,
    method: Method,
    left: Option<Duration>,
    answered: Arc<Mutex<Option<Said>>>,
}

impl Attempt {
    /// Which it is, counted from 1.
    pub const fn number(&self) -> u32 {
        self.number
    }

    /// The provider that is asked.
    pub fn provider(&self) -> &str {
        self.shard.name()
    }

    /// How long it may take, where the call has a deadline.
    pub const fn time_left(&self) -> Option<Duration> {
        self.left
    }

    /// Judges an answer by what is known of its provider, before anyone counts a success: a
    /// GraphQL error under a 200 is none.
    ///
    /// # Errors
    /// What it means, where that is no success; to be handed on with an error.
    pub fn judge(
        &self,
        status: StatusCode,
        headers: &HeaderMap,
        body: impl Into<Bytes>,
    ) -> Result<(), Said> {
        let said = Said::answer(status, headers).body(body);
        let at = self.shard.shared().clock.moment();
        let heard = said.hear(&self.shard, &self.method, at);
        if heard.read.finding.verdict != Verdict::Success {
            return Err(said);
        }
        *self.answered.lock() = Some(said);
        Ok(())
    }

    /// Tells the head of a good answer, so that the quotas in it are known.
    pub fn answered(&self, status: StatusCode, headers: &HeaderMap) {
        *self.answered.lock() = Some(Said::answer(status, headers));
    }
}

/// The error of an attempt, and what it means.
#[derive(Debug)]
#[non_exhaustive]
pub struct Failed<E> {
    /// The error, which is handed back as it is.
    pub error: E,
    /// What it means.
    pub said: Said,
}

impl<E> Failed<E> {
    /// An error that means this.
    pub const fn new(error: E, said: Said) -> Self {
        Self { error, said }
    }
}

/// Why a call came to nothing.
#[derive(Debug)]
#[non_exhaustive]
pub enum CallError<E> {
    /// The last attempt failed, and waiting for another is not worth it.
    Failed {
        /// Its error, as it was.
        error: E,
        /// What it meant, and when to come back.
        turned: Box<TurnedAway>,
    },
    /// Turned away before any attempt, or out of time in one.
    Refused(Box<TurnedAway>),
}

impl<E> CallError<E> {
    /// Why, and when to come back.
    pub const fn turned(&self) -> &TurnedAway {
        match self {
            Self::Failed { turned, .. } | Self::Refused(turned) => turned,
        }
    }

    pub(crate) const fn turned_mut(&mut self) -> &mut TurnedAway {
        match self {
            Self::Failed { turned, .. } | Self::Refused(turned) => turned,
        }
    }

    /// What the last answer meant, or why nothing was sent.
    pub fn cause(&self) -> Option<Verdict> {
        self.turned().refusal.cause
    }

    /// The attempt's own error, where one was made.
    pub fn into_error(self) -> Option<E> {
        match self {
            Self::Failed { error, .. } => Some(error),
            Self::Refused(_) => None,
        }
    }
}

impl<E: fmt::Display> fmt::Display for CallError<E> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Failed { error, turned } => write!(f, "{turned}: {error}"),
            Self::Refused(turned) => turned.fmt(f),
        }
    }
}

impl<E: std::error::Error + 'static> std::error::Error for CallError<E> {
    fn source(&self) -> Option<&(dyn std::error::Error + 'static)> {
        match self {
            Self::Failed { error, .. } => Some(error),
            Self::Refused(turned) => Some(turned),
        }
    }
}

impl Governor {
    /// Runs a call of the caller's own under a provider's gates: waits, makes the attempt, and
    /// makes it again where `safety` allows and waiting can help.
    ///
    /// ```
    /// # tokio::runtime::Runtime::new().unwrap().block_on(async {
    /// use abide::core::call::Safety;
    /// use abide::{Failed, Governor, Said};
    ///
    /// let governor = Governor::builder().build().unwrap();
    /// let answer = governor
    ///     .call("openai", Safety::Read, |attempt| async move {
    ///         // Here an SDK would be asked.
    ///         match attempt.number() {
    ///             1 => Err(Failed::new("slow down", Said::rate_limited().after(std::time::Duration::ZERO))),
    ///             _ => Ok("an answer"),
    ///         }
    ///     })
    ///     .await;
    /// assert_eq!(answer.unwrap(), "an answer");
    /// # });
    /// ```
    ///
    /// # Errors
    /// When it was turned away unsent, or its last attempt failed; the attempt's own error comes
    /// back as it was.
    pub async fn call<T, E, F, A>(
        &self,
        provider: &str,
        safety: Safety,
        attempt: F,
    ) -> Result<T, CallError<E>>
    where
        F: FnMut(Attempt) -> A,
        A: Future<Output = Result<T, Failed<E>>>,
    {
        let options = CallOptions {
            safety: Some(safety),
            ..CallOptions::default()
        };
        self.call_with(provider, &options, attempt).await
    }

    /// As [`call`](Self::call), with every knob of a call but [`check`](CallOptions::check): nobody
    /// asks here whether a write happened. An attempt that takes longer than
    /// [`attempt_timeout`](CallOptions::attempt_timeout) is dropped, and is one that timed out.
    ///
    /// # Errors
    /// As [`call`](Self::call).
    pub async fn call_with<T, E, F, A>(
        &self,
        provider: &str,
        options: &CallOptions,
        mut attempt: F,
    ) -> Result<T, CallError<E>>
    where
        F: FnMut(Attempt) -> A,
        A: Future<Output = Result<T, Failed<E>>>,
    {
        let shard = self.provider(provider);
        let target = match &options.target {
            Some(target) => target.clone(),
            None => shard.target_of(options.account.as_deref()),
        };
        let mut calling = Calling::new(&shard, target, options);
        let mut failed: Option<(E, Heard)> = None;
        loop {
            let admitted = calling.admit(options).await;
            let mut permit = match (admitted, failed.take()) {
                (Ok(permit), _) => permit,
                (Err(refusal), None) => {
                    return Err(CallError::Refused(calling.turned(refusal, None)));
                }
                // What it waits for came of its own attempt.
                (Err(refusal), Some((error, heard))) => {
                    let turned = calling.turned(refusal, Some(&heard));
                    return Err(CallError::Failed { error, turned });
                }
            };
            exchange::goes(&shard, &calling.call);
            let left = calling.call.time_left(self.clock().now());
            let own = options.attempt_timeout;
            let cut = own.is_some_and(|own| left.is_none_or(|left| own < left));
            let left = if cut { own } else { left };
            let answered = Arc::default();
            let made = attempt(Attempt {
                number: calling.call.attempts(),
                shard: Arc::clone(&shard),
                method: calling.method.clone(),
                left,
                answered: Arc::clone(&answered),
            });
            match within(left, made).await {
                None if cut => {
                    if let Some(turned) = calling.cut_off(permit) {
                        return Err(CallError::Refused(turned));
                    }
                }
                None => {
                    drop(permit);
                    let refusal = calling.call.out_of_time();
                    return Err(CallError::Refused(calling.turned(refusal, None)));
                }
                Some(Ok(value)) => {
                    permit.answered(shard.name());
                    let said = answered.lock().take();
                    permit.settle(&Outcome::Answered(calling.success(said.as_ref())));
                    return Ok(value);
                }
                Some(Err(Failed { error, said })) => {
                    let mut heard = calling.hear(&said);
                    if let Some(turned) = calling.ends(permit, &mut heard) {
                        return Err(CallError::Failed { error, turned });
                    }
                    failed = Some((error, heard));
                }
            }
        }
    }

    /// Records what was met elsewhere: by another library of this program, or by another program.
    /// It opens and lengthens holds, and ends none, since nobody knows when its request was sent.
    pub fn report(&self, provider: &str, said: &Said) {
        let shard = self.provider(provider);
        let target = shard.target();
        let at = self.clock().moment();
        let finding = said.hear(&shard, &Method::GET, at).read.finding;
        shard.with(|s, now| {
            let gates = shard.gates(s, now, &target);
            s.machine.report(now, &gates, &finding);
        });
    }
}

/// One call under way.
struct Calling<'a> {
    shard: &'a Handle,
    target: Target,
    method: Method,
    call: Call,
    attempt_timeout: Option<Duration>,
}

impl<'a> Calling<'a> {
    fn new(shard: &'a Handle, target: Target, options: &CallOptions) -> Self {
        let safety = match options.safety.unwrap_or_default() {
            // Nobody asks here whether it happened: it is a write like any other.
            Safety::Checked => Safety::Write,
            safety => safety,
        };
        let clock = &shard.shared().clock;
        let plain = CallPolicy::default();
        let policy = options.policy(shard.call().get().unwrap_or(&plain), || clock.moment());
        Self {
            shard,
            target,
            method: match safety {
                Safety::Read => Method::GET,
                _ => Method::POST,
            },
            call: Call::new(policy, safety, clock.now()),
            attempt_timeout: options.attempt_timeout,
        }
    }

    async fn admit(&mut self, options: &CallOptions) -> Result<Permit, Refusal> {
        let mut admission = Admission::to(self.target.clone());
        admission.cost = options.cost.max(1);
        admission.urgency = options.urgency;
        admission.fair = options.fair;
        admission.paced = options.paced;
        admission.wire.clone_from(&options.wire);
        // Only a write has an intent to commit.
        admission.before_start = options.before_start.clone().filter(|_| self.call.writes());
        let acquired = Permit::acquire(self.shard, &admission, &mut self.call).await;
        acquired.map_err(|refusal| *refusal)
    }

    fn hear(&self, said: &Said) -> Heard {
        let at = self.shard.shared().clock.moment();
        said.hear(self.shard, &self.method, at)
    }

    /// What a success means: what its head told, if that was told.
    fn success(&self, said: Option<&Said>) -> Finding {
        let told = said.map(|said| self.hear(said).read.finding);
        told.unwrap_or_else(Finding::success)
    }

    /// Settles a failed attempt; `None` when there is to be another.
    fn ends(&mut self, mut permit: Permit, heard: &mut Heard) -> Option<Box<TurnedAway>> {
        match heard.transport {
            // What is only called unavailable may have been our own network.
            None if heard.status.is_none()
                && matches!(
                    heard.read.finding.verdict,
                    Verdict::Unavailable | Verdict::Offline
                ) => {}
            None => permit.answered(self.shard.name()),
            Some(t) if permit.failed(self.shard.name(), &t) => heard.read.finding.be_offline(),
            Some(_) => {}
        }
        self.concludes(permit, heard)
    }

    /// Settles an attempt that took longer than its caller let it; `None` when there is to be
    /// another.
    fn cut_off(&mut self, mut permit: Permit) -> Option<Box<TurnedAway>> {
        let mut heard = self.hear(&Said::failed(CUT_OFF));
        if permit.cut_off(self.shard.name(), &CUT_OFF, self.attempt_timeout) {
            heard.read.finding.be_offline();
        }
        self.concludes(permit, &heard)
    }

    fn concludes(&mut self, permit: Permit, heard: &Heard) -> Option<Box<TurnedAway>> {
        let read = &heard.read;
        permit.observe(&read.finding);
        let plan = match permit.enforced {
            true => exchange::plan(self.shard, &self.target, &mut self.call, read, true),
            false => Plan::Return,
        };
        permit.settle(&read.outcome());
        let refusal = match plan {
            Plan::Again => return None,
            Plan::Fail(refusal) => *refusal,
            Plan::Return => self.call.spent(&read.finding),
        };
        Some(self.turned(refusal, Some(heard)))
    }

    fn turned(&self, refusal: Refusal, heard: Option<&Heard>) -> Box<TurnedAway> {
        let at = self.shard.shared().clock.moment();
        let last = heard.and_then(|h| h.status).map(|status| LastAnswer {
            status,
            sample: Bytes::new(),
        });
        let broke = heard.and_then(|h| h.transport).map(Broke::from);
        exchange::turned(self.shard, refusal, at, last, broke)
    }
}
