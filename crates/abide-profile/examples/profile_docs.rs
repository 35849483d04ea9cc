//! Writes docs/profiles.md and docs/profile.schema.json.

use std::io;
use std::path::Path;

fn main() -> io::Result<()> {
    let docs = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../docs");
    std::fs::write(docs.join("profiles.md"), abide_profile::docs::page())?;
    std::fs::write(
        docs.join("profile.schema.json"),
        abide_profile::docs::schema(),
    )
}
