//! Text of others, as it may reach a terminal.

/// Without control characters, which could move the cursor or hide what follows.
pub(crate) fn plain(text: &str) -> String {
    let fit = |c: char| if c.is_control() { '\u{fffd}' } else { c };
    text.chars().map(fit).collect()
}
