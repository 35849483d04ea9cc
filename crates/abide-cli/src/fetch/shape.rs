//! The options that give a run's output its shape, kept with the run.
//!
//! Half an output in input order, or half of the bodies in a folder, is of no use to anybody. A
//! run that goes on takes these options over from its beginning, and refuses others.

use std::path::{Path, PathBuf};

use super::args::Args;
use super::policy;

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
    pub(super) fn against(&self, args: &Args) -> anyhow::Result<Vec<String>> {
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
    pub(super) fn complete(&self, args: &mut Args) -> Vec<String> {
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
