//! How a provider's answers are read and its calls are made, as configured now.

use std::ops::Deref;
use std::sync::Arc;

use abide_core::call::CallPolicy;
use abide_core::classify::ClassifyPolicy;
use abide_profile::Paths;
use arc_swap::Guard;

/// As configured now.
#[derive(Debug)]
pub(crate) struct Judging {
    pub(crate) classify: ClassifyPolicy,
    /// The knobs of calls that bring none of their own.
    pub(crate) call: Option<CallPolicy>,
    /// Paths that keep to no pace.
    pub(crate) unpaced: Paths,
}

/// How answers are read, for as long as this is held.
pub(crate) struct Classify(pub(crate) Guard<Arc<Judging>>);

impl Deref for Classify {
    type Target = ClassifyPolicy;

    fn deref(&self) -> &ClassifyPolicy {
        &self.0.classify
    }
}

/// The knobs of calls, for as long as this is held.
pub(crate) struct Calls(pub(crate) Guard<Arc<Judging>>);

impl Calls {
    pub(crate) fn get(&self) -> Option<&CallPolicy> {
        self.0.call.as_ref()
    }
}
