//! What abide knows of providers.
//!
//! Here live the profile format, the catalogue of profiles, and everything that makes a profile
//! answer the core's questions: which provider a URL is, which gates a request passes, what an
//! answer's headers and body mean. Rules reach the core by its
//! [`BodyMatch`](abide_core::classify::BodyMatch). Nothing here reads a clock, a file or the
//! network, and nothing here decides when a request is sent.

mod boundary;
pub mod cases;
mod catalogue;
mod checks;
mod decode;
pub mod docs;
mod extend;
pub mod format;
mod gates;
mod graphql;
mod host;
pub mod judge;
pub mod lint;
mod load;
pub mod next;
mod pattern;
mod problem;
mod profile;
mod rules;
mod scan;
pub mod trial;
mod units;

pub use catalogue::{Catalogue, Unusable};
pub use decode::{Decoded, decode};
pub use gates::{Asking, Choice, Gates, Key, Passed};
pub use host::Host;
pub use load::{Fault, parse};
pub use pattern::Paths;
pub use problem::{Place, Problem, Step};
pub use profile::Profile;
pub use rules::{Decided, Look, MAX_BODY, Rules, Wants};
pub use scan::Scanner;
pub use units::duration;
