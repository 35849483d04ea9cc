use std::collections::BTreeMap;

use schemars::JsonSchema;
use serde::Deserialize;

/// An answer, and what it must be found to mean.
#[derive(Clone, Debug, Default, PartialEq, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields, default)]
pub struct Test {
    /// What it shows.
    pub name: String,
    /// `METHOD /path`; `GET /` when absent.
    pub request: Option<String>,
    /// When it comes: RFC 3339. `2026-03-10T12:00:00Z` when absent.
    pub now: Option<String>,
    /// Its status.
    pub status: u16,
    /// Its headers; several lines of one name as a list.
    pub headers: BTreeMap<String, Lines>,
    /// Its body, complete.
    pub body: Option<String>,

    /// What it means.
    pub verdict: String,
    /// What it covers: `request`, `route`, `account` or `provider`.
    pub scope: Option<String>,
    /// How long to wait, in seconds; `-1` for not at all.
    pub wait: Option<f64>,
    /// Who said so: `retry-after`, `ratelimit-reset`, `body` or `policy-default`.
    pub source: Option<String>,
    /// Whether asking again after the wait can help.
    pub again: Option<bool>,
    /// What is left, as some quota tells.
    pub remaining: Option<u64>,
}

/// The lines of one header.
#[derive(Clone, Debug, PartialEq, Eq, Deserialize, JsonSchema)]
#[serde(untagged)]
pub enum Lines {
    /// One.
    One(String),
    /// Several.
    Several(Vec<String>),
}
