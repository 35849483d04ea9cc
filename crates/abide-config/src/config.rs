//! The configuration: its layers, and what is in force.

use std::collections::BTreeMap;

use crate::checks;
use crate::error::{ConfigError, Origin};
use crate::file::{self, File, Sections};
use crate::host::Host;
use crate::kind::Raw;
use crate::knob::{Knob, meant};
use crate::layer::Layer;
use crate::table::KNOBS;
use crate::value::Value;

/// Variables that begin like ours and are none of the knobs.
const OTHER_VARIABLES: [&str; 4] = ["ABIDE_CONFIG", "ABIDE_LOG", "ABIDE_STATE", "ABIDE_TOKEN"];

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

/// What a value is asked for.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub enum Use {
    /// A call for which somebody waits.
    Call,
    /// A bulk run.
    Fetch,
}

/// A value in force.
#[derive(Clone, Debug, PartialEq)]
#[non_exhaustive]
pub struct Effective<'a> {
    /// The knob.
    pub knob: &'static Knob,
    /// What it is set to.
    pub value: &'a Value,
    /// Where that was said.
    pub origin: &'a Origin,
}

/// Everything that was configured.
///
/// What counts, in this order: a flag, an environment variable, the section of the provider, the
/// section `[fetch]` (in a bulk run), the section `[defaults]`, the built-in default. A provider's
/// section comes before `[fetch]` since it is somebody's word on exactly this provider.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Config {
    flags: Layer,
    env: Layer,
    sections: Sections,
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
        let by_env: BTreeMap<String, &'static Knob> = KNOBS.iter().map(|k| (k.env(), k)).collect();
        for (name, value) in env {
            if !name.starts_with("ABIDE_") || value.trim().is_empty() {
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

    /// The value in force, for a named provider or for one that no section names.
    ///
    /// `None` only when there is no such knob.
    pub fn effective(&self, of: Use, provider: Option<&str>, key: &str) -> Option<Effective<'_>> {
        let knob = Knob::find(key)?;
        let fetch = of == Use::Fetch;
        let provider = provider.and_then(|p| self.sections.providers.get(p));
        let found = self
            .flags
            .get(key)
            .or_else(|| self.env.get(key))
            .or_else(|| provider?.layer.get(key))
            .or_else(|| self.sections.fetch.get(key).filter(|_| fetch))
            .or_else(|| self.sections.defaults.get(key));
        let (value, origin) = match found {
            Some((value, origin)) => (value, origin),
            None => (knob.default_value(fetch), &Origin::Default),
        };
        Some(Effective {
            knob,
            value,
            origin,
        })
    }

    /// The names of the providers that have a section.
    pub fn providers(&self) -> impl Iterator<Item = &str> {
        self.sections.providers.keys().map(String::as_str)
    }

    /// The hosts by which a named provider is recognised.
    pub fn hosts(&self, provider: &str) -> impl Iterator<Item = &Host> {
        let provider = self.sections.providers.get(provider);
        provider
            .into_iter()
            .flat_map(|p| p.hosts.iter().map(|h| &h.0))
    }

    /// The provider that a host belongs to; of several the one that describes it most closely.
    pub fn provider_of(&self, host: &str, port: u16) -> Option<&str> {
        let all = self.sections.providers.iter();
        let hosts = all.flat_map(|(name, p)| p.hosts.iter().map(move |h| (name, &h.0)));
        hosts
            .filter(|(_, h)| h.matches(host, port))
            .max_by_key(|(_, h)| h.closeness())
            .map(|(name, _)| name.as_str())
    }

    pub(crate) fn sections(&self) -> &Sections {
        &self.sections
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
