//! Bodies on their way through: what callers send, and what they get.

mod answer;
mod busy;
mod copies;
mod outgoing;

pub(crate) use answer::{Answer, Own};
pub(crate) use busy::Asked;
pub(crate) use copies::Copies;
pub(crate) use outgoing::{CallerError, Outgoing};
