//! What a profile documents of a provider, as the policy of a simulated one.

use std::sync::Arc;
use std::time::Duration;

use abide::core::policy::ProviderPolicy;
use abide::core::{ClassifyPolicy, GateClass, Moment, Scope};
use abide::profile::format::{Gate, Limit as Told, WindowKind};
use abide::profile::{Asking, Catalogue, Passed, Profile};
use abide_config::{Config, Use, Value};
use abide_sim::policy::{All, FixedWindow, Limit, SlidingWindow, TokenBucket};
use http::{HeaderMap, Method};
use jiff::tz::TimeZone;
use jiff::{Timestamp, ToSpan};

use super::Args;
use crate::exit::Usage;
use crate::providers::words;

/// The names of gates that hold only with a credential, or only without one, end so.
const ONLY: [(&str, bool); 2] = [
    (" (with credential)", true),
    (" (without credential)", false),
];

/// A provider as the catalogue knows it, and the gates that a plain GET to it passes.
pub(super) struct Known {
    name: String,
    profile: Arc<Profile>,
    passed: Vec<Passed>,
    plan: Option<String>,
    credential: bool,
}

/// A gate that is passed: the part of its limits that is meant, and what a request costs.
struct Part<'a> {
    gate: &'a Gate,
    only: Option<bool>,
    cost: u32,
}

impl Known {
    pub(super) fn new(
        name: &str,
        args: &Args,
        config: &Config,
        all: &Catalogue,
    ) -> anyhow::Result<Self> {
        let profile = find(name, config, all)?;
        let plan = match config.effective(Use::Fetch, Some(name), "plan") {
            Some(found) => match found.value {
                Value::Text(text) => Some(text.clone()),
                _ => None,
            },
            None => None,
        };
        if let Some(plan) = &args.plan {
            known_plan(name, plan, &profile)?;
        }
        let first = profile.told().hosts.first();
        let host = first.map_or(name, |h| h.trim_start_matches("*."));
        let (path, query) = match args.path.split_once('?') {
            Some((path, query)) => (path, Some(query)),
            None => (args.path.as_str(), None),
        };
        let asking = Asking {
            method: &Method::GET,
            host,
            path,
            query,
            headers: &HeaderMap::new(),
            credential: args.credential.then_some(b"plan".as_slice()),
        };
        let passed = profile.gates().passed(&asking).collect();
        Ok(Self {
            name: name.to_owned(),
            passed,
            plan,
            credential: args.credential,
            profile,
        })
    }

    /// The policies that `abide fetch` would have for it.
    pub(super) fn treatment(
        &self,
        config: &Config,
        at: Moment,
    ) -> (ProviderPolicy, ClassifyPolicy) {
        config.treatment(Use::Fetch, &self.name, &self.profile, at)
    }

    /// The gates that each request passes, and what it costs there.
    pub(super) fn passes(&self) -> Vec<(Scope, GateClass, u32)> {
        let passed = self.passed.iter();
        passed.map(|p| (p.scope, p.class, p.cost)).collect()
    }

    /// What the profile says of each gate that is passed.
    fn parts(&self) -> impl Iterator<Item = Part<'_>> {
        self.passed.iter().filter_map(|p| {
            let name = self.profile.gates().name(p.scope, p.class)?;
            let part = |(end, only)| Some((name.strip_suffix(end)?, Some(only)));
            let (name, only) = ONLY.into_iter().find_map(part).unwrap_or((name, None));
            let gate = self.profile.told().gates.iter().find(|g| g.name == name)?;
            Some(Part {
                gate,
                only,
                cost: p.cost.max(1),
            })
        })
    }

    /// The limits that hold, with what a request costs.
    fn limits(&self) -> impl Iterator<Item = (&Told, u32)> {
        self.parts().flat_map(move |part| {
            let fits = move |l: &&Told| {
                l.credential == part.only && (l.plan.is_none() || l.plan == self.plan)
            };
            let limits = part.gate.limits.iter().filter(fits);
            limits.map(move |l| (l, part.cost))
        })
    }

    fn at_once(&self) -> Option<u32> {
        let whole = self.parts().filter(|p| p.only.is_none());
        whole.filter_map(|p| p.gate.concurrency).min()
    }

    /// Exactly what is documented.
    pub(super) fn policy(&self, at: Moment) -> All {
        let limits = self.limits().filter_map(|(l, cost)| limit(l, cost, at));
        let all = All::of(limits.collect::<Vec<_>>());
        match self.at_once() {
            Some(most) => all.at_once(most as usize),
            None => all,
        }
    }

    /// What is known, and what is not.
    pub(super) fn notes(&self) -> Vec<String> {
        let told = self.profile.told();
        let mut all: Vec<String> = self.limits().map(|(l, _)| words::limit(l)).collect();
        let counted = !all.is_empty();
        all.extend(self.at_once().map(|n| format!("{n} at once")));
        let name = match &self.plan {
            Some(plan) => format!("{}, plan {plan}", self.name),
            None => self.name.clone(),
        };
        let mut notes = Vec::new();
        if !all.is_empty() {
            let evidence = words::evidence(told.evidence);
            notes.push(format!("{name} ({evidence}): {}", all.join("; ")));
        }
        if !counted {
            notes.push(format!(
                "{name}: no limit by time is known for such a request; planned with the \
                 concurrency and the round trip only"
            ));
        }
        let untold = self.parts().filter(|p| {
            p.only.is_none() && p.gate.limits.is_empty() && p.gate.concurrency.is_none()
        });
        let untold: Vec<&str> = untold.map(|p| p.gate.name.as_str()).collect();
        if !untold.is_empty() {
            notes.push(format!(
                "not planned for, since only answers tell how much is left there: {}",
                untold.join(", ")
            ));
        }
        let differs = |l: &Told| l.credential.is_some();
        if !self.credential && told.gates.iter().any(|g| g.limits.iter().any(differs)) {
            notes
                .push("without a credential; other limits hold with one (--credential)".to_owned());
        }
        let plans = plans(&self.profile);
        if self.plan.is_none() && !plans.is_empty() {
            notes.push(format!("limits differ by --plan: {}", plans.join(", ")));
        }
        notes
    }
}

/// The profile that speaks of a provider.
fn find(name: &str, config: &Config, all: &Catalogue) -> anyhow::Result<Arc<Profile>> {
    if let Some(profile) = config.profile_of(name, all) {
        return Ok(profile);
    }
    if config.providers().any(|p| p == name) {
        return Ok(all.generic());
    }
    match name.contains('.') {
        // A host, as fetch would meet it.
        true => Ok(all.find(name, 443, "/").unwrap_or_else(|| all.generic())),
        false => Err(Usage(all.unknown(name)).into()),
    }
}

fn plans(profile: &Profile) -> Vec<&str> {
    let limits = profile.told().gates.iter().flat_map(|g| &g.limits);
    let mut plans: Vec<&str> = limits.filter_map(|l| l.plan.as_deref()).collect();
    plans.sort_unstable();
    plans.dedup();
    plans
}

fn known_plan(name: &str, plan: &str, profile: &Profile) -> anyhow::Result<()> {
    let known = plans(profile);
    if known.contains(&plan) {
        return Ok(());
    }
    let known = match known.is_empty() {
        true => "none is known of it".to_owned(),
        false => format!("known are {}", known.join(", ")),
    };
    Err(Usage(format!("--plan: {name} has no plan {plan:?}; {known}")).into())
}

/// A limit, in requests rather than in its own units.
fn limit(told: &Told, cost: u32, at: Moment) -> Option<Limit> {
    let per = abide::profile::duration(&told.per).ok()?;
    let count = (told.count / cost).max(1);
    Some(match told.window {
        WindowKind::Bucket => {
            let burst = (told.burst.unwrap_or(1) / cost).max(1);
            let per = per.saturating_mul(cost);
            Limit::Bucket(TokenBucket::new(told.count.into(), per, burst.into()))
        }
        WindowKind::Sliding => Limit::Sliding(SlidingWindow::new(count as usize, per)),
        WindowKind::Fixed => {
            let phase = told.zone.as_deref().and_then(|zone| midnight(zone, at));
            let window = FixedWindow::new(count.into(), per);
            Limit::Fixed(window.shifted(phase.unwrap_or_default()))
        }
    })
}

/// The next midnight in a time zone, as time since 1970.
fn midnight(zone: &str, at: Moment) -> Option<Duration> {
    let zone = TimeZone::get(zone).ok()?;
    let now = Timestamp::from_nanosecond(at.wall.as_unix_nanos().into()).ok()?;
    let today = now.to_zoned_datetime(zone).start_of_day().ok()?;
    let next = today.checked_add(1.day()).ok()?.timestamp();
    let secs = u64::try_from(next.as_second()).ok()?;
    Some(Duration::from_secs(secs))
}
