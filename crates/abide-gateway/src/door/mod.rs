//! Where callers come in, and how many may.

mod callers;
mod listener;
mod peer;

pub(crate) use self::callers::{Callers, Seat};
pub use self::listener::Listener;
pub(crate) use self::listener::Socket;
pub(crate) use self::peer::{Faces, Peer, Place};
