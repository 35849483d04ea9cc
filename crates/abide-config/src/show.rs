//! What is in force, and who said so: as text and as JSON.

use std::fmt::Write as _;

use serde_json::{Map, Value as Json, json};

use crate::config::{Config, Effective, Use};
use crate::shown::inline;
use crate::table::KNOBS;
use crate::table_gateway::GATEWAY;
use crate::value::Value;

/// The sections in which the effective values are shown: a provider's only where they differ
/// from those of a call, and a run's likewise.
fn sections(config: &Config) -> Vec<(String, Option<&str>, Vec<Effective<'_>>)> {
    let all = |of, provider| {
        let effective = move |k: &'static crate::Knob| config.effective(of, provider, k.key);
        KNOBS.iter().filter_map(effective)
    };
    let call = |key: &str| config.effective(Use::Call, None, key);
    let differs =
        move |e: &Effective<'_>| e.knob.fetch_only || call(e.knob.key).as_ref() != Some(e);
    let defaults = all(Use::Call, None).filter(|e| !e.knob.fetch_only);
    let mut sections = vec![
        ("defaults".to_owned(), None, defaults.collect()),
        (
            "fetch".to_owned(),
            None,
            all(Use::Fetch, None).filter(differs).collect(),
        ),
    ];
    let gateway = |k: &'static crate::Knob| config.effective(Use::Call, None, k.key);
    let gateway = GATEWAY.iter().filter_map(gateway).collect();
    sections.push(("gateway".to_owned(), None, gateway));
    for name in config.providers() {
        let layer = &config.sections.providers[name].layer;
        let known = config.known.get(name);
        let own = all(Use::Call, Some(name))
            .filter(|e| layer.has(e.knob.key) || known.is_some_and(|k| k.has(e.knob.key)));
        let header = if name.contains('.') {
            format!("providers.\"{name}\"")
        } else {
            format!("providers.{name}")
        };
        sections.push((header, Some(name), own.collect()));
    }
    sections
}

/// A token is nobody's business who looks over a shoulder.
fn secret(e: &Effective<'_>) -> bool {
    e.knob.is_secret() && *e.value != Value::Word("none")
}

fn secretly(e: &Effective<'_>) -> String {
    match secret(e) {
        true => "\"…\"".to_owned(),
        false => e.value.to_string(),
    }
}

/// The policy in force as TOML, every value with its origin in a comment.
pub fn show(config: &Config) -> String {
    let mut out = String::new();
    for (header, provider, values) in sections(config) {
        // Writing to a string cannot fail.
        let _ = writeln!(out, "[{header}]");
        if let Some(name) = provider {
            let hosts: Vec<_> = config.hosts(name).map(|h| format!("\"{h}\"")).collect();
            let _ = writeln!(out, "hosts = [{}]", hosts.join(", "));
            if let Some((_, upstream)) = config.upstreams().find(|(n, _)| *n == name) {
                let told = upstream.shown();
                let told = match told.len() {
                    1 => told["url"].clone(),
                    _ => told.into(),
                };
                let _ = writeln!(out, "upstream = {}  # {}", inline(&told), upstream.origin());
            }
        }
        let lines: Vec<_> = values
            .iter()
            .map(|e| (format!("{} = {}", e.knob.shown(), secretly(e)), e.origin))
            .collect();
        let widths = lines.iter().map(|(l, _)| l.chars().count());
        let width = widths.filter(|w| *w <= 40).max().unwrap_or(0);
        for (line, origin) in lines {
            let _ = writeln!(out, "{line:width$}  # {origin}");
        }
        out.push('\n');
    }
    for chain in config.chains() {
        let told = chain.shown();
        let _ = writeln!(out, "[[chain]]  # {}", chain.origin);
        for (key, value) in told.as_object().into_iter().flatten() {
            if key != "origin" {
                let _ = writeln!(out, "{key} = {}", inline(value));
            }
        }
        out.push('\n');
    }
    out.truncate(out.trim_end().len());
    out.push('\n');
    out
}

/// The policy in force as JSON: an object a section, in it an object a knob with its `value` and
/// its `origin`.
pub fn show_json(config: &Config) -> Json {
    let mut root = Map::new();
    let mut providers = Map::new();
    for (header, provider, values) in sections(config) {
        let mut section = Map::new();
        if let Some(name) = provider {
            let hosts: Vec<_> = config.hosts(name).map(ToString::to_string).collect();
            section.insert("hosts".to_owned(), json!(hosts));
            if let Some((_, upstream)) = config.upstreams().find(|(n, _)| *n == name) {
                let entry = json!({
                    "value": upstream.shown(),
                    "origin": upstream.origin().to_string(),
                });
                section.insert("upstream".to_owned(), entry);
            }
        }
        for e in values {
            let entry = json!({
                "value": match secret(&e) {
                    true => "…".into(),
                    false => e.value.to_json(),
                },
                "origin": e.origin.to_string(),
            });
            section.insert(e.knob.shown().to_owned(), entry);
        }
        match provider {
            Some(name) => providers.insert(name.to_owned(), section.into()),
            None => root.insert(header, section.into()),
        };
    }
    root.insert("providers".to_owned(), providers.into());
    let chains = config.chains().iter().map(crate::chain::ChainRoute::shown);
    root.insert("chain".to_owned(), chains.collect());
    root.into()
}
