//! One bulk: its items, its workers, what came of it.

use std::sync::Arc;
use std::sync::atomic::{AtomicU32, Ordering};
use std::time::Duration;

use abide::clock::Clock;
use abide::core::Instant;
use abide::sim::policy::{Job as Load, Policy};
use abide::sim::{Answer, Provider, Request, Truth, scenarios};
use abide::testing::{self, Sim, Virtual};
use abide::{Governor, GovernorBuilder};
use abide_sim::http::{Server, ServerOptions};
use anyhow::Context;

use crate::Claimed;

/// Sends of one item that every client is told, where it can be told.
pub const ATTEMPTS: u32 = 8;

/// The rate that limiters are told: what the first provider really allows. Which limit the others
/// have nobody is told.
pub const RATE: u32 = 50;

/// Runs over sockets begin at whole multiples of so many nanoseconds on the wall clock.
const PHASE: i64 = 2_000_000_000;

/// One bulk.
#[derive(Clone, Copy, Debug)]
pub struct Job {
    /// The name of the provider, as in `abide_sim::scenarios`.
    pub scenario: &'static str,
    /// Items.
    pub items: u32,
    /// Items in hand.
    pub workers: u32,
}

/// What came of it.
#[derive(Debug)]
pub struct Outcome {
    /// What the provider saw.
    pub truth: Truth,
    /// Items that the client says are done.
    pub claimed: u32,
    /// How long it took.
    pub took: Duration,
    /// The fastest possible.
    pub oracle: Duration,
}

/// A provider as a client meets it.
#[derive(Clone, Debug)]
pub struct World {
    /// What is to be done.
    pub job: Job,
    end: End,
    oracle: Duration,
}

#[derive(Clone, Debug)]
enum End {
    Virtual { sim: Sim, clock: Arc<Virtual> },
    Real(Arc<Real>),
}

/// A provider on a socket.
#[derive(Debug)]
struct Real {
    server: Server,
    http: reqwest::Client,
    began: Instant,
}

impl World {
    /// In virtual time.
    pub fn simulated(job: Job) -> anyhow::Result<Self> {
        let named = || scenarios::named(job.scenario, 7).context("there is no such scenario");
        let clock = testing::clock();
        let load = job.load().starting(clock.moment());
        Ok(Self {
            job,
            oracle: named()?.oracle(load),
            end: End::Virtual {
                sim: Sim::new(named()?, &clock),
                clock,
            },
        })
    }

    /// Over real sockets, as far away as in virtual time.
    pub async fn real(job: Job, policy: Box<dyn Policy>, trip: Duration) -> anyhow::Result<Self> {
        let options = ServerOptions::default().with_latency(trip / 2, 0.3);
        let server = Server::start(Provider::new(policy), options)?;
        let http = reqwest::Client::builder()
            .no_proxy()
            .tls_backend_preconfigured(abide::tls_config(Vec::new())?)
            .build()?;
        // Everybody meets a window that begins on the wall clock at the same part of it.
        let into = server.moment().wall.as_unix_nanos().rem_euclid(PHASE);
        tokio::time::sleep(Duration::from_nanos(u64::try_from(PHASE - into)?)).await;
        let moment = server.moment();
        Ok(Self {
            job,
            oracle: server.oracle(job.load().starting(moment)),
            end: End::Real(Arc::new(Real {
                server,
                http,
                began: moment.now,
            })),
        })
    }

    /// The beginning of a governor by this world's clock.
    pub fn governor(&self) -> GovernorBuilder {
        match &self.end {
            End::Virtual { clock, .. } => testing::governor(clock),
            End::Real(_) => Governor::builder().neutral_name(None),
        }
    }

    /// One item's exchange; `None` where the connection closes.
    pub async fn ask(&self, item: u32) -> Option<Answer> {
        let real = match &self.end {
            End::Virtual { sim, .. } => {
                return sim.exchange(Request::item(item.to_string())).await;
            }
            End::Real(real) => real,
        };
        let url = format!("{}/item/{item}", real.server.url());
        let request = real.http.get(url).header("sim-item", item);
        let response = request.send().await.ok()?;
        let (status, headers) = (response.status(), response.headers().clone());
        let body = response.bytes().await.ok()?;
        let mut answer = Answer::new(status, body);
        answer.headers = headers;
        Some(answer)
    }

    /// What came of it.
    pub fn outcome(&self, claimed: u32) -> Outcome {
        let (truth, took) = match &self.end {
            End::Virtual { sim, clock } => (sim.truth(), clock.elapsed()),
            End::Real(real) => {
                let now = real.server.moment().now;
                (real.server.truth(), now.since(real.began))
            }
        };
        Outcome {
            truth,
            claimed,
            took,
            oracle: self.oracle,
        }
    }
}

impl Job {
    fn load(&self) -> Load {
        Load::new(u64::from(self.items), Duration::from_millis(20))
            .with_workers(u64::from(self.workers))
    }
}

/// Works the items of a job; `one` says whether an item is done.
pub async fn work<F, A>(job: Job, one: F) -> u32
where
    F: Fn(u32) -> A + Clone + 'static,
    A: Future<Output = bool> + 'static,
{
    let (next, done) = (Arc::new(AtomicU32::new(0)), Arc::new(AtomicU32::new(0)));
    let set = tokio::task::LocalSet::new();
    for _ in 0..job.workers {
        let (next, done, one) = (Arc::clone(&next), Arc::clone(&done), one.clone());
        set.spawn_local(async move {
            loop {
                let item = next.fetch_add(1, Ordering::Relaxed);
                if item >= job.items {
                    return;
                }
                let ok = one(item).await;
                done.fetch_add(u32::from(ok), Ordering::Relaxed);
            }
        });
    }
    set.await;
    done.load(Ordering::Relaxed)
}

/// Runs a client with time standing still while anybody works.
pub fn in_virtual_time(run: impl FnOnce(World) -> Claimed, job: Job) -> anyhow::Result<Outcome> {
    let runtime = tokio::runtime::Builder::new_current_thread()
        .enable_all()
        .start_paused(true)
        .build()?;
    runtime.block_on(async {
        let world = World::simulated(job)?;
        let claimed = run(world.clone()).await?;
        Ok(world.outcome(claimed))
    })
}

/// Runs a client against a provider on a socket.
pub fn in_real_time(
    run: impl FnOnce(World) -> Claimed,
    job: Job,
    policy: Box<dyn Policy>,
    trip: Duration,
) -> anyhow::Result<Outcome> {
    let runtime = tokio::runtime::Builder::new_current_thread()
        .enable_all()
        .build()?;
    runtime.block_on(async {
        let world = World::real(job, policy, trip).await?;
        let claimed = run(world.clone()).await?;
        Ok(world.outcome(claimed))
    })
}

impl Outcome {
    /// Items that the provider never gave, whatever the client says.
    pub fn never_got(&self, job: Job) -> u64 {
        let got = self.truth.items().filter(|(_, t)| t.accepted > 0).count();
        u64::from(job.items).saturating_sub(got as u64)
    }

    /// Items that the client says are done and the provider never gave.
    pub fn claimed_falsely(&self, job: Job) -> u64 {
        let got = u64::from(job.items) - self.never_got(job);
        u64::from(self.claimed).saturating_sub(got)
    }
}
