//! Trying a provider again that failed and that nobody asks any more.
//!
//! When it is due is the core's decision ([`abide_core::prober`]). A try passes the provider's
//! gates like any other request, behind everybody else and without waiting.

use std::fmt;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::Duration;

use abide_core::call::{CallPolicy, Safety};
use abide_core::prober::{Prober as Machine, Standing};
use abide_core::queue::Urgency;
use http::Method;
use tokio::task::JoinHandle;
use url::Url;

use crate::call::{Attempt, Failed, Said};
use crate::client::{CallOptions, Client};
use crate::governor::Governor;
use crate::shard::Handle;
use crate::shared::Shared;
use crate::state::{View, shown};

/// How long a prober looks away from a provider that is well: a failure is noticed a second later.
const IDLE: Duration = Duration::from_secs(1);

/// What a probe may take: an answer later than that is none to somebody who waits for a list.
const PATIENT: Duration = Duration::from_secs(30);

/// Tries a provider again for as long as it lives.
#[derive(Debug)]
#[must_use = "dropping it ends the tries"]
pub struct Prober {
    task: JoinHandle<()>,
    registered: Arc<Registered>,
}

impl Drop for Prober {
    fn drop(&mut self) {
        self.registered.end();
        self.task.abort();
    }
}

/// That somebody tries a provider again.
#[derive(Debug)]
struct Registered {
    provider: Arc<str>,
    shared: Arc<Shared>,
    ended: AtomicBool,
}

/// Gone with the task that tries, however it ends.
struct Trying(Arc<Registered>);

impl Drop for Trying {
    fn drop(&mut self) {
        self.0.end();
    }
}

impl Registered {
    fn new(provider: &Arc<str>, shared: &Arc<Shared>) -> Self {
        let mut probed = shared.probed.lock();
        *probed.entry(Arc::clone(provider)).or_default() += 1;
        Self {
            provider: Arc::clone(provider),
            shared: Arc::clone(shared),
            ended: AtomicBool::new(false),
        }
    }

    fn end(&self) {
        if self.ended.swap(true, Ordering::AcqRel) {
            return;
        }
        let mut probed = self.shared.probed.lock();
        if let Some(count) = probed.get_mut(&self.provider) {
            *count -= 1;
            if *count == 0 {
                probed.remove(&self.provider);
            }
        }
    }
}

/// A list of healthy providers was asked for, and nobody would ever try this one again.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Unprobed {
    /// The provider.
    pub provider: String,
}

impl fmt::Display for Unprobed {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let name = &self.provider;
        write!(
            f,
            "{name} has no prober: after one failure it would be hidden for ever; keep one with \
             Governor::keep_probing, or show what is available"
        )
    }
}

impl std::error::Error for Unprobed {}

impl Governor {
    /// Tries a provider again, after it failed, until the prober is dropped. Must be called
    /// within a tokio runtime.
    pub fn keep_probing<T, E, F, A>(&self, provider: &str, probe: F) -> Prober
    where
        F: Fn(Attempt) -> A + Send + Sync + 'static,
        A: Future<Output = Result<T, Failed<E>>> + Send + 'static,
        T: Send + 'static,
        E: Send + 'static,
    {
        let shard = self.provider(provider);
        let name = Arc::clone(shard.name());
        let registered = Arc::new(Registered::new(&name, self.shared()));
        let trying = Trying(Arc::clone(&registered));
        let governor = self.clone();
        let task = tokio::spawn(async move {
            let _trying = trying;
            let ladder = shard.with(|s, _| s.machine.policy().provider.ladder.clone());
            let mut machine = Machine::new(ladder);
            loop {
                wait_for(&governor, &shard, &machine).await;
                machine.tried(governor.clock().now());
                // However it ends, the provider's state knows.
                let _ = governor.call_with(&name, &options(), &probe).await;
            }
        });
        Prober { task, registered }
    }

    /// Those of some providers that a view shows, in their order.
    ///
    /// # Errors
    /// When only healthy ones are to be shown and one of them has no prober.
    pub fn shown(&self, providers: &[&str], view: View) -> Result<Vec<Arc<str>>, Unprobed> {
        if view == View::Healthy {
            let probed = self.shared().probed.lock();
            if let Some(name) = providers.iter().find(|name| !probed.contains_key(**name)) {
                return Err(Unprobed {
                    provider: (*name).to_owned(),
                });
            }
        }
        let handles: Vec<Handle> = providers.iter().map(|name| self.provider(name)).collect();
        let shown = shown(handles.iter(), view);
        let (left_out, of) = (providers.len() - shown.len(), providers.len());
        if left_out > 0 {
            let why = view.leaves_out();
            tracing::debug!(left_out, of, why, "left out of a view");
        }
        Ok(shown)
    }
}

impl Client {
    /// Tries a provider of the catalogue again, after it failed, by the route its profile knows
    /// to be cheap, until the prober is dropped; `None` where its profile knows none.
    pub fn keep_probing(&self, provider: &str) -> Option<Prober> {
        let url = probe_url(&self.governor().provider(provider))?;
        let client = self.clone();
        let probe = move |_| {
            let (client, url) = (client.clone(), url.clone());
            async move {
                let request = reqwest::Request::new(Method::GET, url);
                match client.http().execute(request).await {
                    Ok(answer) => {
                        let said = Said::answer(answer.status(), answer.headers());
                        match answer.status().is_success() {
                            true => Ok(()),
                            false => Err(Failed::new((), said)),
                        }
                    }
                    Err(e) => Err(Failed::new(
                        (),
                        Said::failed(crate::transport::read(&e, false)),
                    )),
                }
            }
        };
        Some(self.governor().keep_probing(provider, probe))
    }
}

fn probe_url(shard: &Handle) -> Option<Url> {
    let told = shard.profile().told();
    let (host, path) = (told.hosts.first()?, told.policy.probe.as_ref()?);
    Url::parse(&format!("https://{host}{path}")).ok()
}

async fn wait_for(governor: &Governor, shard: &Handle, machine: &Machine) {
    loop {
        let now = governor.clock().now();
        let own = shard.own();
        let target = shard.target();
        let standing = shard.with(|s, now| {
            let views = s.machine.view(now);
            // Only what a probe would wait for: another account's quota is none of its own.
            let gates = shard.gates(s, now, &target);
            Standing {
                failures: views
                    .iter()
                    .find(|g| g.key == own)
                    .map_or(0, |g| g.failures),
                closed_until: s.machine.closed_until(now, &gates),
            }
        });
        let nap = match machine.due(now, standing) {
            Some(at) if at <= now => return,
            Some(at) => at.since(now).min(IDLE),
            None => IDLE,
        };
        tokio::time::sleep(nap).await;
    }
}

/// Behind everybody else, and turned away rather than kept waiting.
fn options() -> CallOptions {
    let mut call = CallPolicy::default();
    (call.attempts, call.patience) = (1, Duration::ZERO);
    call.deadline = Some(PATIENT);
    CallOptions {
        call: Some(call),
        safety: Some(Safety::Read),
        urgency: Urgency::BULK,
        ..CallOptions::default()
    }
}
