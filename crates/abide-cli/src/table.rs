//! A table for people: columns as wide as their widest cell.

use crate::shown::plain;

/// The lines of a table with a head.
pub(crate) fn table<const N: usize>(head: [&str; N], rows: &[[String; N]]) -> String {
    let rows: Vec<_> = std::iter::once(head.map(str::to_owned))
        .chain(rows.iter().map(|r| r.each_ref().map(|cell| plain(cell))))
        .collect();
    let width = |n: usize| rows.iter().map(|r| r[n].chars().count()).max().unwrap_or(0);
    let widths: Vec<_> = (0..N).map(width).collect();
    let mut out = String::new();
    for row in &rows {
        let cells = row.iter().zip(&widths);
        let line: Vec<_> = cells.map(|(cell, w)| format!("{cell:w$}")).collect();
        out.push_str(line.join("  ").trim_end());
        out.push('\n');
    }
    out
}

#[cfg(test)]
mod tests {
    #[test]
    fn columns_are_as_wide_as_they_must_be() {
        let rows = [
            ["a".to_owned(), "b".to_owned()],
            ["längst\u{7}".to_owned(), String::new()],
        ];
        let shown = super::table(["NAME", "X"], &rows);
        assert_eq!(shown, "NAME     X\na        b\nlängst\u{fffd}\n");
    }
}
