//! Making a governor.

use std::collections::HashMap;
use std::fmt;
use std::sync::Arc;

use abide_core::Moment;
use abide_core::classify::ClassifyPolicy;
use abide_core::outage::OutagePolicy;
use abide_core::policy::ProviderPolicy;
use abide_profile::{Catalogue, Profile};
use abide_store::lend::Lender;
use abide_store::{Memory, Store, StoreError};
use parking_lot::Mutex;

use crate::broadcast::Broadcast;
use crate::clock::{Clock, System};
use crate::governor::Governor;
use crate::health::Health;
use crate::lending::Lending;
use crate::names::Names;
use crate::outage::Guard;
use crate::policies::{Policies, Treat, Treatment};
use crate::providers::Shards;
use crate::shared::{Named, Namer, Profiler, Shared};

/// Builds a [`Governor`].
pub struct GovernorBuilder {
    clock: Arc<dyn Clock>,
    store: Option<Arc<dyn Store>>,
    lender: Option<(Arc<dyn Lender>, bool)>,
    seed: Option<u64>,
    default: Treatment,
    named: HashMap<String, Treatment>,
    by: Option<Treat>,
    namer: Option<Namer>,
    profiler: Option<Profiler>,
    catalogue: Option<Arc<Catalogue>>,
    outage: Option<OutagePolicy>,
    neutral: Option<String>,
}

impl fmt::Debug for GovernorBuilder {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("GovernorBuilder")
            .field("default", &self.default)
            .finish_non_exhaustive()
    }
}

impl GovernorBuilder {
    /// Takes the time from another clock.
    #[must_use]
    pub fn clock(mut self, clock: Arc<dyn Clock>) -> Self {
        self.clock = clock;
        self
    }

    /// Keeps holds and what was learned in a store, beyond this process.
    #[must_use]
    pub fn store(mut self, store: Arc<dyn Store>) -> Self {
        self.store = Some(store);
        self
    }

    /// Makes every throw of the dice repeatable.
    #[must_use]
    pub const fn seed(mut self, seed: u64) -> Self {
        self.seed = Some(seed);
        self
    }

    /// The policy of providers that have none of their own.
    #[must_use]
    pub fn policy(mut self, policy: ProviderPolicy) -> Self {
        self.default.policy = policy;
        self
    }

    /// The treatment of one provider.
    #[must_use]
    pub fn treat(mut self, provider: &str, treatment: Treatment) -> Self {
        self.named.insert(provider.to_owned(), treatment);
        self
    }

    /// How a provider of a name and a profile is treated, in place of what
    /// [`policy`](Self::policy), [`classify`](Self::classify) and [`treat`](Self::treat) say.
    #[must_use]
    pub fn treated_by(
        mut self,
        by: impl Fn(&str, &Profile, Moment) -> Treatment + Send + Sync + 'static,
    ) -> Self {
        self.by = Some(Box::new(by));
        self
    }

    /// What is known of providers; the built-in catalogue when not set.
    #[must_use]
    pub fn catalogue(mut self, catalogue: Arc<Catalogue>) -> Self {
        self.catalogue = Some(catalogue);
        self
    }

    /// The profile of a provider that is only known by name, as when a person holds it before
    /// anything was sent there.
    #[must_use]
    pub fn profiled_by(
        mut self,
        by: impl Fn(&str) -> Option<String> + Send + Sync + 'static,
    ) -> Self {
        self.profiler = Some(Arc::new(by));
        self
    }

    /// How the configured provider of a host and port is found; where it says `None`, the
    /// catalogue is asked, and what that does not know is its own provider. An address is asked
    /// for once, as long as it is remembered.
    #[must_use]
    pub fn named_by(
        mut self,
        namer: impl Fn(&str, u16) -> Option<Named> + Send + Sync + 'static,
    ) -> Self {
        self.namer = Some(Arc::new(namer));
        self
    }

    /// When our own network is taken to be down; `None` never does.
    #[must_use]
    pub fn outage(mut self, policy: Option<OutagePolicy>) -> Self {
        self.outage = policy;
        self
    }

    /// A name that has nothing to do with any provider, looked up when a provider's was not found:
    /// with only one host in use, that tells our own outage from the provider's. Default
    /// `example.com`, which is there for such use; `None` asks for none.
    #[must_use]
    pub fn neutral_name(mut self, name: Option<String>) -> Self {
        self.neutral = name;
        self
    }

    /// Shares every limit with the other processes that ask this store: nothing is sent that it did
    /// not lend. With `ahead` several permits are lent at once where a limit is high. While it cannot
    /// be asked, this process keeps to its part of each limit. Call
    /// [`keep_looking`](Governor::keep_looking) on the governor.
    #[must_use]
    pub fn lender(mut self, lender: Arc<dyn Lender>, ahead: bool) -> Self {
        self.lender = Some((lender, ahead));
        self
    }

    /// How answers are read.
    #[must_use]
    pub fn classify(mut self, policy: ClassifyPolicy) -> Self {
        self.default.classify = policy;
        self
    }

    /// The governor; reads what its store remembers.
    ///
    /// # Errors
    /// When the store cannot be read.
    pub fn build(self) -> Result<Governor, StoreError> {
        let mut dice = self
            .seed
            .map_or_else(fastrand::Rng::new, fastrand::Rng::with_seed);
        let store = self.store.unwrap_or_else(|| {
            let mut secret = [0; 32];
            dice.fill(&mut secret);
            Arc::new(Memory::new(secret))
        });
        let wall = self.clock.wall();
        let mut remembered: HashMap<String, Vec<_>> = HashMap::new();
        for gate in store.load(wall)? {
            let provider = gate.key.provider.clone();
            remembered.entry(provider).or_default().push(gate);
        }
        let names = Names::new((dice.u64(..), dice.u64(..)), store.secret());
        let providers: Arc<Shards> = Arc::default();
        let audience = Arc::downgrade(&providers);
        let shared = Shared {
            outage: Guard::new(self.outage, self.neutral, audience),
            clock: self.clock,
            store,
            health: Health::default(),
            lending: self
                .lender
                .map(|(lender, ahead)| Arc::new(Lending::new(lender, ahead))),
            names,
            namer: self.namer,
            profiler: self.profiler,
            catalogue: self
                .catalogue
                .unwrap_or_else(|| Arc::new(Catalogue::built_in())),
            remembered: Mutex::new(remembered),
            dice: Mutex::new(dice),
            listeners: Mutex::default(),
            events: Broadcast::default(),
            probed: Mutex::default(),
        };
        let policies = Policies {
            default: self.default,
            named: self.named,
            by: self.by,
        };
        Ok(Governor::new(shared, policies, providers))
    }
}

impl Governor {
    /// Starts building one.
    pub fn builder() -> GovernorBuilder {
        GovernorBuilder {
            clock: Arc::new(System),
            store: None,
            lender: None,
            seed: None,
            default: Treatment::default(),
            named: HashMap::new(),
            by: None,
            namer: None,
            profiler: None,
            catalogue: None,
            outage: Some(OutagePolicy::default()),
            neutral: Some("example.com".to_owned()),
        }
    }
}
