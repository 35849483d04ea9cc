//! How many files, and so connections, the process may have open.

/// As many as it may have at most: shells give 1,024 by default, and every caller that waits is one.
pub(super) fn allow_many() {
    #[cfg(unix)]
    {
        use rustix::process::{Resource, getrlimit, setrlimit};
        let mut limit = getrlimit(Resource::Nofile);
        if limit.current == limit.maximum {
            return;
        }
        limit.current = limit.maximum;
        if let Err(e) = setrlimit(Resource::Nofile, limit) {
            eprintln!("abide: no more files can be opened than now: {e}");
        }
    }
}
