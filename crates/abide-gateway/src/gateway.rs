//! What all connections share: the governor, whose provider is where, what is counted and logged.

use std::collections::HashMap;
use std::fmt;
use std::hash::RandomState;
use std::sync::Arc;

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
    /// Its name is none.
    #[error("{0:?} is no name for a gateway: letters, digits, - and . may be in it")]
    Name(String),
    /// TLS cannot be set up.
    #[error("TLS cannot be set up: {0}")]
    Tls(#[from] rustls::Error),
}

/// What all connections share.
pub struct Gateway {
    settings: Settings,
    governor: Governor,
    routes: Routes,
    layer: Layer<Copies, By<fn(&Failure) -> Option<Read>>>,
    books: Arc<Books>,
    life: Life,
    tunnels: TaskTracker,
    callers: Callers,
    /// Its name in `Via`, with a part that no other gateway has: loops are seen by it.
    pseudonym: String,
    via: HeaderValue,
    keys: RandomState,
    /// What whoever changes something shows, where the settings name none.
    made_token: Option<Secret>,
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
        let name = &settings.name;
        if name.is_empty()
            || !name
                .bytes()
                .all(|b| b.is_ascii_alphanumeric() || b == b'-' || b == b'.')
        {
            return Err(GatewayError::Name(name.clone()));
        }
        let pseudonym = format!("{name}-{:08x}", fastrand::u32(..));
        let bad = || GatewayError::Name(name.clone());
        let via = HeaderValue::try_from(format!("1.1 {pseudonym}")).map_err(|_| bad())?;
        let routes = Routes::new(
            Arc::clone(governor.catalogue()),
            &settings.upstreams,
            &settings.chains,
        )
        .map_err(|(provider, what)| GatewayError::Base { provider, what })?;
        let callers = Callers::new(&settings.limits);
        let read: fn(&Failure) -> Option<Read> = read;
        let layer = Layer::new(governor.clone())
            .call(call)
            .repeating_by(Copies)
            .failures(read);
        let books = Books::new(Arc::clone(governor.clock()), log);
        Ok(Self {
            settings,
            governor,
            routes,
            layer,
            books: Arc::new(books),
            life: Life::default(),
            tunnels: TaskTracker::new(),
            callers,
            pseudonym,
            via,
            keys: RandomState::new(),
            made_token: None,
        })
    }

    /// The ways of one worker: to providers whose address the operator named, and to all others.
    pub(crate) fn ways(&self) -> Result<Ways, GatewayError> {
        let way = |reach, transport: &Transport| {
            let upstream = Upstream::new(&self.settings.limits, reach, transport)?;
            Ok::<_, GatewayError>(Service::new(upstream, self.layer.clone()))
        };
        let plain = Transport::default();
        let upstreams = self.settings.upstreams.iter();
        let special = upstreams.filter(|u| !u.transport.is_plain());
        let own = special.map(|u| {
            let name: Box<str> = u.provider.as_str().into();
            Ok::<_, GatewayError>((name, way(Reach::Anywhere, &u.transport)?))
        });
        Ok(Ways {
            public: way(Reach::Public, &plain)?,
            named: way(Reach::Anywhere, &plain)?,
            own: Arc::new(own.collect::<Result<_, _>>()?),
        })
    }

    /// What whoever changes something through the admin API shows, where the settings name nothing
    /// else. Without either nothing can be changed.
    #[must_use]
    pub fn with_admin_token(mut self, token: Secret) -> Self {
        self.made_token = Some(token);
        self
    }

    pub(crate) fn admin_token(&self) -> Option<&Secret> {
        self.settings
            .admin
            .token
            .as_ref()
            .or(self.made_token.as_ref())
    }

    /// Waits until somebody asks it to end through the admin API.
    pub async fn asked_to_end(&self) {
        self.life.asked_to_end().await;
    }

    /// Writes what is left of the access log.
    pub fn close(&self) {
        self.books.log().close();
    }

    /// The governor behind it.
    pub const fn governor(&self) -> &Governor {
        &self.governor
    }

    pub(crate) const fn settings(&self) -> &Settings {
        &self.settings
    }

    pub(crate) const fn routes(&self) -> &Routes {
        &self.routes
    }

    pub(crate) fn meters(&self) -> &Meters {
        self.books.meters()
    }

    pub(crate) const fn books(&self) -> &Arc<Books> {
        &self.books
    }

    pub(crate) const fn callers(&self) -> &Callers {
        &self.callers
    }

    /// Connections that are no HTTP any more.
    pub(crate) const fn tunnels(&self) -> &TaskTracker {
        &self.tunnels
    }

    pub(crate) const fn life(&self) -> &Life {
        &self.life
    }

    pub(crate) fn pseudonym(&self) -> &str {
        &self.pseudonym
    }

    pub(crate) const fn via(&self) -> &HeaderValue {
        &self.via
    }

    pub(crate) const fn keys(&self) -> &RandomState {
        &self.keys
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
#[derive(Clone)]
pub(crate) struct Ways {
    public: Way,
    named: Way,
    own: Arc<HashMap<Box<str>, Way>>,
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
