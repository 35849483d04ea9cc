//! The page of the contract names tests that exist.

const PAGE: &str = include_str!("../../../../docs/layer-contract.md");

const FILES: [(&str, &str); 5] = [
    ("admission", include_str!("admission.rs")),
    ("attempts", include_str!("attempts.rs")),
    ("bodies", include_str!("bodies.rs")),
    ("leaving", include_str!("leaving.rs")),
    ("readiness", include_str!("readiness.rs")),
];

#[test]
fn every_test_is_named_and_every_name_is_a_test() {
    let mut named = 0;
    for name in PAGE.split('`').skip(1).step_by(2) {
        let Some((file, test)) = name.split_once("::") else {
            continue;
        };
        let Some((_, text)) = FILES.iter().find(|(f, _)| *f == file) else {
            continue;
        };
        named += 1;
        assert!(text.contains(&format!("fn {test}()")), "no test {name}");
    }
    assert!(named > 40, "only {named}");
    for (file, text) in FILES {
        for test in text.split("async fn ").skip(1) {
            let test = test.split('(').next().unwrap();
            assert!(
                PAGE.contains(&format!("`{file}::{test}`")),
                "{file}::{test} shows nothing"
            );
        }
    }
}
