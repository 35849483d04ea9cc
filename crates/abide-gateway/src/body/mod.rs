//! Bodies on their way through: what callers send, and what they get.

mod answer;
mod busy;
mod outgoing;

pub(crate) use answer::{Answer, Own};
pub(crate) use busy::Asked;
pub(crate) use outgoing::{CallerError, Copies, Outgoing};
