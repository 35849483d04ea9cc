use schemars::JsonSchema;
use serde::Deserialize;

/// How a provider is treated, where the defaults do not fit it. Durations as `"30s"`.
#[derive(Clone, Debug, Default, PartialEq, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields, default)]
pub struct Policy {
    /// The shortest hold after a refusal (`hold.floor`).
    pub floor: Option<String>,
    /// The waits after refusals that do not say how long (`ladder.steps`).
    pub ladder: Vec<String>,
    /// The longest hold believed (`hold.max`).
    pub hold_max: Option<String>,
    /// Which outages hold though nobody said until when (`hold.on`): statuses.
    pub hold_on: Vec<u16>,
    /// Which answers are tried again, in place of the default list (`retry.on`).
    pub retry_on: Vec<String>,
    /// What a zero means (`hint.zero`): a duration, `immediate` or `ignore`.
    pub hint_zero: Option<String>,
    /// How a write is made repeatable. Kept for the gateway; nothing uses it yet.
    pub idempotency: Option<Idempotency>,
    /// The client's own library handles these statuses: the gateway passes them on and only
    /// settles its gates. Kept for the gateway; nothing uses it yet.
    pub handled_below: Vec<u16>,
    /// A bound on answers that lead to a ban.
    pub allowance: Option<Allowance>,
    /// Whether it is somewhere else, or on this machine.
    pub role: Role,
    /// A route that costs little, to ask how it is. Kept for the gateway; nothing uses it yet.
    pub probe: Option<String>,
    /// Redirects there are bans: `host/path`.
    pub ban_redirects: Vec<String>,
}

/// How a write is made repeatable.
#[derive(Clone, Debug, Default, PartialEq, Eq, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields, default)]
pub struct Idempotency {
    /// The header.
    pub header: String,
    /// Its value is a quoted string, as the draft standard has it.
    pub quoted: bool,
    /// How long the provider remembers a key.
    pub lifetime: Option<String>,
}

/// A bound on answers that lead to a ban.
#[derive(Clone, Debug, Default, PartialEq, Eq, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields, default)]
pub struct Allowance {
    /// The answers counted.
    pub statuses: Vec<u16>,
    /// How many.
    pub count: u32,
    /// In how long.
    pub per: String,
}

/// Where a provider is.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Deserialize, JsonSchema)]
#[serde(rename_all = "kebab-case")]
pub enum Role {
    /// Somewhere else.
    #[default]
    Network,
    /// On this machine: never cut off by an outage of the network.
    Local,
}
