//! Where callers come in, and how many may.

mod callers;
mod listener;

pub(crate) use self::callers::Callers;
pub use self::listener::Listener;
pub(crate) use self::listener::Socket;
