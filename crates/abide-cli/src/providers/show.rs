//! The page of one provider.

use std::fmt::Write as _;

use abide::profile::format::{self, Expects, Gate, Reading, Role};
use abide::profile::{Catalogue, Profile};

use super::words;
use crate::shown::plain;

/// What is written; writing to a string cannot fail.
struct Page(String);

impl Page {
    fn line(&mut self, name: &str, value: &str) {
        if !value.is_empty() {
            let _ = writeln!(self.0, "{name:<10} {}", plain(value));
        }
    }

    fn title(&mut self, title: &str) {
        let _ = writeln!(self.0, "\n{title}");
    }

    fn item(&mut self, depth: usize, text: &str) {
        let _ = writeln!(self.0, "{:1$}{2}", "", 2 * depth, plain(text));
    }
}

pub(super) fn text(all: &Catalogue, profile: &Profile) -> String {
    let told = profile.told();
    let mut page = Page(String::new());
    page.line("provider", &told.name);
    page.line("title", &told.title);
    page.line("from", all.origin(&told.name).unwrap_or("built in"));
    page.line("parents", &all.parents(&told.name).join(", "));
    page.line("hosts", &told.hosts.join(", "));
    page.line("paths", &told.paths.join(", "));
    if told.each_host {
        page.line("counts", "each host apart");
    }
    page.line("docs", &told.docs.join(", "));
    let evidence = words::evidence(told.evidence);
    match told.checked.as_str() {
        "" => page.line("evidence", evidence),
        day => page.line("evidence", &format!("{evidence}, checked {day}")),
    }
    page.line("contact", words::contact(told.contact));
    if told.expects == Expects::Json {
        page.line("expects", "JSON: a page in its place is a failure");
    }
    page.line("note", &told.note);
    gates(&mut page, told);
    dialect(&mut page, told);
    rules(&mut page, profile);
    policy(&mut page, &told.policy);
    page.title(&format!("tests: {}", told.tests.len()));
    page.0
}

fn gates(page: &mut Page, told: &format::Profile) {
    page.title("gates (beside provider and account, which every provider has)");
    if told.gates.is_empty() {
        page.item(1, "none of its own, and no limit is known");
    }
    for gate in &told.gates {
        page.item(
            1,
            &format!("{}: counts by {}", head(gate), words::counted_by(gate)),
        );
        for limit in &gate.limits {
            page.item(2, &words::limit(limit));
        }
        if let Some(n) = gate.concurrency {
            page.item(2, &format!("{n} on the wire at once"));
        }
        if let Some(cost) = gate.cost {
            page.item(2, &format!("a request costs {cost}"));
        }
        for cost in &gate.costs {
            let which = [cost.methods.join(" "), cost.paths.join(" ")].join(" ");
            page.item(2, &format!("costs {} for {}", cost.cost, which.trim()));
        }
        if !gate.except.is_empty() {
            page.item(2, &format!("without {}", gate.except.join(" ")));
        }
        if !gate.methods.is_empty() || !gate.paths.is_empty() {
            let which = [gate.methods.join(" "), gate.paths.join(" ")].join(" ");
            page.item(2, &format!("only {}", which.trim()));
        }
    }
}

fn head(gate: &Gate) -> String {
    match gate.scope {
        Some(scope) if words::scope(scope) != gate.name => {
            format!("{} ({})", gate.name, words::scope(scope))
        }
        _ => gate.name.clone(),
    }
}

fn dialect(page: &mut Page, told: &format::Profile) {
    if !told.readings.is_empty() {
        page.title("quotas told in words of its own");
    }
    for reading in &told.readings {
        page.item(1, &self::reading(reading));
    }
    if !told.asks.is_empty() {
        page.title("waits told beside the headers, by refusals and outages");
        let asks: Vec<String> = told.asks.iter().map(words::amount).collect();
        page.item(1, &asks.join(", "));
    }
}

fn reading(reading: &Reading) -> String {
    let told = reading
        .sources()
        .map(|(name, s)| format!("{name} by {}", words::source(s)));
    let until = reading.until.iter().map(|u| format!("else until {u}"));
    let told: Vec<String> = told.chain(until).collect();
    let gate = reading.gate.as_deref().unwrap_or("account");
    format!("{gate}: {}", told.join(", "))
}

fn rules(page: &mut Page, profile: &Profile) {
    page.title("rules, in the order in which they are tried");
    for (rule, name) in profile.told().rules.iter().zip(profile.rules().names()) {
        let verdict = rule.verdict.as_deref().unwrap_or("as the status says");
        let gate = rule.gate.as_ref().map(|g| format!(", covers {g}"));
        let why = match rule.why.as_str() {
            "" => String::new(),
            why => format!(": {why}"),
        };
        page.item(
            1,
            &format!("{name} -> {verdict}{}{why}", gate.unwrap_or_default()),
        );
    }
}

fn policy(page: &mut Page, p: &format::Policy) {
    let mut lines = Vec::new();
    let mut put = |name: &str, value: Option<String>| {
        if let Some(value) = value.filter(|v| !v.is_empty()) {
            lines.push(format!("{name}: {value}"));
        }
    };
    let statuses = |all: &[u16]| {
        let all: Vec<String> = all.iter().map(ToString::to_string).collect();
        Some(all.join(", "))
    };
    put("shortest hold", p.floor.clone());
    put("waits where nobody says", Some(p.ladder.join(", ")));
    put("longest hold believed", p.hold_max.clone());
    put("holds without an ask on", statuses(&p.hold_on));
    put("tried again", Some(p.retry_on.join(", ")));
    put("a wait of zero means", p.hint_zero.clone());
    // Nothing uses what is only declared.
    let key = p.idempotency.as_ref().map(|i| i.header.clone());
    put("declared: writes are made repeatable by", key);
    let allowance = p.allowance.as_ref();
    let allowance =
        allowance.map(|a| format!("{} answers {:?} per {}", a.count, a.statuses, a.per));
    put("is banned beyond", allowance);
    put(
        "declared: handled by the client's own library",
        statuses(&p.handled_below),
    );
    put("declared: cheap route", p.probe.clone());
    put("bans by redirect to", Some(p.ban_redirects.join(", ")));
    let local = (p.role == Role::Local).then(|| "on this machine".to_owned());
    put("declared: is", local);
    if !lines.is_empty() {
        page.title("policy");
    }
    for line in lines {
        page.item(1, &line);
    }
}
