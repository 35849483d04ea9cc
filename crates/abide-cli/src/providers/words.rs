//! Parts of a profile in words, for the list and the page.

use abide::profile::format::{Amount, Contact, Evidence, Gate, Limit, Part, Profile, Source, Unit};
use abide::profile::format::{GateScope, WindowKind};

/// Every limit of a provider in short: `60/min, 5000/day`.
pub(super) fn limits(profile: &Profile) -> String {
    let mut all = Vec::new();
    for gate in &profile.gates {
        for limit in &gate.limits {
            let short = rate(limit);
            if !all.contains(&short) {
                all.push(short);
            }
        }
        if let Some(n) = gate.concurrency {
            all.push(format!("{n} at once"));
        }
    }
    const MOST: usize = 3;
    let more = all.len().saturating_sub(MOST);
    all.truncate(MOST);
    if more > 0 {
        all.push(format!("{more} more"));
    }
    match all.is_empty() {
        true => "-".to_owned(),
        false => all.join(", "),
    }
}

/// `60/min`.
pub(super) fn rate(limit: &Limit) -> String {
    let per = match limit.per.as_str() {
        "1s" => "s",
        "1m" | "60s" => "min",
        "1h" | "60m" => "h",
        "1d" | "24h" => "day",
        "7d" => "week",
        "30d" | "31d" => "month",
        other => other,
    };
    format!("{}/{per}", limit.count)
}

/// One limit with all that is known of it.
pub(crate) fn limit(limit: &Limit) -> String {
    let kind = match limit.window {
        WindowKind::Bucket => match limit.burst {
            Some(n) => format!("bucket, {n} at once"),
            None => "bucket, evenly".to_owned(),
        },
        WindowKind::Sliding => "sliding window".to_owned(),
        WindowKind::Fixed => match &limit.zone {
            Some(zone) => format!("fixed window, {zone}"),
            None => "fixed window".to_owned(),
        },
    };
    let mut out = format!("{} ({kind})", rate(limit));
    match limit.credential {
        Some(true) => out.push_str(", with a credential"),
        Some(false) => out.push_str(", without a credential"),
        None => {}
    }
    if let Some(plan) = &limit.plan {
        out.push_str(&format!(", plan {plan}"));
    }
    if !limit.note.is_empty() {
        out.push_str(&format!(": {}", limit.note));
    }
    out
}

/// What a gate counts by.
pub(super) fn counted_by(gate: &Gate) -> String {
    let parts = gate.by.iter().map(|part| match part {
        Part::Address => "our address".to_owned(),
        Part::App => "our application".to_owned(),
        Part::Credential => "the credential".to_owned(),
        Part::Tenant => "the tenant".to_owned(),
        Part::Host => "the host".to_owned(),
        Part::Route => "the route".to_owned(),
        Part::Method => "the method".to_owned(),
        Part::Bucket => "the bucket that answers name".to_owned(),
        Part::Segment(n) => format!("segment {n} of the path"),
        Part::Header(name) => format!("the header {name}"),
        Part::Query(name) => format!("the parameter {name}"),
    });
    let parts: Vec<String> = parts.collect();
    match (parts.is_empty(), gate.name.as_str()) {
        (false, _) => parts.join(" and "),
        (true, "account") => "the credential".to_owned(),
        (true, "route") => "the route".to_owned(),
        (true, _) => "the provider".to_owned(),
    }
}

pub(super) const fn scope(scope: GateScope) -> &'static str {
    match scope {
        GateScope::Route => "route",
        GateScope::Account => "account",
        GateScope::Provider => "provider",
    }
}

pub(crate) const fn evidence(evidence: Evidence) -> &'static str {
    match evidence {
        Evidence::Documented => "documented",
        Evidence::Observed => "observed",
        Evidence::Guessed => "guessed",
    }
}

pub(super) const fn contact(contact: Contact) -> &'static str {
    match contact {
        Contact::None => "none",
        Contact::Wanted => "wanted",
        Contact::Required => "required",
    }
}

/// Where a value is told.
pub(super) fn source(source: &Source) -> String {
    let mut out = if let Some(name) = &source.header {
        name.clone()
    } else if let Some(name) = &source.trailer {
        format!("trailer {name}, declared only")
    } else if let Some(path) = &source.json {
        path.clone()
    } else if let Some(n) = source.value {
        format!("always {n}")
    } else {
        "the text of the body".to_owned()
    };
    if let Some(key) = &source.key {
        out.push_str(&format!(" {key}="));
    }
    if let Some(n) = source.item {
        out.push_str(&format!(" item {n}"));
    }
    if let Some(unit) = source.unit {
        out.push_str(&format!(" ({})", self::unit(unit)));
    }
    out
}

pub(super) fn amount(amount: &Amount) -> String {
    match amount {
        Amount::Told(s) => source(s),
        Amount::Missing {
            requested,
            available,
            rate,
        } => format!(
            "({} - {}) / {}",
            source(requested),
            source(available),
            source(rate)
        ),
    }
}

const fn unit(unit: Unit) -> &'static str {
    match unit {
        Unit::Seconds => "seconds",
        Unit::Millis => "milliseconds",
        Unit::Micros => "microseconds",
        Unit::Nanos => "nanoseconds",
        Unit::Minutes => "minutes",
        Unit::Hours => "hours",
        Unit::Epoch => "since 1970",
        Unit::HttpDate => "HTTP-date",
        Unit::Rfc3339 => "RFC 3339",
        Unit::Duration => "duration",
        Unit::PerSecond => "units a second",
        Unit::Any => "any form",
        Unit::Number => "number",
    }
}
