//! The catalogue in force: the built-in profiles, and the user's own.
//!
//! A user's profiles are the files `*.toml` in the folder `profiles` of the user's configuration,
//! or in the folder that `ABIDE_PROFILES` names, in the order of their names; then the sections
//! `[profiles.NAME]` of abide.toml.

use std::path::{Path, PathBuf};

use abide::profile::{Catalogue, Fault};
use abide_config::Config;
use anyhow::Context;
use etcetera::BaseStrategy;

use crate::exit::Usage;

/// The largest profile read: a hundred times what anyone writes by hand.
const LARGEST: u64 = 1 << 20;

/// Where a user's own profiles are.
#[derive(Debug, clap::Args)]
pub(crate) struct From {
    /// A folder of profiles (*.toml) of your own, beside those built in [default: ABIDE_PROFILES,
    /// else profiles/ in the user's configuration folder]
    #[arg(long, value_name = "DIR", global = true)]
    profiles: Option<PathBuf>,
    /// The configuration file, whose [profiles.NAME] count too [default: abide.toml here, else in
    /// the user's configuration folder]
    #[arg(long, env = "ABIDE_CONFIG", value_name = "FILE", global = true)]
    config: Option<PathBuf>,
}

impl From {
    /// The built-in profiles and the user's.
    pub(crate) fn load(&self) -> anyhow::Result<Catalogue> {
        let config = crate::config::load(self.config.as_deref(), Vec::new())?;
        load(self.profiles.as_deref(), &config)
    }
}

/// The built-in profiles and the user's.
///
/// # Errors
/// When one of the user's cannot be used: what is wrong, with file, line and column.
pub(crate) fn load(folder: Option<&Path>, config: &Config) -> anyhow::Result<Catalogue> {
    let mut all = Catalogue::built_in();
    let mut wrong = Vec::new();
    files(folder, &mut all, &mut wrong)?;
    for (name, text, origin) in config.profiles() {
        if let Err(e) = all.add(&origin.to_string(), text.to_owned()) {
            let lines = e.faults.iter();
            wrong.extend(lines.map(|f| format!("{origin}: [profiles.{name}]: {}", f.what)));
        }
    }
    if wrong.is_empty() {
        Ok(all)
    } else {
        Err(Usage(wrong.join("\n")).into())
    }
}

/// Adds the user's files.
fn files(
    folder: Option<&Path>,
    all: &mut Catalogue,
    wrong: &mut Vec<String>,
) -> anyhow::Result<()> {
    let (folder, wanted) = match folder {
        Some(folder) => (Some(folder.to_owned()), true),
        None => match std::env::var_os("ABIDE_PROFILES").filter(|v| !v.is_empty()) {
            Some(folder) => (Some(PathBuf::from(folder)), true),
            None => (usual(), false),
        },
    };
    let Some(folder) = folder else {
        return Ok(());
    };
    if !wanted && !folder.is_dir() {
        return Ok(());
    }
    let what = || format!("the profiles in {} cannot be read", folder.display());
    let mut files = Vec::new();
    for entry in std::fs::read_dir(&folder).with_context(what)? {
        let path = entry.with_context(what)?.path();
        if path.extension().is_some_and(|e| e == "toml") {
            files.push(path);
        }
    }
    files.sort();
    let mut own = Vec::new();
    for path in files {
        own.push((path.display().to_string(), read(&path)?));
    }
    wrong.extend(add(all, own).err().into_iter().flatten());
    Ok(())
}

/// Adds profiles; one that extends another one is added after it, whatever the files' names.
///
/// # Errors
/// Everything that is wrong with those that cannot be used.
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

/// `FILE:LINE:COL: what`.
pub(crate) fn placed(path: &str, fault: &Fault) -> String {
    match fault.line {
        0 => format!("{path}: {}", fault.what),
        line => format!("{path}:{line}:{}: {}", fault.column, fault.what),
    }
}

/// Reads a profile's file.
///
/// # Errors
/// When it cannot be read, or is no text of a sane size.
pub(crate) fn read(path: &Path) -> anyhow::Result<String> {
    let size = std::fs::metadata(path)
        .with_context(|| format!("{} cannot be read", path.display()))?
        .len();
    if size > LARGEST {
        anyhow::bail!("{} is larger than 1 MiB", path.display());
    }
    std::fs::read_to_string(path).with_context(|| format!("{} cannot be read", path.display()))
}

fn usual() -> Option<PathBuf> {
    let dirs = etcetera::choose_base_strategy().ok()?;
    Some(dirs.config_dir().join("abide").join("profiles"))
}
