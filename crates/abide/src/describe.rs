//! Which protections are live: what a program may rely on, in words.

use std::fmt;
use std::sync::Arc;

use abide_core::Scope;
use abide_core::policy::{GatePolicy, Mode, ProviderPolicy};

use crate::governor::Governor;
use crate::shard::Handle;

/// Which protections are live.
#[derive(Clone, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub struct Description {
    /// What holds for all providers.
    pub all: Vec<String>,
    /// What holds for each provider met so far.
    pub providers: Vec<Described>,
}

/// One provider's protections.
#[derive(Clone, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub struct Described {
    /// The provider.
    pub provider: Arc<str>,
    /// Its profile.
    pub profile: String,
    /// Whether what is decided is done.
    pub mode: Mode,
    /// What is live.
    pub protections: Vec<String>,
}

impl fmt::Display for Description {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        for line in &self.all {
            writeln!(f, "{line}")?;
        }
        for p in &self.providers {
            let (name, profile, mode) = (&p.provider, &p.profile, p.mode.as_str());
            writeln!(f, "{name} (profile {profile}, {mode})")?;
            for line in &p.protections {
                writeln!(f, "  {line}")?;
            }
        }
        Ok(())
    }
}

impl Governor {
    /// Lists which protections are live.
    pub fn describe(&self) -> Description {
        let shared = self.shared();
        let mut all = vec![
            "answers are read, and every request they cover is held".to_owned(),
            "writes are sent once unless their safety says otherwise".to_owned(),
        ];
        all.push(match shared.outage.window() {
            Some(window) => format!(
                "an outage of our own network is told from those of providers within {window:?}"
            ),
            None => "an outage of our own network is not looked for".to_owned(),
        });
        let probed = shared.probed.lock().clone();
        let mut handles = self.all();
        handles.sort_by(|a, b| a.name().cmp(b.name()));
        let providers = handles.iter().map(|h| {
            let mut described = described(h);
            if probed.contains_key(h.name()) {
                let line = "after a failure it is tried again though nobody asks";
                described.protections.push(line.to_owned());
            }
            described
        });
        Description {
            all,
            providers: providers.collect(),
        }
    }
}

fn described(shard: &Handle) -> Described {
    let policy = shard.with(|s, _| s.machine.policy().clone());
    let mut protections = Vec::new();
    for scope in [Scope::Provider, Scope::Account, Scope::Route] {
        let told = gate(policy.gate(scope));
        if !told.is_empty() {
            protections.push(format!("{}: {}", scope.as_str(), told.join(", ")));
        }
    }
    for (n, own) in policy.classes.iter().enumerate() {
        let told = gate(own);
        if !told.is_empty() {
            protections.push(format!("own gate {}: {}", n + 1, told.join(", ")));
        }
    }
    protections.extend(whole(&policy));
    Described {
        provider: Arc::clone(shard.name()),
        profile: shard.profile().name().to_owned(),
        mode: policy.mode,
        protections,
    }
}

fn gate(p: &GatePolicy) -> Vec<String> {
    let mut told = Vec::new();
    match p.windows.len() {
        0 => {}
        1 => told.push("a limit".to_owned()),
        n => told.push(format!("{n} limits")),
    }
    if p.concurrency != u32::MAX {
        told.push(format!("at most {} on the wire", p.concurrency));
    }
    if p.gentle {
        told.push("a gentle start".to_owned());
    }
    if !p.adaptive.is_off() {
        told.push("a pace that adapts once refused".to_owned());
    }
    told
}

fn whole(p: &ProviderPolicy) -> Vec<String> {
    let mut told = Vec::new();
    if let Some(b) = &p.breaker {
        told.push(format!("a breaker that opens for {:?} first", b.open));
    }
    if let Some(a) = &p.allowance {
        told.push(format!(
            "at most {} answers in {:?} that lead to a ban",
            a.count, a.per
        ));
    }
    if p.local {
        told.push("on this machine: no outage of the network is its own".to_owned());
    }
    told
}
