use std::collections::BTreeMap;

use schemars::JsonSchema;
use serde::Deserialize;

use super::source::{Amount, Source};

/// What an answer means. All conditions must hold; the first rule that matches decides, and what
/// it leaves open falls back to the status and the headers.
#[derive(Clone, Debug, Default, PartialEq, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields, default)]
pub struct Rule {
    /// One line why; shown by `abide explain`.
    pub why: String,

    /// Tried before the rules of a profile that stands on this one, instead of after them.
    pub first: bool,
    /// Statuses: `429`, `"5xx"`, `"500-504"`.
    pub status: Vec<Status>,
    /// Methods of the request.
    pub methods: Vec<String>,
    /// Paths of the request: `*` stands for one segment, `**` at the end for the rest.
    pub paths: Vec<String>,
    /// The kind of body it announces.
    pub media: Option<Media>,
    /// Only where JSON is expected: the profile says so, or the caller accepts nothing else.
    pub json_expected: bool,
    /// Headers, by name in any case.
    pub header: BTreeMap<String, Match>,
    /// JSONPaths (RFC 9535) into the body: some node fits. A body that is no JSON has none.
    pub json: BTreeMap<String, Match>,
    /// A regular expression over the text of the body, of which at most the sample is looked at.
    pub text: Option<String>,
    /// The state of the body.
    pub body: Option<Body>,
    /// The first of two numbers is at least the second.
    pub at_least: Option<(Source, Source)>,
    /// The first of two numbers is more than the second.
    pub more_than: Option<(Source, Source)>,

    /// What it means.
    pub verdict: Option<String>,
    /// What it tells about the provider's health, where the verdict's own is wrong: `success`,
    /// `neutral` or `failure`.
    pub health: Option<String>,
    /// The gate it covers, by name; `request` for this request alone.
    pub gate: Option<String>,
    /// Where the wait is told, beside the headers: the first that is found counts.
    pub ask: Vec<Amount>,
    /// What the headers and the body say about waiting is not meant.
    pub ignore_ask: bool,
    /// What the answer tells of quotas does not speak of what was refused.
    pub ignore_readings: bool,
    /// How long to wait where nobody says: a duration.
    pub wait: Option<String>,
    /// Until when to wait where nobody says: `minute`, `quarter-hour`, `hour`, `midnight ZONE`,
    /// `month ZONE` (ZONE as `UTC` or `America/Los_Angeles`).
    pub until: Option<String>,
    /// Whether asking again can help: `false` is final; `true` says that nothing was done, so that
    /// even a write may go again where `retry.write` allows it for refused ones.
    pub again: Option<bool>,
    /// When the rules about bodies have their say.
    pub inspect: Inspect,
}

/// A status, or a range of them.
#[derive(Clone, Debug, PartialEq, Eq, Deserialize, JsonSchema)]
#[serde(untagged)]
pub enum Status {
    /// One.
    One(u16),
    /// A class (`"5xx"`) or a range (`"500-504"`).
    Range(String),
}

/// What a value must be.
#[derive(Clone, Debug, PartialEq, Deserialize, JsonSchema)]
#[serde(untagged)]
pub enum Match {
    /// There (`true`), or not there (`false`).
    Present(bool),
    /// This number, also where a body tells it as text.
    Number(f64),
    /// This text, in this case (in headers: in any case).
    Equals(String),
    /// One of these.
    OneOf(Vec<Scalar>),
    /// In a body: this truth value.
    Is {
        /// It.
        is: bool,
    },
    /// In a body: nothing (`true`), or anything else (`false`).
    Null {
        /// Which.
        null: bool,
    },
    /// A regular expression; anchor it (`^…$`) wherever the text is not the server's alone.
    Matches {
        /// The expression.
        matches: String,
    },
}

/// A value to compare with.
#[derive(Clone, Debug, PartialEq, Deserialize, JsonSchema)]
#[serde(untagged)]
pub enum Scalar {
    /// A number.
    Number(f64),
    /// Text.
    Text(String),
}

/// The kind of a body, as announced.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Deserialize, JsonSchema)]
#[serde(rename_all = "kebab-case")]
pub enum Media {
    /// JSON, or a type built upon it.
    Json,
    /// A page.
    Html,
    /// Anything else, or nothing said.
    Other,
}

/// The state of a body.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Deserialize, JsonSchema)]
#[serde(rename_all = "kebab-case")]
pub enum Body {
    /// There is none.
    Empty,
    /// It ended before its JSON did.
    Cut,
}

/// When the rules about bodies have their say.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Deserialize, JsonSchema)]
#[serde(rename_all = "kebab-case")]
pub enum Inspect {
    /// Before the caller sees the answer: it is kept back until the rules decide, so that it can
    /// be asked for again.
    #[default]
    Before,
    /// While the caller reads it: the finding closes gates, the answer stands.
    Beside,
}
