//! How jobs look to a person, and what of them is no JSON by itself.

use abide_jobs::{Count, Job, JobResult, Paused, State};
use base64::Engine as _;
use base64::prelude::BASE64_STANDARD;
use serde_json::{Value, json};

use crate::shown::plain;

/// A job a line.
pub(super) fn lines(jobs: &[Job]) -> String {
    if jobs.is_empty() {
        return "no jobs\n".to_owned();
    }
    jobs.iter().map(line).collect()
}

fn line(job: &Job) -> String {
    let when = match job.state {
        State::Deferred => format!(" until {}", job.due),
        _ => String::new(),
    };
    let title = plain(&job.title);
    format!("{:>8} {:<9}{when} {title}\n", job.id, job.state)
}

/// Everything about one job.
pub(super) fn whole(job: &Job) -> String {
    let mut out = String::new();
    let mut say = |name: &str, value: String| out.push_str(&format!("{name:<12} {value}\n"));
    say("job", format!("{} ({})", job.id, job.state));
    say("title", plain(&job.title));
    if let Some(reason) = &job.reason {
        say("reason", plain(reason));
    }
    if job.state.waits() {
        say("not before", job.due.to_string());
    }
    if let Some(provider) = &job.provider {
        say("provider", plain(provider));
    }
    if let Some(hold) = &job.hold {
        say("hold", hold.clone());
    }
    say("queue", plain(&job.queue));
    say(
        "class",
        format!("{}, urgency {}", plain(&job.class), job.urgency),
    );
    say("attempts", job.attempts.to_string());
    say(
        "deferrals",
        format!("{}, {} in a row", job.deferrals, job.in_a_row),
    );
    for (name, key) in [
        ("unique key", &job.unique_key),
        ("one at once", &job.one_key),
    ] {
        if let Some(key) = key {
            say(name, plain(key));
        }
    }
    say("submitted", job.created.to_string());
    for (name, at) in [
        ("begun", job.started),
        ("over", job.ended),
        ("deadline", job.deadline),
    ] {
        if let Some(at) = at {
            say(name, at.to_string());
        }
    }
    if let Some(hook) = &job.webhook {
        say("webhook", plain(hook));
    }
    for event in &job.history {
        say("", plain(event));
    }
    out
}

/// How many stand how.
pub(super) fn counts(counts: &[Count], paused: &[Paused]) -> String {
    let mut out = String::new();
    if counts.is_empty() {
        out.push_str("no jobs\n");
    }
    for c in counts {
        out.push_str(&format!(
            "{:<16} {:<9} {:>10}\n",
            plain(&c.queue),
            c.state,
            c.jobs
        ));
    }
    for p in paused {
        let until = p
            .until
            .map_or_else(|| "it is resumed".to_owned(), |t| t.to_string());
        let why = p
            .reason
            .as_deref()
            .map_or_else(String::new, |r| format!(": {r}"));
        let queue = plain(&p.queue);
        out.push_str(&format!(
            "{queue:<16} stands until {until}{}\n",
            plain(&why)
        ));
    }
    out
}

/// The same, for machines.
pub(super) fn counts_json(counts: &[Count], paused: &[Paused]) -> Value {
    let paused: Vec<_> = paused
        .iter()
        .map(|p| {
            json!({
                "queue": p.queue,
                "until": p.until.map(|t| t.to_string()),
                "reason": p.reason,
            })
        })
        .collect();
    json!({ "counts": counts, "paused": paused })
}

/// What came of a job, for machines: its body as text where it is one.
pub(super) fn result_json(result: &JobResult) -> Value {
    let (text, bytes) = match std::str::from_utf8(&result.body) {
        Ok(text) => (Some(text), None),
        Err(_) => (None, Some(BASE64_STANDARD.encode(&result.body))),
    };
    json!({
        "status": result.status,
        "headers": result.headers,
        "body": text,
        "body_base64": bytes,
        "size": result.size,
        "expires": result.expires.map(|t| t.to_string()),
    })
}
