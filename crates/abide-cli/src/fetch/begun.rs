//! Going on with a run as it was begun.

use abide::core::WallTime;
use abide::store::sqlite::ledger::RunError;

use super::args::Args;
use super::name::name_of;
use super::piped::Kept;
use crate::exit::Usage;
use crate::state::State;

/// The options of a run that goes on: those given, completed by those it was begun with.
pub(super) fn as_begun(args: &Args, state: &State, now: WallTime) -> anyhow::Result<Args> {
    let mut args = args.clone();
    let name = name_of(&args, state, now)?;
    args.run = Some(name.clone());
    let info = match state.store.run(&name) {
        Ok(info) => info,
        // Claiming it will say so.
        Err(RunError::Unknown(_)) => return Ok(args),
        Err(e) => return Err(e.into()),
    };
    // A run of an earlier version remembers nothing of this.
    let Some(shape) = serde_json::from_str::<Kept>(&info.options)
        .ok()
        .and_then(|kept| kept.shape)
    else {
        return Ok(args);
    };
    let other = shape.against(&args)?;
    if !other.is_empty() {
        return Err(Usage(format!(
            "run {name} cannot go on like this: {}; go on as it was begun, or begin another with \
             --run and an --out of its own",
            other.join(", and ")
        ))
        .into());
    }
    let taken = shape.complete(&mut args);
    if !taken.is_empty() && !args.quiet {
        let taken = taken.join(" ");
        eprintln!("abide: run {name} goes on with {taken}, as it was begun");
    }
    Ok(args)
}
