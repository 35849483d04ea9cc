//! Where a provider is called by its name, and not by an address.

use std::sync::Arc;

use abide_core::gate::GateKey;
use abide_core::{GateClass, Scope, WallTime};
use http::{HeaderMap, Method};
use url::Url;

use crate::governor::Governor;
use crate::shard::Shard;
use crate::target::{Gates, Target, TargetGate, named_account, names_loopback};

impl Governor {
    /// Where a provider is asked by its name, as the account of a name or as nobody.
    pub fn target_of(&self, provider: &str, account: Option<&str>) -> Target {
        self.provider(provider).target_of(account)
    }

    /// Until when nothing is sent to a target, by whatever closes it (a hold, an open breaker, an
    /// outage of our own network); `None` while it is open. For whoever takes work out of a queue,
    /// before taking it.
    pub fn closed_until(&self, target: &Target) -> Option<WallTime> {
        let shard = self.provider_of(target);
        let until = shard.closing(target).1?;
        Some(self.clock().moment().wall_at(until))
    }
}

impl Shard {
    /// Where it is called by other ways than its addresses: its root, as nobody.
    pub(crate) fn target(&self) -> Target {
        self.target_of(None)
    }

    /// As [`target`](Self::target), as an account of this name.
    pub(crate) fn target_of(&self, named: Option<&str>) -> Target {
        let (profile, names) = (self.profile(), &self.shared().names);
        let host = profile.told().hosts.first();
        let host = host.map_or_else(|| &**self.name(), String::as_str);
        let url = Url::parse(&format!("https://{host}/")).ok();
        let none = HeaderMap::new();
        let target =
            url.and_then(|url| Target::as_of(self.shared(), &Method::GET, &url, &none, named));
        let account = named.map(|name| named_account(names, name));
        let gates = target.map(|t| t.gates).unwrap_or_else(|| {
            let plain = [Scope::Provider, Scope::Account].map(|scope| TargetGate {
                scope,
                class: GateClass::PLAIN,
                family: None,
                cost: 1,
                part: account
                    .filter(|_| scope == Scope::Account)
                    .unwrap_or_default(),
                key: GateKey(0),
            });
            plain.into_iter().collect()
        });
        let mut gates: Gates = gates;
        // Its address may be another's by now: the gates are its own all the same.
        for gate in &mut gates {
            gate.key = names.spec(gate.scope, self.name(), gate.part.bytes()).key;
        }
        Target {
            provider: Arc::clone(self.name()),
            profile: Arc::clone(profile),
            gates,
            loopback: names_loopback(self.name()),
        }
    }

    /// The key of the gate of the host at which it is called by its name, where it has several.
    pub(crate) fn host_key(&self) -> Option<GateKey> {
        if !self.profile().has_several_hosts() {
            return None;
        }
        let target = self.target();
        let host = target.gates.iter().find(|g| g.class == GateClass::HOST)?;
        Some(self.spec(&target, host).key)
    }
}
