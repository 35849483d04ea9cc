//! The same for machines.

use abide::profile::{Catalogue, Profile};
use serde_json::{Value, json};

use super::words;

pub(super) fn list(all: &Catalogue) -> Value {
    let profiles = all.names().into_iter().filter_map(|name| all.get(name));
    profiles.map(|p| brief(all, &p)).collect()
}

/// What the list says of a provider.
fn brief(all: &Catalogue, profile: &Profile) -> Value {
    let told = profile.told();
    json!({
        "name": told.name,
        "title": told.title,
        "limits": words::limits(told),
        "evidence": words::evidence(told.evidence),
        "checked": told.checked,
        "hosts": told.hosts,
        "origin": all.origin(&told.name),
    })
}

/// Everything: `profile` is what its file says itself, `rules` is what is tried, parents included.
pub(super) fn profile(all: &Catalogue, profile: &Profile) -> Value {
    let told = profile.told();
    let rules = told.rules.iter().zip(profile.rules().names());
    let rules = rules.map(|(rule, name)| {
        json!({
            "name": name,
            "why": rule.why,
            "verdict": rule.verdict,
            "gate": rule.gate,
        })
    });
    let mut out = brief(all, profile);
    if let Value::Object(out) = &mut out {
        out.insert("parents".into(), all.parents(&told.name).into());
        out.insert("contact".into(), words::contact(told.contact).into());
        out.insert("rules".into(), rules.collect());
        out.insert("tests".into(), told.tests.len().into());
        out.insert("profile".into(), all.json(&told.name).into());
    }
    out
}
