//! Leave to send one attempt, as a guard.
//!
//! Dropping it anywhere frees the place: unsent it is refunded, sent it counts as cancelled, so
//! that a caller who leaves never leaks a place on the wire.

use std::fmt;
use std::pin::Pin;
use std::sync::Arc;

use abide_core::Finding;
use abide_core::call::Call;
use abide_core::provider::{Admit, Outcome, Pass, Request, Start, Ticket};
use abide_core::queue::Urgency;
use abide_core::refusal::{DecidedBy, Refusal, RefusalKind};
use tokio::sync::{OwnedSemaphorePermit, Semaphore, oneshot};

use crate::shard::{Grant, Handle, Shard, State};
use crate::target::Target;

/// Something to be done after leave to send was given and before the send: the commitment of a
/// write's intent. An error says why nothing may be sent.
pub type BeforeStart =
    Arc<dyn Fn() -> Pin<Box<dyn Future<Output = Result<(), String>> + Send>> + Send + Sync>;

/// What an attempt asks admission with.
#[derive(Clone)]
pub struct Admission {
    /// Where it goes.
    pub target: Target,
    /// How many units it costs.
    pub cost: u32,
    /// How urgent it is.
    pub urgency: Urgency,
    /// Whom to be fair to.
    pub fair: u64,
    /// Places on the wire that several providers share; one is taken before the start.
    pub wire: Option<Arc<Semaphore>>,
    /// To be done before the send.
    pub before_start: Option<BeforeStart>,
}

impl fmt::Debug for Admission {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Admission")
            .field("target", &self.target)
            .finish_non_exhaustive()
    }
}

impl Admission {
    /// A plain request to a target.
    pub const fn to(target: Target) -> Self {
        Self {
            target,
            cost: 1,
            urgency: Urgency::NORMAL,
            fair: 0,
            wire: None,
            before_start: None,
        }
    }
}

/// Leave to send one attempt; it has been stamped as sent.
#[derive(Debug)]
#[must_use]
pub struct Permit {
    shard: Handle,
    pass: Option<Pass>,
    #[expect(dead_code, reason = "held for its drop: the place on the wire")]
    wire: Option<OwnedSemaphorePermit>,
}

impl Permit {
    /// Waits for leave to send, and stamps the send.
    ///
    /// # Errors
    /// When it is turned away, unsent.
    pub async fn acquire(
        shard: &Handle,
        admission: &Admission,
        call: &mut Call,
    ) -> Result<Self, Box<Refusal>> {
        let mut next = shard.with(|s, now| {
            let limits = call.asks(now);
            let gates = shard.gates(s, now, &admission.target);
            let request = Request {
                gates,
                cost: admission.cost,
                urgency: admission.urgency,
                fair: admission.fair,
                not_before: limits.not_before,
                expires: limits.expires,
                hold_limit: limits.hold_limit,
            };
            match s.machine.admit(now, &request) {
                Admit::Refuse(r) => Next::Refused(Box::new(call.turned_away(now, *r))),
                Admit::Waiting(ticket) => Next::Wait(ticket, Shard::wait_for(s, ticket)),
                Admit::Go(pass) => Self::start(shard, s, now, pass, admission, call),
            }
        });
        loop {
            let pass = match next {
                Next::Sent(permit) => return Ok(permit),
                Next::Refused(r) => return Err(r),
                Next::Wait(ticket, rx) => match (Waiting {
                    shard: Some(shard),
                    ticket,
                    rx,
                })
                .granted()
                .await
                {
                    Ok(pass) => pass,
                    Err(r) => {
                        let now = shard.shared().clock.now();
                        return Err(Box::new(call.turned_away(now, *r)));
                    }
                },
                Next::Wire(pass) => {
                    let mut unsent = Unsent {
                        shard,
                        pass: Some(pass),
                    };
                    let place = match &admission.wire {
                        Some(wire) => Arc::clone(wire).acquire_owned().await.ok(),
                        None => None,
                    };
                    if let Some(before) = &admission.before_start
                        && let Err(why) = before().await
                    {
                        tracing::error!(why, "nothing is sent: its intent could not be written");
                        return Err(closed());
                    }
                    let Some(pass) = unsent.pass.take() else {
                        return Err(closed());
                    };
                    next = shard.with(|s, now| Self::start_with(shard, s, now, pass, place, call));
                    continue;
                }
            };
            next = shard.with(|s, now| Self::start(shard, s, now, pass, admission, call));
        }
    }

    fn start(
        shard: &Handle,
        s: &mut State,
        now: abide_core::Instant,
        pass: Pass,
        admission: &Admission,
        call: &mut Call,
    ) -> Next {
        if admission.before_start.is_some() {
            return Next::Wire(pass);
        }
        let place = match &admission.wire {
            None => None,
            Some(wire) => match Arc::clone(wire).try_acquire_owned() {
                Ok(place) => Some(place),
                Err(_) => return Next::Wire(pass),
            },
        };
        Self::start_with(shard, s, now, pass, place, call)
    }

    fn start_with(
        shard: &Handle,
        s: &mut State,
        now: abide_core::Instant,
        pass: Pass,
        wire: Option<OwnedSemaphorePermit>,
        call: &mut Call,
    ) -> Next {
        match s.machine.start(now, pass) {
            Start::Go(pass) => {
                call.sent(now);
                Next::Sent(Self {
                    shard: Arc::clone(shard),
                    pass: Some(pass),
                    wire,
                })
            }
            Start::Back(ticket) => Next::Wait(ticket, Shard::wait_for(s, ticket)),
        }
    }

    /// Tells what was found so far; a refusal holds at once.
    pub fn observe(&self, finding: &Finding) {
        if let Some(pass) = &self.pass {
            self.shard
                .with(|s, now| s.machine.observe(now, pass, finding));
        }
    }

    /// The attempt is over.
    pub fn settle(mut self, outcome: &Outcome) {
        if let Some(pass) = self.pass.take() {
            self.shard
                .with(|s, now| s.machine.settle(now, pass, outcome));
        }
    }

    /// The provider this permit belongs to.
    pub const fn provider(&self) -> &Handle {
        &self.shard
    }
}

impl Drop for Permit {
    fn drop(&mut self) {
        if let Some(pass) = self.pass.take() {
            // A pass that was never started is refunded whatever is claimed here.
            let outcome = Outcome::Cancelled { sent: true };
            self.shard
                .with(|s, now| s.machine.settle(now, pass, &outcome));
        }
    }
}

enum Next {
    Refused(Box<Refusal>),
    Sent(Permit),
    Wait(Ticket, oneshot::Receiver<Grant>),
    Wire(Pass),
}

/// A pass that waits for a place on the wire; dropping it is a refund.
struct Unsent<'a> {
    shard: &'a Handle,
    pass: Option<Pass>,
}

impl Drop for Unsent<'_> {
    fn drop(&mut self) {
        if let Some(pass) = self.pass.take() {
            self.shard
                .with(|s, now| s.machine.settle(now, pass, &Outcome::NotSent));
        }
    }
}

/// A place in line; dropping it frees it at once.
struct Waiting<'a> {
    shard: Option<&'a Handle>,
    ticket: Ticket,
    rx: oneshot::Receiver<Grant>,
}

impl Waiting<'_> {
    async fn granted(mut self) -> Grant {
        let grant = (&mut self.rx).await;
        // The pass or the refusal is in hand: there is no place left to free.
        self.shard = None;
        grant.unwrap_or_else(|_| Err(closed()))
    }
}

impl Drop for Waiting<'_> {
    fn drop(&mut self) {
        if let Some(shard) = self.shard {
            shard.abandon(self.ticket);
        }
    }
}

fn closed() -> Box<Refusal> {
    Box::new(Refusal::new(RefusalKind::Closed, DecidedBy::Policy))
}
