//! Recorded cases: one answer a line, and what it must be found to mean.

use std::collections::BTreeMap;
use std::time::Duration;

use abide_core::WallTime;
use http::{HeaderMap, HeaderName, HeaderValue};
use serde::Deserialize;
use serde_json::Value;

use crate::format::{Lines, Test};
use crate::judge::{Judged, Recorded};
use crate::load::Fault;

/// Recorded cases that are believed to be wrong, as the catalogue lists them.
pub const DISPUTED: &str = include_str!("../../../profiles/disputed.toml");

/// Reads a list of disputed cases: `id = "argument"`.
///
/// # Errors
/// What is wrong, and where.
pub fn disputed(text: &str) -> Result<BTreeMap<String, String>, Fault> {
    crate::load::read(text)
}

/// A recorded case, as a line of a file tells it.
#[derive(Clone, Debug, Deserialize)]
pub struct Case {
    /// Its name.
    pub id: String,
    /// The profile it belongs to.
    pub provider: String,
    /// When the answer came: RFC 3339.
    now: String,
    request: Asked,
    response: Told,
    expect: Expected,
}

#[derive(Clone, Debug, Deserialize)]
struct Asked {
    method: String,
    path: String,
}

#[derive(Clone, Debug, Deserialize)]
struct Told {
    status: u16,
    #[serde(default)]
    headers: serde_json::Map<String, Value>,
    body: Option<Value>,
}

/// What an answer must be found to mean. What is absent is not compared.
#[derive(Clone, Debug, Default, PartialEq, Deserialize)]
pub struct Expected {
    verdict: Option<String>,
    scope: Option<String>,
    source: Option<String>,
    retryable_after_wait: Option<bool>,
    #[serde(default, deserialize_with = "given")]
    wait_s: Option<Option<f64>>,
    #[serde(skip)]
    remaining: Option<u64>,
}

/// Tells `null` from absence.
fn given<'de, D: serde::Deserializer<'de>>(d: D) -> Result<Option<Option<f64>>, D::Error> {
    Option::deserialize(d).map(Some)
}

/// One thing that differs.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Difference {
    /// What.
    pub field: &'static str,
    /// As it should be.
    pub expected: String,
    /// As it is.
    pub got: String,
}

impl Case {
    /// Reads a line.
    ///
    /// # Errors
    /// What is wrong with it.
    pub fn parse(line: &str) -> Result<Self, String> {
        serde_json::from_str(line).map_err(|e| e.to_string())
    }

    /// The answer it records. Cases of no profile expect JSON.
    ///
    /// # Errors
    /// What is wrong with it.
    pub fn recorded(&self) -> Result<Recorded, String> {
        let path = self.request.path.split('?').next().unwrap_or_default();
        let lines = self.response.headers.iter().map(|(name, value)| {
            let lines = match value {
                Value::Array(all) => all.iter().map(text).collect(),
                one => vec![text(one)],
            };
            (name.as_str(), lines)
        });
        let body = self.response.body.as_ref().map(|b| match b {
            Value::String(text) => text.clone().into_bytes(),
            other => other.to_string().into_bytes(),
        });
        recorded(
            &self.request.method,
            path,
            &self.now,
            self.response.status,
            lines,
            body,
            self.provider == "generic",
        )
    }

    /// What it must be found to mean.
    pub const fn expected(&self) -> &Expected {
        &self.expect
    }
}

fn text(value: &Value) -> String {
    match value {
        Value::String(text) => text.clone(),
        other => other.to_string(),
    }
}

impl Test {
    /// The answer it tells of.
    ///
    /// # Errors
    /// What is wrong with it.
    pub fn recorded(&self) -> Result<Recorded, String> {
        let request = self.request.as_deref().unwrap_or("GET /");
        let (method, path) = request
            .split_once(' ')
            .ok_or_else(|| format!("{request:?} is not METHOD /path"))?;
        let path = path.split('?').next().unwrap_or_default();
        let lines = self.headers.iter().map(|(name, lines)| {
            let lines = match lines {
                Lines::One(line) => vec![line.clone()],
                Lines::Several(lines) => lines.clone(),
            };
            (name.as_str(), lines)
        });
        let now = self.now.as_deref().unwrap_or("2026-03-10T12:00:00Z");
        let body = self.body.clone().unwrap_or_default().into_bytes();
        recorded(method, path, now, self.status, lines, Some(body), false)
    }

    /// What it must be found to mean.
    pub fn expected(&self) -> Expected {
        Expected {
            verdict: Some(self.verdict.clone()),
            scope: self.scope.clone(),
            source: self.source.clone(),
            retryable_after_wait: self.again,
            wait_s: self.wait.map(|w| (w >= 0.0).then_some(w)),
            remaining: self.remaining,
        }
    }
}

fn recorded<'a>(
    method: &str,
    path: &str,
    now: &str,
    status: u16,
    lines: impl Iterator<Item = (&'a str, Vec<String>)>,
    body: Option<Vec<u8>>,
    json: bool,
) -> Result<Recorded, String> {
    let now: jiff::Timestamp = now
        .parse()
        .map_err(|_| format!("{now:?} is no time (as 2026-03-10T12:00:00Z)"))?;
    let nanos = i64::try_from(now.as_nanosecond()).map_err(|_| format!("{now} is too far"))?;
    let mut headers = HeaderMap::new();
    for (name, all) in lines {
        let parsed: HeaderName = name
            .parse()
            .map_err(|_| format!("{name:?} is no header's name"))?;
        for line in all {
            let value = HeaderValue::from_bytes(line.as_bytes())
                .map_err(|_| format!("{line:?} is no value of the header {name}"))?;
            headers
                .try_append(&parsed, value)
                .map_err(|_| "has more headers than fit".to_owned())?;
        }
    }
    Ok(Recorded {
        method: method
            .parse()
            .map_err(|_| format!("{method:?} is no method"))?,
        path: path.to_owned(),
        wall: WallTime::from_unix_nanos(nanos),
        status: http::StatusCode::from_u16(status).map_err(|_| format!("{status} is no status"))?,
        headers,
        body,
        json,
    })
}

impl Expected {
    /// Everything that differs. A wait may be longer than told by a tenth and 2 s, since repeats
    /// are spread; it must never be shorter.
    pub fn compare(&self, judged: &Judged) -> Vec<Difference> {
        let mut all = Vec::new();
        let mut differ = |field, expected: String, got: String| {
            if expected != got {
                all.push(Difference {
                    field,
                    expected,
                    got,
                });
            }
        };
        if let Some(v) = &self.verdict {
            differ("verdict", v.clone(), judged.finding.verdict.to_string());
        }
        if let Some(s) = &self.scope {
            differ("scope", s.clone(), judged.scope.to_string());
        }
        if let Some(s) = &self.source {
            differ("source", s.clone(), judged.source.to_string());
        }
        if let Some(r) = self.retryable_after_wait {
            differ(
                "retryable_after_wait",
                r.to_string(),
                judged.again.to_string(),
            );
        }
        if let Some(n) = self.remaining {
            let told = judged.finding.readings.iter().filter_map(|r| r.remaining);
            let told: Vec<u64> = told.collect();
            if !told.contains(&n) {
                differ("remaining", n.to_string(), format!("{told:?}"));
            }
        }
        if let Some(wanted) = self.wait_s {
            let got = judged.wait.map(|d| d.as_secs_f64());
            let fits = match (wanted, got) {
                (None, None) => true,
                (Some(least), Some(got)) => got >= least && got <= least.mul_add(1.1, 2.0),
                _ => false,
            };
            if !fits {
                differ("wait_s", shown(wanted), shown(got));
            }
        }
        all
    }
}

fn shown(wait: Option<f64>) -> String {
    wait.map_or_else(
        || "none".to_owned(),
        |s| Duration::try_from_secs_f64(s).map_or_else(|_| s.to_string(), |d| format!("{d:?}")),
    )
}
