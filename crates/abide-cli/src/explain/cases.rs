//! `abide explain --cases`: recorded answers with what they must be found to mean, each compared.

use std::collections::BTreeMap;
use std::path::Path;

use abide::profile::Catalogue;
use abide::profile::cases::{Case, DISPUTED, disputed};
use abide::profile::judge::judge;

use super::input::{name, read};
use crate::exit::{Exit, Usage};
use crate::shown::{plain, print};

#[derive(Default)]
struct Tally {
    passed: usize,
    failed: usize,
    disputed: usize,
    /// What is printed.
    out: String,
}

impl Tally {
    fn say(&mut self, what: &str) {
        self.out.push_str(&plain(what));
        self.out.push('\n');
    }
}

pub(super) fn run(
    all: &Catalogue,
    cases: &Path,
    more: Option<&Path>,
    verbose: bool,
) -> anyhow::Result<Exit> {
    let mut argued = disputed(DISPUTED).unwrap_or_default();
    if let Some(path) = more {
        let text = String::from_utf8_lossy(&read(path)?).into_owned();
        let more = disputed(&text)
            .map_err(|f| Usage(crate::catalogue::placed(&path.display().to_string(), &f)))?;
        argued.extend(more);
    }
    let text = read(cases)?;
    let mut tally = Tally::default();
    for (i, line) in text.split(|b| *b == b'\n').enumerate() {
        if line.trim_ascii().is_empty() {
            continue;
        }
        let at = format!("{}:{}", name(cases), i + 1);
        one(all, line, &at, &argued, verbose, &mut tally);
    }
    let end = format!(
        "{} passed, {} failed, {} disputed",
        tally.passed, tally.failed, tally.disputed
    );
    tally.say(&end);
    print(&tally.out)?;
    Ok(if tally.failed > 0 {
        Exit::Failed
    } else {
        Exit::Done
    })
}

fn one(
    all: &Catalogue,
    line: &[u8],
    at: &str,
    argued: &BTreeMap<String, String>,
    verbose: bool,
    tally: &mut Tally,
) {
    let told = std::str::from_utf8(line)
        .map_err(|e| format!("is no UTF-8 from byte {} on", e.valid_up_to() + 1))
        .and_then(Case::parse);
    let case = match told {
        Ok(case) => case,
        Err(why) => return fail(&format!("{at}: {why}"), tally),
    };
    if let Some(argument) = argued.get(&case.id) {
        tally.disputed += 1;
        if verbose {
            tally.say(&format!("{}: disputed: {argument}", case.id));
        }
        return;
    }
    let Some(profile) = all.get(&case.provider) else {
        return fail(&format!("{}: no profile {}", case.id, case.provider), tally);
    };
    let recorded = match case.recorded() {
        Ok(recorded) => recorded,
        Err(why) => return fail(&format!("{at}: {why}"), tally),
    };
    let judged = judge(&profile, &recorded);
    let differences = case.expected().compare(&judged);
    if differences.is_empty() {
        tally.passed += 1;
        return;
    }
    tally.failed += 1;
    let rule = judged.rule.map_or_else(|| "the status".to_owned(), |r| r.0);
    for d in differences {
        let told = format!("expected {}, got {} ({rule})", d.expected, d.got);
        tally.say(&format!("{}: {}: {told}", case.id, d.field));
    }
}

fn fail(what: &str, tally: &mut Tally) {
    tally.failed += 1;
    tally.say(what);
}
