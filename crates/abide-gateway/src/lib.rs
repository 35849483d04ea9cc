//! An egress gateway: a program in any language becomes a well-behaved client of the providers it
//! calls by changing a base URL.
//!
//! What lives here: HTTP in and out, whose a request is, what of heads and bodies goes on, answers
//! of the gateway's own, its log and figures. What never lives here: a decision on when something
//! may be sent, or sent again; that is the engine's, whose layer every request passes.

mod access;
mod answer;
mod bad;
mod body;
mod bounds;
mod door;
mod forward;
mod front;
mod gateway;
mod inside;
mod life;
mod record;
mod route;
mod serve;
pub mod settings;
mod tunnel;
mod upstream;
mod via;
mod ways;

pub use access::{Access, Secret};
pub use bad::GatewayError;
pub use door::Listener;
pub use front::{Front, Prepared};
pub use gateway::Gateway;
pub use record::{Format, Log};
pub use route::BadBase;
pub use serve::{Pulse, ServeError, Serving};

/// The description of the admin API, as `docs/gateway-api.json` has it.
pub fn api_document() -> String {
    inside::document()
}
