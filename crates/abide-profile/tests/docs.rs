//! The reference of the format is what the types say.

use abide_profile::docs::{page, schema};

const HOW: &str = "is out of date: cargo run -p abide-profile --example profile_docs";

fn kept(name: &str) -> String {
    let docs = concat!(env!("CARGO_MANIFEST_DIR"), "/../../docs");
    std::fs::read_to_string(std::path::Path::new(docs).join(name)).unwrap_or_default()
}

#[test]
fn the_page_of_the_format_is_current() {
    assert!(kept("profiles.md") == page(), "docs/profiles.md {HOW}");
}

#[test]
fn the_schema_of_the_format_is_current() {
    assert!(
        kept("profile.schema.json") == schema(),
        "docs/profile.schema.json {HOW}"
    );
}

#[test]
fn the_example_of_the_page_is_sound() {
    let all = abide_profile::Catalogue::built_in();
    let page = page();
    let (_, rest) = page.split_once("```toml\n").expect("an example");
    let (example, _) = rest.split_once("```").expect("its end");
    assert_eq!(all.faults(example), []);
    let profile = all.preview(example).expect("it can be read");
    for trial in abide_profile::trial::trials(&profile, example) {
        assert!(trial.passed(), "{trial:?}");
    }
}
