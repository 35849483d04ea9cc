use schemars::JsonSchema;
use serde::Deserialize;

/// What a provider wants to know about who asks.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Deserialize, JsonSchema)]
#[serde(rename_all = "kebab-case")]
pub enum Contact {
    /// Nothing.
    #[default]
    None,
    /// A mail address or page in the User-Agent earns better service.
    Wanted,
    /// Without it requests are refused.
    Required,
}

/// What carries the credential.
#[derive(Clone, Debug, Default, PartialEq, Eq, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields, default)]
pub struct Credential {
    /// Request headers, beside `Authorization` and whatever is named like a key or token.
    pub headers: Vec<String>,
    /// Query parameters, beside the usual names.
    pub query: Vec<String>,
    /// The number of the path's segment, counted from 1 (as in `/bot<token>/sendMessage`).
    pub segment: Option<usize>,
}
