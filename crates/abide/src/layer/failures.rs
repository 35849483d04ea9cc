//! What a failure of the service below means.
//!
//! Its errors are opaque: a refused connection, a timeout of the caller's own and a full queue of
//! another middleware look alike. Unless somebody tells, a failure says nothing about the provider,
//! and the request may have been sent.

use std::fmt;

use abide_core::classify::Transport;

/// Reads errors of the service below.
pub trait Failures<E> {
    /// What went wrong with the exchange, and how far it had come; `None` where nobody knows.
    fn read(&self, error: &E) -> Option<Transport>;
}

/// Nothing is known of any error.
#[derive(Clone, Copy, Debug, Default)]
pub struct Opaque;

impl<E> Failures<E> for Opaque {
    fn read(&self, _: &E) -> Option<Transport> {
        None
    }
}

/// A function reads errors.
#[derive(Clone, Copy)]
pub struct By<F>(pub(super) F);

impl<F> fmt::Debug for By<F> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("By").finish_non_exhaustive()
    }
}

impl<E, F: Fn(&E) -> Option<Transport>> Failures<E> for By<F> {
    fn read(&self, error: &E) -> Option<Transport> {
        (self.0)(error)
    }
}
