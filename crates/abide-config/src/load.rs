//! Puts a configuration together from its sources.

use std::collections::BTreeMap;

use crate::checks;
use crate::config::Config;
use crate::error::{ConfigError, Origin};
use crate::file::{self, File};
use crate::kind::Raw;
use crate::knob::Knob;
use crate::layer::Layer;
use crate::lookup::meant;

/// Variables that begin like ours and are none of the knobs.
const OTHER_VARIABLES: [&str; 5] = [
    "ABIDE_CONFIG",
    "ABIDE_LOG",
    "ABIDE_PROFILES",
    "ABIDE_STATE",
    "ABIDE_TOKEN",
];

/// In front of the name of a provider: where it is asked.
const UPSTREAM: &str = "ABIDE_UPSTREAM_";

/// A value given on the command line.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Flag {
    /// The flag as the user typed it, as `--patience`.
    pub name: String,
    /// The knob it sets.
    pub key: &'static str,
    /// What to.
    pub value: String,
}

impl Config {
    /// Puts all sources together.
    ///
    /// Variables that begin with `ABIDE_` and name no knob are ignored, unless they are so close
    /// to one that they must be a typing mistake; empty ones count as not set.
    ///
    /// # Errors
    /// Everything that is wrong, in the order in which it stands. Nothing is taken over then.
    pub fn load(
        file: Option<&File>,
        env: impl IntoIterator<Item = (String, String)>,
        flags: impl IntoIterator<Item = Flag>,
    ) -> Result<Self, Vec<ConfigError>> {
        let mut errors = Vec::new();
        let mut config = Self::default();
        if let Some(file) = file {
            config.sections = file::read(file, &mut errors);
        }
        let by_env: BTreeMap<String, &'static Knob> = Knob::all().map(|k| (k.env(), k)).collect();
        for (name, value) in env {
            if !name.starts_with("ABIDE_") || value.trim().is_empty() {
                continue;
            }
            if let Some(provider) = name.strip_prefix(UPSTREAM) {
                let moved = config.move_upstream(provider, &value, Origin::Env(name.clone()));
                errors.extend(
                    moved
                        .err()
                        .map(|why| ConfigError::new(Origin::Env(name), why)),
                );
                continue;
            }
            match by_env.get(&name) {
                Some(knob) => set(
                    &mut config.env,
                    knob,
                    &value,
                    Origin::Env(name),
                    &mut errors,
                ),
                None => errors.extend(mistyped(&name, by_env.keys())),
            }
        }
        for Flag { name, key, value } in flags {
            match Knob::find(key) {
                Some(knob) => {
                    set(
                        &mut config.flags,
                        knob,
                        &value,
                        Origin::Flag(name),
                        &mut errors,
                    );
                }
                None => {
                    let message = format!("there is no knob {key:?}");
                    errors.push(ConfigError::new(Origin::Flag(name), message));
                }
            }
        }
        if errors.is_empty() {
            checks::run(&config, &mut errors);
        }
        errors.sort();
        errors.dedup();
        if errors.is_empty() {
            Ok(config)
        } else {
            Err(errors)
        }
    }
}

/// Reads a file as [`Config::load`] does and says everything that is wrong with it.
pub fn check(file: &File) -> Vec<ConfigError> {
    Config::load(Some(file), [], []).err().unwrap_or_default()
}

fn set(
    layer: &mut Layer,
    knob: &'static Knob,
    value: &str,
    origin: Origin,
    errors: &mut Vec<ConfigError>,
) {
    let raw = Raw::Plain(value.to_owned());
    match knob.kind.read(&raw) {
        Some(value) => layer.set(knob.key, value, origin),
        None => errors.push(ConfigError::new(origin, file::unfit(knob, &raw))),
    }
}

fn mistyped<'a>(name: &str, known: impl Iterator<Item = &'a String>) -> Option<ConfigError> {
    if OTHER_VARIABLES.contains(&name) {
        return None;
    }
    let near = meant(name, known.map(String::as_str))?;
    if strsim::damerau_levenshtein(name, &near) > 2 {
        return None;
    }
    let help = format!("did you mean {near}?");
    let error = ConfigError::new(Origin::Env(name.to_owned()), "unknown variable");
    Some(error.with_help(Some(help)))
}
