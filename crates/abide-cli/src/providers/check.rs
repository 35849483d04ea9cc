//! `abide providers check`: everything that is wrong with a profile's file, line by line.

use std::path::PathBuf;

use abide::profile::lint::{Level, lints};
use abide::profile::trial::{Trial, trials};
use abide::profile::{Catalogue, Fault, Profile};

use crate::catalogue::{add, placed, read};
use crate::exit::Exit;
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

pub(super) fn run(all: &Catalogue, files: &[PathBuf], strict: bool) -> anyhow::Result<Exit> {
    let mut texts = Vec::new();
    for path in files {
        texts.push((path.display().to_string(), read(path)?));
    }
    let mut tally = Tally::default();
    for i in 0..texts.len() {
        one(all, &texts, i, &mut tally);
    }
    let passed = tally.tests - tally.failed;
    let end = format!(
        "{}: {} wrong, {}; tests: {passed} passed, {} failed\n",
        count(texts.len(), "file"),
        tally.faults,
        count(tally.warnings, "warning"),
        tally.failed
    );
    tally.out.push_str(&end);
    print(&tally.out)?;
    let wrong = tally.faults + tally.failed > 0 || strict && tally.warnings > 0;
    Ok(if wrong { Exit::Failed } else { Exit::Done })
}

fn one(all: &Catalogue, texts: &[(String, String)], i: usize, tally: &mut Tally) {
    let (path, text) = &texts[i];
    let mut faults = all.faults(text);
    let mut made = all.preview(text);
    // It may extend another one of these files. That one's faults are its own.
    if made.is_err() && texts.len() > 1 {
        let mut with_others = Catalogue::built_in();
        let others = texts.iter().enumerate().filter(|(n, _)| *n != i);
        let _ = add(&mut with_others, others.map(|(_, o)| o.clone()).collect());
        let second = with_others.preview(text);
        if second.is_ok() {
            (faults, made) = (with_others.faults(text), second);
        }
    }
    tally.faults += faults.len();
    for fault in &faults {
        tally.say(path, fault);
    }
    if let Ok(profile) = made {
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
