//! How providers are treated.

use std::collections::HashMap;
use std::fmt;

use abide_core::Moment;
use abide_core::call::CallPolicy;
use abide_core::classify::ClassifyPolicy;
use abide_core::policy::ProviderPolicy;
use abide_profile::{Choice, Paths, Profile};

/// How a provider is treated: its gates, and how its answers are read.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Treatment {
    /// Its gates.
    pub policy: ProviderPolicy,
    /// How its answers are read, and which are tried again.
    pub classify: ClassifyPolicy,
    /// The knobs of its calls that bring none of their own; those of the client when absent.
    pub call: Option<CallPolicy>,
    /// The paths whose requests keep to no pace of its gates and are not counted there: a token to
    /// be renewed, a question that costs nothing. Holds, breakers and places on the wire are for
    /// all.
    pub unpaced: Paths,
}

/// How a provider of a name and a profile is treated from a moment on.
pub(crate) type Treat = Box<dyn Fn(&str, &Profile, Moment) -> Treatment + Send + Sync>;

pub(crate) struct Policies {
    pub(crate) default: Treatment,
    pub(crate) named: HashMap<String, Treatment>,
    pub(crate) by: Option<Treat>,
}

impl fmt::Debug for Policies {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Policies")
            .field("default", &self.default)
            .field("named", &self.named)
            .finish_non_exhaustive()
    }
}

impl Policies {
    /// What was said of this very provider stands, and its profile adds the gates that only it
    /// has; else the profile completes the default.
    pub(crate) fn of(&self, name: &str, profile: &Profile, at: Moment) -> Treatment {
        if let Some(by) = &self.by {
            return by(name, profile, at);
        }
        // What is said of a provider holds for each host that it counts apart (`aws@HOST`).
        let all = || self.named.get(name.split_once(['@', '+'])?.0);
        let named = self.named.get(name).or_else(all);
        let mut t = named.unwrap_or(&self.default).clone();
        if named.is_some() {
            profile
                .gates()
                .complete(&mut t.policy, &Choice::default(), at);
        } else {
            profile.apply(&mut t.policy, &mut t.classify, &Choice::default(), at);
        }
        t
    }
}
