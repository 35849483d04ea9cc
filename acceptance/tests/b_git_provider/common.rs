//! The program's configuration, and its providers.

use std::time::Duration;

use abide::testing::Sim;
use abide_acceptance::Program;
use abide_acceptance::wire::{Came, Http, Ledger, Missed, Script};
use abide_config::Use;
use http::Method;

/// Four attempts, 250 ms doubled to 4 s, evenly drawn; whom to repeat after what is each
/// provider's own.
pub(crate) const RETRY: &str = r#"
[defaults]
attempts = 4
backoff.base = "250ms"
backoff.factor = 2
backoff.max = "4s"
retry.write = "never"
pace.adaptive = "off"
breaker.enabled = false
outage.enabled = false

[providers.github]
retry.on = ["rate_limited", "500", "501", "502", "503", "504", "505", "520", "522", "599", "head"]

[providers.gitlab]
retry.on = ["500", "503", "504", "head"]
"#;

pub(crate) const GITHUB: &str = "api.github.com";
pub(crate) const GITLAB: &str = "gitlab.com";

/// There and back, in virtual time.
pub(crate) const TRIP: Duration = ms(20);

pub(crate) const fn secs(n: u64) -> Duration {
    Duration::from_secs(n)
}

pub(crate) const fn ms(n: u64) -> Duration {
    Duration::from_millis(n)
}

/// The program with one of its providers at hand.
pub(crate) struct One {
    pub(crate) program: Program,
    pub(crate) http: Http,
    pub(crate) sim: Sim,
    pub(crate) came: Ledger,
    host: &'static str,
}

impl One {
    pub(crate) fn new(host: &'static str, script: Script) -> Self {
        Self::with(RETRY, host, script)
    }

    pub(crate) fn with(text: &str, host: &'static str, script: Script) -> Self {
        Self::seeded(text, host, script, 1)
    }

    pub(crate) fn seeded(text: &str, host: &'static str, script: Script, seed: u64) -> Self {
        let program = Program::with(text, Use::Call, |governor| governor.seed(seed));
        let (sim, came) = program.provider(script);
        let http = program.http(&[(host, &sim)]);
        Self {
            program,
            http,
            sim,
            came,
            host,
        }
    }

    pub(crate) async fn get(&self, path: &str) -> Result<Came, Missed> {
        self.send(Method::GET, path).await
    }

    pub(crate) async fn send(&self, method: Method, path: &str) -> Result<Came, Missed> {
        let url = format!("https://{}{path}", self.host);
        let body = match method {
            Method::GET => "",
            _ => r#"{"name":"x"}"#,
        };
        self.http
            .request(method, &url, body, Some("t0k3n"), |_| {})
            .await
    }

    pub(crate) fn elapsed(&self) -> Duration {
        self.program.clock.elapsed()
    }

    /// The waits between one request and the next.
    pub(crate) fn waits(&self) -> Vec<Duration> {
        self.came.gaps().iter().map(|gap| *gap - TRIP).collect()
    }
}
