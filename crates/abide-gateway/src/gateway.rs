//! What all connections share: the governor, whose provider is where, what is counted and logged.

use std::fmt;
use std::hash::RandomState;
use std::sync::{Arc, OnceLock};
use std::time::Duration;

use abide::core::call::CallPolicy;
use abide::layer::By;
use abide::{Governor, Layer};
use http::header::HeaderValue;
use tokio_util::task::TaskTracker;

use crate::access::Secret;
use crate::bad::GatewayError;
use crate::body::Copies;
use crate::door::Callers;
use crate::life::Life;
use crate::record::{Books, Log, Meters};
use crate::route::Routes;
use crate::settings::Settings;
use crate::upstream::{Failure, read};

/// What a failure says of a provider.
type Read = abide::core::classify::Transport;

/// The engine that every request passes.
pub(crate) type Gates = Layer<Copies, By<Reads>>;

/// Tells what a failure says.
type Reads = fn(&Failure) -> Option<Read>;

/// What all connections share, as it is until other settings come into force.
pub struct Gateway {
    settings: Settings,
    routes: Routes,
    layer: Gates,
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
    /// Where other machines reach it, if they do: no settings may let everybody in then.
    outside: OnceLock<String>,
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
            outside: OnceLock::new(),
            governor,
        };
        Self::of(settings, call, Arc::new(lasting))
    }

    /// The same gateway with other settings. Where it listens, its threads, its log and how many
    /// connections it takes stay.
    ///
    /// # Errors
    /// When the settings do not make sense, saying which; when they would let everybody in where
    /// other machines can connect.
    pub fn renewed(&self, settings: Settings, call: CallPolicy) -> Result<Self, GatewayError> {
        let renewed = Self::of(settings, call, Arc::clone(&self.lasting))?;
        renewed.is_guarded()?;
        Ok(renewed)
    }

    /// Other machines reach it there.
    ///
    /// # Errors
    /// When nobody said who may.
    pub(crate) fn is_reached_from_outside(&self, at: String) -> Result<(), GatewayError> {
        // Of several places one is enough to tell of.
        let _ = self.lasting.outside.set(at);
        self.is_guarded()
    }

    fn is_guarded(&self) -> Result<(), GatewayError> {
        match self.lasting.outside.get() {
            Some(at) if self.settings.access.is_open() => Err(GatewayError::Open(at.clone())),
            _ => Ok(()),
        }
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

    /// Waits until a worker came to an end that was to serve: half a gateway is none.
    pub async fn lost_a_worker(&self) {
        self.life().lost_a_worker().await;
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

    pub(crate) const fn layer(&self) -> &Gates {
        &self.layer
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
