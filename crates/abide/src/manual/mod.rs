//! The manual: what abide does, by which defaults, and why.
//!
//! The pages of types say what one thing does. These chapters tell how the things work together.
//! Each can be read alone.
//!
//! 1. [Concepts](_01_concepts): provider, gate, hold, probe, pace, call, and what a refusal tells.
//! 2. [Defaults](_02_defaults): every default, with its reason.
//! 3. [Retries and writes](_03_retries_and_writes): what is sent again, and what never is.
//! 4. [Failover](_04_failover): several providers for one question, breakers, and our own network.
//! 5. [Bulk](_05_bulk): a thousand items, none of them lost.
//! 6. [What other clients get wrong](_06_other_clients): common faults, and what abide does there.
//!
//! Knobs are called by the names they have in `abide.toml`, as `wait.max`. In a Rust program they
//! are fields of [`CallPolicy`](crate::core::call::CallPolicy) (one call),
//! [`ProviderPolicy`](crate::core::policy::ProviderPolicy) (the gates of one provider),
//! [`ClassifyPolicy`](crate::core::ClassifyPolicy) (how answers are read) and
//! [`BulkPolicy`](crate::run::BulkPolicy) (a run). The library itself reads no file.

pub mod _01_concepts;
pub mod _02_defaults;
pub mod _03_retries_and_writes;
pub mod _04_failover;
pub mod _05_bulk;
pub mod _06_other_clients;
