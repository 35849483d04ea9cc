//! One picture a scenario.

use std::fs;
use std::path::Path;

use abide_sim::world::{Report, svg};
use anyhow::{Context, Result};

/// Draws one run into `dir`.
pub(crate) fn draw(dir: &Path, scenario: &str, controller: &str, report: &Report) -> Result<()> {
    fs::create_dir_all(dir).with_context(|| format!("cannot make {}", dir.display()))?;
    let file = dir.join(format!("{scenario}-{controller}.svg"));
    let text = svg(&format!("{scenario}, {controller}"), report)?;
    fs::write(&file, text).with_context(|| format!("cannot write {}", file.display()))
}
