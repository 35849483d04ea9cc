//! What a knob is.

use crate::kind::Kind;
use crate::table_gateway::PREFIX;

/// One thing that may be set.
#[derive(Clone, Copy, Debug, PartialEq)]
#[non_exhaustive]
pub struct Knob {
    /// Its name in the file, with dots: `wait.max`.
    pub key: &'static str,
    /// What it takes.
    pub kind: Kind,
    /// Its default, as it is written in an environment variable.
    pub default: &'static str,
    /// Its default in a bulk run, where that differs.
    pub fetch_default: Option<&'static str>,
    /// Only bulk runs have it: it stands in `[fetch]` alone.
    pub fetch_only: bool,
    /// It is of all providers together, so no provider's section has it.
    pub shared: bool,
    /// What it does, and why its default is what it is.
    pub why: &'static str,
}

impl Knob {
    /// Whether what it is set to is nobody's business who looks over a shoulder.
    pub(crate) fn is_secret(&self) -> bool {
        ["gateway.admin_token", "gateway.client_token"].contains(&self.key)
    }

    /// It is of the gateway: it stands in `[gateway]` alone.
    pub fn is_gateways(&self) -> bool {
        self.key.starts_with(PREFIX)
    }

    /// Its name in its section.
    pub fn shown(&self) -> &'static str {
        self.key.strip_prefix(PREFIX).unwrap_or(self.key)
    }

    /// The environment variable that sets it: `ABIDE_WAIT_MAX`.
    pub fn env(&self) -> String {
        env_name(self.key)
    }
}

pub(crate) fn env_name(key: &str) -> String {
    format!("ABIDE_{}", key.replace('.', "_").to_uppercase())
}
