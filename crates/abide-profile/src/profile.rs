//! One provider as abide knows it, ready to be asked.

use std::sync::Arc;

use abide_core::classify::{ClassifyPolicy, HintZero, HoldOn, RetryOn};
use abide_core::ladder::Ladder;
use abide_core::policy::{GatePolicy, ProviderPolicy};
use abide_core::{AllowancePolicy, Moment, Verdict};
use http::{Method, StatusCode};

use crate::checks;
use crate::extend::Origin;
use crate::format;
use crate::gates::{Choice, Gates};
use crate::graphql;
use crate::host::Host;
use crate::pattern::{Pattern, methods, patterns};
use crate::problem::{Place, Problem, one_of};
use crate::rules::Rules;
use crate::units::duration;

/// One provider as abide knows it.
#[derive(Debug)]
pub struct Profile {
    told: format::Profile,
    hosts: Vec<Host>,
    gates: Gates,
    rules: Arc<Rules>,
    reads: Vec<Reads>,
}

#[derive(Debug)]
struct Reads {
    methods: Vec<Method>,
    paths: Vec<Pattern>,
    graphql: bool,
}

impl Profile {
    /// Makes a profile of what a file says, its parents merged in; `origins` tells whose each
    /// rule is. Whatever is wrong is listed, and left out.
    pub(crate) fn new(told: format::Profile, origins: &[Origin]) -> (Self, Vec<Problem>) {
        let mut problems = Vec::new();
        let top = Place::default();
        let mut hosts = Vec::new();
        for (i, text) in told.hosts.iter().enumerate() {
            match Host::parse(text) {
                Some(host) => hosts.push(host),
                None => problems.push(Problem::new(
                    top.key("hosts").item(i),
                    format!(
                        "{text:?} is no host (as api.example.org, *.example.org, localhost:8080)"
                    ),
                )),
            }
        }
        for (i, prefix) in told.paths.iter().enumerate() {
            if !prefix.starts_with('/') {
                let what = format!("{prefix:?} does not begin with /");
                problems.push(Problem::new(top.key("paths").item(i), what));
            }
        }
        let mut reads = Vec::new();
        for (i, r) in told.reads.iter().enumerate() {
            let place = top.key("reads").item(i);
            reads.push(Reads {
                methods: methods(&r.methods, &place.key("methods"), &mut problems),
                paths: patterns(&r.paths, &place.key("paths"), &mut problems),
                graphql: r.graphql,
            });
        }
        let gates = Gates::new(&told, origins, &mut problems);
        // All names but that of the request itself.
        checks::run(&told, gates.names().len() - 1, &mut problems);
        let rules = Rules::new(&told, origins, &gates, &mut problems);
        let profile = Self {
            hosts,
            gates,
            rules: Arc::new(rules),
            reads,
            told,
        };
        // Both are made again when they are used; here only what is wrong with them counts.
        profile.treat(&mut ProviderPolicy::default(), &mut problems);
        profile.judge(&mut ClassifyPolicy::default(), &mut problems);
        (profile, problems)
    }

    /// Its name.
    pub fn name(&self) -> &str {
        &self.told.name
    }

    /// What its file says, its parents merged in.
    pub const fn told(&self) -> &format::Profile {
        &self.told
    }

    /// How closely a host, port and path fit; `None` when they are not this provider's.
    pub(crate) fn fit(
        &self,
        host: &str,
        port: u16,
        path: &str,
    ) -> Option<(bool, bool, usize, usize)> {
        let hosts = self.hosts.iter().filter(|h| h.matches(host, port));
        let (exact, with_port, len) = hosts.map(Host::closeness).max()?;
        let paths = &self.told.paths;
        let prefix = if paths.is_empty() {
            0
        } else {
            let fitting = paths.iter().filter(|p| path.starts_with(p.as_str()));
            fitting.map(String::len).max()?
        };
        Some((exact, with_port, len, prefix))
    }

    /// The name under which requests to a host are counted.
    pub fn provider(&self, host: &str) -> String {
        let host = host.strip_suffix('.').unwrap_or(host);
        let first = self.hosts.first().is_none_or(|h| h.is_named(host));
        if self.told.each_host && !first {
            return format!("{}@{}", self.told.name, host.to_ascii_lowercase());
        }
        self.told.name.clone()
    }

    /// Whether several hosts answer for it that are counted together, so that one of them may fail
    /// while the others are well.
    pub fn has_several_hosts(&self) -> bool {
        !self.told.each_host
            && match self.hosts.as_slice() {
                [only] => only.is_below(),
                all => all.len() > 1,
            }
    }

    /// Its gates.
    pub const fn gates(&self) -> &Gates {
        &self.gates
    }

    /// Its rules.
    pub const fn rules(&self) -> &Arc<Rules> {
        &self.rules
    }

    /// Whether nothing but JSON is a success here.
    pub fn expects_json(&self) -> bool {
        self.told.expects == format::Expects::Json
    }

    /// Whether a request that its method takes for a write only reads.
    pub fn only_reads(&self, method: &Method, path: &str, body: Option<&[u8]>) -> bool {
        self.reads.iter().any(|r| {
            let method_fits = match r.methods.as_slice() {
                [] => *method == Method::POST,
                some => some.contains(method),
            };
            method_fits
                && (r.paths.is_empty() || r.paths.iter().any(|p| p.matches(path)))
                && (!r.graphql || body.is_some_and(graphql::is_query))
        })
    }

    /// Completes policies with what the profile knows.
    pub fn apply(
        &self,
        policy: &mut ProviderPolicy,
        classify: &mut ClassifyPolicy,
        choice: &Choice,
        at: Moment,
    ) {
        self.treat(policy, &mut Vec::new());
        self.judge(classify, &mut Vec::new());
        self.gates.policy(policy, choice, at);
    }

    fn treat(&self, policy: &mut ProviderPolicy, problems: &mut Vec<Problem>) {
        let told = &self.told.policy;
        policy.local |= told.role == format::Role::Local;
        let place = Place::default().key("policy");
        let mut read = |key: &str, text: &str| match duration(text) {
            Ok(d) => Some(d),
            Err(why) => {
                problems.push(Problem::new(place.key(key), why));
                None
            }
        };
        let floor = told.floor.as_deref().and_then(|t| read("floor", t));
        let hold_max = told.hold_max.as_deref().and_then(|t| read("hold_max", t));
        let steps = told.ladder.iter().filter_map(|t| read("ladder", t));
        let steps: Vec<_> = steps.collect();
        if let Some(i) = &told.idempotency
            && let Some(t) = &i.lifetime
        {
            let _ = read("idempotency", t);
        }
        if let Some(a) = &told.allowance
            && let Some(per) = read("allowance", &a.per)
        {
            policy.allowance = Some(AllowancePolicy {
                count: a.count.max(1),
                per,
            });
        }
        let gates: [&mut GatePolicy; 3] =
            [&mut policy.provider, &mut policy.account, &mut policy.route];
        for gate in gates {
            if let Some(floor) = floor {
                gate.floor = floor;
            }
            if let Some(max) = hold_max {
                gate.hold_max = max;
            }
            if !steps.is_empty() {
                gate.ladder = Ladder::Steps(steps.clone());
            }
        }
    }

    fn judge(&self, classify: &mut ClassifyPolicy, problems: &mut Vec<Problem>) {
        let told = &self.told.policy;
        let place = Place::default().key("policy");
        if !told.hold_on.is_empty() {
            let mut statuses = Vec::new();
            for (i, told) in told.hold_on.iter().enumerate() {
                match StatusCode::from_u16(*told) {
                    Ok(status) if (400..600).contains(told) && *told != 500 => {
                        statuses.push(status);
                    }
                    _ => {
                        let what = format!(
                            "{told} is no status from 400 to 599 other than 500, which never holds"
                        );
                        problems.push(Problem::new(place.key("hold_on").item(i), what));
                    }
                }
            }
            classify.hold_on = HoldOn::statuses(statuses);
        }
        if let Some(a) = &told.allowance {
            let counted = a.statuses.iter();
            classify.counted = counted
                .filter_map(|s| StatusCode::from_u16(*s).ok())
                .collect();
        }
        if !told.retry_on.is_empty() {
            let mut on = RetryOn::default();
            (on.statuses, on.verdicts, on.asked) = (Vec::new(), Vec::new(), false);
            for word in &told.retry_on {
                let status = word.parse().ok().and_then(|s| StatusCode::from_u16(s).ok());
                match (status, word.as_str()) {
                    (Some(status), _) => on.statuses.push(status),
                    (None, "asked") => on.asked = true,
                    (None, "rate_limited") => on.verdicts.push(Verdict::RateLimited),
                    (None, "unavailable") => on.verdicts.push(Verdict::Unavailable),
                    (None, word) => {
                        let known = ["asked", "rate_limited", "unavailable", "429", "503"];
                        problems.push(Problem::new(place.key("retry_on"), one_of(word, &known)));
                    }
                }
            }
            classify.retry_on = on;
        }
        match told.hint_zero.as_deref() {
            None => {}
            Some("immediate") => classify.hint_zero = HintZero::Immediate,
            Some("ignore") => classify.hint_zero = HintZero::Ignore,
            Some(text) => match duration(text) {
                Ok(floor) => classify.hint_zero = HintZero::Floor(floor),
                Err(why) => problems.push(Problem::new(place.key("hint_zero"), why)),
            },
        }
        classify
            .ban_redirects
            .extend(told.ban_redirects.iter().cloned());
    }
}
