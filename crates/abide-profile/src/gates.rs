//! The gates that a profile names: which of them a request passes, what they are keyed by, and
//! what is allowed there.
//!
//! Every provider has a gate of its own and one for each credential. A route gate exists only
//! where the profile speaks of routes: an unknown route must be read as the widest.

use std::time::Duration;

use abide_core::pace::{Fixed, Gcra, Sliding, Window};
use abide_core::policy::{GatePolicy, ProviderPolicy};
use abide_core::{GateClass, Moment, Scope};
use http::{HeaderMap, HeaderName, Method};

use crate::extend::Origin;
use crate::format::{Gate, GateScope, Limit, Part, Profile, Tenant, WindowKind};
use crate::problem::{Place, Problem};
use crate::rules::{Boundary, Cover, Pattern, methods, patterns, zone};
use crate::units::duration;

/// The most gates one request passes; more are refused when a profile is checked.
const MOST: usize = abide_core::gate::MAX_GATES;

/// The gates of one profile.
#[derive(Debug)]
pub struct Gates {
    own: Vec<Own>,
    tenant: Option<Tenant>,
}

#[derive(Debug)]
struct Own {
    name: String,
    scope: Scope,
    /// The class of requests with a credential, and of those without.
    classes: [GateClass; 2],
    by: Vec<By>,
    paths: Vec<Pattern>,
    methods: Vec<Method>,
    limits: Vec<Allowed>,
    concurrency: Option<u32>,
    except: Vec<Pattern>,
    cost: u32,
    costs: Vec<Priced>,
}

#[derive(Debug)]
struct Priced {
    methods: Vec<Method>,
    paths: Vec<Pattern>,
    cost: u32,
}

#[derive(Debug)]
enum By {
    Nothing,
    Credential,
    Tenant,
    Host,
    Route,
    Method,
    Bucket,
    Segment(usize),
    Header(HeaderName),
    Query(String),
}

/// One limit, as windows are made of it.
#[derive(Debug)]
struct Allowed {
    count: u32,
    per: Duration,
    kind: WindowKind,
    burst: u32,
    day: Option<Boundary>,
    credential: Option<bool>,
    plan: Option<String>,
}

/// What a request shows of itself.
#[derive(Clone, Copy, Debug)]
pub struct Asking<'a> {
    /// Its method.
    pub method: &'a Method,
    /// The host it goes to.
    pub host: &'a str,
    /// Its path, without the query.
    pub path: &'a str,
    /// Its query, if any.
    pub query: Option<&'a str>,
    /// Its headers.
    pub headers: &'a HeaderMap,
    /// Its credential, hashed; `None` without one.
    pub credential: Option<&'a [u8]>,
}

/// A gate that a request passes.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Passed {
    /// How wide it is.
    pub scope: Scope,
    /// Which of the provider's own gates it is.
    pub class: GateClass,
    /// The server will name the bucket it belongs to.
    pub provisional: bool,
    /// What it is keyed by, beside provider and scope.
    pub key: Vec<u8>,
    /// What the request costs there, in units of the gate's limits.
    pub cost: u32,
}

/// What the configuration chooses of a profile's limits.
#[derive(Clone, Debug, Default)]
pub struct Choice {
    /// The plan whose limits apply, beside those of no plan.
    pub plan: Option<String>,
}

impl Gates {
    pub(crate) fn new(profile: &Profile, origins: &[Origin], problems: &mut Vec<Problem>) -> Self {
        let place = Place::default().key("gate");
        let mut own: Vec<Own> = Vec::new();
        let mut next = 0;
        for (i, gate) in profile.gates.iter().enumerate() {
            let place = place.item(i);
            if own.iter().any(|o| o.name == gate.name) {
                problems.push(Problem::new(place.key("name"), "is there twice"));
            }
            own.push(Own::new(gate, &mut next, &place, problems));
        }
        let mut gates = Self {
            own,
            tenant: profile.tenant.clone(),
        };
        gates.add_plain(profile, origins);
        if gates.own.len() > MOST && gates.widest() > MOST {
            let what = format!("a request passes at most {MOST} gates");
            problems.push(Problem::new(place, what));
        }
        gates
    }

    /// Adds the gates that every provider has.
    fn add_plain(&mut self, profile: &Profile, origins: &[Origin]) {
        let speaks_of_routes = profile
            .rules
            .iter()
            .zip(origins)
            // What holds for any provider does not make routes known.
            .filter(|(_, o)| !o.is_generic())
            .filter_map(|(r, _)| r.gate.as_deref())
            .chain(profile.readings.iter().filter_map(|r| r.gate.as_deref()))
            .any(|g| g == "route");
        let plain = [
            ("provider", true),
            ("account", true),
            ("route", speaks_of_routes),
        ];
        for (at, (name, there)) in plain.into_iter().enumerate() {
            let known = self.own.iter().position(|o| o.name == name);
            let gate = match known {
                Some(at) => self.own.remove(at),
                None if there => Own::plain(name),
                None => continue,
            };
            self.own.insert(at.min(self.own.len()), gate);
        }
    }

    /// How many gates a request passes at the most, as far as that shows without one.
    fn widest(&self) -> usize {
        self.own.iter().filter(|o| o.paths.is_empty()).count()
    }

    pub(crate) fn names(&self) -> Vec<&str> {
        let mut names: Vec<&str> = self.own.iter().map(|o| o.name.as_str()).collect();
        names.push("request");
        names
    }

    /// The gate of a name, as findings refer to it.
    pub(crate) fn cover(&self, name: &str) -> Option<Cover> {
        if name == "request" {
            return Some((Scope::Request, GateClass::PLAIN));
        }
        match self.own.iter().find(|o| o.name == name) {
            Some(own) => Some((own.scope, own.classes[0])),
            // Where routes are not told apart, the next wider gate stands in.
            None => (name == "route").then_some((Scope::Route, GateClass::PLAIN)),
        }
    }

    /// The name of the gate that a finding speaks of; `None` where the profile has none of its own.
    pub fn name(&self, scope: Scope, class: GateClass) -> Option<&str> {
        let fits = |o: &&Own| o.scope == scope && o.classes.contains(&class);
        self.own.iter().find(fits).map(|o| o.name.as_str())
    }

    /// The gates a request passes, widest first.
    pub fn passed(&self, asking: &Asking<'_>) -> Vec<Passed> {
        let fits = |o: &&Own| {
            (o.methods.is_empty() || o.methods.contains(asking.method))
                && (o.paths.is_empty() || any(&o.paths, asking.path))
                && !any(&o.except, asking.path)
                && o.cost(asking) > 0
        };
        self.own
            .iter()
            .filter(fits)
            .take(MOST)
            .map(|o| self.pass(o, asking))
            .collect()
    }

    fn pass(&self, own: &Own, asking: &Asking<'_>) -> Passed {
        let mut key = Vec::new();
        let mut put = |part: &[u8]| {
            key.extend_from_slice(&u32::try_from(part.len()).unwrap_or(u32::MAX).to_be_bytes());
            key.extend_from_slice(part);
        };
        if own.classes[0] != GateClass::PLAIN {
            put(own.name.as_bytes());
        }
        let mut provisional = false;
        for by in &own.by {
            match by {
                By::Nothing => {}
                By::Credential => put(asking.credential.unwrap_or_default()),
                By::Tenant => put(&self.tenant(asking)),
                By::Host => put(asking.host.as_bytes()),
                By::Route => put(route(asking.path).as_bytes()),
                By::Method => put(asking.method.as_str().as_bytes()),
                By::Bucket => {
                    provisional = true;
                    put(asking.method.as_str().as_bytes());
                    put(route(asking.path).as_bytes());
                }
                By::Segment(n) => put(segment(asking.path, *n).as_bytes()),
                By::Header(name) => {
                    let value = asking.headers.get(name);
                    put(value.map(http::HeaderValue::as_bytes).unwrap_or_default());
                }
                By::Query(name) => put(parameter(asking.query, name).as_bytes()),
            }
        }
        Passed {
            scope: own.scope,
            class: own.classes[usize::from(asking.credential.is_none())],
            provisional,
            key,
            cost: own.cost(asking),
        }
    }

    fn tenant(&self, asking: &Asking<'_>) -> Vec<u8> {
        match &self.tenant {
            None => Vec::new(),
            Some(Tenant::HostLabel) => {
                let label = asking.host.split('.').next();
                label.unwrap_or_default().to_ascii_lowercase().into_bytes()
            }
            Some(Tenant::Segment(n)) => segment(asking.path, *n).as_bytes().to_vec(),
            Some(Tenant::Header(name)) => {
                let value = asking.headers.get(name.as_str());
                value.map(|v| v.as_bytes().to_vec()).unwrap_or_default()
            }
        }
    }

    /// Adds the gates that only this provider has; what the policy says of the others stands.
    /// `at` places the boundaries of days.
    pub fn complete(&self, policy: &mut ProviderPolicy, choice: &Choice, at: Moment) {
        let mut all = policy.clone();
        self.policy(&mut all, choice, at);
        policy.classes = all.classes;
    }

    /// Puts into a policy what is allowed here. `at` places the boundaries of days.
    pub fn policy(&self, policy: &mut ProviderPolicy, choice: &Choice, at: Moment) {
        let mut classes: Vec<Option<GatePolicy>> = Vec::new();
        for own in &self.own {
            for (with, class) in [true, false].into_iter().zip(own.classes) {
                let base = policy.gate(own.scope).clone();
                let made = own.policy(base, with, choice, at);
                match class.index() {
                    Some(n) => {
                        classes.resize(classes.len().max(n + 1), None);
                        classes[n] = Some(made);
                    }
                    None if with => *gate_mut(policy, own.scope) = made,
                    None => {}
                }
            }
        }
        let plain = policy.route.clone();
        policy.classes = classes
            .into_iter()
            .map(|c| c.unwrap_or_else(|| plain.clone()))
            .collect();
    }
}

const fn gate_mut(policy: &mut ProviderPolicy, scope: Scope) -> &mut GatePolicy {
    match scope {
        Scope::Provider => &mut policy.provider,
        Scope::Account => &mut policy.account,
        Scope::Route | Scope::Request => &mut policy.route,
    }
}

impl Own {
    fn plain(name: &str) -> Self {
        let gate = Gate {
            name: name.to_owned(),
            ..Gate::default()
        };
        Self::new(&gate, &mut 0, &Place::default(), &mut Vec::new())
    }

    fn new(gate: &Gate, next: &mut usize, place: &Place, problems: &mut Vec<Problem>) -> Self {
        let plain = match gate.name.as_str() {
            "provider" => Some((Scope::Provider, By::Nothing)),
            "account" => Some((Scope::Account, By::Credential)),
            "route" => Some((Scope::Route, By::Route)),
            _ => None,
        };
        let scope = match (gate.scope, &plain) {
            (Some(GateScope::Route), _) => Scope::Route,
            (Some(GateScope::Account), _) => Scope::Account,
            (Some(GateScope::Provider), _) => Scope::Provider,
            (None, Some((scope, _))) => *scope,
            (None, None) => {
                problems.push(Problem::new(place.key("scope"), "is missing"));
                Scope::Account
            }
        };
        if let Some((wanted, _)) = &plain
            && *wanted != scope
        {
            let what = format!("is always {wanted} for the gate of this name");
            problems.push(Problem::new(place.key("scope"), what));
        }
        let by_place = place.key("by");
        let mut by: Vec<By> = Vec::new();
        for (i, part) in gate.by.iter().enumerate() {
            by.extend(By::new(part, &by_place.item(i), problems));
        }
        let is_plain = plain.is_some();
        if let (true, Some((_, part))) = (by.is_empty(), plain) {
            by.push(part);
        }
        let limits = gate.limits.iter().enumerate();
        let place_of = |i| place.key("limits").item(i);
        let limits: Vec<Allowed> = limits
            .filter_map(|(i, l)| Allowed::new(l, &place_of(i), problems))
            .collect();
        let mut class = || {
            *next += 1;
            GateClass::nth(*next - 1)
        };
        let with = if is_plain { GateClass::PLAIN } else { class() };
        let differs = limits.iter().any(|l| l.credential.is_some());
        let without = if differs { class() } else { with };
        if gate.cost == Some(0) {
            problems.push(Problem::new(
                place.key("cost"),
                "is nothing: leave the requests out by paths or methods instead",
            ));
        }
        let costs = gate.costs.iter().enumerate().map(|(i, c)| {
            let place = place.key("costs").item(i);
            Priced {
                methods: methods(&c.methods, &place.key("methods"), problems),
                paths: patterns(&c.paths, &place.key("paths"), problems),
                cost: c.cost,
            }
        });
        let costs = costs.collect();
        Self {
            name: gate.name.clone(),
            scope,
            classes: [with, without],
            by,
            paths: patterns(&gate.paths, &place.key("paths"), problems),
            methods: methods(&gate.methods, &place.key("methods"), problems),
            limits,
            concurrency: gate.concurrency,
            except: patterns(&gate.except, &place.key("except"), problems),
            cost: gate.cost.unwrap_or(1).max(1),
            costs,
        }
    }

    fn cost(&self, asking: &Asking<'_>) -> u32 {
        let fits = |c: &&Priced| {
            (c.methods.is_empty() || c.methods.contains(asking.method))
                && (c.paths.is_empty() || any(&c.paths, asking.path))
        };
        self.costs.iter().find(fits).map_or(self.cost, |c| c.cost)
    }

    fn dearest(&self) -> u32 {
        self.costs.iter().map(|c| c.cost).fold(self.cost, u32::max)
    }

    fn policy(&self, mut base: GatePolicy, with: bool, choice: &Choice, at: Moment) -> GatePolicy {
        let applies = |l: &&Allowed| {
            l.credential.is_none_or(|c| c == with) && (l.plan.is_none() || l.plan == choice.plan)
        };
        let windows: Vec<Window> = self
            .limits
            .iter()
            .filter(applies)
            .map(|l| l.window(at, self.dearest()))
            .collect();
        if !windows.is_empty() {
            base.windows = windows;
        }
        if let Some(n) = self.concurrency {
            base.concurrency = n.max(1);
        }
        base
    }
}

impl By {
    fn new(part: &Part, place: &Place, problems: &mut Vec<Problem>) -> Option<Self> {
        let by = match part {
            Part::Address | Part::App => Self::Nothing,
            Part::Credential => Self::Credential,
            Part::Tenant => Self::Tenant,
            Part::Host => Self::Host,
            Part::Route => Self::Route,
            Part::Method => Self::Method,
            Part::Bucket => Self::Bucket,
            Part::Segment(n) => Self::Segment(*n),
            Part::Query(name) => Self::Query(name.clone()),
            Part::Header(name) => match name.parse() {
                Ok(name) => Self::Header(name),
                Err(_) => {
                    let what = format!("{name:?} is no header's name");
                    problems.push(Problem::new(place.clone(), what));
                    return None;
                }
            },
        };
        Some(by)
    }
}

impl Allowed {
    fn new(limit: &Limit, place: &Place, problems: &mut Vec<Problem>) -> Option<Self> {
        if limit.count == 0 {
            problems.push(Problem::new(place.key("count"), "must be at least 1"));
        }
        let day = limit.zone.as_deref().and_then(|name| {
            let found = zone(name);
            if found.is_none() {
                let what = format!("{name:?} is no time zone (as UTC, America/Los_Angeles)");
                problems.push(Problem::new(place.key("zone"), what));
            }
            found.map(Boundary::Midnight)
        });
        match duration(&limit.per) {
            Ok(per) => Some(Self {
                count: limit.count.max(1),
                per,
                kind: limit.window,
                burst: limit.burst.unwrap_or(1).max(1),
                day,
                credential: limit.credential,
                plan: limit.plan.clone(),
            }),
            Err(why) => {
                problems.push(Problem::new(place.key("per"), why));
                None
            }
        }
    }

    fn window(&self, at: Moment, dearest: u32) -> Window {
        match self.kind {
            // A bucket smaller than what one request costs would never let it through.
            WindowKind::Bucket => {
                Window::Gcra(Gcra::per(self.count, self.per, self.burst.max(dearest)))
            }
            WindowKind::Sliding => Window::from(Sliding::new(self.count, self.per)),
            WindowKind::Fixed => {
                let every = Boundary::Every(self.per);
                let boundary = self.day.as_ref().unwrap_or(&every);
                let phase = boundary.next(at).unwrap_or(at.now);
                Window::from(Fixed::new(self.count, self.per, phase))
            }
        }
    }
}

fn any(patterns: &[Pattern], path: &str) -> bool {
    patterns.iter().any(|p| p.matches(path))
}

/// The path with whatever looks like an id left out.
fn route(path: &str) -> String {
    let segments = path.split('/').map(|s| if is_id(s) { "*" } else { s });
    segments.collect::<Vec<_>>().join("/")
}

fn is_id(segment: &str) -> bool {
    let digits = segment.bytes().filter(u8::is_ascii_digit).count();
    let hex = |b: u8| b.is_ascii_hexdigit() || b == b'-';
    let all_digits = digits > 0 && digits == segment.len();
    all_digits
        || segment.len() >= 8 && digits > 0 && segment.bytes().all(hex)
        || segment.len() >= 16 && digits > 2
}

/// The path's segment of this number, counted from 1; empty where there is none.
fn segment(path: &str, n: usize) -> &str {
    path.split('/').nth(n).unwrap_or_default()
}

fn parameter<'a>(query: Option<&'a str>, name: &str) -> &'a str {
    let pairs = query.unwrap_or_default().split('&');
    pairs
        .filter_map(|p| p.split_once('='))
        .find(|(n, _)| *n == name)
        .map_or("", |(_, value)| value)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn ids_make_no_routes_of_their_own() {
        assert_eq!(route("/users/123/posts"), "/users/*/posts");
        assert_eq!(route("/v1/items"), "/v1/items");
        assert_eq!(route("/o/3fa85f64-5717-4562-b3fc-2c963f66afa6"), "/o/*");
        assert_eq!(route("/works/OL45883W.json"), "/works/OL45883W.json");
        assert_eq!(route("/"), "/");
    }
}
