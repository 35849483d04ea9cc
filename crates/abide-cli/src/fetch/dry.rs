//! `--dry-run`: what would be sent.

use std::collections::BTreeMap;

use super::args::Args;
use super::bad::report_bad;
use super::input::Parsed;
use super::{open, policy};
use crate::exit::Exit;

/// How many items are shown.
const SHOWN: usize = 5;

pub(super) fn run(args: &Args, setup: &policy::Setup) -> anyhow::Result<Exit> {
    let mut providers: BTreeMap<String, u64> = BTreeMap::new();
    let mut first = Vec::new();
    let mut writes = 0_u64;
    let mut each = |_: u32, parsed: &Parsed| {
        let host = parsed.url.host_str().unwrap_or_default();
        let named = setup.provider_of(host, parsed.url.port_or_known_default().unwrap_or_default());
        let name = match (named, parsed.url.port()) {
            (Some(name), _) => name.to_owned(),
            (None, Some(port)) => format!("{host}:{port}"),
            (None, None) => host.to_owned(),
        };
        *providers.entry(name).or_default() += 1;
        let method = &parsed.wanted.method;
        let safety = abide::core::call::Safety::of(method);
        writes += u64::from(safety == abide::core::call::Safety::Write);
        if first.len() < SHOWN {
            first.push(format!(
                "{method} {}  (id {})",
                abide::redacted(&parsed.url),
                parsed.id
            ));
        }
    };
    let read = open::read(args, setup.headers.clone(), (0, 0), &mut each)?;
    report_bad(&read.items, args)?;
    let (all, bad) = (read.items.index.len(), read.items.index.bad.len());
    println!(
        "{} items, {bad} bad lines, {writes} writes (sent once each)",
        all as usize - bad
    );
    for (name, n) in &providers {
        println!("  {n:>8}  {name}");
    }
    for line in &first {
        println!("  {line}");
    }
    if all as usize - bad > first.len() {
        println!("  …");
    }
    println!("nothing was sent");
    Ok(if bad > 0 { Exit::Failed } else { Exit::Done })
}
