//! A user's own profiles in the catalogue: what stands on them, and which one an address means.

#![allow(clippy::unwrap_used, reason = "a test may panic")]

use abide_profile::Catalogue;

fn with(texts: &[(&str, &str)]) -> Catalogue {
    let mut all = Catalogue::built_in();
    for (file, text) in texts {
        all.add(file, (*text).to_owned()).unwrap();
    }
    all
}

/// The names of what is found, address by address.
fn found(all: &Catalogue, host: &str, port: u16, path: &str) -> Option<String> {
    all.find(host, port, path).map(|p| p.name().to_owned())
}

#[test]
fn children_stand_on_a_parent_that_the_user_added_to() {
    for parent in ["generic", "google-api", "openai-compatible", "binance"] {
        let before = Catalogue::built_in();
        let text = format!(
            "name = \"{parent}\"\nextends = \"{parent}\"\n[[rule]]\nwhy = \"mine\"\nfirst = true\n\
             status = [418]\nverdict = \"banned\"\ngate = \"provider\"\n"
        );
        let all = with(&[("own.toml", &text)]);
        let mut children = 0;
        for name in before.names() {
            let profile = all.get(name).unwrap_or_else(|| panic!("{name} is lost"));
            if !before.parents(name).iter().any(|p| p == parent) {
                continue;
            }
            children += 1;
            let rules = &profile.told().rules;
            let known = before.get(name).unwrap().told().rules.len();
            assert_eq!(rules.len(), known + 1, "{name}");
            assert!(rules.iter().any(|r| r.why == "mine"), "{name}");
        }
        assert!(children > 0, "{parent}");
    }
}

#[test]
fn what_was_made_before_its_parent_changed_is_made_again() {
    let mut all = with(&[("a.toml", "name = \"mine\"\nextends = \"github\"\n")]);
    let before = all.get("mine").unwrap().told().rules.len();
    let github = "name = \"github\"\nextends = \"github\"\n[[rule]]\nwhy = \"x\"\nstatus = [418]\n";
    all.add("github.toml", github.to_owned()).unwrap();
    assert_eq!(all.get("mine").unwrap().told().rules.len(), before + 1);
    assert_eq!(all.parents("mine"), ["github", "github", "generic"]);
}

#[test]
fn a_parent_that_breaks_what_stands_on_it_is_refused() {
    let mut all = Catalogue::built_in();
    let e = all
        .add(
            "openai.toml",
            "name = \"openai-compatible\"\nextends = \"groq\"\n".to_owned(),
        )
        .unwrap_err();
    let said = e.to_string();
    assert!(said.starts_with("openai.toml: "), "{said}");
    assert!(said.contains("\"groq\""), "{said}");
    // And nothing of it is left.
    assert_eq!(all.origin("openai-compatible"), None);
    assert!(all.get("groq").is_some());
    assert!(all.faults(all.text("groq").unwrap()).is_empty());
}
