//! One picture a scenario, as lines (SVG) and as dots (PNG).

use std::fs;
use std::path::Path;

use abide_sim::world::{Report, png, svg};
use anyhow::{Context, Result};

/// Draws one run into `dir`.
pub(crate) fn draw(dir: &Path, scenario: &str, controller: &str, report: &Report) -> Result<()> {
    fs::create_dir_all(dir).with_context(|| format!("cannot make {}", dir.display()))?;
    let title = format!("{scenario}, {controller}");
    let write = |ending: &str, bytes: &[u8]| {
        let file = dir.join(format!("{scenario}-{controller}.{ending}"));
        fs::write(&file, bytes).with_context(|| format!("cannot write {}", file.display()))
    };
    write("svg", svg(&title, report)?.as_bytes())?;
    write("png", &png(&title, report)?)
}
