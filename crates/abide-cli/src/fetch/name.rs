//! What a run is called.

use std::path::Path;

use abide::core::WallTime;

use super::args::Args;
use super::piped::lone_pipe;
use crate::state::State;

/// The name of a run that was given none: the same command goes on with the same run.
pub(super) fn name(args: &Args, now: WallTime) -> String {
    use std::hash::Hasher;
    if let Some(name) = &args.run {
        return name.clone();
    }
    let mut h = siphasher::sip::SipHasher13::new();
    if args.input.as_os_str() == "-" {
        // Two pipes are never the same input.
        h.write_i64(now.as_unix_nanos());
        h.write_u32(std::process::id());
        return format!("stdin-{:08x}", h.finish() >> 32);
    }
    let whole = |p: &Path| std::path::absolute(p).unwrap_or_else(|_| p.to_owned());
    h.write(whole(&args.input).as_os_str().as_encoded_bytes());
    if let Some(out) = &args.out {
        h.write(whole(out).as_os_str().as_encoded_bytes());
    }
    h.write(args.url.as_deref().unwrap_or_default().as_bytes());
    let stem = args
        .input
        .file_stem()
        .map(|s| s.to_string_lossy().into_owned());
    let stem: String = stem
        .unwrap_or_default()
        .chars()
        .filter(|c| c.is_ascii_alphanumeric() || matches!(c, '-' | '_' | '.'))
        .take(40)
        .collect();
    format!("{stem}-{:08x}", h.finish() >> 32)
}

/// The name of the run to go on with.
pub(super) fn name_of(args: &Args, state: &State, now: WallTime) -> anyhow::Result<String> {
    if args.input.as_os_str() == "-" && args.run.is_none() {
        return lone_pipe(state);
    }
    Ok(name(args, now))
}
