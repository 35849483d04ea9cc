//! From what was submitted to what is stored: whom it asks, what is shown, what is sealed.
//!
//! Everything of a request that could carry a secret (address, headers, body) is sealed with the
//! install key, whether it does or not; beside it stands what may be shown.

use std::sync::Arc;

use abide::core::WallTime;
use abide::core::call::Safety;
use abide::profile::Catalogue;
use abide::{Governor, Target, is_secret_header, redacted};
use http::{HeaderMap, HeaderName, HeaderValue, Method};
use serde_json::json;
use url::Url;

use crate::error::QueueError;
use crate::input::{Envelope, HttpSpec, Input, Webhook};
use crate::ops::submit::NewJob;
use crate::record::{Job, JobId, State};
use crate::seal::{Seal, signature};
use crate::spec::JobSpec;

/// The largest input: a job is a request, not an upload.
pub(crate) const LARGEST: usize = 4 * 1024 * 1024;

/// The lane of jobs that ask nobody.
pub(crate) const NOBODY: &str = "-";

/// The kind of a job that is a request.
pub(crate) const HTTP: &str = "http";

/// The class of jobs that tell somebody of another job's end.
pub(crate) const WEBHOOK: &str = "webhook";

/// Makes jobs ready to be stored, and what is stored ready to be done.
#[derive(Debug)]
pub(crate) struct Maker {
    pub(crate) governor: Option<Governor>,
    pub(crate) seal: Arc<Seal>,
}

/// A request, read.
pub(crate) struct Asked {
    pub(crate) method: Method,
    pub(crate) url: Url,
    pub(crate) headers: HeaderMap,
}

impl HttpSpec {
    pub(crate) fn read(&self) -> Result<Asked, String> {
        let method = Method::from_bytes(self.method.as_bytes());
        let url = Url::parse(&self.url).map_err(|e| format!("its address: {e}"))?;
        if !matches!(url.scheme(), "http" | "https") || url.host_str().is_none() {
            return Err("its address is none of http:// or https://".to_owned());
        }
        let mut headers = HeaderMap::new();
        for (name, value) in &self.headers {
            let wrong = || format!("its header {name:?} cannot be sent");
            let name = HeaderName::try_from(name).map_err(|_| wrong())?;
            let value = HeaderValue::try_from(value).map_err(|_| wrong())?;
            headers.append(name, value);
        }
        Ok(Asked {
            method: method.map_err(|_| format!("{:?} is no method", self.method))?,
            url,
            headers,
        })
    }

    /// Whether it may change something that must not be changed twice, as far as its method tells.
    pub(crate) fn writes(&self, method: &Method) -> bool {
        !self.reads && self.idempotent.is_none() && Safety::of(method) != Safety::Read
    }
}

impl Maker {
    /// Makes a job ready to be stored.
    pub(crate) fn make(&self, spec: JobSpec, now: WallTime) -> Result<NewJob, QueueError> {
        let (lane, provider, title, writes) = match &spec.input {
            Input::Http(http) => self.of_request(http, &spec)?,
            Input::Handler { name, .. } => {
                if name == HTTP || name.is_empty() {
                    return Err(QueueError::Spec(format!(
                        "no handler may be called {name:?}"
                    )));
                }
                let gate = spec.provider.as_deref().map(|p| match &spec.account {
                    Some(account) => format!("{p} @{account}"),
                    None => p.to_owned(),
                });
                let lane = gate.unwrap_or_else(|| NOBODY.to_owned());
                let writes = spec.writes.unwrap_or_default();
                (lane, spec.provider.clone(), name.clone(), writes)
            }
        };
        let lane = match &spec.fair {
            Some(whose) => format!("{lane} ~{whose}"),
            None => lane,
        };
        let kind = match &spec.input {
            Input::Http(_) => HTTP.to_owned(),
            Input::Handler { name, .. } => name.clone(),
        };
        let shown =
            match &spec.webhook {
                Some(hook) => {
                    Some(self.shown(&Url::parse(&hook.url).map_err(|e| {
                        QueueError::Spec(format!("the address of its webhook: {e}"))
                    })?))
                }
                None => None,
            };
        let envelope = Envelope {
            input: spec.input,
            webhook: spec.webhook,
        };
        let plain = serde_json::to_vec(&envelope).map_err(|e| QueueError::Spec(e.to_string()))?;
        if plain.len() > LARGEST {
            let why = format!("it is larger than {} MiB", LARGEST >> 20);
            return Err(QueueError::Spec(why));
        }
        let why = || QueueError::Spec("it cannot be sealed: no randomness".to_owned());
        let sealed = self.seal.seal(&plain).ok_or_else(why)?;
        let keep = spec
            .keep
            .map(|d| i64::try_from(d.as_nanos()).unwrap_or(i64::MAX));
        let urgency = (0..8).find(|n| abide::core::queue::Urgency::new(*n) == spec.urgency);
        Ok(NewJob {
            args: vec![
                spec.queue.into(),
                lane.into(),
                urgency.unwrap_or(3u8).into(),
                spec.at.unwrap_or(now).into(),
                provider.into(),
                spec.class.into(),
                kind.into(),
                title.into(),
                writes.into(),
                spec.unique_key.clone().into(),
                spec.one_key.into(),
                now.into(),
                // What is to run next week is not old before.
                spec.at.map_or(now, |at| at.max(now)).into(),
                spec.deadline.into(),
                shown.into(),
                keep.into(),
                sealed.into(),
            ],
            unique_key: spec.unique_key,
        })
    }

    fn of_request(
        &self,
        http: &HttpSpec,
        spec: &JobSpec,
    ) -> Result<(String, Option<String>, String, bool), QueueError> {
        let asked = http.read().map_err(QueueError::Spec)?;
        let provider = match &spec.provider {
            Some(name) => name.clone(),
            None => self.provider(&asked),
        };
        let lane = match self.account(http, &asked) {
            Some(tag) => format!("{provider} #{tag}"),
            None => provider.clone(),
        };
        let title = format!("{} {}", asked.method, self.shown(&asked.url));
        let writes = http.writes(&asked.method);
        Ok((lane, Some(provider), title, writes))
    }

    fn target(&self, asked: &Asked) -> Option<Target> {
        let governor = self.governor.as_ref()?;
        governor.target(&asked.method, &asked.url, &asked.headers)
    }

    /// Whose an address is; without a governor an origin is its own provider.
    fn provider(&self, asked: &Asked) -> String {
        if let Some(target) = self.target(asked) {
            return target.provider.to_string();
        }
        let host = asked.url.host_str().unwrap_or_default();
        match asked.url.port() {
            Some(port) => format!("{host}:{port}"),
            None => host.to_owned(),
        }
    }

    /// A name for the account a request asks as: the same for the same credential, telling nothing
    /// of it.
    fn account(&self, http: &HttpSpec, asked: &Asked) -> Option<String> {
        if let Some(name) = &http.credential {
            return Some(self.seal.name(name.as_bytes()));
        }
        let mut parts: Vec<String> = asked
            .headers
            .iter()
            .filter(|(name, _)| is_secret_header(name))
            .map(|(name, value)| format!("{name}:{}", String::from_utf8_lossy(value.as_bytes())))
            .collect();
        let url = &asked.url;
        if !url.username().is_empty() || url.password().is_some() {
            let password = url.password().unwrap_or_default();
            parts.push(format!("{}:{password}", url.username()));
        }
        parts.sort();
        (!parts.is_empty()).then(|| self.seal.name(parts.join("\n").as_bytes()))
    }

    /// An address as it may be shown.
    fn shown(&self, url: &Url) -> String {
        match &self.governor {
            Some(governor) => {
                let target = governor.target(&Method::GET, url, &HeaderMap::new());
                match target {
                    Some(target) => redacted(url, target.profile()),
                    None => redacted(url, &governor.catalogue().generic()),
                }
            }
            None => {
                static PLAIN: std::sync::OnceLock<Arc<abide::profile::Profile>> =
                    std::sync::OnceLock::new();
                redacted(url, PLAIN.get_or_init(|| Catalogue::built_in().generic()))
            }
        }
    }

    /// What is to be done of a job, and who is told.
    pub(crate) fn open(&self, job: &Job) -> Result<Envelope, QueueError> {
        let sealed = job.input.as_deref().unwrap_or_default();
        let plain = self.seal.open(sealed).ok_or(QueueError::Sealed(job.id))?;
        serde_json::from_slice(&plain).map_err(|_| QueueError::Sealed(job.id))
    }

    /// The job that tells somebody of another one's end.
    pub(crate) fn webhook(
        &self,
        hook: &Webhook,
        (job, state, reason): (&Job, State, Option<&str>),
        now: WallTime,
    ) -> Result<NewJob, QueueError> {
        let body = json!({
            "id": job.id,
            "state": state,
            "kind": job.kind,
            "title": job.title,
            "unique_key": job.unique_key,
            "attempts": job.attempts,
            "deferrals": job.deferrals,
            "reason": reason,
            "ended": now.to_string(),
        });
        let body = body.to_string().into_bytes();
        let secret = match &hook.secret {
            Some(secret) => secret.clone(),
            None => self.webhook_secret(),
        };
        let name = told_once(job.id, job.token);
        let spec = JobSpec::http(Method::POST, hook.url.as_str())
            .header("content-type", "application/json")
            .header("abide-signature", signature(secret.as_bytes(), &body))
            .header("abide-delivery", name.as_str())
            .idempotent(name.as_str())
            .unique(name.as_str())
            .class(WEBHOOK)
            .queue(job.queue.as_str())
            .body(body);
        self.make(spec, now)
    }

    /// What webhooks are signed with that bring no secret of their own.
    pub(crate) fn webhook_secret(&self) -> String {
        let halves = [b"webhook secret, 1".as_slice(), b"webhook secret, 2"];
        halves.map(|half| self.seal.name(half)).concat()
    }
}

/// One word about one end of a job, however often it is tried.
fn told_once(id: JobId, token: i64) -> String {
    format!("webhook:{id}:{token}")
}
