//! Simulated providers that know the truth.
//!
//! A real provider never tells a client how well it behaved. These do: each is a [`Policy`] (what
//! the provider permits, and how it says no) inside a [`Provider`] that keeps the ground truth
//! ([`Truth`]): how many requests came, which were refused, which were sent inside a hold the
//! client already knew of, and which items were truly accepted. Every policy also states its
//! [oracle](Policy::oracle), the time of the fastest schedule it permits, so that "fast" has a
//! yardstick.
//!
//! What lives here: policies as pure state machines given `now` and a seeded source of randomness,
//! the ledger, (feature `http`) a real HTTP/1.1 server on loopback around a provider, and a
//! [`world`] in virtual time in which the core's machines are driven against providers.
//!
//! What never lives here: anything that decides when a client may send. The providers depend on
//! `abide-core` for its notion of time only, and the core's own judgement is never used to judge
//! the core: what a report of the world says of holds and bans comes from the ledger.
//!
//! # In virtual time
//!
//! A driver tells a provider about four instants of each request, in the order in which they
//! happen across all requests: [`send`](Provider::send), [`arrive`](Provider::arrive) (which says
//! what the answer is and when it is ready), [`depart`](Provider::depart) and
//! [`receive`](Provider::receive). Of events at the same instant, departures come first.
//!
//! ```
//! use std::time::Duration;
//! use abide_core::{Instant, Moment, WallTime};
//! use abide_sim::policy::TokenBucket;
//! use abide_sim::{Fate, Provider, Request};
//!
//! let mut provider = Provider::new(TokenBucket::new(50, Duration::from_secs(1), 1));
//! let at = Moment::new(Instant::from_millis(10), WallTime::from_unix_secs(1_773_144_000));
//! let first = provider.send(Instant::ORIGIN, Request::item("1"));
//! let second = provider.send(Instant::ORIGIN, Request::item("2"));
//! assert_eq!(provider.arrive(at, first).fate, Fate::Accepted);
//! assert_eq!(provider.arrive(at, second).fate, Fate::Refused);
//! assert_eq!(provider.truth().refused, 1);
//! ```

mod holds;
#[cfg(feature = "http")]
pub mod http;
pub mod policy;
mod provider;
#[cfg(feature = "toml")]
pub mod recipe;
mod reply;
mod request;
pub mod scenarios;
mod truth;
pub mod world;

pub use policy::{Job, Policy};
pub use provider::Provider;
pub use reply::{Announced, Answer, Drip, Fate, Reply, What};
pub use request::{Gate, Request, RequestId};
pub use truth::{ItemTruth, Truth};
