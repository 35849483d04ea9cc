//! What must hold for any bytes that a network or a file hands in: nothing panics, nobody is asked
//! to come back before now, no wait is without bound, and two ways to the same result agree.
//!
//! Each target is a plain function. libFuzzer calls it ([`libfuzzer/`], for as long as one likes:
//! `scripts/fuzz`), and `tests/corpus.rs` calls it on a small corpus and on mutations of that.
//!
//! [`libfuzzer/`]: https://rust-fuzz.github.io/book/cargo-fuzz.html

mod bodies;
mod explain;
mod heads;
pub mod hostile;
mod input;
mod profiles;
mod recordings;
mod values;

pub use bodies::{decode, graphql, scanner};
pub use heads::{quota_headers, retry_after, structured};
pub use profiles::{classify, profile_toml, prose};
pub use recordings::recordings;
pub use values::{dates, durations};

/// Something that must hold for any bytes.
pub type Target = fn(&[u8]);

/// Every target, by name.
pub const TARGETS: [(&str, Target); 12] = [
    ("classify", classify),
    ("dates", dates),
    ("decode", decode),
    ("durations", durations),
    ("graphql", graphql),
    ("profile_toml", profile_toml),
    ("prose", prose),
    ("quota_headers", quota_headers),
    ("recordings", recordings),
    ("retry_after", retry_after),
    ("scanner", scanner),
    ("structured", structured),
];
