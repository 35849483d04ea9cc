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

const SEVERAL: [(&str, &str); 7] = [
    ("1", "name = \"wide\"\nhosts = [\"*.p.example\"]"),
    ("2", "name = \"exact\"\nhosts = [\"api.p.example\"]"),
    (
        "3",
        "name = \"paths\"\nhosts = [\"api.p.example\"]\npaths = [\"/v1/\", \"/v1/long/\"]",
    ),
    ("4", "name = \"ported\"\nhosts = [\"API.p.example.:8443\"]"),
    (
        "5",
        "name = \"closer\"\nhosts = [\"*.deep.p.example\"]\npaths = [\"/v1/\"]",
    ),
    ("6", "name = \"twice\"\nhosts = [\"old.q.example\"]"),
    ("7", "name = \"twice\"\nhosts = [\"new.q.example\"]"),
];

#[test]
fn the_closest_profile_of_an_address_is_found() {
    let all = with(&SEVERAL);
    for (host, port, path, wanted) in [
        ("x.p.example", 443, "/", Some("wide")),
        ("p.example", 443, "/", None),
        ("api.p.example", 443, "/", Some("exact")),
        ("API.P.Example.", 443, "/", Some("exact")),
        ("X.P.EXAMPLE.", 443, "/", Some("wide")),
        // Of one host the longest path counts; a path that does not fit leaves the host's own.
        ("api.p.example", 443, "/v1/x", Some("paths")),
        ("api.p.example", 443, "/v1", Some("exact")),
        // A port is closer than any path.
        ("api.p.example", 8443, "/v1/x", Some("ported")),
        ("api.p.example.", 8443, "/", Some("ported")),
        // A closer wildcard wins where its path fits.
        ("a.deep.p.example", 443, "/v1/x", Some("closer")),
        ("a.deep.p.example", 443, "/v2/x", Some("wide")),
        // Of two of one name the later one is in force, and the earlier one's hosts are nobody's.
        ("new.q.example", 443, "/", Some("twice")),
        ("old.q.example", 443, "/", None),
    ] {
        let found = found(&all, host, port, path);
        assert_eq!(found.as_deref(), wanted, "{host}:{port}{path}");
    }
}

#[test]
fn the_first_host_is_the_provider_itself_whatever_its_port_and_dot() {
    let all = with(&[(
        "own.toml",
        "name = \"own\"\neach_host = true\nhosts = [\"One.example:8080\", \"two.example\"]",
    )]);
    let own = all.get("own").unwrap();
    assert_eq!(own.provider("one.example"), "own");
    assert_eq!(own.provider("one.example."), "own");
    assert_eq!(own.provider("Two.example."), "own@two.example");
}

/// The faults of a profile with these lines.
fn faults(lines: &str) -> Vec<String> {
    let text = format!("name = \"own\"\n{lines}");
    let faults = Catalogue::built_in().faults(&text);
    faults.iter().map(ToString::to_string).collect()
}

#[test]
fn a_name_is_there_and_fits_into_paths() {
    for text in [
        "",
        "name = \"\"",
        "name = \"Own\"",
        "name = \"a b\"",
        "name = \"a@b\"",
    ] {
        let faults = Catalogue::built_in().faults(text);
        assert_eq!(faults.len(), 1, "{text}: {faults:?}");
        assert!(faults[0].what.starts_with("name: "), "{faults:?}");
    }
    assert!(faults("").is_empty());
}

#[test]
fn reads_of_everything_are_no_reads() {
    let said = faults("[[reads]]\nmethods = [\"POST\"]\n");
    assert!(
        said[0].contains("reads[1]: calls every request a read"),
        "{said:?}"
    );
    assert!(faults("[[reads]]\ngraphql = true\n").is_empty());
    assert!(faults("[[reads]]\npaths = [\"/x\"]\n").is_empty());
}

#[test]
fn more_gates_than_a_request_passes_are_told_unless_they_exclude_each_other() {
    let gates = |n: usize, more: &dyn Fn(usize) -> String| -> String {
        let gate = |i| {
            let more = more(i);
            format!("[[gate]]\nname = \"g{i}\"\nscope = \"route\"\n{more}\n")
        };
        (0..n).map(gate).collect()
    };
    let alike = |_: usize| "paths = [\"/v1/**\"]".to_owned();
    let apart = |i: usize| format!("paths = [\"/v1/p{i}/*\"]");
    // Beside them stand those of provider and account.
    assert!(faults(&gates(6, &alike)).is_empty());
    let said = faults(&gates(7, &alike));
    assert_eq!(said.len(), 1, "{said:?}");
    assert!(said[0].contains("at most 8 gates"), "{said:?}");
    assert!(faults(&gates(30, &apart)).is_empty());
    let mixed = |i: usize| if i < 6 { alike(i) } else { apart(i) };
    assert_eq!(faults(&gates(7, &mixed)).len(), 1);
}

#[test]
fn a_cost_that_no_window_has_room_for_is_told() {
    let gate = |limit: &str| {
        faults(&format!(
            "[[gate]]\nname = \"account\"\nlimits = [{{ count = 10, per = \"24h\", {limit} }}]\n\
             costs = [{{ methods = [\"POST\"], cost = 20 }}]\n"
        ))
    };
    for window in ["fixed", "sliding"] {
        let said = gate(&format!("window = \"{window}\""));
        assert_eq!(said.len(), 1, "{said:?}");
        assert!(said[0].contains("costs here (20)"), "{said:?}");
    }
    assert!(gate("burst = 1").is_empty());
}

#[test]
fn a_zone_is_for_days() {
    let gate = |per: &str| {
        faults(&format!(
            "[[gate]]\nname = \"account\"\nlimits = [{{ count = 9, per = \"{per}\", \
             window = \"fixed\", zone = \"UTC\" }}]\n"
        ))
    };
    assert!(gate("24h").is_empty() && gate("1d").is_empty());
    for per in ["1h", "7d", "30d"] {
        let said = gate(per);
        assert!(said[0].contains("windows of a day only"), "{said:?}");
    }
}

#[test]
fn what_a_profile_lets_go_first_goes_before_what_its_parent_does() {
    let mut all = Catalogue::built_in();
    let text = r#"
name = "own-edge"
hosts = ["edge.example"]

[[rule]]
why = "our own edge words its limits so"
status = [403]
text = "error code: 1015"
first = true
verdict = "rate_limited"
"#;
    all.add("own-edge.toml", text.to_owned()).unwrap();
    let own = all.get("own-edge").unwrap();
    assert_eq!(own.rules().names().next(), Some("own-edge rule 1"));
}
