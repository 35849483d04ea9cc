//! The gateway's figures in the text format of Prometheus.
//!
//! Counts are kept by each provider and read when they are asked for; so are holds and queues, which
//! are the governor's. Labels are names of providers, bounded, and words of ours: never a URL, a
//! key, a caller.

use std::fmt::Write as _;
use std::sync::Arc;

use crate::gateway::Gateway;
use crate::record::{BOUNDS, Histogram, Provider};

pub(super) const TYPE: &str = "text/plain; version=0.0.4; charset=utf-8";

/// Writes them. Writing to a string cannot fail.
pub(super) fn write(gateway: &Gateway) -> String {
    let mut out = String::with_capacity(8 * 1024);
    let providers = gateway.meters().all();
    head(
        &mut out,
        "abide_requests_total",
        "counter",
        "Requests by how they ended for the caller.",
    );
    for p in &providers {
        for (outcome, count) in p.outcomes().filter(|(_, count)| *count > 0) {
            let name = label(p.name());
            let _ = writeln!(
                out,
                "abide_requests_total{{provider=\"{name}\",outcome=\"{outcome}\"}} {count}"
            );
        }
    }
    head(
        &mut out,
        "abide_active_requests",
        "gauge",
        "Requests under way, those that wait included.",
    );
    for p in &providers {
        let name = label(p.name());
        let active = p.active();
        let _ = writeln!(out, "abide_active_requests{{provider=\"{name}\"}} {active}");
    }
    histogram(
        &mut out,
        &providers,
        "abide_request_duration_seconds",
        "From a request to the last byte of its answer, waits included.",
        |p| &p.took,
    );
    histogram(
        &mut out,
        &providers,
        "abide_request_time_in_queue_seconds",
        "What those that waited waited in all: queue, holds, backoff.",
        |p| &p.waited,
    );
    states(&mut out, gateway);
    let offline = u8::from(gateway.governor().is_offline());
    head(
        &mut out,
        "abide_outage_active",
        "gauge",
        "Whether our own network is taken to be down.",
    );
    let _ = writeln!(out, "abide_outage_active {offline}");
    out
}

/// A figure of each provider: its name, what it is, and how it is read.
type Gauge = (&'static str, &'static str, fn(&abide::ProviderState) -> u64);

/// What the governor knows of each provider.
fn states(out: &mut String, gateway: &Gateway) {
    let mut states = gateway.governor().states();
    states.sort_by(|a, b| a.provider.cmp(&b.provider));
    let gauges: [Gauge; 4] = [
        (
            "abide_hold_active",
            "Whether the provider is held as a whole.",
            |s| u64::from(!s.available),
        ),
        (
            "abide_gates_held",
            "Gates of it that are held, beside the provider's own.",
            |s| s.held_gates as u64,
        ),
        ("abide_waiting", "Requests in line.", |s| s.waiting as u64),
        ("abide_in_flight", "Requests on the wire.", |s| {
            u64::from(s.in_flight)
        }),
    ];
    for (name, help, read) in gauges {
        head(out, name, "gauge", help);
        for state in &states {
            let provider = label(&state.provider);
            let _ = writeln!(out, "{name}{{provider=\"{provider}\"}} {}", read(state));
        }
    }
}

fn histogram(
    out: &mut String,
    providers: &[Arc<Provider>],
    name: &str,
    help: &str,
    of: fn(&Provider) -> &Histogram,
) {
    head(out, name, "histogram", help);
    for p in providers {
        let (counts, sum) = of(p).read();
        let provider = label(p.name());
        let bounds = BOUNDS.iter().map(f64::to_string);
        let bounds = bounds.chain(["+Inf".to_owned()]);
        for (bound, count) in bounds.zip(counts) {
            let _ = writeln!(
                out,
                "{name}_bucket{{provider=\"{provider}\",le=\"{bound}\"}} {count}"
            );
        }
        let all = counts.last().copied().unwrap_or(0);
        let _ = writeln!(out, "{name}_sum{{provider=\"{provider}\"}} {sum}");
        let _ = writeln!(out, "{name}_count{{provider=\"{provider}\"}} {all}");
    }
}

fn head(out: &mut String, name: &str, kind: &str, help: &str) {
    let _ = writeln!(out, "# HELP {name} {help}\n# TYPE {name} {kind}");
}

/// A label's value.
fn label(value: &str) -> String {
    value
        .replace('\\', "\\\\")
        .replace('"', "\\\"")
        .replace('\n', "\\n")
}
