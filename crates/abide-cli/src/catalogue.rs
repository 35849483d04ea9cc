//! The catalogue in force: the built-in profiles, and the user's own.
//!
//! A user's profiles are the files `*.toml` in the folder `profiles` of the user's configuration,
//! or in the folder that `ABIDE_PROFILES` names, in the order of their names; then the sections
//! `[profiles.NAME]` of abide.toml. One that stands on another one is added after it.

use std::collections::BTreeMap;
use std::path::{Path, PathBuf};

use abide::profile::{Catalogue, Fault, parse};
use abide_config::Config;
use anyhow::Context;
use etcetera::BaseStrategy;

use crate::exit::Usage;

/// The largest profile read: a hundred times what anyone writes by hand.
const LARGEST: u64 = 1 << 20;

/// The built-in profiles and the user's.
///
/// # Errors
/// When one of the user's cannot be used: what is wrong, with file, line and column.
pub(crate) fn load(folder: Option<&Path>, config: &Config) -> anyhow::Result<Catalogue> {
    let mut all = Catalogue::built_in();
    let mut own = files(folder)?;
    own.extend(config.profiles().map(|(name, text, origin)| Own {
        origin: origin.to_string(),
        section: Some(name.to_owned()),
        text: text.to_owned(),
    }));
    match add(&mut all, own) {
        Ok(()) => Ok(all),
        Err(wrong) => Err(Usage(wrong.join("\n")).into()),
    }
}

/// A user's own profile.
#[derive(Clone)]
pub(crate) struct Own {
    /// The file, or the place in abide.toml.
    pub(crate) origin: String,
    /// The section of abide.toml that it is.
    pub(crate) section: Option<String>,
    pub(crate) text: String,
}

impl Own {
    /// The profile of a file.
    pub(crate) fn file(path: &Path) -> anyhow::Result<Self> {
        Ok(Self {
            origin: path.display().to_string(),
            section: None,
            text: read(path)?,
        })
    }

    /// Its name and the one it extends, as far as it can be read.
    pub(crate) fn names(&self) -> Option<(String, Option<String>)> {
        let told = parse(&self.text).ok()?;
        Some((told.name, told.extends))
    }

    fn wrong(&self, fault: &Fault) -> String {
        match &self.section {
            // The places of a section's text are no places of the file.
            Some(name) => format!("{}: [profiles.{name}]: {}", self.origin, fault.what),
            None => placed(&self.origin, fault),
        }
    }
}

/// Finds the user's files.
fn files(folder: Option<&Path>) -> anyhow::Result<Vec<Own>> {
    let (folder, wanted) = match folder {
        Some(folder) => (Some(folder.to_owned()), true),
        None => match std::env::var_os("ABIDE_PROFILES").filter(|v| !v.is_empty()) {
            Some(folder) => (Some(PathBuf::from(folder)), true),
            None => (usual(), false),
        },
    };
    let Some(folder) = folder else {
        return Ok(Vec::new());
    };
    if !wanted && !folder.is_dir() {
        return Ok(Vec::new());
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
    files.iter().map(|path| Own::file(path)).collect()
}

/// Adds profiles; one that extends another one is added after it, wherever they stand. Of several
/// of one name the order stays: each stands on the one before it.
///
/// # Errors
/// Everything that is wrong with those that cannot be used.
pub(crate) fn add(all: &mut Catalogue, mut left: Vec<Own>) -> Result<(), Vec<String>> {
    loop {
        let before = left.len();
        let (mut wrong, mut still) = (Vec::new(), Vec::new());
        let mut waiting = Vec::new();
        for own in left {
            let name = own.names().map(|(name, _)| name);
            if name.as_ref().is_some_and(|n| waiting.contains(n)) {
                still.push(own);
                continue;
            }
            if let Err(e) = all.add(&own.origin, own.text.clone()) {
                wrong.extend(e.faults.iter().map(|f| own.wrong(f)));
                waiting.extend(name);
                still.push(own);
            }
        }
        left = still;
        if left.is_empty() {
            return Ok(());
        }
        if left.len() == before {
            wrong.extend(circles(&left));
            return Err(wrong);
        }
    }
}

/// Profiles that wait for each other for ever: none of them is there before the others.
fn circles(left: &[Own]) -> Vec<String> {
    let names: BTreeMap<String, String> = left
        .iter()
        .filter_map(Own::names)
        .filter_map(|(name, parent)| Some((name, parent?)))
        .filter(|(name, parent)| name != parent)
        .collect();
    let mut told = Vec::new();
    for first in names.keys() {
        let mut line = vec![first];
        while let Some(next) = names.get(line[line.len() - 1]) {
            if next == first {
                // Told once, from its first name on.
                if line.iter().all(|n| *n >= first) {
                    let all: Vec<&str> = line.iter().map(|n| n.as_str()).collect();
                    told.push(format!(
                        "profiles extend each other in a circle: {} -> {first}; let one of them \
                         extend none of the others",
                        all.join(" -> ")
                    ));
                }
                break;
            }
            if line.contains(&next) {
                break;
            }
            line.push(next);
        }
    }
    told
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
