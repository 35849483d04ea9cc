//! What is said of a provider, and what is known of it.

#![allow(clippy::unwrap_used, reason = "a test may panic")]

use std::time::Duration;

use abide_config::{Config, File, Use, show};
use abide_core::pace::{Sliding, Window};
use abide_core::policy::ProviderPolicy;
use abide_core::{Instant, Moment, WallTime};
use abide_profile::Catalogue;

const PEER: &str = r#"
name = "peer"
hosts = ["api.peer.example"]
docs = ["https://peer.example/limits"]
checked = "2026-11-30"

[policy]
floor = "30s"
ladder = ["30s", "60s"]

[[gate]]
name = "provider"
concurrency = 4
limits = [{ count = 10, per = "1s" }, { count = 100, per = "1m", window = "sliding", plan = "gold" }]
"#;

fn catalogue() -> Catalogue {
    let mut all = Catalogue::built_in();
    all.add("peer.toml", PEER.to_owned()).unwrap();
    all
}

fn config(text: &str) -> Config {
    let file = File {
        path: "abide.toml".to_owned(),
        text: text.to_owned(),
    };
    Config::load(Some(&file), [], []).unwrap()
}

fn policy(text: &str) -> ProviderPolicy {
    let all = catalogue();
    let profile = all.get("peer").unwrap();
    let at = Moment::new(
        Instant::from_secs(1),
        WallTime::from_unix_secs(1_773_144_000),
    );
    config(text).treatment(Use::Fetch, "peer", &profile, at).0
}

fn wrong(text: &str) -> Vec<String> {
    let errors = config(text).against(&catalogue());
    errors.iter().map(ToString::to_string).collect()
}

#[test]
fn what_is_known_stands_without_a_word() {
    let p = policy("");
    assert_eq!(
        p.provider.windows.len(),
        1,
        "a plan's limits wait for the plan"
    );
    assert_eq!(p.provider.concurrency, 4);
    assert_eq!(p.provider.floor, Duration::from_secs(30));
}

#[test]
fn a_limit_may_be_tightened_freely() {
    let p = policy("[providers.peer]\nrate = \"5/s\"\nconcurrency = 2\nhold.floor = \"60s\"");
    assert_eq!(p.provider.windows.len(), 2, "both must have room");
    assert_eq!(p.provider.concurrency, 2);
    assert_eq!(p.provider.floor, Duration::from_secs(60));
    assert!(wrong("[providers.peer]\nrate = \"5/s\"").is_empty());
}

#[test]
fn loosening_a_limit_needs_override() {
    let loose = "[providers.peer]\nrate = \"20/s\"\nconcurrency = 9";
    let said = wrong(loose);
    assert_eq!(said.len(), 2, "{said:?}");
    assert!(
        said[0].starts_with("abide.toml:2:8: rate = \"20/s\" is wider"),
        "{said:?}"
    );
    assert!(
        said[1].starts_with("abide.toml:3:15: concurrency = 9"),
        "{said:?}"
    );
    let p = policy(loose);
    assert_eq!(p.provider.windows.len(), 2, "and it does not loosen");
    assert_eq!(p.provider.concurrency, 4);

    let over = format!("{loose}\noverride = true");
    assert!(wrong(&over).is_empty());
    let p = policy(&over);
    assert_eq!(p.provider.windows.len(), 1);
    assert_eq!(p.provider.concurrency, 9);
}

#[test]
fn a_word_on_all_providers_loosens_none() {
    assert!(wrong("[defaults]\nrate = \"1000/s\"\n[providers.peer]\nattempts = 2").is_empty());
    assert_eq!(
        policy("[defaults]\nconcurrency = 100").provider.concurrency,
        4
    );
}

#[test]
fn a_plans_limits_are_chosen() {
    let p = policy("[providers.peer]\nplan = \"gold\"");
    let gold = Window::from(Sliding::new(100, Duration::from_secs(60)));
    assert!(p.provider.windows.contains(&gold));
}

#[test]
fn an_unknown_profile_is_told_with_a_guess() {
    let said = wrong("[providers.mine]\nhosts = [\"m.example\"]\nprofile = \"per\"");
    assert_eq!(
        said,
        ["abide.toml:3:11: there is no profile \"per\"; did you mean \"peer\"?"]
    );
}

#[test]
fn what_a_profile_says_is_shown_with_its_origin() {
    let mut c = config("[providers.peer]\nattempts = 2");
    c.know(&catalogue());
    let shown = show(&c);
    assert!(shown.contains("hold.floor = \"30s\""), "{shown}");
    assert!(shown.contains("# profile peer"), "{shown}");
}

#[test]
fn a_file_may_have_profiles_of_its_own() {
    let c = config(
        "[profiles.mine]\nhosts = [\"m.example\"]\n[[profiles.mine.gate]]\nname = \"route\"\n",
    );
    let (name, text, origin) = c.profiles().next().unwrap();
    assert_eq!(
        (name, origin.to_string().as_str()),
        ("mine", "abide.toml:1:11")
    );
    let mut all = Catalogue::built_in();
    all.add("abide.toml", text.to_owned()).unwrap();
    assert_eq!(all.find("m.example", 443, "/").unwrap().name(), "mine");
}

#[test]
fn a_section_holds_for_each_host_of_a_provider_that_counts_them_apart() {
    let c = config("[providers.aws]\nrate = \"5/s\"\nattempts = 2\noverride = true");
    let all = catalogue();
    let profile = all.get("aws").unwrap();
    let at = Moment::new(
        Instant::from_secs(1),
        WallTime::from_unix_secs(1_773_144_000),
    );
    let of = |name| c.treatment(Use::Fetch, name, &profile, at);
    let name = profile.provider("ec2.eu-west-1.amazonaws.com");
    assert_ne!(name, "aws");
    assert_eq!(of(&name), of("aws"));
    assert_eq!(of(&name).0.provider.windows.len(), 1);
    assert_eq!(c.call(Use::Fetch, Some(&name)).attempts, 2);
}

#[test]
fn a_limit_without_room_for_one_request_is_told() {
    let said = wrong("[providers.youtube]\naccount.limits = [\"40/1m\", \"9000/1d\"]");
    assert_eq!(said.len(), 1, "{said:?}");
    assert!(
        said[0].starts_with("abide.toml:2:18: account.limits"),
        "{said:?}"
    );
    assert!(said[0].contains("costs up to 450"), "{said:?}");
    assert!(said[0].contains("make it 450 or more"), "{said:?}");
    let burst = "[providers.youtube]\naccount.rate = \"1/s\"\naccount.burst = 20";
    assert_eq!(wrong(burst).len(), 1);
    assert!(wrong("[providers.youtube]\naccount.rate = \"1/s\"").is_empty());
    // What is said of all is widened for the one, so that every request can be sent some day.
    let all = catalogue();
    let at = Moment::new(
        Instant::from_secs(1),
        WallTime::from_unix_secs(1_773_144_000),
    );
    let youtube = all.get("youtube").unwrap();
    let c = config("[defaults]\naccount.limits = [\"40/1m\"]");
    let windows = c
        .treatment(Use::Call, "youtube", &youtube, at)
        .0
        .account
        .windows;
    let wide = Window::from(Sliding::new(450, Duration::from_secs(60)));
    assert!(windows.contains(&wide), "{windows:?}");
}

#[test]
fn auto_learns_no_pace_where_the_provider_documents_its_limits() {
    let mut all = Catalogue::built_in();
    let documented = format!("evidence = \"documented\"\n{PEER}").replace("\"peer\"", "\"sure\"");
    let documented = documented.replace("api.peer", "api.sure");
    all.add("peer.toml", PEER.to_owned()).unwrap();
    all.add("sure.toml", documented).unwrap();
    let at = Moment::new(
        Instant::from_secs(1),
        WallTime::from_unix_secs(1_773_144_000),
    );
    let learns = |name: &str, text: &str| {
        let profile = all.get(name).unwrap();
        let p = config(text).treatment(Use::Call, name, &profile, at).0;
        (!p.provider.adaptive.is_off(), !p.account.adaptive.is_off())
    };
    assert_eq!(learns("sure", ""), (false, true));
    assert_eq!(learns("peer", ""), (true, true), "a guess may be wrong");
    let on = "[providers.sure]\npace.adaptive = \"on\"";
    assert_eq!(learns("sure", on), (true, true));
}

#[test]
fn a_profiles_role_tells_what_is_on_this_machine() {
    let mut all = Catalogue::built_in();
    let near = PEER.replace("[policy]\n", "[policy]\nrole = \"local\"\n");
    let near = near.replace("\"peer\"", "\"near\"");
    all.add("near.toml", near.replace("api.peer", "api.near"))
        .unwrap();
    all.add("peer.toml", PEER.to_owned()).unwrap();
    let at = Moment::new(
        Instant::from_secs(1),
        WallTime::from_unix_secs(1_773_144_000),
    );
    let is_local = |name: &str| {
        let profile = all.get(name).unwrap();
        config("").treatment(Use::Call, name, &profile, at).0.local
    };
    assert!(is_local("near") && !is_local("peer"));
}

#[test]
fn a_section_says_which_paths_keep_to_no_pace() {
    let said = "[providers.peer]\npace.except = [\"/oauth/token\", \"/v2/status/**\"]\n";
    let c = config(said);
    for of in [Use::Call, Use::Fetch] {
        let unpaced = c.unpaced(of, "peer");
        for (path, except) in [
            ("/oauth/token", true),
            ("/v2/status/now/1", true),
            ("/v2/items", false),
            ("/", false),
        ] {
            assert_eq!(unpaced.matches(path), except, "{path}");
        }
        assert!(!c.unpaced(of, "other").matches("/oauth/token"));
    }
    let file = File {
        path: "abide.toml".to_owned(),
        text: "[providers.peer]\npace.except = [\"oauth\"]\n".to_owned(),
    };
    let errors = Config::load(Some(&file), [], []).unwrap_err();
    let told = errors[0].to_string();
    assert!(told.contains("a list of at most 64 paths"), "{told}");
}
