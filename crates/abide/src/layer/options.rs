//! How one request is to be treated, put into its extensions by whoever makes it.

use std::time::Duration;

use abide_core::call::{CallPolicy, Safety};
use abide_core::queue::Urgency;

/// How one request is to be treated.
///
/// ```
/// use std::time::Duration;
///
/// let mut options = abide::layer::Options::default();
/// options.patience = Some(Duration::from_secs(5));
/// let mut request = http::Request::new(());
/// request.extensions_mut().insert(options);
/// ```
#[derive(Clone, Copy, Debug, Default)]
#[non_exhaustive]
pub struct Options {
    /// Whether it may be repeated; its method and its provider's profile decide when absent.
    pub safety: Option<Safety>,
    /// Bounds all its waiting; the layer's own bound when absent.
    pub patience: Option<Duration>,
    /// Bounds everything up to the head of its answer; the layer's own bound when absent.
    pub deadline: Option<Duration>,
    /// It sends more than is kept, as fast as its caller does: only its deadline bounds how long
    /// that takes, not its patience.
    pub streams: bool,
    /// How urgent it is.
    pub urgency: Urgency,
    /// Whom to be fair to; 0 for everybody else.
    pub fair: u64,
    /// How many units it costs; 0 reads as 1.
    pub cost: u32,
}

impl Options {
    /// The knobs of its call.
    pub(super) fn call(&self, layer: &CallPolicy) -> CallPolicy {
        let mut call = layer.clone();
        call.patience = self.patience.unwrap_or(call.patience);
        call.deadline = self.deadline.or(call.deadline);
        if self.streams {
            call.beyond = None;
        }
        call
    }
}
