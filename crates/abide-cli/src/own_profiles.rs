//! The options that tell where a user's own profiles are.

use std::path::PathBuf;

use abide::profile::Catalogue;

/// Where a user's own profiles are.
#[derive(Debug, clap::Args)]
pub(crate) struct OwnProfiles {
    /// A folder of profiles (*.toml) of your own, beside those built in [default: ABIDE_PROFILES,
    /// else profiles/ in the user's configuration folder]
    #[arg(long, value_name = "DIR", global = true)]
    profiles: Option<PathBuf>,
    /// The configuration file, whose [profiles.NAME] count too [default: abide.toml here, else in
    /// the user's configuration folder]
    #[arg(long, env = "ABIDE_CONFIG", value_name = "FILE", global = true)]
    config: Option<PathBuf>,
}

impl OwnProfiles {
    /// The built-in profiles and the user's.
    pub(crate) fn load(&self) -> anyhow::Result<Catalogue> {
        let config = crate::config::load(self.config.as_deref(), Vec::new())?;
        crate::catalogue::load(self.profiles.as_deref(), &config)
    }
}
