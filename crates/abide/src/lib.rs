//! abide makes a program a well-behaved client of the providers it calls.
//!
//! It reads what a provider says (429, 503, `Retry-After`, quota headers …), holds every request
//! the answer covers until the provider asked for, paces what is sent so that refusals stay rare,
//! repeats only what is safe to repeat, and finishes bulk work without losing an item.
//!
//! What lives here: the tokio shell around [`abide_core`]. One lock and one timer a provider, one
//! wake-up a waiter; the [`Client`], and bulk [`run`]s. What never lives here: a decision on when
//! something may be sent (that is the core's), a file, or the environment.
//!
//! ```no_run
//! # async fn example() -> Result<(), Box<dyn std::error::Error>> {
//! let client = abide::Client::new()?;
//! let answer = client.get("https://openlibrary.org/isbn/9780140328721.json").send().await?;
//! println!("{}", answer.status());
//! # Ok(())
//! # }
//! ```

mod account;
mod admission;
#[cfg(feature = "blocking")]
pub mod blocking;
mod broadcast;
mod builder;
mod by_name;
mod call;
mod cause;
mod chain;
mod client;
pub mod clock;
mod describe;
mod error;
pub mod events;
mod exchange;
mod governor;
mod health;
mod holds;
mod hosts;
mod inspect;
mod judging;
#[cfg(feature = "layer")]
pub mod layer;
mod lending;
mod live;
mod looking;
pub mod manual;
#[cfg(feature = "metrics")]
mod metrics;
mod names;
mod outage;
mod patience;
mod permit;
mod persist;
mod place;
mod policies;
mod prober;
mod providers;
mod response;
pub mod run;
mod secrets;
mod shard;
mod shared;
mod state;
mod struck;
mod target;
#[cfg(feature = "testing")]
pub mod testing;
mod tls;
mod told;
mod transport;
mod turn;
mod within;

pub use abide_core as core;
pub use abide_profile as profile;
#[cfg(feature = "testing")]
pub use abide_sim as sim;
pub use abide_store as store;
pub use admission::{Admission, BeforeStart};
pub use builder::GovernorBuilder;
pub use call::{Attempt, CallError, Failed, Said};
pub use cause::Cause;
pub use chain::{Answer, Chain, ChainError};
pub use client::{CallOptions, Check, Client, ClientBuilder, RequestBuilder};
pub use describe::{Described, Description};
pub use error::{Error, LastAnswer, TurnedAway};
#[cfg(feature = "layer")]
pub use governor::Listed;
pub use governor::{Governor, HeldGate};
pub use holds::HoldState;
#[cfg(feature = "layer")]
pub use layer::{Layer, Service};
pub use lending::Sharing;
pub use patience::Patience;
pub use permit::Permit;
pub use policies::Treatment;
pub use prober::{Prober, Unprobed};
pub use response::{BodyError, Response};
pub use secrets::{is_secret_header, redacted, shown_path};
pub use shard::Handle;
pub use shared::Named;
pub use state::{ProviderState, View};
pub use target::Target;
pub use tls::{Identity as TlsIdentity, config as tls_config, config_as as tls_config_as};
pub use transport::{describe as transport_words, kind as transport_kind};
