//! The shared handle to all providers of a process.

use std::collections::HashMap;
use std::fmt;
use std::sync::Arc;
use std::time::Duration;

use abide_core::Moment;
use abide_core::Scope;
use abide_core::classify::ClassifyPolicy;
use abide_core::hold::{Hold, SetBy};
use abide_core::outage::OutagePolicy;
use abide_core::outage::is_loopback;
use abide_core::policy::ProviderPolicy;
use abide_core::provider::{Event, News, Provider};
use abide_core::verdict::Verdict;
use abide_profile::{Catalogue, Choice, Profile};
use abide_store::{Memory, Store, StoreError};
use parking_lot::Mutex;
use tokio::sync::mpsc::{UnboundedReceiver, unbounded_channel};

use crate::clock::{Clock, System};
use crate::names::Names;
use crate::outage::{Guard, Shards};
use crate::place::Place;
use crate::providers::Found;
use crate::shard::{Handle, Shard};
use crate::shared::{Named, Namer, Profiler, Shared};
use crate::target::{self, Target, names_loopback};

/// How often the store is looked at for what other processes wrote: new holds are seen within
/// 100 ms.
const LOOK: Duration = Duration::from_millis(50);

/// How a provider is treated: its gates, and how its answers are read.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Treatment {
    /// Its gates.
    pub policy: ProviderPolicy,
    /// How its answers are read, and which are tried again.
    pub classify: ClassifyPolicy,
}

/// The shared handle to all providers of a process. Clones share everything.
#[derive(Clone, Debug)]
pub struct Governor {
    shared: Arc<Shared>,
    policies: Arc<Policies>,
    providers: Arc<Shards>,
}

/// How a provider of a name and a profile is treated from a moment on.
type Treat = Box<dyn Fn(&str, &Profile, Moment) -> Treatment + Send + Sync>;

struct Policies {
    default: Treatment,
    named: HashMap<String, Treatment>,
    by: Option<Treat>,
}

impl fmt::Debug for Policies {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Policies")
            .field("default", &self.default)
            .field("named", &self.named)
            .finish_non_exhaustive()
    }
}

impl Policies {
    /// What was said of this very provider stands, and its profile adds the gates that only it
    /// has; else the profile completes the default.
    fn of(&self, name: &str, profile: &Profile, at: Moment) -> Treatment {
        if let Some(by) = &self.by {
            return by(name, profile, at);
        }
        // What is said of a provider holds for each host that it counts apart (`aws@HOST`).
        let all = || self.named.get(name.split_once(['@', '+'])?.0);
        let named = self.named.get(name).or_else(all);
        let mut t = named.unwrap_or(&self.default).clone();
        if named.is_some() {
            profile
                .gates()
                .complete(&mut t.policy, &Choice::default(), at);
        } else {
            profile.apply(&mut t.policy, &mut t.classify, &Choice::default(), at);
        }
        t
    }
}

/// Builds a [`Governor`].
pub struct GovernorBuilder {
    clock: Arc<dyn Clock>,
    store: Option<Arc<dyn Store>>,
    seed: Option<u64>,
    default: Treatment,
    named: HashMap<String, Treatment>,
    by: Option<Treat>,
    namer: Option<Namer>,
    profiler: Option<Profiler>,
    catalogue: Option<Arc<Catalogue>>,
    outage: Option<OutagePolicy>,
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
    /// catalogue is asked, and what that does not know is its own provider.
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
        let remembered = store
            .load(wall)?
            .into_iter()
            .map(|g| (g.key.clone(), g))
            .collect();
        let names = Names::new((dice.u64(..), dice.u64(..)), store.secret());
        let providers = Arc::default();
        let shared = Shared {
            outage: Guard::new(self.outage, &providers),
            clock: self.clock,
            store,
            names,
            namer: self.namer,
            profiler: self.profiler,
            catalogue: self
                .catalogue
                .unwrap_or_else(|| Arc::new(Catalogue::built_in())),
            remembered: Mutex::new(remembered),
            dice: Mutex::new(dice),
            listeners: Mutex::default(),
            probed: Mutex::default(),
        };
        Ok(Governor {
            shared: Arc::new(shared),
            policies: Arc::new(Policies {
                default: self.default,
                named: self.named,
                by: self.by,
            }),
            providers,
        })
    }
}

/// A gate that is closed now.
#[derive(Clone, Debug)]
pub struct HeldGate {
    /// The provider.
    pub provider: Arc<str>,
    /// What the gate stands for.
    pub scope: Scope,
    /// The closing.
    pub hold: Hold,
}

impl Governor {
    /// Starts building one.
    pub fn builder() -> GovernorBuilder {
        GovernorBuilder {
            clock: Arc::new(System),
            store: None,
            seed: None,
            default: Treatment::default(),
            named: HashMap::new(),
            by: None,
            namer: None,
            profiler: None,
            catalogue: None,
            outage: Some(OutagePolicy::default()),
        }
    }

    /// The clock.
    pub fn clock(&self) -> &Arc<dyn Clock> {
        &self.shared.clock
    }

    pub(crate) const fn shared(&self) -> &Arc<Shared> {
        &self.shared
    }

    /// The handle to one provider, by name.
    pub fn provider(&self, name: &str) -> Handle {
        self.shard(name, names_loopback(name), || {
            // `aws@host` is one of several hosts, `google+youtube` one of several services.
            let (section, service) = name.split_once('+').unwrap_or((name, name));
            let known = service.split('@').next().unwrap_or(service);
            let catalogue = &self.shared.catalogue;
            let told = self.shared.profiler.as_ref().and_then(|by| by(section));
            told.and_then(|told| catalogue.get(&told))
                .or_else(|| catalogue.get(known))
                .unwrap_or_else(|| catalogue.generic())
        })
    }

    /// The handle to the provider of a target.
    pub fn provider_of(&self, target: &Target) -> Handle {
        self.shard(&target.provider, target.loopback, || {
            Arc::clone(&target.profile)
        })
    }

    fn shard(&self, name: &str, loopback: bool, profile: impl FnOnce() -> Arc<Profile>) -> Handle {
        if let Some(shard) = self.providers.read().get(name) {
            return Arc::clone(shard);
        }
        let instance = self.shared.dice.lock().u64(..);
        let mut providers = self.providers.write();
        if let Some(shard) = providers.get(name) {
            return Arc::clone(shard);
        }
        let profile = profile();
        let moment = self.shared.clock.moment();
        let Treatment {
            mut policy,
            classify,
        } = self.policies.of(name, &profile, moment);
        // What a quota is, is said once, whether an answer refuses or not.
        policy.quota_from = classify.quota_from;
        policy.local |= loopback;
        let machine = Provider::new(policy, instance);
        let shared = Arc::clone(&self.shared);
        let shard = Shard::new(name, shared, machine, classify, profile);
        providers.add(&shard);
        drop(providers);
        // Whoever tells of a change from now on finds it among the others.
        if let Some(news) = self.shared.outage.news(moment.now) {
            shard.tell(news);
        }
        shard
    }

    /// Whether our own network is taken to be down.
    pub fn is_offline(&self) -> bool {
        self.shared.outage.is_offline()
    }

    /// Tells that a name that has nothing to do with any provider was not found: with only one
    /// host in use, that tells our own outage from the provider's.
    pub fn neutral_dns_failed(&self) {
        let now = self.shared.clock.now();
        self.shared.outage.neutral_dns_failed(now);
    }

    /// The target of a request: its provider and account, or `None` when its URL has no host.
    pub fn target(
        &self,
        method: &http::Method,
        url: &url::Url,
        headers: &http::HeaderMap,
    ) -> Option<Target> {
        Target::of(&self.shared, method, url, headers)
    }

    /// The provider and target of a request; `None` when its host is none. Once an address is
    /// known this allocates nothing. `account` names it where the request does not tell.
    pub(crate) fn route(
        &self,
        method: &http::Method,
        place: &Place<'_>,
        headers: &http::HeaderMap,
        account: Option<&str>,
    ) -> Option<(Handle, Target)> {
        let names = &self.shared.names;
        let key = names.origin(place.host, place.port, place.effective);
        let known = self.providers.read().found(key, place);
        let found = match known {
            Some(found) => found,
            None => self.find(key, place)?,
        };
        let place = Place {
            host: &found.host,
            ..*place
        };
        let target = Target {
            provider: Arc::clone(found.handle.name()),
            gates: target::gates(names, &found.profile, method, &place, headers, account),
            loopback: found.loopback,
            profile: Arc::clone(&found.profile),
        };
        Some((Arc::clone(&found.handle), target))
    }

    fn find(&self, key: u64, place: &Place<'_>) -> Option<Arc<Found>> {
        let (written, host) = (place.host, place.normal_host()?);
        let place = Place {
            host: &host,
            ..*place
        };
        let (name, profile) = place.provider(&self.shared);
        let loopback = is_loopback(&host);
        let handle = self.shard(&name, loopback, || Arc::clone(&profile));
        let found = Arc::new(Found::new(handle, profile, &place, written));
        if !self.shared.catalogue.depends_on_path(&host) {
            self.providers.write().remember(key, Arc::clone(&found));
        }
        Some(found)
    }

    /// Everything that happens to any provider from now on. Holds are rare, so nothing is lost
    /// and nothing piles up.
    pub fn events(&self) -> UnboundedReceiver<(Arc<str>, Event)> {
        let (tx, rx) = unbounded_channel();
        self.shared.listeners.lock().push(tx);
        rx
    }

    /// Every gate that is held now.
    pub fn held(&self) -> Vec<HeldGate> {
        let shards = self.providers.read().all();
        let mut held = Vec::new();
        for shard in shards {
            for g in shard.view() {
                if let Some(hold) = g.hold {
                    held.push(HeldGate {
                        provider: Arc::clone(shard.name()),
                        scope: g.scope,
                        hold,
                    });
                }
            }
        }
        held
    }

    /// Closes a provider for a while, as a person wants it.
    pub fn hold(&self, provider: &str, length: Duration) {
        let until = self.shared.clock.now().after(length);
        self.provider(provider).tell(News::Held {
            id: None,
            until,
            cause: Verdict::Unavailable,
            ask: None,
            set_by: SetBy::Operator,
            probes: true,
        });
    }

    /// Lifts whatever hold a provider's own gate has; one probe goes first.
    pub fn lift(&self, provider: &str) {
        self.provider(provider).tell(News::Lifted { id: None });
    }

    /// Looks at what other processes have written to the store, once.
    ///
    /// # Errors
    /// When the store cannot be read; holds known here stay in force.
    pub fn look(&self) -> Result<(), StoreError> {
        for stored in self.shared.store.changes(self.shared.clock.wall())? {
            let shard = self
                .providers
                .read()
                .get(stored.key.provider.as_str())
                .map(Arc::clone);
            let known = shard.is_some_and(|shard| shard.learn(&stored));
            if !known {
                let mut remembered = self.shared.remembered.lock();
                remembered.insert(stored.key.clone(), stored);
            }
        }
        Ok(())
    }

    /// Keeps looking at the store until the last clone of this governor is gone. A look that finds
    /// nothing new costs a few microseconds.
    pub fn keep_looking(&self) -> tokio::task::JoinHandle<()> {
        let providers = Arc::downgrade(&self.providers);
        let (shared, policies) = (Arc::clone(&self.shared), Arc::clone(&self.policies));
        tokio::spawn(async move {
            while let Some(providers) = providers.upgrade() {
                let governor = Self {
                    shared: Arc::clone(&shared),
                    policies: Arc::clone(&policies),
                    providers,
                };
                if let Err(e) = governor.look() {
                    tracing::warn!(error = %e, "the store cannot be read; local holds stay");
                }
                drop(governor);
                tokio::time::sleep(LOOK).await;
            }
        })
    }

    /// Writes down everything worth remembering, and waits until it is written.
    ///
    /// # Errors
    /// When the store cannot be written.
    pub fn save(&self) -> Result<(), StoreError> {
        let shards = self.providers.read().all();
        for shard in shards {
            for record in shard.records() {
                self.shared.store.put(record);
            }
        }
        self.shared.store.flush()
    }
}
