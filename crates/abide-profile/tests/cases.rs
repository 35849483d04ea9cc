//! Recorded answers of real providers, and what they mean.

#![allow(
    clippy::unwrap_used,
    clippy::expect_used,
    reason = "helpers of tests stop at the first surprise"
)]

use std::collections::BTreeMap;

use abide_profile::Catalogue;
use abide_profile::cases::Case;
use abide_profile::judge::judge;

const CASES: &str = include_str!("cases.jsonl");

/// What the facts and rules say of the shapes that the others leave out.
const MORE: &str = include_str!("more_cases.jsonl");

#[test]
fn every_recorded_case_comes_out_as_it_should() {
    all_come_out(CASES);
}

#[test]
fn every_further_case_comes_out_as_it_should() {
    all_come_out(MORE);
}

fn all_come_out(cases: &str) {
    let all = Catalogue::built_in();
    let disputed: BTreeMap<String, toml::Value> =
        toml::from_str(include_str!("../../../profiles/disputed.toml")).unwrap();
    let (mut passed, mut wrong) = (0, Vec::new());
    for line in cases.lines() {
        let case = Case::parse(line).expect("a case a line");
        if disputed.contains_key(&case.id) {
            continue;
        }
        let Some(profile) = all.get(&case.provider) else {
            wrong.push(format!("{}: no profile {}", case.id, case.provider));
            continue;
        };
        let judged = judge(&profile, &case.recorded().unwrap());
        let differences = case.expected().compare(&judged);
        if differences.is_empty() {
            passed += 1;
        }
        let rule = judged.rule.map_or_else(|| "the status".to_owned(), |r| r.0);
        wrong.extend(differences.iter().map(|d| {
            format!(
                "{}: {}: expected {}, got {} by {rule}",
                case.id, d.field, d.expected, d.got
            )
        }));
    }
    println!("{passed} passed");
    assert!(
        wrong.is_empty(),
        "{} wrong:\n{}",
        wrong.len(),
        wrong.join("\n")
    );
}
