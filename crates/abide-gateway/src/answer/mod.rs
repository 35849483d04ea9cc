//! Answers of our own: why nothing was sent, or nothing came, and when to come back.

mod problem;
mod turned;

pub(crate) use self::problem::Problem;
pub(crate) use self::turned::{of_failure, of_forbidden, of_transport, of_turned};
