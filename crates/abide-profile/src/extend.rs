//! What a profile takes over from its parent.

use crate::format::{Contact, Expects, Profile, Rule};

/// The profile that all others stand on, unless they say otherwise.
pub(crate) const GENERIC: &str = "generic";

/// A rule with its origin: whose it is, and its place there.
#[derive(Clone, Debug)]
pub(crate) struct Origin {
    /// `github rule 3`.
    pub(crate) name: String,
    /// Its place in the profile that was asked for; `None` for a parent's.
    pub(crate) own: Option<usize>,
}

impl Origin {
    /// It holds for every provider.
    pub(crate) fn is_generic(&self) -> bool {
        self.name
            .strip_prefix(GENERIC)
            .is_some_and(|rest| rest.starts_with(' '))
    }
}

/// Adds a profile's rules, its parent's after its own: the ones that go first after those that do
/// already, the rest after what is there.
pub(crate) fn rules(rules: &mut Vec<Rule>, origins: &mut Vec<Origin>, parent: &Profile, own: bool) {
    let mut front = rules.iter().take_while(|r| r.first).count();
    for (i, rule) in parent.rules.iter().enumerate() {
        let origin = Origin {
            name: format!("{} rule {}", parent.name, i + 1),
            own: own.then_some(i),
        };
        if rule.first {
            rules.insert(front, rule.clone());
            origins.insert(front, origin);
            front += 1;
        } else {
            rules.push(rule.clone());
            origins.push(origin);
        }
    }
}

/// The parent of a profile, by name.
pub(crate) fn parent(profile: &Profile) -> Option<&str> {
    match profile.extends.as_deref() {
        Some("none") => None,
        Some(name) => Some(name),
        None if profile.name == GENERIC => None,
        None => Some(GENERIC),
    }
}

/// Completes a profile by its parent: what the child says comes first and wins.
pub(crate) fn merge(child: &mut Profile, parent: &Profile) {
    if child.name == parent.name {
        // A user's additions to a built-in profile: still the same provider.
        child.each_host |= parent.each_host;
        or(&mut child.hosts, &parent.hosts);
        or(&mut child.paths, &parent.paths);
        or(&mut child.docs, &parent.docs);
        for (mine, theirs) in [
            (&mut child.title, &parent.title),
            (&mut child.checked, &parent.checked),
            (&mut child.note, &parent.note),
        ] {
            if mine.is_empty() {
                mine.clone_from(theirs);
            }
        }
    }
    if child.expects == Expects::Any {
        child.expects = parent.expects;
    }
    if child.contact == Contact::None {
        child.contact = parent.contact;
    }
    let credential = &mut child.credential;
    extend(&mut credential.headers, &parent.credential.headers);
    extend(&mut credential.query, &parent.credential.query);
    credential.segment = credential.segment.or(parent.credential.segment);
    if child.tenant.is_none() {
        child.tenant.clone_from(&parent.tenant);
    }
    extend(&mut child.reads, &parent.reads);
    extend(&mut child.readings, &parent.readings);
    extend(&mut child.asks, &parent.asks);
    for gate in &parent.gates {
        if child.gates.iter().all(|g| g.name != gate.name) {
            child.gates.push(gate.clone());
        }
    }
    let (mine, theirs) = (&mut child.policy, &parent.policy);
    let first = |a: &mut Option<String>, b: &Option<String>| {
        if a.is_none() {
            a.clone_from(b);
        }
    };
    first(&mut mine.floor, &theirs.floor);
    first(&mut mine.hold_max, &theirs.hold_max);
    first(&mut mine.hint_zero, &theirs.hint_zero);
    first(&mut mine.probe, &theirs.probe);
    or(&mut mine.ladder, &theirs.ladder);
    or(&mut mine.hold_on, &theirs.hold_on);
    or(&mut mine.retry_on, &theirs.retry_on);
    or(&mut mine.handled_below, &theirs.handled_below);
    extend(&mut mine.ban_redirects, &theirs.ban_redirects);
    if mine.idempotency.is_none() {
        mine.idempotency.clone_from(&theirs.idempotency);
    }
    if mine.allowance.is_none() {
        mine.allowance.clone_from(&theirs.allowance);
    }
}

fn or<T: Clone>(mine: &mut Vec<T>, theirs: &[T]) {
    if mine.is_empty() {
        mine.extend_from_slice(theirs);
    }
}

fn extend<T: Clone>(mine: &mut Vec<T>, theirs: &[T]) {
    mine.extend_from_slice(theirs);
}
