//! One line of the output.

use abide::run::Report;
use base64::Engine as _;
use serde::Serialize;

/// What is written of an item.
#[derive(Debug, Serialize)]
pub(super) struct Line<'a> {
    id: &'a str,
    url: &'a str,
    outcome: &'static str,
    status: Option<u16>,
    attempts: u32,
    /// Seconds.
    waited: f64,
    provider: Option<&'a str>,
    retry_at: Option<String>,
    reason: Option<&'a str>,
    #[serde(skip_serializing_if = "Option::is_none")]
    content_type: Option<&'a str>,
    #[serde(skip_serializing_if = "Option::is_none")]
    body: Option<&'a str>,
    #[serde(skip_serializing_if = "Option::is_none")]
    body_base64: Option<String>,
    #[serde(skip_serializing_if = "Option::is_none")]
    file: Option<&'a str>,
}

/// Writes a report's line into `buf`. `file` is where its body was saved, if it was.
pub(super) fn write(buf: &mut Vec<u8>, id: &str, url: &str, report: &Report, file: Option<&str>) {
    let body = report.body.as_deref().filter(|_| file.is_none());
    let text = body.and_then(|b| std::str::from_utf8(b).ok());
    let binary = body.filter(|_| text.is_none());
    let line = Line {
        id,
        url,
        outcome: report.outcome.as_str(),
        status: report.status.map(|s| s.as_u16()),
        attempts: report.attempts,
        waited: (report.waited.as_secs_f64() * 1000.0).round() / 1000.0,
        provider: report.provider.as_deref(),
        retry_at: report.retry_at.map(|t| t.to_string()),
        reason: report.reason.as_deref(),
        content_type: report.content_type.as_deref(),
        body: text,
        body_base64: binary.map(|b| base64::engine::general_purpose::STANDARD.encode(b)),
        file,
    };
    // Writing to a vector cannot fail, and no field's form can be refused.
    let _ = serde_json::to_writer(&mut *buf, &line);
    buf.push(b'\n');
}
