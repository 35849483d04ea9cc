//! `abide providers check`: everything that is wrong with a profile's file, line by line.

use std::path::PathBuf;

use abide::profile::lint::{Level, lints};
use abide::profile::trial::{Trial, trials};
use abide::profile::{Catalogue, Fault, Profile};

use crate::catalogue::{Own, add, placed};
use crate::exit::Exit;
use crate::own_profiles::OwnProfiles;
use crate::shown::{count, plain, print};

/// What was counted.
#[derive(Default)]
struct Tally {
    faults: usize,
    warnings: usize,
    tests: usize,
    failed: usize,
    /// What is printed.
    out: String,
}

impl Tally {
    fn say(&mut self, path: &str, fault: &Fault) {
        self.out.push_str(&plain(&placed(path, fault)));
        self.out.push('\n');
    }
}

pub(super) fn run(from: &OwnProfiles, files: &[PathBuf], strict: bool) -> anyhow::Result<Exit> {
    let all = from.load()?;
    let mut own = Vec::new();
    for path in files {
        own.push(Own::file(path)?);
    }
    let mut tally = Tally::default();
    for i in 0..own.len() {
        let parents = parents(&own, i);
        if parents.is_empty() {
            one(&all, &own[i], &mut tally);
            continue;
        }
        let mut all = from.load()?;
        // What is wrong with them is told at their own turn.
        let _ = add(&mut all, parents);
        one(&all, &own[i], &mut tally);
    }
    let passed = tally.tests - tally.failed;
    let end = format!(
        "{}: {} wrong, {}; tests: {passed} passed, {} failed\n",
        count(own.len(), "file"),
        tally.faults,
        count(tally.warnings, "warning"),
        tally.failed
    );
    tally.out.push_str(&end);
    print(&tally.out)?;
    let wrong = tally.faults + tally.failed > 0 || strict && tally.warnings > 0;
    Ok(if wrong { Exit::Failed } else { Exit::Done })
}

/// Those of the files on which one of them stands.
fn parents(own: &[Own], of: usize) -> Vec<Own> {
    let names: Vec<_> = own.iter().map(Own::names).collect();
    let mut found = Vec::new();
    let mut at = of;
    while let Some(Some((_, Some(parent)))) = names.get(at) {
        let named = |i: usize| matches!(&names[i], Some((name, _)) if name == parent);
        let Some(next) = (0..own.len()).find(|i| *i != of && !found.contains(i) && named(*i))
        else {
            break;
        };
        found.push(next);
        at = next;
    }
    found.sort_unstable();
    found.into_iter().map(|i| own[i].clone()).collect()
}

fn one(all: &Catalogue, own: &Own, tally: &mut Tally) {
    let (path, text) = (&own.origin, &own.text);
    let faults = all.faults(text);
    tally.faults += faults.len();
    for fault in &faults {
        tally.say(path, fault);
    }
    if let Ok(profile) = all.preview(text) {
        look(&profile, path, text, tally);
    }
}

fn look(profile: &Profile, path: &str, text: &str, tally: &mut Tally) {
    for mut lint in lints(profile, text) {
        match lint.level {
            Level::Warning => {
                tally.warnings += 1;
                lint.fault.what.insert_str(0, "warning: ");
            }
            Level::Error => tally.faults += 1,
        }
        tally.say(path, &lint.fault);
    }
    for trial in trials(profile, text) {
        tally.tests += 1;
        tally.failed += usize::from(!trial.passed());
        differs(&trial, path, tally);
    }
}

fn differs(trial: &Trial, path: &str, tally: &mut Tally) {
    let mut at = trial.at.clone();
    let Some(differences) = &trial.differences else {
        tally.say(path, &at);
        return;
    };
    let rule = trial.rule.as_deref().unwrap_or("the status");
    for d in differences {
        at.what = format!(
            "test {:?}: {}: expected {}, got {} ({rule})",
            trial.name, d.field, d.expected, d.got
        );
        tally.say(path, &at);
    }
}
