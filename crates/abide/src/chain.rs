//! Several providers for one question.
//!
//! Who is asked next is the core's decision ([`abide_core::chain`]); here each member is a call
//! under its own provider's gates, and one deadline bounds them all. A member's pass is given
//! back before the next one asks for leave.

use std::fmt;
use std::pin::Pin;
use std::sync::Arc;
use std::time::Duration;

use abide_core::chain::{Chain as Machine, Ended, Member, Next, Role};
use abide_core::refusal::RefusalKind;
use abide_core::{Instant, Verdict};

use crate::call::{Attempt, CallError, Failed};
use crate::client::CallOptions;
use crate::governor::Governor;
use crate::patience::Patience;

/// How a member's attempt is made.
type Ask<Q, T, E> = Box<
    dyn Fn(Attempt, Arc<Q>) -> Pin<Box<dyn Future<Output = Result<T, Failed<E>>> + Send>>
        + Send
        + Sync,
>;

/// Providers for one kind of question, in order.
///
/// ```
/// # tokio::runtime::Runtime::new().unwrap().block_on(async {
/// use abide::{Chain, Failed, Governor, Said};
///
/// let governor = Governor::builder().build().unwrap();
/// let chain = Chain::new(&governor)
///     .network("models.example", |_, _: std::sync::Arc<u32>| async {
///         Err(Failed::new("429", Said::rate_limited()))
///     })
///     .network("mirror.example", |_, _| async { Ok("from the mirror") })
///     .local("archive", |_, id| async move {
///         match *id {
///             7 => Ok("from the archive"),
///             _ => Err(Failed::new("not here", Said::not_found())),
///         }
///     })
///     .patience(std::time::Duration::ZERO);
/// // The second vendor is not flooded in its turn: only the archive may stand in.
/// let answer = chain.ask(7).await.unwrap();
/// assert_eq!((answer.value, &*answer.by, answer.degraded), ("from the archive", "archive", true));
/// assert!(chain.ask(8).await.unwrap_err().turned().is_rate_limited());
/// # });
/// ```
pub struct Chain<Q, T, E> {
    governor: Governor,
    members: Vec<Link<Q, T, E>>,
    options: CallOptions,
    deadline: Option<Duration>,
}

struct Link<Q, T, E> {
    provider: String,
    member: Member,
    ask: Ask<Q, T, E>,
}

impl<Q, T, E> fmt::Debug for Chain<Q, T, E> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let members: Vec<&str> = self.members.iter().map(|m| m.provider.as_str()).collect();
        f.debug_struct("Chain")
            .field("members", &members)
            .field("deadline", &self.deadline)
            .finish_non_exhaustive()
    }
}

/// An answer, and whose it is.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Answer<T> {
    /// What was answered.
    pub value: T,
    /// The provider that did.
    pub by: Arc<str>,
    /// One before it was refused or down: show it, but never bind it as that one's.
    pub degraded: bool,
}

/// Why nobody answered.
#[derive(Debug)]
pub struct ChainError<E> {
    /// Whose end this is.
    pub by: Arc<str>,
    /// How it ended.
    pub error: CallError<E>,
}

impl<E> ChainError<E> {
    /// Why, and when to come back.
    pub const fn turned(&self) -> &crate::TurnedAway {
        self.error.turned()
    }

    /// Nobody has it, and somebody who would know was asked.
    pub fn is_not_found(&self) -> bool {
        self.error.cause() == Some(Verdict::NotFound)
    }
}

impl<E: fmt::Display> fmt::Display for ChainError<E> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        self.error.fmt(f)
    }
}

impl<E: std::error::Error + 'static> std::error::Error for ChainError<E> {
    fn source(&self) -> Option<&(dyn std::error::Error + 'static)> {
        Some(&self.error)
    }
}

impl<Q, T, E> Chain<Q, T, E> {
    /// A chain without members. Its calls only read until [`options`](Self::options) says
    /// otherwise.
    pub fn new(governor: &Governor) -> Self {
        let options = CallOptions {
            safety: Some(abide_core::call::Safety::Read),
            ..CallOptions::default()
        };
        Self {
            governor: governor.clone(),
            members: Vec::new(),
            options,
            deadline: None,
        }
    }

    /// Asks a provider somewhere else.
    #[must_use]
    pub fn network<F, A>(self, provider: &str, ask: F) -> Self
    where
        F: Fn(Attempt, Arc<Q>) -> A + Send + Sync + 'static,
        A: Future<Output = Result<T, Failed<E>>> + Send + 'static,
    {
        self.member(provider, Member::default(), ask)
    }

    /// Asks a provider somewhere else that shares nothing with those before it: it may be asked
    /// although one of them refused.
    #[must_use]
    pub fn independent<F, A>(self, provider: &str, ask: F) -> Self
    where
        F: Fn(Attempt, Arc<Q>) -> A + Send + Sync + 'static,
        A: Future<Output = Result<T, Failed<E>>> + Send + 'static,
    {
        let member = Member {
            role: Role::Network,
            independent: true,
        };
        self.member(provider, member, ask)
    }

    /// Asks what is at hand on this machine, which an outage of our own network does not stop.
    #[must_use]
    pub fn local<F, A>(self, provider: &str, ask: F) -> Self
    where
        F: Fn(Attempt, Arc<Q>) -> A + Send + Sync + 'static,
        A: Future<Output = Result<T, Failed<E>>> + Send + 'static,
    {
        let member = Member {
            role: Role::Local,
            independent: false,
        };
        self.governor.provider(provider).be_local();
        self.member(provider, member, ask)
    }

    fn member<F, A>(mut self, provider: &str, member: Member, ask: F) -> Self
    where
        F: Fn(Attempt, Arc<Q>) -> A + Send + Sync + 'static,
        A: Future<Output = Result<T, Failed<E>>> + Send + 'static,
    {
        self.members.push(Link {
            provider: provider.to_owned(),
            member,
            ask: Box::new(move |attempt, question| Box::pin(ask(attempt, question))),
        });
        self
    }

    /// The knobs of every member's call.
    #[must_use]
    pub fn options(mut self, options: CallOptions) -> Self {
        self.options = options;
        self
    }

    /// Bounds the waiting of each member.
    #[must_use]
    pub fn patience(mut self, patience: impl Into<Patience>) -> Self {
        self.options.patience = Some(patience.into());
        self
    }

    /// Bounds everything, from the first member to the last.
    #[must_use]
    pub const fn deadline(mut self, deadline: Duration) -> Self {
        self.deadline = Some(deadline);
        self
    }

    /// Asks.
    ///
    /// # Errors
    /// When nobody answered: a confirmed miss if there was one, else the first refusal, else the
    /// first that was down.
    pub async fn ask(&self, question: Q) -> Result<Answer<T>, ChainError<E>> {
        let question = Arc::new(question);
        let clock = self.governor.clock();
        let began = clock.now();
        let mut machine = Machine::new(self.members.iter().map(|m| m.member).collect());
        let mut ends: Vec<Option<ChainError<E>>> = self.members.iter().map(|_| None).collect();
        let mut at = 0;
        loop {
            let Some(link) = self.members.get(at) else {
                return Err(self.nobody());
            };
            let mut options = self.options.clone();
            if let Some(deadline) = self.deadline {
                let left = deadline.saturating_sub(clock.now().since(began));
                options.deadline = Some(options.deadline.map_or(left, |own| own.min(left)));
            }
            let ask = |attempt| (link.ask)(attempt, Arc::clone(&question));
            let ended = self.governor.call_with(&link.provider, &options, ask).await;
            let handle = self.governor.provider(&link.provider);
            let by = Arc::clone(handle.name());
            let end = match &ended {
                Ok(_) => Ended {
                    verdict: Verdict::Success,
                    is_down: false,
                },
                Err(error) => Ended::of(&error.turned().refusal, handle.is_down()),
            };
            let next = machine.ended(end);
            match (ended, next) {
                (Ok(value), next) => {
                    let degraded = matches!(next, Next::Return { degraded: true, .. });
                    return Ok(Answer {
                        value,
                        by,
                        degraded,
                    });
                }
                (Err(error), next) => {
                    if let Some(end) = ends.get_mut(at) {
                        *end = Some(ChainError { by, error });
                    }
                    match next {
                        Next::Ask(next) => at = next,
                        Next::Return { member, .. } => {
                            let earliest = earliest(&ends);
                            let end = ends.get_mut(member).and_then(Option::take);
                            let mut end = end.unwrap_or_else(|| self.nobody());
                            if end.turned().is_rate_limited() {
                                end.error.turned_mut().refusal.retry_at = earliest;
                            }
                            return Err(end);
                        }
                    }
                }
            }
        }
    }

    fn nobody(&self) -> ChainError<E> {
        let provider: Arc<str> = "".into();
        let refusal = abide_core::refusal::Refusal::new(
            RefusalKind::Closed,
            abide_core::refusal::DecidedBy::Policy,
        );
        ChainError {
            by: Arc::clone(&provider),
            error: CallError::Refused(Box::new(crate::TurnedAway {
                refusal,
                provider,
                last: None,
                transport: None,
                cause: None,
                at: self.governor.clock().moment(),
            })),
        }
    }
}

/// When the first of those that were refused can be asked again.
fn earliest<E>(ends: &[Option<ChainError<E>>]) -> Option<Instant> {
    let refused = ends.iter().flatten().map(|end| &end.turned().refusal);
    refused
        .filter(|r| r.is_rate_limited())
        .filter_map(|r| r.retry_at)
        .min()
}
