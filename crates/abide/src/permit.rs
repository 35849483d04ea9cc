//! Leave to send one attempt, as a guard.
//!
//! Dropping it anywhere frees the place: unsent it is refunded, sent it counts as cancelled, so
//! that a caller who leaves never leaks a place on the wire.

use std::fmt;
use std::pin::Pin;
use std::sync::Arc;
use std::time::Duration;

use abide_core::call::Call;
use abide_core::classify::Transport;
use abide_core::outage::{Leave, OutageProbe};
use abide_core::provider::{Admit, News, Outcome, Pass, Request, Start, Ticket};
use abide_core::queue::Urgency;
use abide_core::refusal::{DecidedBy, Refusal, RefusalKind};
use abide_core::{Finding, Instant};
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
    /// The longest closing waited for, within the call's own limits; no bound when absent.
    pub closing_max: Option<Duration>,
    /// Whether it keeps to the pace of its gates. One that is exempt (a token to be renewed, a
    /// question that costs nothing) still waits at holds, open breakers and for a place on the
    /// wire.
    pub paced: bool,
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
            closing_max: None,
            paced: true,
        }
    }
}

/// Leave to send one attempt; it has been stamped as sent.
#[derive(Debug)]
#[must_use]
pub struct Permit {
    shard: Handle,
    pass: Option<Pass>,
    /// What the head of its answer said, while the rest is still being looked at.
    pub(crate) head: Option<Finding>,
    /// It is the probe of an outage of our network.
    probe: Option<OutageProbe>,
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
        let mut next = shard.with(|s, now| Self::ask(shard, s, now, None, admission, call));
        loop {
            next = match next {
                Next::Sent(permit) => return Ok(permit),
                Next::Refused(r) => return Err(r),
                Next::Wait(ticket, rx) => {
                    let waiting = Waiting {
                        shard: Some(shard),
                        ticket,
                        rx,
                    };
                    match waiting.granted().await {
                        Ok(pass) => {
                            shard.with(|s, now| Self::place(shard, s, now, pass, admission, call))
                        }
                        Err(r) => {
                            let now = shard.shared().clock.now();
                            return Err(Box::new(call.turned_away(now, *r)));
                        }
                    }
                }
                // A pass is not kept for a place: its slot would be spent in a burst later. With
                // a place in hand, leave is asked for anew.
                Next::Wire => {
                    let place = match &admission.wire {
                        Some(wire) => Arc::clone(wire).acquire_owned().await.ok(),
                        None => None,
                    };
                    shard.with(|s, now| Self::ask(shard, s, now, place, admission, call))
                }
                Next::Ready(pass, place) => {
                    let mut unsent = Unsent {
                        shard,
                        pass: Some(pass),
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
                    shard.with(|s, now| Self::start(shard, s, now, pass, place, call))
                }
                Next::Offline(pass, place) => Self::probe(shard, pass, place, call),
            };
        }
    }

    fn ask(
        shard: &Handle,
        s: &mut State,
        now: Instant,
        place: Option<OwnedSemaphorePermit>,
        admission: &Admission,
        call: &mut Call,
    ) -> Next {
        let limits = call.asks(now);
        let gates = shard.gates(s, now, &admission.target);
        let closing = admission.closing_max.map_or(Instant::FAR, |d| now.after(d));
        let request = Request {
            gates,
            cost: admission.cost,
            urgency: admission.urgency,
            fair: admission.fair,
            not_before: limits.not_before,
            expires: limits.expires,
            hold_limit: limits.hold_limit.min(closing),
            paced: admission.paced,
        };
        match s.machine.admit(now, &request) {
            Admit::Refuse(r) => Next::Refused(Box::new(call.turned_away(now, *r))),
            // Whoever waits has no place on the wire.
            Admit::Waiting(ticket) => Next::Wait(ticket, Shard::wait_for(s, ticket)),
            Admit::Go(pass) if place.is_some() => {
                Self::ready(shard, s, now, pass, place, admission, call)
            }
            Admit::Go(pass) => Self::place(shard, s, now, pass, admission, call),
        }
    }

    /// Takes a place on the wire for a pass, or gives the pass back until there is one.
    fn place(
        shard: &Handle,
        s: &mut State,
        now: Instant,
        pass: Pass,
        admission: &Admission,
        call: &mut Call,
    ) -> Next {
        let place = match &admission.wire {
            None => None,
            Some(wire) => match Arc::clone(wire).try_acquire_owned() {
                Ok(place) => Some(place),
                Err(_) => {
                    s.machine.settle(now, pass, &Outcome::NotSent);
                    return Next::Wire;
                }
            },
        };
        Self::ready(shard, s, now, pass, place, admission, call)
    }

    fn ready(
        shard: &Handle,
        s: &mut State,
        now: Instant,
        pass: Pass,
        place: Option<OwnedSemaphorePermit>,
        admission: &Admission,
        call: &mut Call,
    ) -> Next {
        if admission.before_start.is_some() {
            return Next::Ready(pass, place);
        }
        Self::start(shard, s, now, pass, place, call)
    }

    fn start(
        shard: &Handle,
        s: &mut State,
        now: Instant,
        pass: Pass,
        wire: Option<OwnedSemaphorePermit>,
        call: &mut Call,
    ) -> Next {
        if s.machine.is_offline() {
            return Next::Offline(pass, wire);
        }
        Self::stamp(shard, s, now, pass, wire, None, call)
    }

    /// A pass of an offline provider: it is sent only with leave to be the probe, of which there
    /// is one for all providers.
    fn probe(
        shard: &Handle,
        pass: Pass,
        wire: Option<OwnedSemaphorePermit>,
        call: &mut Call,
    ) -> Next {
        let outage = &shard.shared().outage;
        let asked = shard.shared().clock.now();
        let (leave, news) = outage.lease(asked);
        let probe = match leave {
            Leave::Probe(probe) => Some(probe),
            Leave::Online | Leave::Wait => None,
        };
        let next = shard.with(|s, now| {
            if probe.is_some() {
                return Self::stamp(shard, s, now, pass, wire, probe, call);
            }
            if let Some(news) = news {
                shard.learn_all(s, now, News::Outage(news));
            }
            // By the time of the question: a moment later it might be let go without leave.
            let now = if leave == Leave::Wait { asked } else { now };
            Self::stamp(shard, s, now, pass, wire, None, call)
        });
        if let (Some(probe), Next::Wait(..)) = (probe, &next) {
            outage.give_back(asked, probe, false);
        }
        next
    }

    fn stamp(
        shard: &Handle,
        s: &mut State,
        now: Instant,
        pass: Pass,
        wire: Option<OwnedSemaphorePermit>,
        probe: Option<OutageProbe>,
        call: &mut Call,
    ) -> Next {
        match s.machine.start(now, pass) {
            Start::Go(pass) => {
                call.sent(now);
                Next::Sent(Self {
                    shard: Arc::clone(shard),
                    pass: Some(pass),
                    head: None,
                    probe,
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

    /// An answer came from this host, whatever it says. To be told before the attempt is settled,
    /// as is [`failed`](Self::failed): so an outage of our own network is told from those of
    /// providers.
    pub fn answered(&mut self, host: &str) {
        // The answer to a probe ends the outage, so there is nothing left to give back.
        self.probe = None;
        if !self.shard.is_local() {
            let shared = self.shard.shared();
            shared.outage.answered(shared.clock.now(), host);
        }
    }

    /// The exchange with this host failed. Returns whether our own network is taken to be down,
    /// so that the failure says nothing about the provider.
    pub fn failed(&mut self, host: &str, transport: &Transport) -> bool {
        if self.shard.is_local() {
            return false;
        }
        let shared = self.shard.shared();
        let probe = self.probe.take();
        let now = shared.clock.now();
        shared.outage.failed(now, host, transport, probe);
        shared.outage.is_offline()
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
        if let Some(probe) = self.probe.take() {
            // Its caller left before anything was known.
            let shared = self.shard.shared();
            shared.outage.give_back(shared.clock.now(), probe, true);
        }
        if let Some(pass) = self.pass.take() {
            if let Some(head) = self.head.take() {
                // The caller left, but the answer is known well enough.
                let outcome = Outcome::Answered(head);
                self.shard
                    .with(|s, now| s.machine.settle(now, pass, &outcome));
                return;
            }
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
    /// Leave to send, and a place on the wire; something is to be done first.
    Ready(Pass, Option<OwnedSemaphorePermit>),
    /// Leave of a provider that takes our network to be down.
    Offline(Pass, Option<OwnedSemaphorePermit>),
    /// No place on the wire.
    Wire,
}

/// A pass that waits for what is to be done before its start; dropping it is a refund.
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
