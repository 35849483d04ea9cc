use schemars::JsonSchema;
use serde::Deserialize;

/// A place in an answer where a value is told: exactly one of `header`, `trailer`, `json`,
/// `text` and `value`.
#[derive(Clone, Debug, Default, PartialEq, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields, default)]
pub struct Source {
    /// A header, in any case.
    pub header: Option<String>,
    /// A trailer. Kept for the gateway; nothing uses it yet, since nothing reads trailers.
    pub trailer: Option<String>,
    /// A JSONPath (RFC 9535) into the body: the first node that fits counts.
    pub json: Option<String>,
    /// A regular expression over the text of the body (or, with `header` or `json`, over what is
    /// told there); what its first group captured counts.
    pub text: Option<String>,
    /// A number that is always the same.
    pub value: Option<f64>,
    /// The item of a comma-separated list, counted from 1.
    pub item: Option<usize>,
    /// The member of a `key=value` list (separated by `;` or `,`) or of a JSON object in a
    /// header.
    pub key: Option<String>,
    /// How to read it. What it stands for decides when absent: seconds for times, plain numbers
    /// for counts.
    pub unit: Option<Unit>,
}

/// How a value is read.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Deserialize, JsonSchema)]
#[serde(rename_all = "kebab-case")]
pub enum Unit {
    /// Seconds, decimals allowed.
    Seconds,
    /// Milliseconds.
    Millis,
    /// Microseconds.
    Micros,
    /// Nanoseconds.
    Nanos,
    /// Minutes.
    Minutes,
    /// Hours.
    Hours,
    /// Seconds, milli-, micro- or nanoseconds since 1970, told apart by their size.
    Epoch,
    /// An HTTP-date.
    HttpDate,
    /// RFC 3339, seconds and offset optional.
    Rfc3339,
    /// A duration as Go writes it: `6m0s`, `1.5s`, `76ms`. A protobuf duration (`3.447s`) is one.
    Duration,
    /// Units a second: the wait is one unit's time.
    PerSecond,
    /// Whatever of these it can be told to be: a date, a duration, an epoch, else seconds.
    Any,
    /// A plain number.
    Number,
}

/// A number in an answer, or one made of numbers in it.
#[derive(Clone, Debug, PartialEq, Deserialize, JsonSchema)]
#[serde(untagged)]
#[expect(
    clippy::large_enum_variant,
    reason = "there are a few in a profile, and a box would show in what is told"
)]
pub enum Amount {
    /// What is missing, at the rate at which it comes back: (`requested` − `available`) ÷ `rate`
    /// seconds.
    Missing {
        /// What was asked for.
        requested: Source,
        /// What there is.
        available: Source,
        /// How much comes back a second.
        rate: Source,
    },
    /// A value as told.
    Told(Source),
}
