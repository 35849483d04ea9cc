//! Where callers come in, and how many may.

mod callers;
mod listener;
mod peer;
mod place;

pub(crate) use self::callers::{Callers, Seat};
pub use self::listener::Listener;
pub(crate) use self::listener::Socket;
pub(crate) use self::peer::Peer;
pub(crate) use self::place::{Faces, Place};
