//! What must hold between values.

use std::collections::BTreeMap;
use std::time::Duration;

use crate::config::{Config, Effective, Use};
use crate::error::{ConfigError, Origin};
use crate::value::Value;

/// The first must not be longer than the second.
const ORDERED: [(&str, &str); 5] = [
    ("backoff.base", "backoff.max"),
    ("breaker.open", "breaker.open_max"),
    ("hold.floor", "hold.max"),
    ("ladder.base", "ladder.max"),
    ("quota.from", "quota.to"),
];

/// The first means nothing without the second.
const NEEDS: [(&str, &str); 3] = [
    ("burst", "rate"),
    ("account.burst", "account.rate"),
    ("route.burst", "route.rate"),
];

pub(crate) fn run(config: &Config, errors: &mut Vec<ConfigError>) {
    hosts(config, errors);
    chains(config, errors);
    let names: Vec<_> = config.providers().map(Some).collect();
    for of in [Use::Call, Use::Fetch] {
        for provider in [None].into_iter().chain(names.iter().copied()) {
            for (low, high) in ORDERED {
                errors.extend(ordered(config, of, provider, low, high));
            }
            for (what, needs) in NEEDS {
                errors.extend(needed(config, of, provider, what, needs));
            }
        }
    }
}

fn ordered(
    config: &Config,
    of: Use,
    provider: Option<&str>,
    low: &str,
    high: &str,
) -> Option<ConfigError> {
    let low = config.effective(of, provider, low)?;
    let high = config.effective(of, provider, high)?;
    if length(&low)? <= length(&high)? {
        return None;
    }
    let built_in = |e: &Effective<'_>| *e.origin == Origin::Default;
    if of == Use::Fetch && (built_in(&low) || built_in(&high)) {
        // A run's own defaults are narrower than a call's; what suits a call must not be refused
        // for that. The longer one is cut.
        return None;
    }
    // Blamed is what somebody wrote: a default fits the defaults.
    let (blamed, other) = if built_in(&low) {
        (&high, &low)
    } else {
        (&low, &high)
    };
    let message = format!(
        "{} = {} is longer than {} = {}",
        low.knob.key, low.value, high.knob.key, high.value
    );
    let help = format!("{} comes from {}", other.knob.key, named(other.origin));
    Some(ConfigError::new(blamed.origin.clone(), message).with_help(Some(help)))
}

fn needed(
    config: &Config,
    of: Use,
    provider: Option<&str>,
    what: &str,
    needs: &str,
) -> Option<ConfigError> {
    let what = config.effective(of, provider, what)?;
    let needs = config.effective(of, provider, needs)?;
    // One is what there is without a burst, and may be said.
    let alone = *what.value != Value::Count(1) && *needs.value == Value::Word("none");
    alone.then(|| {
        let message = format!("{} means nothing without {}", what.knob.key, needs.knob.key);
        ConfigError::new(what.origin.clone(), message)
    })
}

fn length(e: &Effective<'_>) -> Option<Duration> {
    match e.value {
        Value::Duration(d) => Some(*d),
        _ => None,
    }
}

fn named(origin: &Origin) -> String {
    match origin {
        Origin::Default => "its default".to_owned(),
        other => other.to_string(),
    }
}

/// A name in front of a path is a provider's or a chain's.
fn chains(config: &Config, errors: &mut Vec<ConfigError>) {
    for chain in config.chains() {
        if config.sections.providers.contains_key(&chain.name) {
            let message = format!("chain: {:?} is the name of a provider too", chain.name);
            errors.push(ConfigError::new(chain.origin.clone(), message));
        }
    }
}

/// A host belongs to one provider.
fn hosts(config: &Config, errors: &mut Vec<ConfigError>) {
    let mut seen = BTreeMap::new();
    for (name, provider) in &config.sections.providers {
        let upstream = provider.upstream.iter().map(|u| (&u.host, &u.origin));
        let hosts = provider.hosts.iter().map(|(host, origin)| (host, origin));
        for (host, origin) in hosts.chain(upstream) {
            if let Some((owner, first)) = seen.insert(host, (name, origin))
                && owner != name
            {
                let message = format!("host {host} stands at {name:?} and at {owner:?}");
                let help = Some(format!("the other place is {first}"));
                errors.push(ConfigError::new(origin.clone(), message).with_help(help));
            }
        }
    }
}
