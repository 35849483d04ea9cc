//! How a provider of the catalogue is treated: what its profile knows, and what somebody said.
//!
//! What is known of a provider's limits is never loosened by accident: limits of one's own come
//! on top of it, and all must have room. Only `override = true` puts them in its place.

use std::sync::Arc;
use std::time::Duration;

use abide_core::control::Adaptive;
use abide_core::policy::{GatePolicy, ProviderPolicy};
use abide_core::{ClassifyPolicy, Moment};
use abide_profile::format::Evidence;
use abide_profile::{Catalogue, Choice, Paths, Profile};

use crate::config::{Config, Use};
use crate::error::{ConfigError, Origin};
use crate::kind::Raw;
use crate::knob::Knob;
use crate::layer::Layer;
use crate::policy::View;
use crate::units::Rate;
use crate::value::Value;

/// The gates a section can speak of, and the prefix of its knobs.
const GATES: [(&str, &str); 3] = [
    ("provider", ""),
    ("account", "account."),
    ("route", "route."),
];

impl Config {
    /// The policies of a provider with this profile.
    pub fn treatment(
        &self,
        of: Use,
        provider: &str,
        profile: &Profile,
        at: Moment,
    ) -> (ProviderPolicy, ClassifyPolicy) {
        let mut policy = self.provider(of, Some(provider));
        let mut classify = self.classify(of, Some(provider));
        let given = self.given(of, Some(provider));
        let choice = Choice {
            plan: given.get("plan"),
        };
        profile.apply(&mut policy, &mut classify, &choice, at);
        given.classify(&mut classify);
        let over = given.get("override").unwrap_or(false);
        let gates = [&mut policy.provider, &mut policy.account, &mut policy.route];
        for (gate, (name, prefix)) in gates.into_iter().zip(GATES) {
            given.tighten(prefix, over, dearest(profile, name), gate);
        }
        for class in &mut policy.classes {
            given.common(over, class);
        }
        self.learn(of, provider, profile, &mut policy);
        (policy, classify)
    }

    /// The paths of a provider whose requests keep to no pace.
    pub fn unpaced(&self, of: Use, provider: &str) -> Paths {
        let told: Option<Vec<String>> = self.given(of, Some(provider)).get("pace.except");
        // Each was read as a path before it came here.
        Paths::parse(told.unwrap_or_default()).unwrap_or_default()
    }

    /// Where the provider itself says what is allowed, `auto` learns no pace on top of it.
    fn learn(&self, of: Use, provider: &str, profile: &Profile, policy: &mut ProviderPolicy) {
        let told = self.effective(of, Some(provider), "pace.adaptive");
        let auto = told.is_some_and(|e| *e.value == Value::Word("auto"));
        if !auto || profile.told().evidence != Evidence::Documented {
            return;
        }
        let plain = [&mut policy.provider, &mut policy.account, &mut policy.route];
        for gate in plain.into_iter().chain(&mut policy.classes) {
            if !gate.windows.is_empty() {
                gate.adaptive = Adaptive::Off;
            }
        }
    }

    /// The profile that a provider's section means: the one it names, or that of its name, or of
    /// its hosts.
    pub fn profile_of(&self, provider: &str, all: &Catalogue) -> Option<Arc<Profile>> {
        if let Some(name) = self.profile_named(provider) {
            return all.get(&name);
        }
        all.get(provider).or_else(|| {
            let mut hosts = self.hosts(provider);
            hosts.find_map(|h| all.find(&h.to_string(), 443, "/"))
        })
    }

    /// Takes in what the profiles of the configured providers say, so that it is shown with its
    /// origin.
    pub fn know(&mut self, all: &Catalogue) {
        let names: Vec<String> = self.providers().map(str::to_owned).collect();
        for provider in names {
            let Some(profile) = self.profile_of(&provider, all) else {
                continue;
            };
            let layer = layer(&profile);
            self.known.insert(provider, layer);
        }
    }

    /// The profile that a provider's section names.
    pub fn profile_named(&self, provider: &str) -> Option<String> {
        self.given(Use::Call, Some(provider)).get("profile")
    }

    /// Everything that is said about providers and does not go with what is known of them.
    pub fn against(&self, all: &Catalogue) -> Vec<ConfigError> {
        let mut errors = Vec::new();
        for provider in self.providers() {
            let named = self.effective(Use::Call, Some(provider), "profile");
            if let Some(named) = named
                && let Some(name) = self.profile_named(provider)
                && all.get(&name).is_none()
            {
                let near = crate::lookup::meant(&name, all.names());
                let help = near.map(|n| format!("did you mean {n:?}?"));
                let message = format!("there is no profile {name:?}");
                errors.push(ConfigError::new(named.origin.clone(), message).with_help(help));
            }
            if let Some(profile) = self.profile_of(provider, all) {
                for of in [Use::Call, Use::Fetch] {
                    errors.extend(self.loosened(of, provider, &profile));
                    errors.extend(self.too_small(of, provider, &profile));
                }
            }
        }
        errors.sort();
        errors.dedup();
        errors
    }

    /// Limits that are said to be wider than what is known, without `override`.
    fn loosened(&self, of: Use, provider: &str, profile: &Profile) -> Vec<ConfigError> {
        let given = self.given(of, Some(provider));
        if given.get("override") == Some(true) {
            return Vec::new();
        }
        let plan: Option<String> = given.get("plan");
        let mut errors = Vec::new();
        for (name, prefix) in GATES {
            let gates = profile.told().gates.iter().filter(|g| g.name == name);
            for gate in gates {
                let known = gate
                    .limits
                    .iter()
                    .filter(|l| l.plan.is_none() || l.plan == plan);
                let known = known.filter_map(|l| {
                    let per = abide_profile::duration(&l.per).ok()?;
                    Some((f64::from(l.count) / per.as_secs_f64(), l))
                });
                let widest = known.max_by(|a, b| a.0.total_cmp(&b.0));
                let key = format!("{prefix}rate");
                let said: Option<Rate> = given.get(&key);
                if let (Some((widest, limit)), Some(rate)) = (widest, said)
                    && f64::from(rate.count) / rate.per.as_secs_f64() > widest
                {
                    errors.extend(self.wider(
                        of,
                        provider,
                        &key,
                        &format!("{} in {}", limit.count, limit.per),
                        profile,
                    ));
                }
                let key = format!("{prefix}concurrency");
                if let (Some(known), Some(said)) = (gate.concurrency, given.get::<u32>(&key))
                    && said > known
                {
                    errors.extend(self.wider(of, provider, &key, &format!("{known}"), profile));
                }
            }
        }
        errors
    }

    /// Limits that have no room for what one request costs: it could never be sent.
    fn too_small(&self, of: Use, provider: &str, profile: &Profile) -> Vec<ConfigError> {
        let given = self.given(of, Some(provider));
        let mut errors = Vec::new();
        for (name, prefix) in GATES {
            let dearest = dearest(profile, name);
            let (burst, limits) = (format!("{prefix}burst"), format!("{prefix}limits"));
            let room: Option<u32> = given.get(&burst);
            let counts: Vec<Rate> = given.get(&limits).unwrap_or_default();
            let least = counts.iter().map(|r| r.count).min();
            for (key, room) in [(burst, room), (limits, least)] {
                let Some(said) = self.effective(of, Some(provider), &key) else {
                    continue;
                };
                // What was said of all providers together is widened for this one instead.
                if room.is_none_or(|n| n >= dearest) || !self.is_own(provider, &key) {
                    continue;
                }
                let message = format!(
                    "{key} = {} has no room for one request to {}, which costs up to {dearest} \
                     there",
                    said.value,
                    profile.name()
                );
                let help = format!("make it {dearest} or more, or leave it out");
                let error = ConfigError::new(said.origin.clone(), message);
                errors.push(error.with_help(Some(help)));
            }
        }
        errors
    }

    fn wider(
        &self,
        of: Use,
        provider: &str,
        key: &str,
        known: &str,
        profile: &Profile,
    ) -> Option<ConfigError> {
        let said = self.effective(of, Some(provider), key)?;
        // What was said of all providers together means no word on this one.
        let on_this = matches!(said.origin, Origin::File { .. }) && self.is_own(provider, key);
        on_this.then(|| {
            let message = format!(
                "{key} = {} is wider than what {} is known to allow ({known})",
                said.value,
                profile.name()
            );
            let help = "set override = true in this section if you have other terms".to_owned();
            ConfigError::new(said.origin.clone(), message).with_help(Some(help))
        })
    }
}

/// The most that one request costs at a gate that every provider has.
fn dearest(profile: &Profile, name: &str) -> u32 {
    let mut gates = profile.told().gates.iter();
    let gate = gates.find(|g| g.name == name);
    gate.map_or(1, abide_profile::format::Gate::dearest)
}

/// What a profile says that a knob can say too.
fn layer(profile: &Profile) -> Layer {
    let mut layer = Layer::default();
    let origin = Origin::Profile(profile.name().to_owned());
    let mut set = |key: &'static str, raw: Raw| {
        let value = Knob::find(key).and_then(|k| k.kind.read(&raw));
        if let Some(value) = value {
            layer.set(key, value, origin.clone());
        }
    };
    let told = &profile.told().policy;
    let texts = |all: &[String]| Raw::List(all.iter().cloned().map(Raw::Plain).collect());
    if let Some(floor) = &told.floor {
        set("hold.floor", Raw::Plain(floor.clone()));
    }
    if let Some(max) = &told.hold_max {
        set("hold.max", Raw::Plain(max.clone()));
    }
    if let Some(zero) = &told.hint_zero {
        set("hint.zero", Raw::Plain(zero.clone()));
    }
    if !told.ladder.is_empty() {
        set("ladder.steps", texts(&told.ladder));
    }
    if !told.hold_on.is_empty() {
        let statuses: Vec<String> = told.hold_on.iter().map(u16::to_string).collect();
        set("hold.on", texts(&statuses));
    }
    if !told.retry_on.is_empty() {
        set("retry.on", texts(&told.retry_on));
    }
    layer
}

impl View<'_> {
    /// Adds what somebody said of one kind of gate.
    fn tighten(&self, prefix: &str, over: bool, dearest: u32, gate: &mut GatePolicy) {
        let own = self.windows(prefix, dearest);
        if over && !own.is_empty() {
            gate.windows = own;
        } else {
            for window in own {
                if !gate.windows.contains(&window) {
                    gate.windows.push(window);
                }
            }
        }
        if let Some(n) = self.get::<u32>(&format!("{prefix}concurrency")) {
            gate.concurrency = if over { n } else { n.min(gate.concurrency) };
        }
        self.common(over, gate);
    }

    /// Adds what somebody said of all gates alike.
    fn common(&self, over: bool, gate: &mut GatePolicy) {
        if self.value("pace.adaptive").is_some() && !self.is("pace.adaptive", "auto") {
            gate.adaptive = self.adaptive();
        }
        let steps = ["ladder.steps", "ladder.base", "ladder.factor", "ladder.max"];
        if steps.iter().any(|key| self.value(key).is_some()) {
            gate.ladder = self.ladder();
        }
        if let Some(floor) = self.get::<Duration>("hold.floor") {
            gate.floor = if over { floor } else { floor.max(gate.floor) };
        }
        self.plans(gate);
        self.put("hold.max", &mut gate.hold_max);
        self.put("probe.lease", &mut gate.probe_lease);
        self.put("probe.gap", &mut gate.probe_gap);
    }
}
