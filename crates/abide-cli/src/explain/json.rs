//! One explained answer for machines.

use abide::profile::next::{Step, Why};
use serde_json::{Value, json};

use super::lines::Line;
use super::report::Report;
use super::show::step;

pub(super) fn value(report: &Report<'_>) -> Value {
    let judged = &report.judged;
    let at = |t| judged.at.wall_at(t).to_string();
    let readings = judged.finding.readings.iter().map(|r| {
        json!({
            "gate": report.gate_of(r),
            "limit": r.limit,
            "remaining": r.remaining,
            "reset": r.reset.map(at),
            "window_s": r.window.map(|d| d.as_secs_f64()),
            "cost": r.cost,
        })
    });
    let next = report.next.iter().map(|n| {
        let (does, when) = match n.step {
            Step::Return => ("return", None),
            Step::Again(t) => ("again", Some(t)),
            Step::TurnedAway(t) => ("fail", t),
        };
        json!({
            "method": n.method.as_str(),
            "does": does,
            "at": when.map(at),
            "why": why(n.why),
            "says": step(judged, n),
        })
    });
    json!({
        "provider": report.profile.told().name,
        "chosen": report.chosen,
        "method": report.recorded.method.as_str(),
        "path": report.path(),
        "status": report.recorded.status.as_u16(),
        "now": report.recorded.wall.to_string(),
        "verdict": judged.finding.verdict.as_str(),
        "scope": judged.scope.as_str(),
        "gate": report.gate(),
        "holds": judged.finding.holds,
        "wait_s": judged.wait.map(|d| d.as_secs_f64()),
        "asked_s": judged.asked.map(|d| d.as_secs_f64()),
        "until": report.until().map(at),
        "source": judged.source.as_str(),
        "arithmetic": report.arithmetic(),
        "retryable_after_wait": judged.again,
        "rule": judged.rule.as_ref().map(|r| &r.0),
        "why": judged.rule.as_ref().map(|r| &r.1),
        "quotas": readings.collect::<Vec<_>>(),
        "headers": report.headers().iter().map(line).collect::<Vec<_>>(),
        "body": report.body().iter().map(line).collect::<Vec<_>>(),
        "not_looked_at": report.passed_over(),
        "next": next.collect::<Vec<_>>(),
        "run": report.run(),
        "remarks": report.remarks,
    })
}

fn line(line: &Line) -> Value {
    json!({
        "name": line.name,
        "value": line.value,
        "what": line.what,
        "decides": line.decides,
    })
}

const fn why(why: Why) -> &'static str {
    match why {
        Why::Answer => "answer",
        Why::Reads => "read",
        Why::Final => "final",
        Why::TooLong => "too-long",
        Why::Impatient => "impatient",
        Why::Write => "write",
        Why::RefusedWrite => "refused-write",
    }
}
