use schemars::JsonSchema;
use serde::Deserialize;

/// One thing a provider counts: a gate.
#[derive(Clone, Debug, Default, PartialEq, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields, default)]
pub struct Gate {
    /// Its name, for rules and readings to refer to. `provider`, `account` and `route` replace
    /// the gates of these names that every provider has.
    pub name: String,
    /// How wide it is, for callers and where a narrower gate is missing: `route`, `account` or
    /// `provider`. For the three names that every provider has it is that.
    pub scope: Option<GateScope>,
    /// What it counts by, in addition to the provider: one gate for each combination of values.
    /// `account` counts by the credential and `route` by the route when nothing is said.
    pub by: Vec<Part>,
    /// Only requests to these paths pass it: `*` stands for one segment, `**` at the end for the
    /// rest. All when empty.
    pub paths: Vec<String>,
    /// Only requests with these methods pass it. All when empty.
    pub methods: Vec<String>,
    /// What is allowed. All must have room.
    pub limits: Vec<Limit>,
    /// The most requests on the wire at once.
    pub concurrency: Option<u32>,
    /// Requests to these paths do not pass it after all.
    pub except: Vec<String>,
    /// What one request costs here, in the units of the limits. 1 when absent. Where an answer
    /// tells the real cost, the difference is settled then.
    pub cost: Option<u32>,
    /// What some requests cost instead: the first that fits counts. 0 for nothing.
    pub costs: Vec<Cost>,
}

impl Gate {
    /// The most that one request costs here.
    pub fn dearest(&self) -> u32 {
        let own = self.cost.unwrap_or(1).max(1);
        self.costs.iter().map(|c| c.cost).fold(own, u32::max)
    }
}

/// What some requests cost.
#[derive(Clone, Debug, Default, PartialEq, Eq, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields, default)]
pub struct Cost {
    /// Methods; all when empty.
    pub methods: Vec<String>,
    /// Path templates; all when empty.
    pub paths: Vec<String>,
    /// In the units of the gate's limits.
    pub cost: u32,
}

/// How wide a gate is.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Deserialize, JsonSchema)]
#[serde(rename_all = "kebab-case")]
pub enum GateScope {
    /// An endpoint, bucket or model.
    Route,
    /// A credential, app or tenant.
    Account,
    /// Everything sent to this provider from here.
    Provider,
}

/// A part of what a gate counts by.
#[derive(Clone, Debug, PartialEq, Eq, Deserialize, JsonSchema)]
#[serde(rename_all = "kebab-case")]
pub enum Part {
    /// Our address, as the provider sees it: the same for all requests of one process.
    Address,
    /// Our application: the same for all its credentials.
    App,
    /// The credential.
    Credential,
    /// The tenant, as the profile's `tenant` finds it.
    Tenant,
    /// The host.
    Host,
    /// The path with numbers and ids left out: `/users/*/posts`.
    Route,
    /// The method.
    Method,
    /// The bucket that the server will name in its answer; until then one request goes out at a
    /// time.
    Bucket,
    /// The path's segment of this number, counted from 1.
    Segment(usize),
    /// A request header.
    Header(String),
    /// A query parameter.
    Query(String),
}

/// What stands for the tenant.
#[derive(Clone, Debug, PartialEq, Eq, Deserialize, JsonSchema)]
#[serde(rename_all = "kebab-case")]
pub enum Tenant {
    /// A request header.
    Header(String),
    /// The path's segment of this number, counted from 1.
    Segment(usize),
    /// The first label of the host.
    HostLabel,
}

/// So much in so much time.
#[derive(Clone, Debug, Default, PartialEq, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields, default)]
pub struct Limit {
    /// How many units.
    pub count: u32,
    /// In how long: `1s`, `5m`, `24h`.
    pub per: String,
    /// How the provider counts. Where nobody knows, `bucket` with a burst of 1 is the careful
    /// choice.
    pub window: WindowKind,
    /// How many of them may come at once, for a bucket. 1 when absent.
    pub burst: Option<u32>,
    /// Where a fixed window of a day (`24h`, `1d`) begins: at midnight in a time zone (`UTC`,
    /// `America/Los_Angeles`). UTC when absent. Its days are of 24 hours each from the midnight
    /// after the start on: once clocks change, they end an hour off until the next start.
    pub zone: Option<String>,
    /// Only with a credential (`true`), or only without one (`false`).
    pub credential: Option<bool>,
    /// The plan this belongs to. Only limits without a plan apply unless the configuration names
    /// one.
    pub plan: Option<String>,
    /// Where the number comes from, when it is not the profile's own evidence.
    pub note: String,
}

/// How a provider counts.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Deserialize, JsonSchema)]
#[serde(rename_all = "kebab-case")]
pub enum WindowKind {
    /// A bucket that fills at a steady rate.
    #[default]
    Bucket,
    /// At most so many in any stretch of time.
    Sliding,
    /// So many until a boundary; the boundaries lie on whole multiples of the time.
    Fixed,
}
