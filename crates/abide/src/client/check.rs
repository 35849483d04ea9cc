//! Asking whether a write happened before it is sent again.
//!
//! A write whose answer never came may have been done. Only its provider knows, so it is asked;
//! the question is a call of its own, with its own pass, after that of the write was given back.

use std::fmt;
use std::pin::Pin;
use std::sync::Arc;

use crate::error::Error;
use crate::response::Response;

/// How it is asked.
type Ask =
    dyn Fn() -> Pin<Box<dyn Future<Output = Result<Option<Response>, Error>> + Send>> + Send + Sync;

/// Asks whether a write happened.
///
/// It gives what to return in place of the write's own answer, if it happened; `None` where it
/// did not, so that it is sent again; an error where that cannot be told, so that it is not.
#[derive(Clone)]
pub struct Check(Arc<Ask>);

impl fmt::Debug for Check {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_tuple("Check").finish()
    }
}

impl Check {
    /// A check that asks so.
    pub fn new<F, A>(ask: F) -> Self
    where
        F: Fn() -> A + Send + Sync + 'static,
        A: Future<Output = Result<Option<Response>, Error>> + Send + 'static,
    {
        Self(Arc::new(move || Box::pin(ask())))
    }

    pub(crate) async fn ask(&self) -> Result<Option<Response>, Error> {
        (self.0)().await
    }
}
