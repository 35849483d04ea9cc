//! Talking to a gateway that runs: what `status`, `holds`, `hold` and `lift` have in common.
//!
//! The token is looked for in `ABIDE_TOKEN`, in the file that was named, and beside the state. What
//! stands beside the state goes to this machine only: a URL that was mistyped must not be told it.

use std::path::PathBuf;
use std::time::Duration;

use anyhow::{Context, anyhow, bail};
use reqwest::{Method, StatusCode};
use serde_json::Value;

use crate::exit::Usage;
use crate::token;

/// A gateway answers from what it knows: it is broken rather than slow.
const WITHIN: Duration = Duration::from_secs(10);

/// Which gateway, and how it is let in.
#[derive(Debug, clap::Args)]
pub(crate) struct Gateway {
    /// The gateway; unix:/PATH for one at a socket file
    #[arg(
        long,
        env = "ABIDE_URL",
        value_name = "URL",
        default_value = "http://127.0.0.1:4180"
    )]
    url: String,
    /// A file with its admin token [default: ABIDE_TOKEN, else admin.token beside the state]
    #[arg(long, value_name = "FILE")]
    token_file: Option<PathBuf>,
    /// The folder of its state [default: the platform's]
    #[arg(long, env = "ABIDE_STATE", value_name = "DIR")]
    state: Option<PathBuf>,
}

/// What was answered.
pub(crate) struct Answer {
    pub(crate) status: StatusCode,
    pub(crate) text: String,
}

impl Gateway {
    /// Asks the API; what is answered, where it was done.
    ///
    /// # Errors
    /// What is to be done where nobody listens, or it was refused.
    pub(crate) fn api(
        &self,
        method: Method,
        path: &str,
        body: Option<&Value>,
    ) -> anyhow::Result<Value> {
        let answer = self.ask(method, &format!("/-/api/v1/{path}"), body)?;
        let read: Value = match answer.text.is_empty() {
            true => Value::Null,
            false => serde_json::from_str(&answer.text).unwrap_or_default(),
        };
        if answer.status.is_success() {
            return Ok(read);
        }
        let why = read["detail"].as_str().map(str::to_owned);
        let why = why
            .unwrap_or_else(|| format!("{} answers {}, and is no abide", self.url, answer.status));
        let why = crate::shown::plain(&why);
        match answer.status {
            StatusCode::UNAUTHORIZED => {
                Err(anyhow!("{why}; give it in ABIDE_TOKEN or by --token-file"))
            }
            status if status.is_client_error() => Err(Usage(why).into()),
            _ => Err(anyhow!(why)),
        }
    }

    /// Asks for anything.
    ///
    /// # Errors
    /// What is to be done where nobody listens.
    pub(crate) fn ask(
        &self,
        method: Method,
        path: &str,
        body: Option<&Value>,
    ) -> anyhow::Result<Answer> {
        let runtime = tokio::runtime::Builder::new_current_thread()
            .enable_all()
            .build()
            .context("the async runtime cannot start")?;
        runtime.block_on(self.asked(method, path, body))
    }

    async fn asked(
        &self,
        method: Method,
        path: &str,
        body: Option<&Value>,
    ) -> anyhow::Result<Answer> {
        let mut client = reqwest::Client::builder()
            .no_proxy()
            .redirect(reqwest::redirect::Policy::none())
            .retry(reqwest::retry::never())
            .timeout(WITHIN)
            .tls_backend_preconfigured(abide::tls_config(Vec::new()).context("no TLS")?);
        let base = match self.url.strip_prefix("unix:") {
            #[cfg(unix)]
            Some(file) => {
                client = client.unix_socket(PathBuf::from(file));
                "http://localhost"
            }
            #[cfg(not(unix))]
            Some(_) => bail!("there are no socket files here"),
            None => self.url.trim_end_matches('/'),
        };
        let url = reqwest::Url::parse(&format!("{base}{path}"));
        let url = url.map_err(|e| Usage(format!("--url {}: {e}", self.url)))?;
        let token = match self.token(&url) {
            // Reading is open on this machine: a token of somebody else's is not needed for it.
            Err(_) if method == Method::GET && self.token_file.is_none() => None,
            token => token?,
        };
        let client = client.build().context("the HTTP client cannot be set up")?;
        let mut request = client.request(method, url);
        if let Some(token) = token {
            request = request.bearer_auth(token);
        }
        if let Some(body) = body {
            request = request.json(body);
        }
        let sent = request.send().await;
        let response = sent.map_err(|e| match e.is_connect() {
            true => anyhow!(
                "nobody listens at {}; start `abide serve`, or name the gateway by --url or \
                 ABIDE_URL",
                self.url
            ),
            false => anyhow!(e.without_url()).context(format!("{} does not answer", self.url)),
        })?;
        let status = response.status();
        let text = response.text().await;
        let text = text.with_context(|| format!("the answer of {} broke off", self.url))?;
        Ok(Answer { status, text })
    }

    fn token(&self, url: &reqwest::Url) -> anyhow::Result<Option<String>> {
        let told = std::env::var("ABIDE_TOKEN").ok().filter(|t| !t.is_empty());
        if let Some(path) = &self.token_file {
            return token::read(path).map(Some);
        }
        if told.is_some() {
            return Ok(told);
        }
        let host = url.host_str().unwrap_or_default();
        let bare = host.trim_start_matches('[').trim_end_matches(']');
        let ip: Option<std::net::IpAddr> = bare.parse().ok();
        let here = host == "localhost" || ip.is_some_and(|ip| ip.is_loopback());
        if !here {
            return Ok(None);
        }
        token::kept(self.state.as_deref())
    }
}

/// A name as a part of a path.
pub(crate) fn part(name: &str) -> anyhow::Result<String> {
    if name.is_empty() {
        bail!(Usage("a provider has a name".to_owned()));
    }
    let all = percent_encoding::NON_ALPHANUMERIC;
    Ok(percent_encoding::utf8_percent_encode(name, all).to_string())
}

/// A text of an answer.
pub(crate) fn text<'a>(of: &'a Value, key: &str) -> &'a str {
    of[key].as_str().unwrap_or_default()
}

/// The list of that name.
pub(crate) fn list<'a>(of: &'a Value, key: &str) -> &'a [Value] {
    of[key].as_array().map_or(&[], Vec::as_slice)
}

/// Why a gate is held: the cause, and what a person said of it.
pub(crate) fn why(hold: &Value) -> String {
    match hold["reason"].as_str() {
        Some(reason) => format!("{}: {reason}", text(hold, "cause")),
        None => text(hold, "cause").to_owned(),
    }
}
