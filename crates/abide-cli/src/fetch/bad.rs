//! Lines of the input that cannot be sent.

use super::args::Args;
use super::source::Items;
use crate::exit::Usage;

/// The most bad lines reported one by one.
const BAD_SHOWN: usize = 20;

/// Reports the lines that cannot be sent.
pub(super) fn report_bad(items: &Items, args: &Args) -> anyhow::Result<()> {
    let bad = &items.index.bad;
    for (item, why) in bad.iter().take(BAD_SHOWN) {
        eprintln!(
            "abide: {}: line {}, {why}",
            args.input.display(),
            items.line(*item)
        );
    }
    if bad.len() > BAD_SHOWN {
        eprintln!("abide: and {} more bad lines", bad.len() - BAD_SHOWN);
    }
    if args.strict && !bad.is_empty() {
        let why = format!("{} bad lines; nothing was sent (--strict)", bad.len());
        return Err(Usage(why).into());
    }
    Ok(())
}
