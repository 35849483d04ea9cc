//! The profile format: what a file says, before anything is made of it.
//!
//! Data only: a closed set of parsers and operators, every unit declared, unknown keys are
//! errors. `docs/profiles.md` and the JSON Schema are generated from these types, so what a
//! field's comment says is what its users read.

mod agent;
mod gate;
mod policy;
mod reading;
mod rule;
mod source;
mod test;

use schemars::JsonSchema;
use serde::Deserialize;

pub use self::agent::{Contact, Credential};
pub use self::gate::{Cost, Gate, GateScope, Limit, Part, Tenant, WindowKind};
pub use self::policy::{Allowance, Idempotency, Policy, Role};
pub use self::reading::Reading;
pub use self::rule::{Body, Inspect, Match, Media, Rule, Scalar, Status};
pub use self::source::{Amount, Source, Unit};
pub use self::test::{Lines, Test};

/// One provider: how it is recognised, what it limits, and how it says so.
#[derive(Clone, Debug, Default, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields, default)]
pub struct Profile {
    /// The provider's name: lower case, digits and dashes. It appears in output, logs, metrics
    /// and in the gateway's paths.
    pub name: String,
    /// Its name for people.
    pub title: String,
    /// A profile whose rules, readings, gates and policy apply after this one's own. Hosts and
    /// tests are not taken over. `generic` when absent; `none` for nothing at all.
    pub extends: Option<String>,
    /// The hosts that are this provider: `api.example.org`, `*.example.org` (all below it, not
    /// itself), with `:port` for one port only.
    pub hosts: Vec<String>,
    /// Only paths that begin so are this provider; any when empty. For hosts that several
    /// providers share: of several profiles the longest prefix wins.
    pub paths: Vec<String>,
    /// Each host has limits of its own, instead of all sharing one.
    pub each_host: bool,
    /// Where the vendor describes its limits.
    pub docs: Vec<String>,
    /// How far the numbers here can be trusted.
    pub evidence: Evidence,
    /// The day they were last looked at: `2026-11-01`.
    pub checked: String,
    /// What a person should know; shown by `abide providers NAME` and `abide explain`.
    pub note: String,
    /// What a success of this provider looks like.
    pub expects: Expects,
    /// What it wants to know about who asks.
    pub contact: Contact,
    /// What carries the credential, beside the usual headers and parameters.
    pub credential: Credential,
    /// What stands for the tenant in gates that count by one.
    pub tenant: Option<Tenant>,
    /// Requests that change nothing though their method says they might.
    pub reads: Vec<Reads>,
    /// How it and its gates are treated.
    pub policy: Policy,
    /// What it counts. The gates `provider`, `account` and `route` exist unless redefined.
    #[serde(rename = "gate")]
    pub gates: Vec<Gate>,
    /// Quotas that its answers tell of in words of its own.
    #[serde(rename = "reading")]
    pub readings: Vec<Reading>,
    /// Where an answer that turns a request away tells how long to wait, whatever rule decided:
    /// the first that is found counts. Believed after the headers and the rule's own.
    #[serde(rename = "ask")]
    pub asks: Vec<Amount>,
    /// What its answers mean; the first rule that matches decides.
    #[serde(rename = "rule")]
    pub rules: Vec<Rule>,
    /// Answers with what they must be found to mean.
    #[serde(rename = "test")]
    pub tests: Vec<Test>,
}

/// How far a profile's numbers can be trusted.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Deserialize, JsonSchema)]
#[serde(rename_all = "kebab-case")]
pub enum Evidence {
    /// The vendor says so, and it was read.
    Documented,
    /// Seen in answers or in the code of its clients.
    Observed,
    /// Neither: chosen to be careful.
    #[default]
    Guessed,
}

/// What a success looks like.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Deserialize, JsonSchema)]
#[serde(rename_all = "kebab-case")]
pub enum Expects {
    /// Anything; what the caller accepts decides.
    #[default]
    Any,
    /// JSON: a page in its place is a failure.
    Json,
}

/// Requests that only read.
#[derive(Clone, Debug, Default, PartialEq, Eq, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields, default)]
pub struct Reads {
    /// Methods; `POST` when empty.
    pub methods: Vec<String>,
    /// Path templates: `*` stands for one segment, `**` at the end for the rest.
    pub paths: Vec<String>,
    /// Only if the body is a GraphQL request whose operation is a query.
    pub graphql: bool,
}
