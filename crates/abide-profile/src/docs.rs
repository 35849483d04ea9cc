//! The reference of the profile format: docs/profiles.md and docs/profile.schema.json, made of
//! the types and their comments.

use std::fmt::Write as _;

use serde_json::{Map, Value};

use crate::format::Profile;

const HEAD: &str = "\
# Profiles: what abide knows of a provider

This page is generated from the types in `crates/abide-profile/src/format`:
`cargo run -p abide-profile --example profile_docs`. The JSON Schema beside it
(`profile.schema.json`) lets an editor check a profile while it is written.

A profile is a TOML file that says how a provider is recognised, what it limits, and how it says
so. `abide providers` lists those built in, `abide providers check FILE` checks one of your own,
`abide explain --profiles DIR` and `abide providers --profiles DIR` use a folder of them.

```toml
name = \"example\"
title = \"Example\"
hosts = [\"api.example.org\"]
docs = [\"https://example.org/docs/limits\"]
evidence = \"documented\"
checked = \"2026-11-01\"

[[gate]]
name = \"account\"
limits = [{ count = 60, per = \"1m\", window = \"fixed\" }]

[[reading]]
remaining = { header = \"x-example-left\" }
reset = { header = \"x-example-next\", unit = \"epoch\" }

[[rule]]
why = \"the day's quota is used up\"
status = [403]
json = { \"$.error.code\" = \"daily_limit\" }
verdict = \"quota_exhausted\"
until = \"midnight UTC\"

[[test]]
name = \"the day's quota is used up\"
status = 403
headers = { content-type = \"application/json\" }
body = '{\"error\": {\"code\": \"daily_limit\"}}'
verdict = \"quota_exhausted\"
wait = 43200
```

Every key may be left out. Keys that are unknown are errors.

* A profile stands on its parent (`extends`, `generic` when absent): its own rules, readings and
  asks are tried first, its own gates take the place of those of the same name. Hosts and tests
  are not taken over.
* A profile of your own that has the name of one built in takes its place; one that also extends
  that name adds to it.
* Of several profiles that fit a URL the one with the closest host wins, then the one with the
  longest path.
* The first rule that matches decides. What it leaves open is left to the status and the headers.
* The verdicts are `success`, `not_found`, `client_error`, `auth_error`, `rate_limited`,
  `quota_exhausted`, `banned` and `unavailable`.
* At most 64 KiB of a body are looked at; a larger one is looked at as text only.
";

/// The text of docs/profile.schema.json.
pub fn schema() -> String {
    format!("{:#}\n", schemars::schema_for!(Profile).to_value())
}

/// The text of docs/profiles.md.
pub fn page() -> String {
    let schema = schemars::schema_for!(Profile).to_value();
    let mut out = HEAD.to_owned();
    section(&mut out, "The file", &schema);
    let none = Map::new();
    let types = schema["$defs"].as_object().unwrap_or(&none);
    for (name, told) in types {
        section(&mut out, name, told);
    }
    out
}

/// Writing to a string cannot fail.
fn section(out: &mut String, name: &str, told: &Value) {
    let _ = write!(out, "\n## {name}\n\n{}\n", prose(&told["description"]));
    if let Some(fields) = told["properties"].as_object() {
        let _ = write!(out, "\n| key | takes | what it says |\n|---|---|---|\n");
        for (key, field) in fields {
            let what = cell(&prose(&field["description"]));
            let _ = writeln!(out, "| `{key}` | {} | {what} |", cell(&takes(field)));
        }
    } else if let Some(choices) = choices(told) {
        let _ = write!(out, "\n| value | means |\n|---|---|\n");
        for choice in choices {
            let what = cell(&prose(&choice["description"]));
            let _ = writeln!(out, "| {} | {what} |", cell(&takes(choice)));
        }
    }
}

fn choices(told: &Value) -> Option<&Vec<Value>> {
    let all = told["oneOf"].as_array();
    all.or_else(|| told["anyOf"].as_array())
}

/// A comment's lines as one: they are broken for the source.
fn prose(text: &Value) -> String {
    let paragraphs = text.as_str().unwrap_or_default().split("\n\n");
    let joined = paragraphs.map(|p| p.split_whitespace().collect::<Vec<_>>().join(" "));
    joined.collect::<Vec<_>>().join("\n\n")
}

fn cell(text: &str) -> String {
    text.replace("\n\n", " ").replace('|', "\\|")
}

/// What a key takes.
fn takes(told: &Value) -> String {
    if let Some(name) = told["$ref"].as_str() {
        return link(name);
    }
    if let Some(word) = told["const"].as_str() {
        return format!("`\"{word}\"`");
    }
    if let Some(words) = told["enum"].as_array() {
        let words = words.iter().filter_map(Value::as_str);
        let words: Vec<String> = words.map(|w| format!("`\"{w}\"`")).collect();
        return words.join(", ");
    }
    if let Some(all) = choices(told).or_else(|| told["allOf"].as_array()) {
        let some = all.iter().filter(|c| c["type"] != "null");
        let some: Vec<String> = some.map(takes).collect();
        return some.join(" or ");
    }
    let kind = match &told["type"] {
        // A key that may be left out: the null is never written.
        Value::Array(kinds) => kinds
            .iter()
            .filter_map(Value::as_str)
            .find(|k| *k != "null"),
        kind => kind.as_str(),
    };
    match kind {
        Some("string") => "text".to_owned(),
        Some("boolean") => "`true` or `false`".to_owned(),
        Some("integer" | "number") => "a number".to_owned(),
        Some("array") => match told["prefixItems"].as_array() {
            Some(items) => {
                let items: Vec<String> = items.iter().map(takes).collect();
                format!("a list of {}: {}", items.len(), items.join(", "))
            }
            None => format!("a list: {}", takes(&told["items"])),
        },
        Some("object") => object(told),
        _ => "anything".to_owned(),
    }
}

fn object(told: &Value) -> String {
    if let Some(fields) = told["properties"].as_object() {
        let fields = fields.iter().map(|(k, f)| format!("`{k}` = {}", takes(f)));
        return format!("a table: {}", fields.collect::<Vec<_>>().join(", "));
    }
    format!("a table of {}", takes(&told["additionalProperties"]))
}

fn link(name: &str) -> String {
    let name = name.rsplit('/').next().unwrap_or_default();
    format!("[{name}](#{})", name.to_ascii_lowercase())
}
