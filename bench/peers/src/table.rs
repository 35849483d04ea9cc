//! The figures, as a table.

use std::fmt::Write as _;

use serde_json::{Value, json};

use bench_peers::{Job, Outcome};

/// One client on one provider.
#[derive(Debug)]
pub(crate) struct Row {
    pub(crate) client: &'static str,
    pub(crate) job: Job,
    pub(crate) outcome: Outcome,
}

fn times(o: &Outcome) -> f64 {
    o.took.as_secs_f64() / o.oracle.as_secs_f64().max(1e-9)
}

pub(crate) fn line(client: &str, job: Job, o: &Outcome) -> String {
    format!(
        "{:<3} {client:<38} lost {:>3}, refused {:>4}, inside a hold {:>4}, {:>7.1} s ({:.2} x the \
         fastest)",
        job.scenario,
        o.never_got(job),
        o.truth.refused,
        o.truth.sent_inside_hold,
        o.took.as_secs_f64(),
        times(o),
    )
}

pub(crate) fn json(rows: &[Row]) -> Value {
    let all = rows.iter().map(|r| {
        let o = &r.outcome;
        json!({
            "client": r.client,
            "scenario": r.job.scenario,
            "items": r.job.items,
            "lost": o.never_got(r.job),
            "claimed_falsely": o.claimed_falsely(r.job),
            "requests": o.truth.requests,
            "refused": o.truth.refused,
            "inside_hold": o.truth.sent_inside_hold,
            "bans": o.truth.bans,
            "seconds": o.took.as_secs_f64(),
            "oracle_seconds": o.oracle.as_secs_f64(),
        })
    });
    Value::Array(all.collect())
}

/// What each provider does, in words.
fn provider(name: &str) -> &'static str {
    match name {
        "a" => "50/s, burst 10; 429 with Retry-After 1",
        "b" => "100 per 2 s, announced in headers",
        "b2" => "100 per 2 s, not a word about it",
        "c" => "at most 40 in any second; 429 without a hint",
        "d" => "50/s, burst 10, holds of 2 s; whoever sends inside one is banned for 10 s",
        "e" => "4 at once, 100 ms each; more is a bare 503",
        "f" => "320 ms each; down from 3 s to 8 s",
        _ => "GraphQL: 50/s, burst 10; refusals under 200",
    }
}

pub(crate) fn markdown(rows: &[Row]) -> String {
    let mut text = String::from(include_str!("head.md"));
    let mut last = "";
    for r in rows {
        let o = &r.outcome;
        if r.job.scenario != last {
            last = r.job.scenario;
            let _ = write!(
                text,
                "\n## {}\n\nFastest possible: {:.1} s.\n\n| client | items lost | reported done \
                 and not | refused | sent inside a hold | bans | time | × the fastest |\n\
                 |---|---|---|---|---|---|---|---|\n",
                provider(last),
                o.oracle.as_secs_f64(),
            );
        }
        let _ = writeln!(
            text,
            "| {} | {} | {} | {} | {} | {} | {:.1} s | {:.2} |",
            r.client,
            o.never_got(r.job),
            o.claimed_falsely(r.job),
            o.truth.refused,
            o.truth.sent_inside_hold,
            o.truth.bans,
            o.took.as_secs_f64(),
            times(o),
        );
    }
    text
}
