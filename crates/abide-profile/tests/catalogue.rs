//! The catalogue itself: every profile is sound, and its own tests pass.

use abide_profile::Catalogue;
use abide_profile::judge::judge;

#[test]
fn every_profile_is_sound() {
    let all = Catalogue::built_in();
    let mut wrong = Vec::new();
    for name in all.names() {
        let text = all.text(name).unwrap();
        wrong.extend(all.faults(text).iter().map(|f| format!("{name}: {f}")));
        match all.get(name) {
            None => wrong.push(format!("{name}: cannot be read")),
            Some(p) if p.name() != name => {
                wrong.push(format!("{name}: its file calls it {:?}", p.name()));
            }
            Some(_) => {}
        }
    }
    assert!(
        wrong.is_empty(),
        "{} wrong:\n{}",
        wrong.len(),
        wrong.join("\n")
    );
}

#[test]
fn every_profile_passes_its_own_tests() {
    let all = Catalogue::built_in();
    let (mut passed, mut wrong) = (0, Vec::new());
    for name in all.names() {
        let Some(profile) = all.get(name) else {
            continue;
        };
        for test in &profile.told().tests {
            let at = format!("{name}: {:?}", test.name);
            let recorded = match test.recorded() {
                Ok(r) => r,
                Err(why) => {
                    wrong.push(format!("{at}: {why}"));
                    continue;
                }
            };
            let judged = judge(&profile, &recorded);
            let differences = test.expected().compare(&judged);
            if differences.is_empty() {
                passed += 1;
            }
            let rule = judged.rule.map_or_else(|| "the status".to_owned(), |r| r.0);
            wrong.extend(differences.iter().map(|d| {
                format!(
                    "{at}: {}: expected {}, got {} by {rule}",
                    d.field, d.expected, d.got
                )
            }));
        }
    }
    println!("{passed} passed");
    assert!(
        wrong.is_empty(),
        "{} wrong:\n{}",
        wrong.len(),
        wrong.join("\n")
    );
}

#[test]
fn nothing_in_the_catalogue_asks_for_a_second_look() {
    let all = Catalogue::built_in();
    let mut found = Vec::new();
    for name in all.names() {
        let (Some(profile), Some(text)) = (all.get(name), all.text(name)) else {
            continue;
        };
        let lints = abide_profile::lint::lints(&profile, text);
        found.extend(lints.iter().map(|lint| format!("{name}: {lint}")));
    }
    assert!(
        found.is_empty(),
        "{} found:\n{}",
        found.len(),
        found.join("\n")
    );
}

#[test]
fn a_status_that_never_holds_is_a_fault() {
    let all = Catalogue::built_in();
    let faults = |list: &str| {
        let text = format!("name = \"x\"\n\n[policy]\nhold_on = {list}\n");
        let faults = all.faults(&text);
        faults.iter().map(ToString::to_string).collect::<Vec<_>>()
    };
    assert_eq!(faults("[502, 503, 529]"), Vec::<String>::new());
    for (list, item) in [
        ("[503, 1000]", 2),
        ("[99]", 1),
        ("[500]", 1),
        ("[200, 503]", 1),
        ("[600]", 1),
    ] {
        let found = faults(list);
        assert_eq!(found.len(), 1, "{list}: {found:?}");
        assert!(
            found[0].contains(&format!("hold_on[{item}]: ")),
            "{found:?}"
        );
        assert!(found[0].contains("no status from 400 to 599"), "{found:?}");
    }
}

#[test]
fn refused_uploads_close_the_gates_of_their_kind() {
    let youtube = Catalogue::built_in().get("youtube").unwrap();
    let gate = |test: &str| {
        let mut tests = youtube.told().tests.iter();
        let test = tests.find(|t| t.name == test).unwrap();
        let judged = judge(&youtube, &test.recorded().unwrap());
        let ask = judged.finding.ask();
        let class = ask.map_or(judged.finding.class, |a| a.class);
        youtube.gates().name(judged.scope, class).map(str::to_owned)
    };
    let uploads = gate("no more uploads for a day");
    assert_eq!(uploads.as_deref(), Some("uploads"));
    let thumbnails = gate("too many thumbnails");
    assert_eq!(thumbnails.as_deref(), Some("thumbnails"));
}
