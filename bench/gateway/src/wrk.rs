//! The load: `wrk`, whose own report is read.

use std::process::Command;
use std::time::Duration;

use anyhow::{Context, bail};

/// What one run came to.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Load {
    pub(crate) requests: u64,
    pub(crate) p99: Duration,
}

/// Asks `url` over `connections` for `seconds`.
pub(crate) fn run(url: &str, connections: u32, seconds: u32) -> anyhow::Result<Load> {
    let out = Command::new("wrk")
        .args(["-t1", "--latency", "-c", &connections.to_string()])
        .args(["-d", &format!("{seconds}s"), url])
        .output()
        .context("wrk is not installed (apt-get install wrk)")?;
    let text = String::from_utf8_lossy(&out.stdout);
    if let Some(errors) = text
        .lines()
        .find(|l| l.contains("Non-2xx") || l.contains("Socket errors"))
    {
        bail!("{url}: {}", errors.trim());
    }
    let p99 = text.lines().find_map(|l| l.trim().strip_prefix("99%"));
    let requests = text
        .lines()
        .find(|l| l.contains(" requests in "))
        .and_then(|l| l.split_whitespace().next()?.parse().ok());
    let (Some(p99), Some(requests)) = (p99.and_then(span), requests) else {
        bail!("wrk said nothing that can be read:\n{text}");
    };
    Ok(Load { requests, p99 })
}

fn span(text: &str) -> Option<Duration> {
    let text = text.trim();
    let (number, unit) = text.split_at(text.find(|c: char| c.is_alphabetic())?);
    let seconds = match unit {
        "us" => 1e-6,
        "ms" => 1e-3,
        "s" => 1.0,
        _ => return None,
    };
    Some(Duration::from_secs_f64(
        number.parse::<f64>().ok()? * seconds,
    ))
}
