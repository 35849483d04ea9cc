//! The profiles of this command: those built in, and a user's own from `--profiles DIR`.

use std::path::{Path, PathBuf};

use abide_profile::{Catalogue, Fault};
use anyhow::Context;

use crate::exit::Usage;

/// The largest profile that is read, in bytes: the largest of the catalogue has a fiftieth.
const MAX: u64 = 1024 * 1024;

/// Where a user's own profiles are.
#[derive(Debug, clap::Args)]
pub(crate) struct From {
    /// A folder of profiles (*.toml) of your own, beside those built in
    #[arg(long, value_name = "DIR", global = true)]
    profiles: Option<PathBuf>,
}

impl From {
    /// All profiles. Where one of the user's cannot be used, everything that is wrong with it.
    pub(crate) fn load(&self) -> anyhow::Result<Catalogue> {
        let mut all = Catalogue::built_in();
        let Some(dir) = &self.profiles else {
            return Ok(all);
        };
        let unreadable = || format!("the folder of profiles {} cannot be read", dir.display());
        let mut files = Vec::new();
        for entry in std::fs::read_dir(dir).with_context(unreadable)? {
            let path = entry.with_context(unreadable)?.path();
            if path.extension().is_some_and(|e| e == "toml") {
                files.push(path);
            }
        }
        files.sort();
        let mut left = Vec::new();
        for path in files {
            let text = read(&path)?;
            left.push((path.display().to_string(), text));
        }
        add(&mut all, left).map_err(|wrong| Usage(wrong.join("\nabide: ")))?;
        Ok(all)
    }
}

/// Adds profiles; one that extends another one is added after it, whatever the files' names.
pub(crate) fn add(all: &mut Catalogue, mut left: Vec<(String, String)>) -> Result<(), Vec<String>> {
    loop {
        let before = left.len();
        let mut wrong = Vec::new();
        left.retain(|(path, text)| match all.add(path, text.clone()) {
            Ok(()) => false,
            Err(e) => {
                wrong.extend(e.faults.iter().map(|f| placed(path, f)));
                true
            }
        });
        if left.is_empty() {
            return Ok(());
        }
        if left.len() == before {
            return Err(wrong);
        }
    }
}

/// The text of a profile's file.
pub(crate) fn read(path: &Path) -> anyhow::Result<String> {
    let cannot = || format!("{} cannot be read", path.display());
    let size = std::fs::metadata(path).with_context(cannot)?.len();
    if size > MAX {
        anyhow::bail!(
            "{} is too large for a profile ({size} bytes)",
            path.display()
        );
    }
    std::fs::read_to_string(path).with_context(cannot)
}

/// `FILE:LINE:COL: what`.
pub(crate) fn placed(path: &str, fault: &Fault) -> String {
    match fault.line {
        0 => format!("{path}: {}", fault.what),
        line => format!("{path}:{line}:{}: {}", fault.column, fault.what),
    }
}
