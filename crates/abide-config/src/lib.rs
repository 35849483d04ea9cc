//! abide.toml: what may be set, where it was set, and the policies that follow.
//!
//! What lives here: the [table](KNOBS) of everything that may be set, reading it from file,
//! environment and flags, and turning it into the core's policies. What never lives here: looking
//! for the file, reading the process's own environment, a decision. Sources come in as
//! arguments.
//!
//! A configuration is taken over whole or not at all, and every mistake in it is told at once,
//! with its place: a half-understood limit is worse than none.
//!
//! ```
//! use abide_config::{Config, File, Use};
//!
//! let file = File {
//!     path: "abide.toml".to_owned(),
//!     text: "[providers.shop]\nhosts = [\"api.shop.example\"]\nrate = \"50/s\"\n".to_owned(),
//! };
//! let config = Config::load(Some(&file), [], []).unwrap();
//! let name = config.provider_of("api.shop.example", 443);
//! assert_eq!(name, Some("shop"));
//! assert_eq!(config.provider(Use::Call, name).provider.windows.len(), 1);
//! ```

mod chain;
mod checks;
mod config;
mod docs;
mod error;
mod file;
mod gateway;
mod init;
mod kind;
mod knob;
mod layer;
pub mod learned;
mod load;
mod lookup;
mod policy;
mod private;
mod setup;
mod show;
mod shown;
mod table;
mod table_gateway;
mod text;
mod treatment;
mod units;
mod upstream;
mod value;

pub use abide_profile::Host;
pub use chain::{ChainMember, ChainRoute};
pub use config::{Config, Effective, Use};
pub use docs::docs;
pub use error::{ConfigError, Origin};
pub use file::File;
pub use gateway::GatewayPolicy;
pub use init::init;
pub use kind::Kind;
pub use knob::Knob;
pub use load::{Flag, check};
pub use policy::FetchPolicy;
pub use private::{Proxy, without_secrets};
pub use setup::Setup;
pub use show::{show, show_json};
pub use table::KNOBS;
pub use table_gateway::GATEWAY;
pub use text::{duration, rate, size};
pub use units::Rate;
pub use upstream::{Credential, Secret, Upstream};
pub use value::Value;
