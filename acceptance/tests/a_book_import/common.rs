//! The program's configuration, and its providers.

use std::time::Duration;

use abide::core::Verdict;
use abide::testing::Sim;
use abide_acceptance::Program;
use abide_acceptance::wire::{Came, Http, Ledger, Missed, Script};

/// The request loop as the program has it, for every provider.
pub(crate) const LOOP: &str = r#"
[defaults]
attempts = 4
retry.on = ["rate_limited", "502", "503", "504", "connect", "send", "head"]
hold.on = ["502", "503", "504"]
hold.max = "30s"
wait.max = "30s"
patience = "2m"
hint.zero = "ignore"
quota.from = "31d"
backoff.base = "500ms"
backoff.max = "8s"
ladder.base = "500ms"
ladder.max = "8s"
pace.adaptive = "off"
breaker.enabled = false
outage.enabled = false
"#;

/// The day's quota is believed to its end.
pub(crate) const BOOKS: &str = "
[providers.google-books]
hold.max = \"31d\"
";

pub(crate) const OPENLIBRARY: &str = "https://openlibrary.org/search.json?q=dune";
pub(crate) const GOOGLE: &str = "https://www.googleapis.com/books/v1/volumes?q=isbn:1&key=s3cr3t";

/// One address of each of the six.
pub(crate) const SIX: [(&str, &str); 6] = [
    ("openlibrary.org", OPENLIBRARY),
    ("www.googleapis.com", GOOGLE),
    (
        "services.dnb.de",
        "https://services.dnb.de/sru/dnb?query=num%3D9783161484100",
    ),
    (
        "api.nb.no",
        "https://api.nb.no/catalog/v1/items?q=isbn:9788203",
    ),
    (
        "api.audible.com",
        "https://api.audible.com/1.0/catalog/products?title=dune",
    ),
    ("api.audnex.us", "https://api.audnex.us/books/B002V1OF70"),
];

pub(crate) const fn secs(n: u64) -> Duration {
    Duration::from_secs(n)
}

pub(crate) const fn ms(n: u64) -> Duration {
    Duration::from_millis(n)
}

/// There and back, in virtual time.
pub(crate) const TRIP: Duration = ms(20);

/// The program with one provider at hand.
pub(crate) struct One {
    pub(crate) program: Program,
    pub(crate) http: Http,
    pub(crate) sim: Sim,
    pub(crate) came: Ledger,
    pub(crate) url: &'static str,
}

impl One {
    /// By the program's own configuration.
    pub(crate) fn new((host, url): (&'static str, &'static str), script: Script) -> Self {
        Self::with(LOOP, (host, url), script)
    }

    pub(crate) fn with(
        text: &str,
        (host, url): (&'static str, &'static str),
        script: Script,
    ) -> Self {
        let program = Program::new(text);
        let (sim, came) = program.provider(script);
        let http = program.http(&[(host, &sim)]);
        Self {
            program,
            http,
            sim,
            came,
            url,
        }
    }

    pub(crate) async fn get(&self) -> Result<Came, Missed> {
        self.http.get(self.url).await
    }

    pub(crate) fn elapsed(&self) -> Duration {
        self.program.clock.elapsed()
    }
}

/// What an answer or its absence means: what a program branches on.
pub(crate) fn cause(result: &Result<Came, Missed>) -> Option<Verdict> {
    match result {
        Ok(came) => came.turned.as_ref()?.refusal.cause,
        Err(missed) => missed.turned()?.refusal.cause,
    }
}
