//! Every decision abide makes, and nothing else.
//!
//! What lives here: reading what a provider says ([`signal`]), what it means ([`verdict`],
//! [`classify`]), and when something may be sent (gates, calls, runs). All of it is pure: the
//! current time and every throw of the dice are arguments, and whatever should happen in the
//! world comes out as data.
//!
//! What never lives here: I/O, a clock, an async runtime, a source of randomness, a provider's
//! name. The shell that owns sockets and timers is the `abide` crate.

mod allowance;
pub mod backoff;
pub mod breaker;
pub mod budget;
pub mod call;
pub mod chain;
pub mod classify;
pub mod control;
pub mod defer;
mod dice;
pub mod finding;
pub mod gate;
pub mod hold;
mod inflight;
pub mod ladder;
pub mod lease;
pub mod outage;
pub mod pace;
pub mod policy;
pub mod prober;
pub mod provider;
pub mod queue;
pub mod refusal;
pub mod reserve;
pub mod run;
pub mod sharing;
pub mod signal;
pub mod spread;
pub mod time;
mod trip;
pub mod verdict;

pub use allowance::AllowancePolicy;
pub use classify::ClassifyPolicy;
pub use finding::{Ask, AskSource, BucketId, Finding, Reading};
pub use signal::{Hint, Signal, Skew};
pub use time::{Instant, Moment, WallTime};
pub use verdict::{GateClass, Health, Scope, Verdict};
