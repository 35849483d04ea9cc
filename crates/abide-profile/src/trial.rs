//! A profile's own tests, run.

use crate::cases::Difference;
use crate::judge::judge;
use crate::load::{Fault, placed};
use crate::problem::{Place, Problem};
use crate::profile::Profile;

/// One test of a profile, run.
#[derive(Clone, Debug)]
pub struct Trial {
    /// What it is to show.
    pub name: String,
    /// Its place in the file, and what is wrong with it where it cannot be run.
    pub at: Fault,
    /// Everything that differs; `None` where it cannot be run.
    pub differences: Option<Vec<Difference>>,
    /// The rule that decided; `None` where the status did.
    pub rule: Option<String>,
}

impl Trial {
    /// Nothing differs.
    pub fn passed(&self) -> bool {
        self.differences.as_ref().is_some_and(Vec::is_empty)
    }
}

/// Runs the tests of a profile that was made of this text.
pub fn trials(profile: &Profile, text: &str) -> Vec<Trial> {
    let tests = profile.told().tests.iter().enumerate();
    let run = |(i, test): (usize, &crate::format::Test)| {
        let place = Place::default().key("test").item(i);
        let at = |what: String| Fault {
            what: what.clone(),
            ..placed(text, &Problem::new(place.clone(), what))
        };
        match test.recorded() {
            Err(why) => Trial {
                name: test.name.clone(),
                at: at(why),
                differences: None,
                rule: None,
            },
            Ok(recorded) => {
                let judged = judge(profile, &recorded);
                Trial {
                    name: test.name.clone(),
                    at: at(String::new()),
                    differences: Some(test.expected().compare(&judged)),
                    rule: judged.rule.map(|r| r.0),
                }
            }
        }
    };
    tests.map(run).collect()
}
