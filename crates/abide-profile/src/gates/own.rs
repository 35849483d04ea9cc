//! One gate of a profile, made ready: whom it lets pass, what they cost, what is allowed.

use std::time::Duration;

use abide_core::pace::{Fixed, Gcra, Sliding, Window};
use abide_core::policy::GatePolicy;
use abide_core::{GateClass, Moment, Scope};
use http::{HeaderName, Method};

use super::Choice;
use super::request::Asking;
use crate::boundary::{Boundary, zone};
use crate::format::{Gate, GateScope, Limit, Part, WindowKind};
use crate::pattern::{Pattern, methods, patterns};
use crate::problem::{Place, Problem};
use crate::units::duration;

#[derive(Debug)]
pub(super) struct Own {
    pub(super) name: String,
    pub(super) scope: Scope,
    pub(super) class: GateClass,
    /// Only requests with a credential pass it, or only those without one.
    pub(super) only: Option<bool>,
    pub(super) by: Vec<By>,
    pub(super) paths: Vec<Pattern>,
    pub(super) methods: Vec<Method>,
    limits: Vec<Allowed>,
    pub(super) concurrency: Option<u32>,
    pub(super) except: Vec<Pattern>,
    pub(super) cost: u32,
    costs: Vec<Priced>,
}

#[derive(Debug)]
struct Priced {
    methods: Vec<Method>,
    paths: Vec<Pattern>,
    cost: u32,
}

#[derive(Debug)]
pub(super) enum By {
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

impl Own {
    pub(super) fn plain(name: &str) -> Self {
        let gate = Gate {
            name: name.to_owned(),
            ..Gate::default()
        };
        Self::new(&gate, None, &mut 0, &Place::default(), &mut Vec::new())
    }

    pub(super) fn new(
        gate: &Gate,
        only: Option<bool>,
        next: &mut usize,
        place: &Place,
        problems: &mut Vec<Problem>,
    ) -> Self {
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
        let class = if is_plain {
            GateClass::PLAIN
        } else {
            *next += 1;
            GateClass::nth(*next - 1)
        };
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
            class,
            only,
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

    pub(super) fn cost(&self, asking: &Asking<'_>) -> u32 {
        let fits = |c: &&Priced| {
            (c.methods.is_empty() || c.methods.contains(asking.method))
                && (c.paths.is_empty() || any(&c.paths, asking.path))
        };
        self.costs.iter().find(fits).map_or(self.cost, |c| c.cost)
    }

    /// Whether all requests of one credential to one host are alike to it.
    pub(super) fn is_for_all(&self) -> bool {
        let alike = |by: &By| matches!(by, By::Nothing | By::Credential | By::Host);
        self.paths.is_empty()
            && self.except.is_empty()
            && self.methods.is_empty()
            && self.costs.is_empty()
            && self.by.iter().all(alike)
    }

    fn dearest(&self) -> u32 {
        self.costs.iter().map(|c| c.cost).fold(self.cost, u32::max)
    }

    pub(super) fn policy(&self, mut base: GatePolicy, choice: &Choice, at: Moment) -> GatePolicy {
        let applies =
            |l: &&Allowed| l.credential == self.only && (l.plan.is_none() || l.plan == choice.plan);
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

pub(super) fn any(patterns: &[Pattern], path: &str) -> bool {
    patterns.iter().any(|p| p.matches(path))
}

/// The parts of a gate whose limits only hold with a credential, or only without one: gates of
/// their own, since whoever comes first must not decide for the others.
pub(super) fn split(gate: &Gate) -> Vec<(bool, Gate)> {
    let differ = |only| gate.limits.iter().any(|l| l.credential == Some(only));
    let both = [true, false].into_iter().filter(|only| differ(*only));
    let part = |only: bool| {
        let mut part = gate.clone();
        part.name = format!(
            "{} ({} credential)",
            gate.name,
            if only { "with" } else { "without" }
        );
        part.concurrency = None;
        part.limits.retain(|l| l.credential == Some(only));
        match gate.name.as_str() {
            "provider" => part.scope = Some(GateScope::Provider),
            "account" => part.scope = Some(GateScope::Account),
            "route" => part.scope = Some(GateScope::Route),
            _ => {}
        }
        if part.by.is_empty() {
            match gate.name.as_str() {
                "account" => part.by.push(Part::Credential),
                "route" => part.by.push(Part::Route),
                _ => {}
            }
        }
        (only, part)
    };
    both.map(part).collect()
}
