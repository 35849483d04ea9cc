//! Leave to send one attempt, as a guard.
//!
//! Dropping it anywhere frees the place: unsent it is refunded, sent it counts as cancelled, so
//! that a caller who leaves never leaks a place on the wire.

use std::pin::Pin;
use std::sync::Arc;
use std::task::{Context, Poll, ready};

use abide_core::call::Call;
use abide_core::classify::{Transport, TransportKind};
use abide_core::outage::{Leave, OutageProbe};
use abide_core::policy::Mode;
use abide_core::provider::{Admit, News, Outcome, Pass, Request, Start, Ticket};
use abide_core::refusal::{DecidedBy, Refusal, RefusalKind};
use abide_core::{Finding, Instant};
use tokio::sync::{OwnedSemaphorePermit, oneshot};

use crate::admission::Admission;
use crate::shard::{Grant, Handle, Shard, State};
use crate::shared::ask_for_neutral_name;

/// Leave to send one attempt; it has been stamped as sent.
#[derive(Debug)]
#[must_use]
pub struct Permit {
    shard: Handle,
    pass: Option<Pass>,
    /// What the head of its answer said, while the rest is still being looked at.
    pub(crate) head: Option<Finding>,
    /// What is decided is done: there may be another attempt.
    pub(crate) enforced: bool,
    /// It is the probe of an outage of our network.
    probe: Option<OutageProbe>,
    #[expect(dead_code, reason = "held for its drop: the place on the wire")]
    wire: Option<OwnedSemaphorePermit>,
}

/// What came of asking for leave.
pub(crate) enum Step {
    /// Turned away, unsent.
    Refused(Box<Refusal>),
    /// It is stamped as sent.
    Sent(Permit),
    /// In line.
    Wait(Waiting),
    /// Leave to send; something is to be done first.
    Granted(Unsent),
    /// No place on the wire.
    Wire,
}

/// Leave of a provider that takes our network to be down.
struct Offline {
    pass: Pass,
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
        let mut next = Self::ask(shard, None, admission, call);
        loop {
            next = match next {
                Step::Sent(permit) => return Ok(permit),
                Step::Refused(r) => return Err(r),
                Step::Wait(waiting) => match waiting.await {
                    Ok(unsent) => unsent.place(admission, call),
                    Err(r) => {
                        let now = shard.shared().clock.now();
                        return Err(Box::new(call.turned_away(now, *r)));
                    }
                },
                // A pass is not kept for a place: its slot would be spent in a burst later. With
                // a place in hand, leave is asked for anew.
                Step::Wire => {
                    let place = match &admission.wire {
                        Some(wire) => Arc::clone(wire).acquire_owned().await.ok(),
                        None => None,
                    };
                    Self::ask(shard, place, admission, call)
                }
                Step::Granted(unsent) => {
                    if let Some(before) = &admission.before_start
                        && let Err(why) = before().await
                    {
                        tracing::error!(why, "nothing is sent: its intent could not be written");
                        return Err(closed());
                    }
                    unsent.start(call)
                }
            };
        }
    }

    /// Asks for leave; whoever waits has no place on the wire.
    pub(crate) fn ask(
        shard: &Handle,
        place: Option<OwnedSemaphorePermit>,
        admission: &Admission,
        call: &mut Call,
    ) -> Step {
        let step = shard.with(|s, now| {
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
            Ok(match s.machine.admit(now, &request) {
                Admit::Refuse(r) => Step::Refused(Box::new(call.turned_away(now, *r))),
                Admit::Waiting(ticket) => Step::Wait(Waiting::new(shard, s, ticket)),
                Admit::Go(pass) if place.is_some() => {
                    return Self::ready(shard, s, now, pass, place, admission, call);
                }
                Admit::Go(pass) => return Self::place(shard, s, now, pass, admission, call),
            })
        });
        step.unwrap_or_else(|offline| Self::probe(shard, offline, call))
    }

    /// Takes a place on the wire for a pass, or gives the pass back until there is one.
    fn place(
        shard: &Handle,
        s: &mut State,
        now: Instant,
        pass: Pass,
        admission: &Admission,
        call: &mut Call,
    ) -> Result<Step, Offline> {
        let place = match &admission.wire {
            None => None,
            Some(wire) => match Arc::clone(wire).try_acquire_owned() {
                Ok(place) => Some(place),
                Err(_) => {
                    s.machine.settle(now, pass, &Outcome::NotSent);
                    return Ok(Step::Wire);
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
    ) -> Result<Step, Offline> {
        if admission.two_steps || admission.before_start.is_some() {
            return Ok(Step::Granted(Unsent {
                shard: Arc::clone(shard),
                pass: Some(pass),
                wire: place,
            }));
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
    ) -> Result<Step, Offline> {
        if s.machine.is_offline() {
            return Err(Offline { pass, wire });
        }
        Ok(Self::stamp(shard, s, now, pass, wire, None, call))
    }

    /// A pass of an offline provider: it is sent only with leave to be the probe, of which there
    /// is one for all providers.
    fn probe(shard: &Handle, offline: Offline, call: &mut Call) -> Step {
        let Offline { pass, wire } = offline;
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
        if let (Some(probe), Step::Wait(..)) = (probe, &next) {
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
    ) -> Step {
        match s.machine.start(now, pass) {
            Start::Go(pass) => {
                call.sent(now);
                Step::Sent(Self {
                    shard: Arc::clone(shard),
                    pass: Some(pass),
                    head: None,
                    enforced: s.machine.policy().mode == Mode::Enforce,
                    probe,
                    wire,
                })
            }
            Start::Back(ticket) => Step::Wait(Waiting::new(shard, s, ticket)),
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
        let now = self.shard.shared().clock.now();
        self.answered_at(now, host);
    }

    /// The same, where the time of the answer was read already.
    pub(crate) fn answered_at(&mut self, now: Instant, host: &str) {
        // The answer to a probe ends the outage, so there is nothing left to give back.
        self.probe = None;
        if !self.shard.is_local() {
            self.shard.shared().outage.answered(now, host);
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
        if transport.kind == TransportKind::Dns {
            ask_for_neutral_name(shared);
        }
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

/// A pass that waits for what is to be done before its start; dropping it is a refund.
pub(crate) struct Unsent {
    shard: Handle,
    pass: Option<Pass>,
    wire: Option<OwnedSemaphorePermit>,
}

impl Unsent {
    /// Stamps the send.
    pub(crate) fn start(mut self, call: &mut Call) -> Step {
        let (pass, wire) = (self.pass.take(), self.wire.take());
        let Some(pass) = pass else {
            return Step::Refused(closed());
        };
        let shard = &self.shard;
        let step = shard.with(|s, now| Permit::start(shard, s, now, pass, wire, call));
        step.unwrap_or_else(|offline| Permit::probe(shard, offline, call))
    }

    fn place(mut self, admission: &Admission, call: &mut Call) -> Step {
        let Some(pass) = self.pass.take() else {
            return Step::Refused(closed());
        };
        let shard = &self.shard;
        let step = shard.with(|s, now| Permit::place(shard, s, now, pass, admission, call));
        step.unwrap_or_else(|offline| Permit::probe(shard, offline, call))
    }
}

impl Drop for Unsent {
    fn drop(&mut self) {
        if let Some(pass) = self.pass.take() {
            self.shard
                .with(|s, now| s.machine.settle(now, pass, &Outcome::NotSent));
        }
    }
}

/// A place in line; dropping it frees it at once.
pub(crate) struct Waiting {
    shard: Option<Handle>,
    ticket: Ticket,
    rx: oneshot::Receiver<Grant>,
}

impl Waiting {
    fn new(shard: &Handle, s: &mut State, ticket: Ticket) -> Self {
        Self {
            shard: Some(Arc::clone(shard)),
            ticket,
            rx: Shard::wait_for(s, ticket),
        }
    }
}

impl Future for Waiting {
    type Output = Result<Unsent, Box<Refusal>>;

    fn poll(mut self: Pin<&mut Self>, cx: &mut Context<'_>) -> Poll<Self::Output> {
        let grant = ready!(Pin::new(&mut self.rx).poll(cx));
        // The pass or the refusal is in hand: there is no place left to free.
        let shard = self.shard.take();
        Poll::Ready(match (grant, shard) {
            (Ok(Ok(pass)), Some(shard)) => Ok(Unsent {
                shard,
                pass: Some(pass),
                wire: None,
            }),
            (Ok(Err(r)), _) => Err(r),
            _ => Err(closed()),
        })
    }
}

impl Drop for Waiting {
    fn drop(&mut self) {
        if let Some(shard) = &self.shard {
            shard.abandon(self.ticket);
        }
    }
}

fn closed() -> Box<Refusal> {
    Box::new(Refusal::new(RefusalKind::Closed, DecidedBy::Policy))
}
