//! A job that is a request: one call through the gates.
//!
//! What the provider answers ends the job: done where it served it or knows no such thing, failed
//! where it said that the request itself is wrong. A refusal puts the job off, unless the request
//! writes: then it was sent once, and is sent again only where whoever submitted it said that a
//! refusal means that nothing was done. A write that broke off ends as failed, its effect unknown.

use std::fmt;
use std::pin::Pin;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::Duration;

use abide::core::Verdict;
use abide::core::defer::Ended;
use abide::core::queue::Urgency;
use abide::{BeforeStart, Client, Error, Response, Target};
use http::{HeaderMap, HeaderName, HeaderValue};

use super::end::Came;
use crate::input::HttpSpec;
use crate::ops::keep::Held;
use crate::queue::Queue;
use crate::record::Job;
use crate::results::JobResult;

/// Finds a credential by its name: the header, and what is in it.
pub type FindCredential =
    Arc<dyn Fn(&str) -> Result<(HeaderName, HeaderValue), String> + Send + Sync>;

/// Where credentials are found.
#[derive(Clone, Default)]
pub(crate) struct Credentials(pub(crate) Option<FindCredential>);

impl fmt::Debug for Credentials {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("Credentials")
    }
}

/// Headers of an answer that are not kept: they are credentials.
const SECRET: [&str; 2] = ["set-cookie", "set-cookie2"];

/// A request, made ready.
pub(crate) struct Prepared {
    asked: crate::prepare::Asked,
    pub(crate) target: Option<Target>,
}

impl Prepared {
    /// Reads what is stored, and adds the credential.
    pub(crate) fn of(
        client: &Client,
        http: &HttpSpec,
        credentials: &Credentials,
    ) -> Result<Self, String> {
        let mut asked = http.read()?;
        if let Some(name) = &http.credential {
            let find = credentials.0.as_ref().ok_or_else(|| {
                format!("this worker knows no credentials, and the job wants {name:?}")
            })?;
            let (header, mut value) = find(name)?;
            value.set_sensitive(true);
            asked.headers.insert(header, value);
        }
        let governor = client.governor();
        let target = governor.target(&asked.method, &asked.url, &asked.headers);
        Ok(Self { asked, target })
    }

    /// Makes the call.
    pub(crate) async fn run(
        self,
        client: &Client,
        (job, http): (&Job, HttpSpec),
        queue: &Queue,
        wait: Duration,
    ) -> Came {
        let asked = self.asked;
        let writes = http.writes(&asked.method);
        let intended = Arc::new(AtomicBool::new(false));
        let mut request = client
            .request(asked.method, asked.url.as_str())
            .headers(asked.headers)
            .patience(wait)
            .priority(Urgency::new(job.urgency));
        if http.reads {
            request = request.read();
        }
        if let Some(body) = http.body {
            request = request.body(body);
        }
        if let Some(key) = http.idempotent {
            request = request.idempotent(key);
        }
        request.options().before_start = Some(intend(queue, (job.id, job.token), &intended));
        let cap = queue.inner.keeping.cap;
        match request.send().await {
            Ok(response) => answered(response, cap, writes).await,
            Err(Error::Turned(turned)) => {
                let came = Came::of_turned(&turned);
                let sent =
                    writes && intended.load(Ordering::Relaxed) && turned.refusal.attempts > 0;
                let unsent = turned
                    .transport
                    .as_ref()
                    .is_some_and(|t| t.phase.is_unsent());
                match came.ended {
                    _ if !sent || unsent => came,
                    Ended::Refused { .. } if http.repeat_refused => came,
                    Ended::Refused { .. } => Came::failed(format!(
                        "{turned}; it writes, and is not sent again: whether a refusal means that \
                         nothing was done is said by repeat_refused"
                    )),
                    _ => Came::failed(format!("effect unknown: {turned}")),
                }
            }
            Err(e @ (Error::Left | Error::Store(_))) => Came::retry(e.to_string()),
            Err(e) => Came::failed(e.to_string()),
        }
    }
}

/// Commits that a write is about to be sent.
fn intend(queue: &Queue, held: Held, intended: &Arc<AtomicBool>) -> BeforeStart {
    let (queue, intended) = (queue.clone(), Arc::clone(intended));
    Arc::new(
        move || -> Pin<Box<dyn Future<Output = Result<(), String>> + Send>> {
            let (queue, intended) = (queue.clone(), Arc::clone(&intended));
            Box::pin(async move {
                match queue.intend(held).await {
                    Ok(true) => {
                        intended.store(true, Ordering::Relaxed);
                        Ok(())
                    }
                    Ok(false) => Err("the job is not this worker's any more".to_owned()),
                    Err(e) => Err(e.to_string()),
                }
            })
        },
    )
}

/// Reads an answer, as much of it as is kept.
async fn answered(mut response: Response, cap: u64, writes: bool) -> Came {
    let status = response.status();
    let headers = kept(response.headers());
    let (mut body, mut size, mut broke) = (Vec::new(), 0, false);
    loop {
        match response.chunk().await {
            Ok(Some(piece)) => {
                size += piece.len() as u64;
                let room = usize::try_from(cap).unwrap_or(usize::MAX) - body.len();
                body.extend_from_slice(&piece[..room.min(piece.len())]);
            }
            Ok(None) => break,
            Err(_) => {
                broke = true;
                break;
            }
        }
    }
    let verdict = response.finding().verdict;
    let result = JobResult {
        status: Some(status.as_u16()),
        headers,
        body,
        size,
        expires: None,
    };
    let mut came = match verdict {
        // What a write did is known by its head.
        Verdict::Success | Verdict::NotFound if broke && !writes => {
            Came::retry(format!("the answer ({status}) broke off"))
        }
        Verdict::Success | Verdict::NotFound => Came::done(None),
        _ => Came::failed(format!("answered {status} ({verdict})")),
    };
    came.result = Some(result);
    came
}

fn kept(headers: &HeaderMap) -> Vec<(String, String)> {
    let shown = headers
        .iter()
        .filter(|(name, _)| !SECRET.contains(&name.as_str()));
    shown
        .map(|(name, value)| {
            let value = String::from_utf8_lossy(value.as_bytes()).into_owned();
            (name.to_string(), value)
        })
        .collect()
}
