//! What is to be explained, whatever it was read from.

use std::io::Read as _;
use std::path::Path;

use abide::core::WallTime;
use anyhow::{Context, bail};
use http::{HeaderMap, HeaderName, HeaderValue, Method, StatusCode};
use url::Url;

/// The most that is read of an input, in bytes.
pub(super) const MAX: u64 = 16 * 1024 * 1024;

/// One answer, with what is known of its request.
#[derive(Debug, Default)]
pub(super) struct Given {
    pub(super) status: StatusCode,
    pub(super) headers: HeaderMap,
    /// `None` where it was not recorded.
    pub(super) body: Option<Vec<u8>>,
    pub(super) method: Option<Method>,
    pub(super) url: Option<Url>,
    pub(super) request_body: Option<Vec<u8>>,
    /// Nothing but JSON is accepted.
    pub(super) json: bool,
    pub(super) now: Option<WallTime>,
    /// What a reader should know about how the input was read.
    pub(super) remarks: Vec<String>,
}

/// Reads a file, or standard input for `-`.
pub(super) fn read(path: &Path) -> anyhow::Result<Vec<u8>> {
    let mut bytes = Vec::new();
    let name = name(path);
    if path.as_os_str() == "-" {
        let mut input = std::io::stdin().lock().take(MAX + 1);
        input.read_to_end(&mut bytes).context("standard input")?;
    } else {
        let file = std::fs::File::open(path).with_context(|| format!("{name} cannot be read"))?;
        file.take(MAX + 1)
            .read_to_end(&mut bytes)
            .with_context(|| format!("{name} cannot be read"))?;
    }
    if bytes.len() as u64 > MAX {
        bail!("{name} has more than 16 MiB; cut it down to the answer in question");
    }
    Ok(bytes)
}

/// What an input is called in messages.
pub(super) fn name(path: &Path) -> String {
    match path.to_str() {
        Some("-") => "standard input".to_owned(),
        _ => path.display().to_string(),
    }
}

/// Adds one header. The value may be a secret, so what is said of it never repeats it.
pub(super) fn put(headers: &mut HeaderMap, name: &[u8], value: &[u8]) -> Result<(), String> {
    let named = HeaderName::from_bytes(name).map_err(|_| "has no header's name".to_owned())?;
    let value = HeaderValue::from_bytes(value.trim_ascii())
        .map_err(|_| format!("has bytes that no header may have, in {named}"))?;
    match headers.try_append(named, value) {
        Ok(_) => Ok(()),
        Err(_) => Err("is one header more than fit".to_owned()),
    }
}

/// Reads `2026-03-10T12:00:00Z`, offsets allowed.
pub(super) fn time(text: &str) -> Option<WallTime> {
    let told: jiff::Timestamp = text.trim().parse().ok()?;
    Some(WallTime::from_unix_nanos(
        i64::try_from(told.as_nanosecond()).ok()?,
    ))
}
