//! One provider that can be asked.

use std::sync::{Arc, OnceLock};
use std::time::Duration;

use http::{HeaderName, HeaderValue};

use super::Base;
use crate::record::{Meters, Provider};

/// A provider that can be asked.
#[derive(Debug)]
pub(crate) struct Route {
    /// The name in front of the path.
    pub(crate) name: Box<str>,
    /// Where it is asked.
    pub(crate) base: Base,
    /// By which of the ways.
    pub(crate) way: Way,
    /// Put into every request, in place of what the caller has there.
    pub(crate) credential: Option<(HeaderName, HeaderValue)>,
    /// How long a body may stand still, where that is not the gateway's own.
    pub(crate) body_idle: Option<Duration>,
    /// Callers write a credential into its paths: they are not shown as they are.
    pub(crate) path_is_secret: bool,
    /// Its figures, once somebody asked for it: looked up by name they cost as much as the route.
    meter: OnceLock<Arc<Provider>>,
}

impl Route {
    pub(crate) const fn new(
        name: Box<str>,
        base: Base,
        way: Way,
        credential: Option<(HeaderName, HeaderValue)>,
    ) -> Self {
        Self {
            name,
            base,
            way,
            credential,
            body_idle: None,
            path_is_secret: false,
            meter: OnceLock::new(),
        }
    }

    /// Its figures among all.
    pub(crate) fn meter(&self, all: &Meters) -> Arc<Provider> {
        Arc::clone(self.meter.get_or_init(|| all.of(&self.name)))
    }
}

/// How a provider is reached.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) enum Way {
    /// At an address that is public.
    Public,
    /// At an address that the operator named, wherever that leads.
    Named,
    /// By a provider's way of its own: other authorities, a proxy.
    Own(Box<str>),
    /// By that, at an address that is public.
    OwnPublic(Box<str>),
}
