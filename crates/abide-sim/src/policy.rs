//! What a provider permits, and how it says no: one file a policy.
//!
//! A policy is a pure state machine. It is told when a request arrives and departs, and says what
//! becomes of it; it reads no clock, and its dice are a seeded [`fastrand::Rng`] it was given. So
//! the same policy serves a simulation in virtual time and a server on a real socket.
//!
//! Limits ([`TokenBucket`], [`FixedWindow`], [`SlidingWindow`], [`Concurrency`], [`PenaltyBox`],
//! [`Quota`], [`All`] of several) decide who is let in. Wrappers change what they are put around: how long it takes
//! ([`Timed`]), who else asks ([`Neighbour`]), when it is down ([`Outage`]), how it talks ([`Graphql`], [`WrongClock`],
//! [`Malformed`], [`Bodies`]). [`Routes`] puts several under one roof.

mod all;
mod bodies;
mod bucket;
mod concurrency;
mod graphql;
mod hint;
mod job;
mod malformed;
mod neighbour;
mod outage;
mod penalty;
mod plain;
mod quota;
mod routes;
mod service;
mod skew;
mod sliding;
mod window;

use std::fmt::Debug;
use std::time::Duration;

use abide_core::Moment;

use crate::reply::Reply;
use crate::request::{Gate, Request, RequestId};

pub use all::{All, Limit};
pub use bodies::Bodies;
pub use bucket::TokenBucket;
pub use concurrency::Concurrency;
pub use graphql::Graphql;
pub use hint::Hint;
pub use job::Job;
pub use malformed::{MALFORMED, Malformed};
pub use neighbour::Neighbour;
pub use outage::{Failure, Outage};
pub use penalty::PenaltyBox;
pub use plain::Plain;
pub use quota::{Quota, Reset};
pub use routes::{Route, Routes};
pub use service::{Service, Timed};
pub use skew::WrongClock;
pub use sliding::SlidingWindow;
pub use window::FixedWindow;

/// What a provider permits, and how it says no.
///
/// Instants never go back from one call to the next. Of events at the same instant, a departure is
/// told before an arrival.
pub trait Policy: Debug + Send {
    /// A request arrives; the answer is ready [`Reply::after`] later.
    fn arrive(&mut self, at: Moment, id: RequestId, request: &Request) -> Reply;

    /// The provider is done with a request that arrived, whatever became of it. Unknown ids are
    /// ignored.
    fn depart(&mut self, _at: Moment, _id: RequestId) {}

    /// The limit a request falls under. The same for the same request at all times.
    fn gate(&self, _request: &Request) -> Gate {
        Gate::ONLY
    }

    /// The time from the first request sent to the last answer received, in the fastest schedule
    /// that this policy permits from its initial state to a client that knows everything.
    ///
    /// Items that are never let in (a quota that does not reset) are left out. Where a file says
    /// so, the figure is a reference and not a bound.
    fn oracle(&self, job: Job) -> Duration;

    /// The mean time a request that is let in takes to be answered.
    fn service(&self) -> Duration {
        Duration::ZERO
    }

    /// A short name.
    fn name(&self) -> &'static str;

    /// The policy and its figures in one line.
    fn describe(&self) -> String;
}

impl<P: Policy + ?Sized> Policy for Box<P> {
    fn arrive(&mut self, at: Moment, id: RequestId, request: &Request) -> Reply {
        (**self).arrive(at, id, request)
    }

    fn depart(&mut self, at: Moment, id: RequestId) {
        (**self).depart(at, id);
    }

    fn gate(&self, request: &Request) -> Gate {
        (**self).gate(request)
    }

    fn oracle(&self, job: Job) -> Duration {
        (**self).oracle(job)
    }

    fn service(&self) -> Duration {
        (**self).service()
    }

    fn name(&self) -> &'static str {
        (**self).name()
    }

    fn describe(&self) -> String {
        (**self).describe()
    }
}
