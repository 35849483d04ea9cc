//! What is allowed in a profile and yet hardly meant.
//!
//! A fault makes a profile unusable; a lint only asks its author to look again. Lints look at
//! what a file says itself, not at what it takes over from its parents.

mod head;
mod limits;
mod own_tests;
mod rules;
mod times;

use std::fmt;

use crate::format;
use crate::load::{Fault, parse, placed};
use crate::problem::{Place, Problem};
use crate::profile::Profile;

/// How much is wrong.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub enum Level {
    /// Probably a mistake.
    Warning,
    /// Not to be published.
    Error,
}

/// Something that is hardly meant.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Lint {
    /// How much is wrong.
    pub level: Level,
    /// What, where, and what to do.
    pub fault: Fault,
}

impl fmt::Display for Lint {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let level = match self.level {
            Level::Warning => "warning",
            Level::Error => "error",
        };
        write!(f, "{level}: {}", self.fault)
    }
}

/// What lints look at.
struct Subject<'a> {
    /// What the file says itself.
    own: &'a format::Profile,
    /// With its parents merged in.
    whole: &'a format::Profile,
    text: &'a str,
}

/// What lints found so far.
#[derive(Default)]
struct Found(Vec<(Level, Problem)>);

impl Found {
    fn warn(&mut self, place: Place, what: impl Into<String>) {
        self.0.push((Level::Warning, Problem::new(place, what)));
    }

    fn forbid(&mut self, place: Place, what: impl Into<String>) {
        self.0.push((Level::Error, Problem::new(place, what)));
    }
}

/// Everything in a profile's text that is hardly meant, in the order of the file. `profile` is
/// what was made of it. A text that cannot be read has faults, and no lints.
pub fn lints(profile: &Profile, text: &str) -> Vec<Lint> {
    let Ok(own) = parse(text) else {
        return Vec::new();
    };
    let subject = Subject {
        own: &own,
        whole: profile.told(),
        text,
    };
    let mut found = Found::default();
    head::look(&subject, &mut found);
    limits::look(&subject, &mut found);
    rules::look(&subject, &mut found);
    times::look(&subject, &mut found);
    own_tests::look(&subject, &mut found);
    let lint = |(level, problem): (Level, Problem)| {
        let mut fault = placed(text, &problem);
        if fault.line == 0 {
            // What is missing is missing from the top.
            (fault.line, fault.column) = (1, 1);
        }
        Lint { level, fault }
    };
    let mut all: Vec<Lint> = found.0.into_iter().map(lint).collect();
    all.sort_by_key(|l| (l.fault.line, l.fault.column));
    all
}
