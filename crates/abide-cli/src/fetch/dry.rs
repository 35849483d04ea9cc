//! `--dry-run`: what would be sent.

use std::collections::BTreeMap;
use std::sync::Arc;

use abide::core::call::Safety;
use abide::store::Memory;

use super::args::Args;
use super::bad::report_bad;
use super::input::Parsed;
use super::{open, policy};
use crate::exit::Exit;

/// How many items are shown.
const SHOWN: usize = 5;

pub(super) fn run(args: &Args, setup: &policy::Setup) -> anyhow::Result<Exit> {
    // Named and told apart as the run would, by profiles too; what it learns is thrown away.
    let governor = setup.governor(Arc::new(Memory::new([0; 32])))?;
    let mut providers: BTreeMap<Arc<str>, u64> = BTreeMap::new();
    let mut first = Vec::new();
    let mut writes = 0_u64;
    let mut each = |_: u32, parsed: &Parsed| {
        let wanted = &parsed.wanted;
        let method = &wanted.method;
        let Some(target) = governor.target(method, &parsed.url, &wanted.headers) else {
            return;
        };
        *providers.entry(Arc::clone(&target.provider)).or_default() += 1;
        let profile = target.profile();
        let reads = Safety::of(method) == Safety::Read
            || profile.only_reads(method, parsed.url.path(), wanted.body.as_deref());
        writes += u64::from(!reads);
        if first.len() < SHOWN {
            first.push(format!(
                "{method} {}  (id {})",
                abide::redacted(&parsed.url, profile),
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
