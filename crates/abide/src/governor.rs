//! The shared handle to all providers of a process.

#[cfg(feature = "layer")]
use std::borrow::Cow;
use std::sync::Arc;
use std::time::Duration;

use abide_core::Scope;
use abide_core::control::Learned;
use abide_core::hold::{Hold, SetBy};
use abide_core::outage::is_loopback;
use abide_core::provider::{Event, News, Provider};
use abide_core::verdict::Verdict;
use abide_profile::{Catalogue, Profile};
use abide_store::StoreError;
use tokio::sync::mpsc::{UnboundedReceiver, unbounded_channel};

use crate::clock::Clock;
use crate::events::Events;
use crate::judging::Judging;
use crate::lending::Sharing;
use crate::place::Place;
use crate::policies::{Policies, Treatment};
use crate::providers::{Found, OTHERS, Shards};
#[cfg(feature = "layer")]
use crate::secrets::shown_path;
use crate::shard::{Handle, Shard};
use crate::shared::Shared;
use crate::state::ProviderState;
use crate::target::{Target, host_part, names_loopback};

/// The shared handle to all providers of a process. Clones share everything.
#[derive(Clone, Debug)]
pub struct Governor {
    pub(crate) shared: Arc<Shared>,
    pub(crate) policies: Arc<Policies>,
    pub(crate) providers: Arc<Shards>,
}

/// Whose an address is.
#[cfg(feature = "layer")]
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Listed {
    /// The provider; the address's own where nobody named it.
    pub provider: String,
    /// The program's own configuration names it.
    pub configured: bool,
    /// Its configuration or the catalogue names it.
    pub named: bool,
    /// Its credential is a part of its paths: show them as [`Governor::shown_path`] has them only.
    pub path_is_secret: bool,
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
    pub(crate) fn new(shared: Shared, policies: Policies, providers: Arc<Shards>) -> Self {
        Self {
            shared: Arc::new(shared),
            policies: Arc::new(policies),
            providers,
        }
    }

    /// Every provider met so far.
    pub(crate) fn all(&self) -> Vec<Handle> {
        self.providers.read().all()
    }

    /// The clock.
    pub fn clock(&self) -> &Arc<dyn Clock> {
        &self.shared.clock
    }

    /// The profiles it knows.
    pub fn catalogue(&self) -> &Arc<Catalogue> {
        &self.shared.catalogue
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
        // What a program says of its providers is its own code: no lock is held meanwhile.
        let profile = profile();
        if name == OTHERS {
            return self.others(profile);
        }
        let origin = Arc::ptr_eq(&profile, &self.shared.catalogue.generic());
        if !self.makes_room() && origin {
            return self.others(profile);
        }
        let made = self.make(name, loopback, Arc::clone(&profile));
        let added = self.providers.write().add(&made, origin);
        let Some(shard) = added else {
            return self.others(profile);
        };
        if Arc::ptr_eq(&shard, &made) {
            self.begin(&shard);
        }
        shard
    }

    /// How a provider is treated, as configured now.
    pub(crate) fn treatment(&self, name: &str, profile: &Profile) -> Treatment {
        let mut treatment = self.policies.of(name, profile, self.shared.clock.moment());
        // What a quota is, is said once, whether an answer refuses or not.
        treatment.policy.quota_from = treatment.classify.quota_from;
        // Who is on this machine is nobody's limit but this machine's.
        if let Some(lending) = &self.shared.lending
            && !treatment.policy.local
        {
            treatment.policy = lending.treats(treatment.policy);
        }
        treatment
    }

    /// Asks anew whose an address is, whenever it is asked for next.
    pub(crate) fn forget_addresses(&self) {
        self.providers.write().forget_addresses();
    }

    /// A provider that nobody knows of yet.
    fn make(&self, name: &str, loopback: bool, profile: Arc<Profile>) -> Handle {
        let instance = self.shared.dice.lock().u64(..);
        let moment = self.shared.clock.moment();
        let Treatment {
            mut policy,
            classify,
            call,
            unpaced,
        } = self.treatment(name, &profile);
        policy.local |= loopback;
        let mut machine = Provider::new(policy, instance);
        machine.tell_time(moment);
        let shared = Arc::clone(&self.shared);
        let judging = Judging {
            classify,
            call,
            unpaced,
        };
        let shard = Shard::new(name, shared, machine, judging, profile);
        shard.recall(self.shared.recalled(name));
        shard
    }

    /// Whoever tells of a change from now on finds it among the others; what was told since it was
    /// made is told again.
    fn begin(&self, shard: &Handle) {
        let stored = self.shared.recalled(shard.name());
        if !stored.is_empty() {
            shard.recall(stored);
        }
        if let Some(news) = self.shared.outage.news(self.shared.clock.now()) {
            shard.tell(news);
        }
        self.joins(shard);
    }

    /// Whether there is room for one more provider: where there are too many, one that nobody
    /// needs goes. One of which nothing would be lost goes first.
    fn makes_room(&self) -> bool {
        if self.providers.read().has_room() {
            return true;
        }
        let candidates = self.providers.write().candidates();
        let (idle, others): (Vec<_>, Vec<_>) = candidates.into_iter().partition(|s| s.is_idle());
        let spent = others.into_iter().filter(|s| s.is_spent());
        for gone in idle.into_iter().chain(spent) {
            let mut providers = self.providers.write();
            let (forgotten, room) = (providers.forget(&gone), providers.has_room());
            drop(providers);
            if forgotten {
                self.shared.keep(gone.unmet());
            }
            // More than one goes where those that know no bound had taken the room.
            if room {
                return true;
            }
        }
        false
    }

    /// The provider that origins share while there is no room for one of their own: too strict for
    /// some, never too lax.
    fn others(&self, profile: Arc<Profile>) -> Handle {
        let known = self.providers.read().others();
        known.unwrap_or_else(|| {
            let made = self.make(OTHERS, false, profile);
            let shared = self.providers.write().share(Arc::clone(&made));
            if Arc::ptr_eq(&shared, &made) {
                self.begin(&shared);
            }
            shared
        })
    }

    /// Whether what is to outlive the process can be read and written, as far as
    /// [`keep_looking`](Self::keep_looking) has found.
    pub fn is_store_well(&self) -> bool {
        self.shared.health.is_well()
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
        let (handle, found) = self.whose(place)?;
        let mut target = found.target(&handle);
        found.gates(names, method, place, headers, account, &mut target.gates);
        Some((handle, target))
    }

    /// The provider of a place; `None` when its host is none.
    pub(crate) fn whose(&self, place: &Place<'_>) -> Option<(Handle, Arc<Found>)> {
        let names = &self.shared.names;
        let key = names.origin(place.host, place.port, place.effective);
        let known = self.providers.read().found(key, place);
        match known {
            Some(found) => Some(found),
            None => self.find(key, place),
        }
    }

    #[cfg(test)]
    pub(crate) fn providers(
        &self,
    ) -> parking_lot::RwLockReadGuard<'_, crate::providers::Providers> {
        self.providers.read()
    }

    /// Whose an address is, and whether somebody named it. `None` where it has no host.
    #[cfg(feature = "layer")]
    pub fn listed(&self, uri: &http::Uri) -> Option<Listed> {
        let none = http::HeaderMap::new();
        let place = Place::of_uri(uri, &none)?;
        let host = place.normal_host()?;
        let place = Place {
            host: &host,
            ..place
        };
        let (port, shared) = (place.effective, &self.shared);
        let configured = shared
            .namer
            .as_ref()
            .is_some_and(|by| by(&host, port).is_some());
        let known = || shared.catalogue.find(&host, port, place.path).is_some();
        let (provider, profile, _) = place.provider(shared);
        Some(Listed {
            configured,
            named: configured || known(),
            provider,
            path_is_secret: profile.told().credential.segment.is_some(),
        })
    }

    /// Takes out of a head whatever is a credential to the provider of this address, or to anybody.
    #[cfg(feature = "layer")]
    pub fn drop_credentials(&self, uri: &http::Uri, headers: &mut http::HeaderMap) {
        let none = http::HeaderMap::new();
        let known = Place::of_uri(uri, &none).and_then(|place| self.whose(&place));
        let profile = match &known {
            Some((shard, _)) => shard.profile(),
            None => &self.shared.catalogue.generic(),
        };
        crate::secrets::drop_credentials(headers, profile);
    }

    /// The path of an address as it may be shown: without what its provider calls a credential.
    #[cfg(feature = "layer")]
    pub fn shown_path<'a>(&self, uri: &'a http::Uri) -> Cow<'a, str> {
        let none = http::HeaderMap::new();
        let profile = Place::of_uri(uri, &none).and_then(|place| {
            let host = place.normal_host()?;
            let place = Place {
                host: &host,
                ..place
            };
            Some(place.provider(&self.shared).1)
        });
        match profile {
            Some(profile) => shown_path(uri.path(), &profile),
            None => Cow::Borrowed(uri.path()),
        }
    }

    fn find(&self, key: u64, place: &Place<'_>) -> Option<(Handle, Arc<Found>)> {
        let (written, host) = (place.host, place.normal_host()?);
        let place = Place {
            host: &host,
            ..*place
        };
        let (name, profile, several) = place.provider(&self.shared);
        let part = several.then(|| host_part(&self.shared.names, &place));
        let loopback = is_loopback(&host);
        let handle = self.shard(&name, loopback, || Arc::clone(&profile));
        let found = Arc::new(Found::new(&handle, profile, &place, written, part));
        if !self.shared.catalogue.depends_on_path(&host) {
            let mut providers = self.providers.write();
            providers.remember(key, &handle, Arc::clone(&found));
        }
        Some((handle, found))
    }

    /// Everything that happens from now on.
    pub fn events(&self) -> Events {
        self.shared.events.listen()
    }

    /// Every change of any provider's gates from now on, none of them lost: for a run, which
    /// counts on them.
    pub fn changes(&self) -> UnboundedReceiver<(Arc<str>, Event)> {
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

    /// How each provider met so far is.
    pub fn states(&self) -> Vec<ProviderState> {
        self.all().iter().map(|shard| shard.state()).collect()
    }

    /// The limits that were learned from refusals, by provider: what nobody told, in the order of
    /// the names.
    pub fn learned(&self) -> Vec<(Arc<str>, Learned)> {
        let all = self.providers.read().all();
        let mut learned: Vec<_> = all
            .iter()
            .flat_map(|shard| {
                let limits = shard.state().learned;
                limits.into_iter().map(|l| (Arc::clone(shard.name()), l))
            })
            .collect();
        learned.sort_by(|a, b| a.0.cmp(&b.0));
        learned
    }

    /// Closes a provider for a while, as a person wants it.
    ///
    /// Where each of its hosts (or services) is counted apart, all are closed, those met later too.
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
        self.spread(provider);
    }

    /// Lifts whatever hold a provider's own gate has, and those of its hosts that are counted apart;
    /// one probe goes first at each.
    pub fn lift(&self, provider: &str) {
        for shard in self.parts_of(provider) {
            shard.tell(News::Lifted { id: None });
        }
        self.provider(provider).tell(News::Lifted { id: None });
    }

    /// Turns away every call that waits, telling each when it could have been served: for a program
    /// that ends. What is on the wire goes on, and holds stay.
    pub fn turn_all_away(&self) {
        for shard in self.all() {
            shard.with(|s, now| s.machine.turn_all_away(now));
        }
    }

    pub(crate) fn known(&self, provider: &str) -> Option<Handle> {
        self.providers.read().get(provider).map(Arc::clone)
    }

    /// How the limits are shared with other processes.
    pub fn sharing(&self) -> Sharing {
        let lending = self.shared.lending.as_ref();
        lending.map_or(Sharing::Alone, |lending| lending.sharing())
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
