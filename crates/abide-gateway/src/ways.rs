//! The ways of one worker to providers: connections of its own, by how far they may lead and what is
//! special about them.

use std::collections::HashMap;

use abide::core::classify::Transport as Read;
use abide::layer::{By, Service};

use crate::bad::GatewayError;
use crate::body::Copies;
use crate::gateway::Gateway;
use crate::route::{self, Route};
use crate::settings::Transport;
use crate::upstream::{Failure, Reach, Upstream};

/// The way of one request through its gates to a provider.
pub(crate) type Way = Service<Upstream, Copies, By<fn(&Failure) -> Option<Read>>>;

/// The ways of one worker.
pub(crate) struct Ways {
    public: Way,
    named: Way,
    own: HashMap<Box<str>, Own>,
}

/// The ways to a provider about which something is special.
struct Own {
    named: Way,
    /// To those of its hosts of which the operator did not say that they may be of an inner network.
    public: Way,
}

impl Ways {
    /// Those of a gateway. Those of `before` that did not change are kept, with their connections.
    pub(crate) fn of(
        gateway: &Gateway,
        before: Option<(&Gateway, &Self)>,
    ) -> Result<Self, GatewayError> {
        let settings = gateway.settings();
        let layered = |upstream| Service::new(upstream, gateway.layer().clone());
        let made = |reach, transport: &Transport| {
            Upstream::new(&settings.limits, reach, transport).map(layered)
        };
        let again = |way: &Way| layered(way.get_ref().clone());
        let same = before.filter(|(old, _)| {
            let old = old.settings();
            old.limits == settings.limits && old.reach_inner == settings.reach_inner
        });
        let outer = settings.outer_reach();
        let mut own = HashMap::new();
        for u in settings
            .upstreams
            .iter()
            .filter(|u| !u.transport.is_plain())
        {
            let old = same.filter(|(old, _)| {
                let mut olds = old.settings().upstreams.iter();
                olds.any(|o| o.provider == u.provider && o.transport == u.transport)
            });
            let ways = match old.and_then(|(_, ways)| ways.own.get(u.provider.as_str())) {
                Some(old) => Own {
                    named: again(&old.named),
                    public: again(&old.public),
                },
                None => Own {
                    named: made(Reach::Named, &u.transport)?,
                    public: made(outer, &u.transport)?,
                },
            };
            own.insert(u.provider.as_str().into(), ways);
        }
        let plain = Transport::default();
        Ok(match same {
            Some((_, ways)) => Self {
                public: again(&ways.public),
                named: again(&ways.named),
                own,
            },
            None => Self {
                public: made(outer, &plain)?,
                named: made(Reach::Named, &plain)?,
                own,
            },
        })
    }

    /// The way to a provider.
    pub(crate) fn to(&self, route: &Route) -> Way {
        // Nobody has a way of its own whose way was not made.
        let own = |name: &str| self.own.get(name);
        let way = match &route.way {
            route::Way::Public => &self.public,
            route::Way::Named => &self.named,
            route::Way::Own(name) => own(name).map_or(&self.named, |w| &w.named),
            route::Way::OwnPublic(name) => own(name).map_or(&self.public, |w| &w.public),
        };
        way.clone()
    }
}
