//! What all connections share: the governor, whose provider is where, what is counted and logged.

use std::collections::HashMap;
use std::fmt;
use std::hash::RandomState;
use std::sync::{Arc, OnceLock};
use std::time::Duration;

use abide::core::call::CallPolicy;
use abide::layer::{By, Service};
use abide::{Governor, Layer};
use http::header::HeaderValue;
use tokio_util::task::TaskTracker;

use crate::access::Secret;
use crate::body::Copies;
use crate::door::Callers;
use crate::life::Life;
use crate::record::{Books, Log, Meters};
use crate::route::{self, BadBase, Route, Routes};
use crate::settings::{Settings, Transport};
use crate::upstream::{Failure, Reach, Upstream, read};

/// The way of one request through its gates to a provider.
pub(crate) type Way = Service<Upstream, Copies, By<fn(&Failure) -> Option<Read>>>;

/// What a failure says of a provider.
type Read = abide::core::classify::Transport;

/// Why a gateway cannot be made.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum GatewayError {
    /// The address of a provider is none.
    #[error("the address of {provider}: {what}")]
    Base {
        /// The provider.
        provider: String,
        /// What is wrong with it.
        what: BadBase,
    },
    /// A chain asks somebody who cannot be asked.
    #[error("chain {chain}: {provider} is no provider that can be asked: it needs an `upstream`")]
    Chain {
        /// The chain.
        chain: String,
        /// Its member.
        provider: String,
    },
    /// Its name is none.
    #[error("{0:?} is no name for a gateway: letters, digits, - and . may be in it")]
    Name(String),
    /// TLS cannot be set up.
    #[error("TLS cannot be set up: {0}")]
    Tls(#[from] rustls::Error),
}

/// What all connections share, as it is until other settings come into force.
pub struct Gateway {
    settings: Settings,
    routes: Routes,
    layer: Layer<Copies, By<fn(&Failure) -> Option<Read>>>,
    /// How long a question to a chain may wait in all, where its caller does not say.
    patience: Duration,
    /// Its name in `Via`, with a part that no other gateway has: loops are seen by it.
    pseudonym: String,
    via: HeaderValue,
    lasting: Arc<Lasting>,
}

/// What stays whatever the settings are.
struct Lasting {
    governor: Governor,
    books: Arc<Books>,
    life: Life,
    tunnels: TaskTracker,
    callers: Callers,
    keys: RandomState,
    mark: u32,
    /// What whoever changes something shows, where the settings name none.
    made_token: OnceLock<Secret>,
}

impl Gateway {
    /// A gateway over the gates of a governor.
    ///
    /// # Errors
    /// When the settings do not make sense, saying which.
    pub fn new(
        settings: Settings,
        governor: Governor,
        call: CallPolicy,
        log: Log,
    ) -> Result<Self, GatewayError> {
        let lasting = Lasting {
            books: Arc::new(Books::new(Arc::clone(governor.clock()), log)),
            life: Life::default(),
            tunnels: TaskTracker::new(),
            callers: Callers::new(&settings.limits),
            keys: RandomState::new(),
            mark: fastrand::u32(..),
            made_token: OnceLock::new(),
            governor,
        };
        Self::of(settings, call, Arc::new(lasting))
    }

    /// The same gateway with other settings. Where it listens, its threads, its log and how many
    /// connections it takes stay.
    ///
    /// # Errors
    /// When the settings do not make sense, saying which.
    pub fn renewed(&self, settings: Settings, call: CallPolicy) -> Result<Self, GatewayError> {
        Self::of(settings, call, Arc::clone(&self.lasting))
    }

    fn of(
        settings: Settings,
        call: CallPolicy,
        lasting: Arc<Lasting>,
    ) -> Result<Self, GatewayError> {
        let name = &settings.name;
        if name.is_empty()
            || !name
                .bytes()
                .all(|b| b.is_ascii_alphanumeric() || b == b'-' || b == b'.')
        {
            return Err(GatewayError::Name(name.clone()));
        }
        let pseudonym = format!("{name}-{:08x}", lasting.mark);
        let bad = || GatewayError::Name(name.clone());
        let via = HeaderValue::try_from(format!("1.1 {pseudonym}")).map_err(|_| bad())?;
        let governor = &lasting.governor;
        let routes = Routes::new(
            Arc::clone(governor.catalogue()),
            &settings.upstreams,
            &settings.chains,
            |uri| governor.listed(uri).is_some_and(|l| l.path_is_secret),
        )
        .map_err(|(provider, what)| GatewayError::Base { provider, what })?;
        for chain in &settings.chains {
            let mut members = chain.members.iter();
            if let Some(m) = members.find(|m| routes.provider(&m.provider).is_err()) {
                return Err(GatewayError::Chain {
                    chain: chain.name.clone(),
                    provider: m.provider.clone(),
                });
            }
        }
        let patience = call.patience;
        let read: fn(&Failure) -> Option<Read> = read;
        let layer = Layer::new(governor.clone())
            .call(call)
            .repeating_by(Copies)
            .failures(read);
        Ok(Self {
            settings,
            routes,
            layer,
            patience,
            pseudonym,
            via,
            lasting,
        })
    }

    /// The ways of one worker. Those of `before` that did not change are kept, with their
    /// connections.
    pub(crate) fn ways(&self, before: Option<(&Self, &Ways)>) -> Result<Ways, GatewayError> {
        let way = |reach, transport: &Transport| {
            let upstream = Upstream::new(&self.settings.limits, reach, transport)?;
            Ok::<_, GatewayError>(upstream)
        };
        let same = before.filter(|(old, _)| old.settings.limits == self.settings.limits);
        let layered = |upstream| Service::new(upstream, self.layer.clone());
        let plain = Transport::default();
        let kept = |of: fn(&Ways) -> &Way, reach| match same {
            Some((_, ways)) => Ok(layered(of(ways).get_ref().clone())),
            None => way(reach, &plain).map(layered),
        };
        let special = self.settings.upstreams.iter();
        let special = special.filter(|u| !u.transport.is_plain());
        let own = special.map(|u| {
            let name: Box<str> = u.provider.as_str().into();
            let old = same.filter(|(old, _)| {
                let mut olds = old.settings.upstreams.iter();
                olds.any(|o| o.provider == u.provider && o.transport == u.transport)
            });
            let old = old.and_then(|(_, ways)| ways.own.get(&name));
            let made = match old {
                Some(old) => layered(old.get_ref().clone()),
                None => layered(way(Reach::Anywhere, &u.transport)?),
            };
            Ok::<_, GatewayError>((name, made))
        });
        Ok(Ways {
            public: kept(|w| &w.public, Reach::Public)?,
            named: kept(|w| &w.named, Reach::Anywhere)?,
            own: own.collect::<Result<_, _>>()?,
        })
    }

    /// What whoever changes something through the admin API shows, where the settings name nothing
    /// else. Without either nothing can be changed.
    #[must_use]
    pub fn with_admin_token(self, token: Secret) -> Self {
        // There is none yet: one gateway is made of it, and renewed ones are told nothing.
        let _ = self.lasting.made_token.set(token);
        self
    }

    pub(crate) fn admin_token(&self) -> Option<&Secret> {
        let told = self.settings.admin.token.as_ref();
        told.or_else(|| self.lasting.made_token.get())
    }

    /// Waits until somebody asks it to end through the admin API.
    pub async fn asked_to_end(&self) {
        self.life().asked_to_end().await;
    }

    /// Writes what is left of the access log.
    pub fn close(&self) {
        self.lasting.books.log().close();
    }

    /// The governor behind it.
    pub fn governor(&self) -> &Governor {
        &self.lasting.governor
    }

    pub(crate) const fn settings(&self) -> &Settings {
        &self.settings
    }

    pub(crate) const fn routes(&self) -> &Routes {
        &self.routes
    }

    pub(crate) fn meters(&self) -> &Meters {
        self.lasting.books.meters()
    }

    pub(crate) fn books(&self) -> &Arc<Books> {
        &self.lasting.books
    }

    pub(crate) fn callers(&self) -> &Callers {
        &self.lasting.callers
    }

    /// Connections that are no HTTP any more.
    pub(crate) fn tunnels(&self) -> &TaskTracker {
        &self.lasting.tunnels
    }

    pub(crate) fn life(&self) -> &Life {
        &self.lasting.life
    }

    pub(crate) const fn patience(&self) -> Duration {
        self.patience
    }

    pub(crate) fn pseudonym(&self) -> &str {
        &self.pseudonym
    }

    pub(crate) const fn via(&self) -> &HeaderValue {
        &self.via
    }

    pub(crate) fn keys(&self) -> &RandomState {
        &self.lasting.keys
    }
}

impl fmt::Debug for Gateway {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Gateway")
            .field("settings", &self.settings)
            .finish_non_exhaustive()
    }
}

/// The ways of one worker.
pub(crate) struct Ways {
    public: Way,
    named: Way,
    own: HashMap<Box<str>, Way>,
}

impl Ways {
    /// The way to a provider.
    pub(crate) fn to(&self, route: &Route) -> Way {
        match route.way {
            route::Way::Public => self.public.clone(),
            route::Way::Named => self.named.clone(),
            // Nobody has a way of its own whose way was not made.
            route::Way::Own => self.own.get(&route.name).unwrap_or(&self.named).clone(),
        }
    }
}
