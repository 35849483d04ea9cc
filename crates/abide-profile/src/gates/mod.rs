//! The gates that a profile names: which of them a request passes, what they are keyed by, and
//! what is allowed there.
//!
//! Every provider has a gate of its own and one for each credential. A route gate exists only
//! where the profile speaks of routes: an unknown route must be read as the widest.

mod own;
mod request;

use abide_core::policy::{GatePolicy, ProviderPolicy};
use abide_core::{GateClass, Moment, Scope};

pub use self::request::{Asking, Key, Passed};

use self::own::{By, Own, any, split};
use self::request::{append, append_route, parameter, segment};

use crate::extend::Origin;
use crate::format::{Profile, Tenant};
use crate::problem::{Place, Problem};

/// The most gates one request passes; more are refused when a profile is checked.
const MOST: usize = abide_core::gate::MAX_GATES;

/// A gate, as rules mean it.
pub(crate) type Cover = (Scope, GateClass);

/// The gates of one profile.
#[derive(Debug)]
pub struct Gates {
    own: Vec<Own>,
    tenant: Option<Tenant>,
}

/// What the configuration chooses of a profile's limits.
#[derive(Clone, Debug, Default)]
pub struct Choice {
    /// The plan whose limits apply, beside those of no plan.
    pub plan: Option<String>,
}

/// A gate that a request passes, before it is said what it is keyed by.
#[derive(Debug)]
pub struct Passing<'a> {
    gates: &'a Gates,
    own: &'a Own,
    asking: &'a Asking<'a>,
    place: usize,
}

impl Passing<'_> {
    /// How wide it is.
    pub const fn scope(&self) -> Scope {
        self.own.scope
    }

    /// Which of the provider's own gates it is.
    pub const fn class(&self) -> GateClass {
        self.own.class
    }

    /// What the request costs there.
    pub fn cost(&self) -> u32 {
        self.own.cost(self.asking)
    }

    /// Its place among the profile's gates, where all requests of one credential to one host are
    /// keyed alike there: whoever asks again and again says it once.
    pub fn lasts(&self) -> Option<usize> {
        let by_host = matches!(self.gates.tenant, None | Some(Tenant::HostLabel));
        let lasts = self.own.by.iter().all(|by| match by {
            By::Nothing | By::Credential | By::Host => true,
            By::Tenant => by_host,
            _ => false,
        });
        lasts.then_some(self.place)
    }

    /// With what it is keyed by.
    pub fn passed(&self) -> Passed {
        self.gates.pass(self.own, self.asking)
    }
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
            own.push(Own::new(gate, None, &mut next, &place, problems));
            for (only, part) in split(gate) {
                // What is wrong with it was said of the whole.
                own.push(Own::new(
                    &part,
                    Some(only),
                    &mut next,
                    &place,
                    &mut Vec::new(),
                ));
            }
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
        let own = self.own.iter().filter(|o| o.only.is_none());
        let mut names: Vec<&str> = own.map(|o| o.name.as_str()).collect();
        names.push("request");
        names
    }

    /// The gate of a name, as findings refer to it.
    pub(crate) fn cover(&self, name: &str) -> Option<Cover> {
        if name == "request" {
            return Some((Scope::Request, GateClass::PLAIN));
        }
        match self.own.iter().find(|o| o.name == name) {
            Some(own) => Some((own.scope, own.class)),
            // Where routes are not told apart, the next wider gate stands in.
            None => (name == "route").then_some((Scope::Route, GateClass::PLAIN)),
        }
    }

    /// The name of the gate that a finding speaks of; `None` where the profile has none of its own.
    pub fn name(&self, scope: Scope, class: GateClass) -> Option<&str> {
        let fits = |o: &&Own| o.scope == scope && o.class == class;
        self.own.iter().find(fits).map(|o| o.name.as_str())
    }

    /// Whether all requests of one credential to one host pass the same gates.
    pub fn are_for_all(&self) -> bool {
        self.own.iter().all(Own::is_for_all)
    }

    /// The gates a request passes, widest first.
    pub fn passed<'a>(&'a self, asking: &'a Asking<'_>) -> impl Iterator<Item = Passed> + 'a {
        self.passing(asking).map(|p| p.passed())
    }

    /// The same, before it is said what they are keyed by.
    pub fn passing<'a>(&'a self, asking: &'a Asking<'_>) -> impl Iterator<Item = Passing<'a>> + 'a {
        let fits = move |o: &&Own| {
            o.only
                .is_none_or(|with| with == asking.credential.is_some())
                && (o.methods.is_empty() || o.methods.contains(asking.method))
                && (o.paths.is_empty() || any(&o.paths, asking.path))
                && !any(&o.except, asking.path)
                && o.cost(asking) > 0
        };
        let all = self.own.iter().enumerate();
        let passing = move |(place, own)| Passing {
            gates: self,
            own,
            asking,
            place,
        };
        all.filter(move |(_, o)| fits(o)).take(MOST).map(passing)
    }

    fn pass(&self, own: &Own, asking: &Asking<'_>) -> Passed {
        let mut key = Key::new();
        if own.class != GateClass::PLAIN {
            append(&mut key, own.name.as_bytes());
        }
        let mut has_bucket = false;
        for by in &own.by {
            let mut put = |part: &[u8]| append(&mut key, part);
            match by {
                By::Nothing => {}
                By::Credential => put(asking.credential.unwrap_or_default()),
                By::Tenant => put(&self.tenant(asking)),
                By::Host => put(asking.host.as_bytes()),
                By::Route => append_route(&mut key, asking.path),
                By::Method => put(asking.method.as_str().as_bytes()),
                By::Bucket => has_bucket = true,
                By::Segment(n) => put(segment(asking.path, *n).as_bytes()),
                By::Header(name) => {
                    let value = asking.headers.get(name);
                    put(value.map(http::HeaderValue::as_bytes).unwrap_or_default());
                }
                By::Query(name) => put(parameter(asking.query, name).as_bytes()),
            }
        }
        // The bucket comes last, so that what is before it tells its family.
        let family = has_bucket.then_some(key.len());
        if has_bucket {
            append(&mut key, asking.method.as_str().as_bytes());
            append_route(&mut key, asking.path);
        }
        Passed {
            scope: own.scope,
            class: own.class,
            family,
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
        let given = policy.clone();
        let mut classes = vec![GatePolicy::default(); self.classes()];
        for own in &self.own {
            // A gate of its own has what the policy says of its scope, but neither its limits nor
            // its places on the wire: those are another gate's.
            let mut base = given.gate(own.scope).clone();
            match own.class.index() {
                Some(n) => {
                    base.windows = Vec::new();
                    base.concurrency = u32::MAX;
                    base.gentle = false;
                    classes[n] = own.policy(base, choice, at);
                }
                None => *gate_mut(policy, own.scope) = own.policy(base, choice, at),
            }
        }
        policy.classes = classes;
    }

    fn classes(&self) -> usize {
        let all = self.own.iter().filter_map(|o| o.class.index());
        all.max().map_or(0, |n| n + 1)
    }
}

const fn gate_mut(policy: &mut ProviderPolicy, scope: Scope) -> &mut GatePolicy {
    match scope {
        Scope::Provider => &mut policy.provider,
        Scope::Account => &mut policy.account,
        Scope::Route | Scope::Request => &mut policy.route,
    }
}
