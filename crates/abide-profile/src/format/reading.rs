use schemars::JsonSchema;
use serde::Deserialize;

use super::source::Source;

/// A quota that answers tell of in words of their own. The common names (`RateLimit`,
/// `X-RateLimit-*` and their kin) are known without one.
///
/// A quota that is used up closes its gate until its reset, on refusals, successes and what was
/// not found alike; not where a credential or the request itself was at fault, since waiting heals
/// neither.
#[derive(Clone, Debug, Default, PartialEq, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields, default)]
pub struct Reading {
    /// The gate it speaks of, by name; `account` when absent.
    pub gate: Option<String>,
    /// How many units one window holds.
    pub limit: Option<Source>,
    /// How many are left.
    pub remaining: Option<Source>,
    /// How many are spent; with `limit`, as good as `remaining`.
    pub used: Option<Source>,
    /// When there are more of them.
    pub reset: Option<Source>,
    /// How long a window is.
    pub window: Option<Source>,
    /// When there are more of them, where no answer says: as `until` of a rule.
    pub until: Option<String>,
    /// What this request really cost.
    pub cost: Option<Source>,
    /// The name of the bucket.
    pub bucket: Option<Source>,
}

impl Reading {
    /// Every place it looks at, by key.
    pub fn sources(&self) -> impl Iterator<Item = (&'static str, &Source)> {
        [
            ("limit", &self.limit),
            ("remaining", &self.remaining),
            ("used", &self.used),
            ("reset", &self.reset),
            ("window", &self.window),
            ("cost", &self.cost),
            ("bucket", &self.bucket),
        ]
        .into_iter()
        .filter_map(|(key, source)| Some((key, source.as_ref()?)))
    }
}
