//! The network: every way takes its time, and answers may never come.

use std::cmp::Reverse;
use std::collections::{BinaryHeap, HashMap};
use std::time::Duration;

use abide_core::{Instant, Moment};
use fastrand::Rng;

use crate::provider::Provider;
use crate::reply::{Fate, What};
use crate::request::{Request, RequestId};

/// One request under way, by number.
pub(super) type Trip = u64;

/// Something that happens on the wire. At one instant, what leaves goes first and what comes back
/// goes before what arrives.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub(super) enum Happening {
    /// The provider is done with a request.
    Depart(Trip),
    /// An answer is back.
    Receive(Trip),
    /// Nobody waits for it any longer.
    TimeOut(Trip),
    /// A request is there.
    Arrive(Trip),
}

#[derive(Debug)]
struct OnWire {
    item: u32,
    site: usize,
    id: RequestId,
    what: Option<What>,
}

type Events = BinaryHeap<Reverse<(Instant, Happening)>>;

/// The network and the providers behind it.
#[derive(Debug)]
pub(super) struct Wire {
    pub(super) providers: Vec<Provider>,
    trip: Duration,
    jitter: f64,
    next: Trip,
    under_way: HashMap<Trip, OnWire>,
    /// What providers are busy with, whether anyone still waits for it or not.
    inside: HashMap<Trip, (usize, RequestId)>,
}

impl Wire {
    pub(super) fn new(trip: Duration, jitter: f64) -> Self {
        Self {
            providers: Vec::new(),
            trip,
            jitter,
            next: 0,
            under_way: HashMap::new(),
            inside: HashMap::new(),
        }
    }

    fn way(&self, rng: &mut Rng) -> Duration {
        let part = 1.0 + self.jitter * (2.0 * rng.f64() - 1.0);
        (self.trip / 2).mul_f64(part.max(0.0))
    }

    pub(super) fn send(
        &mut self,
        now: Instant,
        item: u32,
        (site, client): (usize, u32),
        patience: Instant,
        events: &mut Events,
        rng: &mut Rng,
    ) {
        let id = self.providers[site].send(now, Request::item(item.to_string()).by(client));
        self.next += 1;
        let trip = self.next;
        self.under_way.insert(
            trip,
            OnWire {
                item,
                site,
                id,
                what: None,
            },
        );
        events.push(Reverse((now.after(self.way(rng)), Happening::Arrive(trip))));
        events.push(Reverse((patience, Happening::TimeOut(trip))));
    }

    /// A request is there; says what became of it, if anybody still waits for it.
    pub(super) fn arrive(
        &mut self,
        at: Moment,
        trip: Trip,
        events: &mut Events,
        rng: &mut Rng,
    ) -> Option<Fate> {
        let back = self.way(rng);
        let on_wire = self.under_way.get_mut(&trip)?;
        let reply = self.providers[on_wire.site].arrive(at, on_wire.id);
        let done = at.now.after(reply.after);
        self.inside.insert(trip, (on_wire.site, on_wire.id));
        events.push(Reverse((done, Happening::Depart(trip))));
        if !matches!(reply.what, What::Silence) {
            events.push(Reverse((done.after(back), Happening::Receive(trip))));
        }
        on_wire.what = Some(reply.what);
        Some(reply.fate)
    }

    pub(super) fn depart(&mut self, at: Moment, trip: Trip) {
        if let Some((site, id)) = self.inside.remove(&trip) {
            self.providers[site].depart(at, id);
        }
    }

    /// The item whose answer this is, and what came.
    pub(super) fn receive(&mut self, now: Instant, trip: Trip) -> (u32, What) {
        match self.under_way.remove(&trip) {
            Some(on_wire) => {
                self.providers[on_wire.site].receive(now, on_wire.id);
                (on_wire.item, on_wire.what.unwrap_or(What::Close))
            }
            None => (u32::MAX, What::Close),
        }
    }

    /// The item nobody waits for any longer, if its answer has not come.
    pub(super) fn give_up(&mut self, trip: Trip) -> Option<u32> {
        self.under_way.remove(&trip).map(|on_wire| on_wire.item)
    }
}
