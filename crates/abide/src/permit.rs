//! Leave to send one attempt, as a guard.
//!
//! Dropping it anywhere frees the place: unsent it is refunded, sent it counts as cancelled, so
//! that a caller who leaves never leaks a place on the wire.

use std::pin::Pin;
use std::sync::Arc;
use std::task::{Context, Poll, ready};
use std::time::Duration;

use abide_core::call::Call;
use abide_core::classify::{Transport, TransportKind};
use abide_core::outage::{Leave, OutageProbe, Witness};
use abide_core::policy::Mode;
use abide_core::provider::{Admit, News, Outcome, Pass, Request, Start, Ticket};
use abide_core::refusal::{DecidedBy, Refusal, RefusalKind};
use abide_core::{Finding, Instant};
use tokio::sync::{OwnedSemaphorePermit, oneshot};

use crate::admission::Admission;
use crate::shard::{Grant, Handle, Shard, State};
use crate::shared::ask_for_neutral_name;
use crate::within::within;

/// Leave to send one attempt; it has been stamped as sent.
#[derive(Debug)]
#[must_use]
pub struct Permit {
    shard: Handle,
    pass: Option<Pass>,
    /// What the head of its answer said, while the rest is still being looked at.
    pub(crate) head: Option<Box<Finding>>,
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
                    let left = call.wait_left(shard.shared().clock.now());
                    let place = match &admission.wire {
                        Some(wire) => within(left, Arc::clone(wire).acquire_owned()).await,
                        None => None,
                    };
                    match place {
                        Some(Ok(place)) => Self::ask(shard, Some(place), admission, call),
                        // There will never be one again.
                        Some(Err(_)) => return Err(closed()),
                        None => return Err(waited_out(shard, admission, call)),
                    }
                }
                Step::Granted(unsent) => {
                    if let Some(before) = &admission.before_start {
                        let left = call.wait_left(shard.shared().clock.now());
                        match within(left, before()).await {
                            Some(Ok(())) => {}
                            Some(Err(why)) => {
                                tracing::error!(
                                    why,
                                    "nothing is sent: its intent could not be written"
                                );
                                return Err(closed());
                            }
                            None => {
                                drop(unsent);
                                return Err(waited_out(shard, admission, call));
                            }
                        }
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
            if let Some(mut r) = call.late(now) {
                // Nothing would have held it, unless its gates are closed.
                r.retry_at = s.machine.closed_until(now, &gates).or(Some(now));
                return Ok(Step::Refused(Box::new(r)));
            }
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
            let enforced = s.machine.policy().mode == Mode::Enforce;
            if enforced && s.machine.is_offline() {
                // Whatever it heard meanwhile: this one has no leave, and asks again in its turn.
                return match s.machine.put_back(now, pass) {
                    Start::Back(ticket) => Step::Wait(Waiting::new(shard, s, ticket)),
                    Start::Go(pass) => Self::stamp(shard, s, now, pass, wire, None, call),
                };
            }
            Self::stamp(shard, s, now, pass, wire, None, call)
        });
        if let (Some(probe), Step::Wait(..) | Step::Refused(..)) = (probe, &next) {
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
        if let Some(mut r) = call.late(now) {
            // A send whose answer nobody can wait for would be one for nothing.
            s.machine.settle(now, pass, &Outcome::NotSent);
            r.retry_at = Some(now);
            return Step::Refused(Box::new(r));
        }
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
        self.heard(now, Witness::of(host));
    }

    /// The same, of the provider itself, where the time of the answer was read already.
    pub(crate) fn answered_at(&mut self, now: Instant) {
        self.heard(now, self.shard.witness());
    }

    fn heard(&mut self, now: Instant, host: Witness) {
        // One that turned out to be of this machine tells nothing, and gives its leave back.
        if self.shard.is_local() {
            return;
        }
        let shared = self.shard.shared();
        shared.outage.answered(now, host);
        // The answer to a probe ends the outage, so there is nothing left to give back.
        if self.probe.is_some() && !shared.outage.is_offline() {
            self.probe = None;
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

    /// The exchange with this host took longer than its caller let it. That says something of our
    /// network only where the bound was so long that a working one would have brought an answer;
    /// else no more than that this caller is in a hurry. Returns whether our own network is taken
    /// to be down.
    pub(crate) fn cut_off(&mut self, host: &str, t: &Transport, after: Option<Duration>) -> bool {
        let shared = self.shard.shared();
        let window = shared.outage.window();
        if after.is_none_or(|after| window.is_some_and(|window| after >= window)) {
            return self.failed(host, t);
        }
        let probe = self.probe.take();
        if let Some(probe) = probe {
            shared.outage.give_back(shared.clock.now(), probe, true);
        }
        !self.shard.is_local() && shared.outage.is_offline()
    }

    /// The attempt is over.
    pub fn settle(mut self, outcome: &Outcome) {
        if let Some(pass) = self.pass.take() {
            self.shard
                .with(|s, now| s.machine.settle(now, pass, outcome));
        }
    }

    /// The attempt is over, with this answer. `at` is when it came, where all of it came with
    /// its head.
    #[cfg(feature = "layer")]
    pub(crate) fn settle_answer(mut self, at: Option<Instant>, finding: &Finding) {
        if let Some(pass) = self.pass.take() {
            self.shard
                .with_at(at, |s, now| s.machine.settle_answer(now, pass, finding));
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
                let outcome = Outcome::Answered(*head);
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

/// The refusal, unsent, of a call that waited too long for what is no gate. When that would have
/// ended nobody knows, but its gates may.
fn waited_out(shard: &Handle, admission: &Admission, call: &mut Call) -> Box<Refusal> {
    let mut r = call.waited_out(shard.shared().clock.now());
    r.retry_at = shard.closing(&admission.target).1;
    Box::new(r)
}

fn closed() -> Box<Refusal> {
    Box::new(Refusal::new(RefusalKind::Closed, DecidedBy::Policy))
}
