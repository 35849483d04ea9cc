//! One explained answer on a screen.

use std::fmt::Write as _;

use abide::core::{Instant, Scope, Verdict};
use abide::profile::judge::Judged;
use abide::profile::next::{Next, Step, Why};

use super::lines::Line;
use super::report::Report;
use super::time::{here, span};
use crate::shown::plain;

pub(super) fn text(report: &Report<'_>) -> String {
    let mut out = String::new();
    let judged = &report.judged;
    let told = report.profile.told();
    let mut line = |name: &str, value: &str| {
        // Writing to a string cannot fail.
        let _ = writeln!(out, "{name:<10} {}", plain(value));
    };
    line("provider", &format!("{} ({})", told.name, report.chosen));
    let recorded = &report.recorded;
    let status = recorded.status;
    let reason = status.canonical_reason().unwrap_or_default();
    line(
        "answer",
        &format!(
            "{} {reason} to {} {} at {}",
            status.as_str(),
            recorded.method,
            report.path(),
            recorded.wall
        ),
    );
    let verdict = judged.finding.verdict;
    line("verdict", &format!("{verdict}: {}", meaning(verdict)));
    line("covers", &covers(report));
    match judged.wait {
        Some(wait) => {
            line("wait", &format!("{}: {}", span(wait), report.arithmetic()));
            line("until", &until(judged, report.until()));
            line("said by", judged.source.as_str());
        }
        None => line("wait", &format!("none: {}", report.arithmetic())),
    }
    line("decided by", &report.decided());
    if !told.note.is_empty() && told.name != "generic" {
        line("note", &told.note);
    }
    for remark in &report.remarks {
        line("remark", remark);
    }
    quotas(&mut out, report);
    lines(
        &mut out,
        "headers",
        &report.headers(),
        &report.passed_over(),
    );
    lines(&mut out, "body", &report.body(), &[]);
    let _ = writeln!(out, "\nnext");
    for next in &report.next {
        let _ = writeln!(out, "  {:<10} {}", next.method.as_str(), step(judged, next));
    }
    let _ = writeln!(out, "  {:<10} {}", "a bulk run", report.run());
    out
}

const fn meaning(verdict: Verdict) -> &'static str {
    match verdict {
        Verdict::AuthError => {
            "the credential or the permission was refused; waiting does not heal it"
        }
        Verdict::Banned => "we are shut out; a person or much time must act",
        Verdict::ClientError => "the request itself is at fault; repeating it changes nothing",
        Verdict::NotFound => "there is no such thing: an answer, not a failure",
        Verdict::Offline => "our own network is down",
        Verdict::QuotaExhausted => "a quota of a day, a month or money is used up",
        Verdict::RateLimited => "asked too often; come back later",
        Verdict::Success => "the provider answered what was asked",
        Verdict::Unavailable => "the provider, or the way to it, is broken just now",
        _ => "",
    }
}

fn covers(report: &Report<'_>) -> String {
    let scope = report.judged.scope;
    let what = match scope {
        Scope::Request => "this request alone",
        Scope::Route => "this endpoint, bucket or model",
        Scope::Account => "everything sent with this credential",
        Scope::Provider => "everything sent to this provider from here",
    };
    let held = match report.judged.finding.holds {
        true => "; it is held until then",
        false => "; nothing is held",
    };
    match report.gate() {
        Some(gate) if gate != scope.as_str() => {
            format!("{scope}, gate {gate}: whatever this gate counts{held}")
        }
        _ => format!("{scope}: {what}{held}"),
    }
}

fn until(judged: &Judged, until: Option<Instant>) -> String {
    let Some(until) = until else {
        return String::new();
    };
    let at = judged.at.wall_at(until);
    match here(at) {
        Some(here) => format!("{at} ({here} here)"),
        None => at.to_string(),
    }
}

fn quotas(out: &mut String, report: &Report<'_>) {
    let readings = &report.judged.finding.readings;
    if readings.is_empty() {
        return;
    }
    let _ = writeln!(out, "\nquotas");
    for r in readings {
        let mut parts = Vec::new();
        match (r.remaining, r.limit) {
            (Some(left), Some(limit)) => parts.push(format!("{left} of {limit} left")),
            (Some(left), None) => parts.push(format!("{left} left")),
            (None, Some(limit)) => parts.push(format!("limit {limit}")),
            (None, None) => {}
        }
        if let Some(window) = r.window {
            parts.push(format!("per {}", span(window)));
        }
        if let Some(reset) = r.reset {
            parts.push(format!("more at {}", report.judged.at.wall_at(reset)));
        }
        if let Some(cost) = r.cost {
            parts.push(format!("this request cost {cost}"));
        }
        if r.bucket.is_some() {
            parts.push("names its bucket".to_owned());
        }
        let _ = writeln!(out, "  {}: {}", report.gate_of(r), parts.join(", "));
    }
}

fn lines(out: &mut String, title: &str, lines: &[Line], passed_over: &[&str]) {
    if lines.is_empty() && passed_over.is_empty() {
        return;
    }
    let _ = writeln!(out, "\n{title}");
    let told: Vec<String> = lines
        .iter()
        .map(|l| plain(&format!("{}: {}", l.name, l.value)))
        .collect();
    let width = told.iter().map(|t| t.chars().count()).max().unwrap_or(0);
    for (line, told) in lines.iter().zip(&told) {
        let _ = writeln!(out, "  {told:<width$}  {}", plain(&line.what));
    }
    if !passed_over.is_empty() {
        let _ = writeln!(out, "  not looked at: {}", passed_over.join(", "));
    }
}

/// What a call does next, in a sentence.
pub(super) fn step(judged: &Judged, next: &Next) -> String {
    let at = |t: Instant| judged.at.wall_at(t);
    let patience = span(next.patience);
    let when = match next.step {
        Step::TurnedAway(Some(t)) => format!("fails with retry_at {}", at(t)),
        Step::TurnedAway(None) => "fails".to_owned(),
        Step::Again(t) => {
            let wait = t.since(judged.at.now);
            return format!(
                "waits {} (patience {patience}), then is sent again at {}",
                span(wait),
                at(t)
            );
        }
        Step::Return => return "gets the answer; it is not sent again".to_owned(),
    };
    match next.why {
        Why::Final => format!("{when}: asking again does not help"),
        Why::TooLong => format!("{when}: nobody waits for this inside a call"),
        Why::Impatient => format!("{when}: the wait is longer than its patience of {patience}"),
        Why::RefusedWrite => format!(
            "{when}: a write is sent once; retry.write = \"refused-only\" would repeat it, since it \
             was refused"
        ),
        Why::Write => format!("{when}: a write is sent once, and may have been done"),
        Why::Answer | Why::Reads => when,
    }
}
