//! The options that give a run's output its shape, kept with the run.
//!
//! Half an output in input order, or half of the bodies in a folder, is of no use to anybody. A
//! run that goes on takes these options over from its beginning, and refuses others.

use std::path::{Path, PathBuf};

use abide::core::WallTime;
use abide::store::sqlite::ledger::RunError;

use super::args::Args;
use super::piped::Kept;
use super::{open, policy};
use crate::exit::Usage;
use crate::state::State;

/// What a run was begun with.
#[derive(Clone, Debug, Default, PartialEq, Eq, serde::Serialize, serde::Deserialize)]
pub(super) struct Shape {
    #[serde(default)]
    ordered: bool,
    #[serde(default)]
    save_dir: Option<String>,
    #[serde(default)]
    done_status: Option<String>,
}

impl Shape {
    pub(super) fn of(args: &Args) -> Self {
        Self {
            ordered: args.ordered,
            save_dir: args.save_dir.as_deref().map(whole),
            done_status: args.done_status.clone(),
        }
    }

    /// Which of the options given differ from those of the beginning, each in words.
    fn against(&self, args: &Args) -> anyhow::Result<Vec<String>> {
        let mut other = Vec::new();
        if args.ordered && !self.ordered {
            other.push("it was begun without --ordered".to_owned());
        }
        if let Some(given) = args.save_dir.as_deref()
            && self.save_dir.as_deref() != Some(&whole(given))
        {
            other.push(match &self.save_dir {
                Some(begun) => format!("it was begun with --save-dir {begun}"),
                None => "it was begun without --save-dir".to_owned(),
            });
        }
        if let Some(given) = &args.done_status
            && policy::statuses(Some(given))? != policy::statuses(self.done_status.as_deref())?
        {
            let begun = self.done_status.as_deref();
            other.push(format!(
                "it was begun with --done-status {}",
                begun.unwrap_or(policy::DONE)
            ));
        }
        Ok(other)
    }

    /// Takes over what was not given; says what that is.
    fn complete(&self, args: &mut Args) -> Vec<String> {
        let mut taken = Vec::new();
        if self.ordered && !args.ordered {
            args.ordered = true;
            taken.push("--ordered".to_owned());
        }
        if let (Some(dir), None) = (&self.save_dir, &args.save_dir) {
            args.save_dir = Some(PathBuf::from(dir));
            taken.push(format!("--save-dir {dir}"));
        }
        if let (Some(list), None) = (&self.done_status, &args.done_status) {
            args.done_status = Some(list.clone());
            taken.push(format!("--done-status {list}"));
        }
        taken
    }
}

fn whole(path: &Path) -> String {
    let whole = std::path::absolute(path).unwrap_or_else(|_| path.to_owned());
    whole.display().to_string()
}

/// The options of a run that goes on: those given, completed by those it was begun with.
pub(super) fn as_begun(args: &Args, state: &State, now: WallTime) -> anyhow::Result<Args> {
    let mut args = args.clone();
    let name = open::name_of(&args, state, now)?;
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
