//! Leave to send, lent by a store that several machines share.
//!
//! A process decides by itself what its own gates let out; where others share a limit, whatever it
//! would send is asked for once more, at the store, on the store's clock: all gates of a request
//! in one step, or none. The store knows the holds of everybody, so none is sent into; of an
//! episode it lets out one probe among all processes; and of each window it lends no more than
//! the window has. Where a gate is busy, more than the request's own cost is lent at once (a
//! *lease*), to be spent without asking until it lapses.
//!
//! [`Book`] is what a store does, as plain data: the script that runs in Redis is compared with it
//! operation by operation, and the protocol is explored on it (`tests/protocol`). A [`Shelf`] is one
//! in memory, for tests of several who share one.
//!
//! Whoever is lent a probe ([`Grant::probe`]) tells what came of it ([`Store::put`]
//! with the rung of the next refusal, or with none after an answer), also where it had not heard of
//! the episode: until then, or until the probe lapses, everybody else waits.
//!
//! [`Store::put`]: crate::Store::put

mod book;
mod lender;
mod lending;
mod shelf;
mod windows;

use std::time::Duration;

pub use book::{Book, PEER_LIFE};
pub use lender::{Later, Lender, Lost};
pub use lending::{Answer, Ask, GateAsk, Grant, Lent, NotNow, Why};
pub use shelf::{Reader, Shelf, Trouble};
pub use windows::{Shape, Window};
#[cfg(feature = "redis")]
pub(crate) use windows::{instant, micros};

/// How soon somebody whom another's probe keeps waiting asks again, where no news come: often
/// enough that a lost message costs little, seldom enough that a thousand who wait are no load.
pub const ASK_AGAIN: Duration = Duration::from_millis(200);
