//! Gathers the catalogue: the text of every profile, and an index of their hosts, so that a
//! process reads only the profiles it needs.

use std::fmt::Write as _;
use std::path::Path;

fn main() {
    let root = Path::new(&std::env::var("CARGO_MANIFEST_DIR").expect("set by cargo"))
        .join("../../profiles");
    println!("cargo:rerun-if-changed={}", root.display());
    let mut files: Vec<_> = std::fs::read_dir(&root)
        .expect("the folder profiles/ is there")
        .map(|entry| entry.expect("profiles/ can be read").path())
        .filter(|p| p.extension().is_some_and(|e| e == "toml"))
        .filter(|p| p.file_stem().is_some_and(|n| n != "disputed"))
        .collect();
    files.sort();
    let mut out = String::from("&[\n");
    for file in files {
        println!("cargo:rerun-if-changed={}", file.display());
        let text = std::fs::read_to_string(&file).expect("a profile can be read");
        let name = file
            .file_stem()
            .and_then(|n| n.to_str())
            .expect("a plain name");
        // A file that is no TOML is found by the tests; here it has no hosts.
        let table: toml::Table = text.parse().unwrap_or_default();
        let hosts = table.get("hosts").and_then(toml::Value::as_array);
        let hosts = hosts.into_iter().flatten().filter_map(toml::Value::as_str);
        let hosts: Vec<String> = hosts.map(str::to_ascii_lowercase).collect();
        let path = std::path::absolute(&file).expect("a path");
        let _ = writeln!(
            out,
            "    BuiltIn {{ name: {name:?}, hosts: &{hosts:?}, text: include_str!({path:?}) }},"
        );
    }
    out.push(']');
    let to = Path::new(&std::env::var("OUT_DIR").expect("set by cargo")).join("catalogue.rs");
    std::fs::write(to, out).expect("the index can be written");
}
