//! From a configuration to what a program works with: names, profiles, treatments and calls wired
//! together.
//!
//! ```
//! use abide_config::{Setup, Use};
//!
//! let text = "[providers.shop]\nhosts = [\"api.shop.example\"]\nrate = \"50/s\"\npatience = \"5s\"\n";
//! let setup = Setup::from_text("abide.toml", text, Use::Call).unwrap();
//! let client = setup.client(setup.governor().build().unwrap()).unwrap();
//! assert_eq!(client.provider("shop").state().waiting, 0);
//! ```

use std::sync::Arc;

use abide::profile::Catalogue;
use abide::run::BulkPolicy;
use abide::{Client, ClientBuilder, Governor, GovernorBuilder, Named, Treatment};
use arc_swap::ArcSwap;

use crate::config::{Config, Use};
use crate::error::ConfigError;
use crate::file::File;

/// A configuration and the catalogue it speaks of, which agree.
#[derive(Clone, Debug)]
pub struct Setup {
    config: Arc<Config>,
    /// What governors made of it go by.
    live: Arc<ArcSwap<Config>>,
    catalogue: Arc<Catalogue>,
    of: Use,
}

impl Setup {
    /// Puts a configuration and a catalogue together.
    ///
    /// # Errors
    /// Everything in the configuration that does not go with the catalogue, with its place.
    pub fn new(config: Config, catalogue: Catalogue, of: Use) -> Result<Self, Vec<ConfigError>> {
        let errors = config.against(&catalogue);
        if !errors.is_empty() {
            return Err(errors);
        }
        let config = Arc::new(config);
        Ok(Self {
            live: Arc::new(ArcSwap::new(Arc::clone(&config))),
            config,
            catalogue: Arc::new(catalogue),
            of,
        })
    }

    /// From the text of an abide.toml alone, with the built-in catalogue and the profiles of the
    /// text, each of which may extend those before it. No file, no environment is read.
    ///
    /// # Errors
    /// Everything that is wrong with it, with its place; `path` names it there.
    pub fn from_text(path: &str, text: &str, of: Use) -> Result<Self, Vec<ConfigError>> {
        let file = File {
            path: path.to_owned(),
            text: text.to_owned(),
        };
        let config = Config::load(Some(&file), [], [])?;
        let mut catalogue = Catalogue::built_in();
        let mut errors = Vec::new();
        for (name, text, origin) in config.profiles() {
            if let Err(e) = catalogue.add(name, text.to_owned()) {
                let told = |what: &String| {
                    ConfigError::new(origin.clone(), format!("[profiles.{name}]: {what}"))
                };
                errors.extend(e.faults.iter().map(|f| told(&f.what)));
            }
        }
        if !errors.is_empty() {
            return Err(errors);
        }
        Self::new(config, catalogue, of)
    }

    /// The configuration it began with.
    pub fn config(&self) -> &Config {
        &self.config
    }

    /// Puts another configuration in force for all governors made of this; call
    /// [`Governor::reconsider`] on each. Profiles of the old one stay.
    ///
    /// # Errors
    /// Everything in it that does not go with the catalogue; then the old one stays in force.
    pub fn renew(&self, config: Config) -> Result<(), Vec<ConfigError>> {
        let errors = config.against(&self.catalogue);
        if !errors.is_empty() {
            return Err(errors);
        }
        self.live.store(Arc::new(config));
        Ok(())
    }

    /// The catalogue.
    pub const fn catalogue(&self) -> &Arc<Catalogue> {
        &self.catalogue
    }

    /// The beginning of a governor that treats every provider as configured.
    pub fn governor(&self) -> GovernorBuilder {
        let profiler = {
            let (live, all) = (Arc::clone(&self.live), Arc::clone(&self.catalogue));
            move |provider: &str| Some(live.load().profile_of(provider, &all)?.name().to_owned())
        };
        let namer = {
            let (live, profiler) = (Arc::clone(&self.live), profiler.clone());
            move |host: &str, port| {
                let config = live.load();
                let provider = config.provider_of(host, port)?;
                Some(Named {
                    profile: profiler(provider),
                    several_hosts: config.has_several_hosts(provider),
                    provider: provider.to_owned(),
                })
            }
        };
        let (live, of) = (Arc::clone(&self.live), self.of);
        Governor::builder()
            .catalogue(Arc::clone(&self.catalogue))
            .outage(self.config.outage(of))
            .named_by(namer)
            .profiled_by(profiler)
            .treated_by(move |name, profile, at| {
                let config = live.load();
                let (policy, classify) = config.treatment(of, name, profile, at);
                Treatment {
                    policy,
                    classify,
                    unpaced: config.unpaced(of, name),
                    call: Some(config.call(of, Some(name))),
                }
            })
    }

    /// The beginning of a client over that governor.
    pub fn client_builder(&self, governor: Governor) -> ClientBuilder {
        let fetch = self.config.fetch();
        Client::builder()
            .governor(governor)
            .call(self.config.call(self.of, None))
            .max_redirects(fetch.max_redirects)
    }

    /// A client over that governor.
    ///
    /// # Errors
    /// When the HTTP client cannot be set up.
    pub fn client(&self, governor: Governor) -> Result<Client, abide::Error> {
        self.client_builder(governor).build()
    }

    /// The knobs of a bulk run.
    pub fn bulk(&self) -> BulkPolicy {
        let mut bulk = BulkPolicy::default();
        let config = &self.config;
        bulk.run = config.run(None);
        bulk.call = config.call(Use::Fetch, None);
        for name in config.providers() {
            let own = (config.run(Some(name)), config.call(Use::Fetch, Some(name)));
            bulk.named.insert(name.to_owned(), own);
        }
        bulk.wire = bulk.run.concurrency as usize;
        bulk.max_body = config.fetch().max_body;
        bulk
    }
}
