//! Upstreams and chains, as they are shown: never with a secret, which stand elsewhere anyway.

use serde_json::{Map, Value as Json, json};

use crate::chain::ChainRoute;
use crate::units::duration_text;
use crate::upstream::{Secret, Upstream};

impl Upstream {
    /// What was said of it, key by key.
    pub(crate) fn shown(&self) -> Map<String, Json> {
        let mut out = Map::new();
        let mut put = |key: &str, value: Json| {
            if !value.is_null() {
                out.insert(key.to_owned(), value);
            }
        };
        let time = |t: Option<std::time::Duration>| json!(t.map(duration_text));
        put("url", json!(self.url().as_str()));
        put("ca", json!(self.ca));
        put("cert", json!(self.cert));
        put("key", json!(self.key));
        put("proxy", json!(self.proxy.as_ref().map(ToString::to_string)));
        put("connect", time(self.connect));
        put("head", time(self.head));
        put("body_idle", time(self.body_idle));
        if self.private {
            put("private", json!(true));
        }
        if !self.aliases.is_empty() {
            put("aliases", json!(self.aliases));
        }
        if let Some(told) = &self.credential {
            let (kind, place) = match &told.from {
                Secret::Env(name) => ("env", name),
                Secret::File(path) => ("file", path),
            };
            put(
                "credential",
                json!({ kind: place, "header": told.header, "prefix": told.prefix }),
            );
        }
        out
    }
}

impl ChainRoute {
    /// What was said of it.
    pub(crate) fn shown(&self) -> Json {
        let members = self.members.iter().map(|m| {
            let mut out = Map::new();
            out.insert("provider".to_owned(), json!(m.provider));
            if let Some(path) = &m.path {
                out.insert("path".to_owned(), json!(path));
            }
            for (key, on) in [("independent", m.independent), ("local", m.local)] {
                if on {
                    out.insert(key.to_owned(), json!(true));
                }
            }
            Json::from(out)
        });
        let mut out = Map::new();
        out.insert("name".to_owned(), json!(self.name));
        if let Some(path) = &self.path {
            out.insert("path".to_owned(), json!(path));
        }
        out.insert("members".to_owned(), members.collect());
        out.insert("origin".to_owned(), json!(self.origin.to_string()));
        out.into()
    }
}

/// A value as TOML has it within a line.
pub(crate) fn inline(value: &Json) -> String {
    match value {
        Json::Array(all) => {
            let all: Vec<_> = all.iter().map(inline).collect();
            format!("[{}]", all.join(", "))
        }
        Json::Object(all) => {
            let all: Vec<_> = all
                .iter()
                .map(|(k, v)| format!("{k} = {}", inline(v)))
                .collect();
            format!("{{ {} }}", all.join(", "))
        }
        // A basic string of TOML has the escapes of JSON.
        other => other.to_string().replace('\u{7f}', "\\u007f"),
    }
}
