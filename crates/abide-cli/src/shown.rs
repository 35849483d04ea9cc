//! What reaches standard output.

use std::io::{ErrorKind, Write as _};

/// Without control characters, which could move the cursor or hide what follows.
pub(crate) fn plain(text: &str) -> String {
    let fit = |c: char| if c.is_control() { '\u{fffd}' } else { c };
    text.chars().map(fit).collect()
}

/// Prints. A reader that has seen enough (`| head`) is no error.
pub(crate) fn print(text: &str) -> anyhow::Result<()> {
    let mut out = std::io::stdout().lock();
    match out.write_all(text.as_bytes()).and_then(|()| out.flush()) {
        Err(e) if e.kind() != ErrorKind::BrokenPipe => Err(e.into()),
        _ => Ok(()),
    }
}

/// `1 file`, `3 files`.
pub(crate) fn count(n: usize, what: &str) -> String {
    match n {
        1 => format!("1 {what}"),
        n => format!("{n} {what}s"),
    }
}
