//! Several policies under one roof, told apart by host and path.

use std::time::Duration;

use abide_core::Moment;
use http::StatusCode;

use super::{Job, Policy};
use crate::reply::{Answer, Reply};
use crate::request::{Gate, Request, RequestId};

/// Which requests a part of a composed provider answers.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Route {
    host: Option<Box<str>>,
    prefix: Box<str>,
}

impl Route {
    /// Those whose path begins with `prefix`, on any host.
    pub fn path(prefix: impl Into<Box<str>>) -> Self {
        Self {
            host: None,
            prefix: prefix.into(),
        }
    }

    /// Those to `host`, with or without a port.
    pub fn host(host: impl Into<Box<str>>) -> Self {
        Self {
            host: Some(host.into()),
            prefix: Box::default(),
        }
    }

    /// Of those, the ones whose path begins with `prefix`.
    #[must_use]
    pub fn below(self, prefix: impl Into<Box<str>>) -> Self {
        Self {
            prefix: prefix.into(),
            ..self
        }
    }

    fn covers(&self, request: &Request) -> bool {
        let host = request.host.split(':').next().unwrap_or_default();
        request.path.starts_with(&*self.prefix)
            && self
                .host
                .as_deref()
                .is_none_or(|own| own == host || own == &*request.host)
    }
}

/// Several policies, each with a gate of its own. The first route that covers a request decides;
/// what none covers is a 404.
#[derive(Debug, Default)]
pub struct Routes {
    parts: Vec<(Route, Box<dyn Policy>)>,
}

impl Routes {
    /// No route yet.
    pub fn new() -> Self {
        Self::default()
    }

    /// Adds a route behind those there are.
    #[must_use]
    pub fn with(mut self, route: Route, policy: impl Policy + 'static) -> Self {
        self.parts.push((route, Box::new(policy)));
        self
    }

    fn find(&self, request: &Request) -> Option<usize> {
        self.parts
            .iter()
            .position(|(route, _)| route.covers(request))
    }
}

impl Policy for Routes {
    fn arrive(&mut self, at: Moment, id: RequestId, request: &Request) -> Reply {
        match self
            .find(request)
            .and_then(|index| self.parts.get_mut(index))
        {
            Some((_, policy)) => policy.arrive(at, id, request),
            None => Reply::accepted(Answer::new(StatusCode::NOT_FOUND, "")),
        }
    }

    fn depart(&mut self, at: Moment, id: RequestId) {
        for (_, policy) in &mut self.parts {
            policy.depart(at, id);
        }
    }

    fn gate(&self, request: &Request) -> Gate {
        let Some(index) = self.find(request) else {
            return Gate::ONLY;
        };
        let inner = self
            .parts
            .get(index)
            .map_or(Gate::ONLY, |(_, policy)| policy.gate(request));
        Gate::part(u32::try_from(index).unwrap_or(u32::MAX), inner)
    }

    /// The slowest part, when the items are spread evenly over the routes.
    fn oracle(&self, job: Job) -> Duration {
        let share = job.items.div_ceil((self.parts.len() as u64).max(1));
        let times = self
            .parts
            .iter()
            .map(|(_, policy)| policy.oracle(job.with_items(share)));
        times.max().unwrap_or_default()
    }

    fn name(&self) -> &'static str {
        "routes"
    }

    fn describe(&self) -> String {
        let parts: Vec<_> = self
            .parts
            .iter()
            .map(|(route, policy)| {
                let host = route.host.as_deref().unwrap_or("*");
                format!("{host}{}*: {}", route.prefix, policy.describe())
            })
            .collect();
        parts.join("; ")
    }
}
