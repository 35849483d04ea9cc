//! Clients that retry and limit, on simulated providers: in virtual time, or over real sockets.
//!
//! Each is written the way its documentation says. What became of the items is what the provider
//! saw, not what a client says.

#![allow(
    clippy::missing_errors_doc,
    reason = "whoever measures shows what fails"
)]

pub mod abide_call;
pub mod job;
mod middleware;
mod resilience;
mod told;
mod tower_stack;

use std::pin::Pin;

pub use job::{Job, Outcome, World, in_virtual_time};

/// What a client says is done, once it is.
pub type Claimed = Pin<Box<dyn Future<Output = anyhow::Result<u32>>>>;

/// How a client works a bulk.
pub type Run = fn(World) -> Claimed;

/// Clients that nobody told more than a rate.
pub const PEERS: [(&str, Run); 3] = [
    ("reqwest-retry", |world| Box::pin(middleware::run(world))),
    ("tower retry + rate limit", |world| {
        Box::pin(tower_stack::run(world))
    }),
    ("tower-resilience retry + rate limiter", |world| {
        Box::pin(resilience::run(world))
    }),
];

/// The `governor` crate, told each provider's true rate, with a retry. Its clock is the real one.
pub const TOLD: (&str, Run) = ("governor, told the rate", |world| {
    Box::pin(told::run(world))
});
