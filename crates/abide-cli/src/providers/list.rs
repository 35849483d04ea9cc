//! The table of all providers.

use std::fmt::Write as _;

use abide::profile::Catalogue;

use super::words;

const HEAD: [&str; 6] = ["name", "title", "limits", "evidence", "checked", "hosts"];
/// The widest a column becomes, in characters: a line fits a wide screen, and the page of one
/// provider has everything.
const WIDEST: usize = 44;

pub(super) fn table(all: &Catalogue) -> String {
    let mut rows = vec![HEAD.map(str::to_owned)];
    let mut own = 0;
    for name in all.names() {
        let Some(profile) = all.get(name) else {
            continue;
        };
        let told = profile.told();
        let is_own = all.origin(name).is_some();
        own += usize::from(is_own);
        let mark = if is_own { "*" } else { "" };
        let hosts = match told.hosts.as_slice() {
            [] => "-".to_owned(),
            [one] => one.clone(),
            [first, rest @ ..] => format!("{first} +{}", rest.len()),
        };
        rows.push([
            format!("{name}{mark}"),
            told.title.clone(),
            words::limits(told),
            words::evidence(told.evidence).to_owned(),
            told.checked.clone(),
            hosts,
        ]);
    }
    for cell in rows.iter_mut().flatten() {
        *cell = cut(cell);
    }
    let width = |i: usize| rows.iter().map(|r| r[i].chars().count()).max().unwrap_or(0);
    let widths: Vec<usize> = (0..HEAD.len()).map(width).collect();
    let mut out = String::new();
    for row in &rows {
        let cells = row.iter().zip(&widths);
        let cells: Vec<String> = cells.map(|(cell, w)| format!("{cell:<w$}")).collect();
        // Writing to a string cannot fail.
        let _ = writeln!(out, "{}", cells.join("  ").trim_end());
    }
    let _ = writeln!(out, "\n{} providers", rows.len() - 1);
    if own > 0 {
        let _ = writeln!(out, "* a profile of your own");
    }
    out
}

fn cut(cell: &str) -> String {
    let cell = crate::shown::plain(cell);
    if cell.chars().count() <= WIDEST {
        return cell;
    }
    let mut kept: String = cell.chars().take(WIDEST - 1).collect();
    kept.push('…');
    kept
}
