//! The configuration: its layers, and what is in force.

use std::collections::BTreeMap;

use crate::chain::ChainRoute;
use crate::error::Origin;
use crate::file::{Provider as ProviderSection, Sections};
use crate::knob::Knob;
use crate::layer::Layer;
use crate::upstream::Upstream;
use crate::value::Value;
use abide_profile::Host;

/// What a value is asked for.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub enum Use {
    /// A call for which somebody waits.
    Call,
    /// A bulk run.
    Fetch,
    /// A call through the gateway.
    Gateway,
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
/// section `[fetch]` (in a bulk run), the section `[defaults]`, the provider's profile, the
/// built-in default. A provider's
/// section comes before `[fetch]` since it is somebody's word on exactly this provider.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Config {
    pub(crate) flags: Layer,
    pub(crate) env: Layer,
    pub(crate) sections: Sections,
    /// What the profiles of the configured providers say.
    pub(crate) known: BTreeMap<String, Layer>,
}

/// What stands at a provider's name. A provider that counts each host apart names them
/// `aws@HOST`; what is said of `aws` is said of all of them.
fn of_all<'a, T>(all: &'a BTreeMap<String, T>, provider: &str) -> Option<&'a T> {
    all.get(provider)
        .or_else(|| all.get(provider.split_once(['@', '+'])?.0))
}

impl Config {
    /// The value in force, for a named provider or for one that no section names.
    ///
    /// `None` only when there is no such knob.
    pub fn effective(&self, of: Use, provider: Option<&str>, key: &str) -> Option<Effective<'_>> {
        let knob = Knob::find(key)?;
        let fetch = of == Use::Fetch;
        let known = provider.and_then(|p| of_all(&self.known, p));
        let provider = provider.and_then(|p| of_all(&self.sections.providers, p));
        let found = self
            .flags
            .get(key)
            .or_else(|| self.env.get(key))
            .or_else(|| provider?.layer.get(key))
            .or_else(|| self.sections.fetch.get(key).filter(|_| fetch))
            .or_else(|| self.sections.defaults.get(key))
            .or_else(|| self.sections.gateway.get(key))
            .or_else(|| known?.get(key));
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

    /// Whether a provider's own section sets a knob.
    pub(crate) fn is_own(&self, provider: &str, key: &str) -> bool {
        let provider = of_all(&self.sections.providers, provider);
        provider.is_some_and(|p| p.layer.get(key).is_some())
    }

    /// The profiles the file has itself: name, text, and where it begins.
    pub fn profiles(&self) -> impl Iterator<Item = (&str, &str, &Origin)> {
        let all = self.sections.profiles.iter();
        all.map(|(name, (text, origin))| (name.as_str(), text.as_str(), origin))
    }

    /// The names of the providers that have a section.
    pub fn providers(&self) -> impl Iterator<Item = &str> {
        self.sections.providers.keys().map(String::as_str)
    }

    /// The hosts by which a named provider is recognised.
    pub fn hosts(&self, provider: &str) -> impl Iterator<Item = &Host> {
        let provider = self.sections.providers.get(provider);
        provider.into_iter().flat_map(ProviderSection::hosts)
    }

    /// Where the providers that have a section of their own are asked by a gateway.
    pub fn upstreams(&self) -> impl Iterator<Item = (&str, &Upstream)> {
        let all = self.sections.providers.iter();
        all.filter_map(|(name, p)| Some((name.as_str(), p.upstream.as_ref()?)))
    }

    /// Questions that several providers answer, asked through the gateway.
    pub fn chains(&self) -> &[ChainRoute] {
        &self.sections.chains
    }

    /// Names a provider's upstream from outside a file, in place of what its section says.
    ///
    /// # Errors
    /// When it is none, in words.
    pub fn set_upstream(&mut self, provider: &str, url: &str, flag: &str) -> Result<(), String> {
        let upstream = Upstream::parse(url, Origin::Flag(flag.to_owned()))?;
        let section = self.sections.providers.entry(provider.to_owned());
        section.or_default().upstream = Some(upstream);
        Ok(())
    }

    /// Names a provider's address by a variable, in which its name stands in capitals with `_` for
    /// whatever else is no letter and no digit. All else that its section says of its upstream stays.
    pub(crate) fn move_upstream(
        &mut self,
        told: &str,
        url: &str,
        origin: Origin,
    ) -> Result<(), String> {
        let upstream = Upstream::parse(url.trim(), origin)?;
        let written = |name: &str| -> String {
            let sign = |c: char| match c.is_ascii_alphanumeric() {
                true => c.to_ascii_uppercase(),
                false => '_',
            };
            name.chars().map(sign).collect()
        };
        let mut meant = self
            .sections
            .providers
            .keys()
            .filter(|n| written(n) == told);
        let name = match (meant.next().cloned(), meant.next()) {
            (Some(name), None) => name,
            (Some(one), Some(other)) => {
                return Err(format!("it may be meant for {one} or for {other}"));
            }
            (None, _) if told.is_empty() || written(told) != told => {
                return Err("it names no provider".to_owned());
            }
            (None, _) => told.to_ascii_lowercase().replace('_', "-"),
        };
        let section = self.sections.providers.entry(name).or_default();
        match &mut section.upstream {
            Some(old) => old.moved_to(upstream),
            none => *none = Some(upstream),
        }
        Ok(())
    }

    /// Whether several hosts are recognised as a named provider.
    pub fn has_several_hosts(&self, provider: &str) -> bool {
        let mut hosts = self.hosts(provider);
        match (hosts.next(), hosts.next()) {
            (Some(only), None) => only.is_below(),
            (first, _) => first.is_some(),
        }
    }

    /// The provider that a host belongs to; of several the one that describes it most closely.
    pub fn provider_of(&self, host: &str, port: u16) -> Option<&str> {
        let all = self.sections.providers.iter();
        let hosts = all.flat_map(|(name, p)| p.hosts().map(move |h| (name, h)));
        hosts
            .filter(|(_, h)| h.matches(host, port))
            .max_by_key(|(_, h)| h.closeness())
            .map(|(name, _)| name.as_str())
    }
}
