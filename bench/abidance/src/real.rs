//! The same providers on real sockets, beside clients that others use.

use bench_peers::job::in_real_time;
use bench_peers::{Job, Outcome, PEERS, Run, TOLD, abide_call};

use abide_sim::world::Plan;
use anyhow::{Result, bail};

use crate::Controller;
use crate::row::{Row, median};
use crate::scenario::Scenario;

/// Who works the items.
#[derive(Clone, Copy, Debug)]
pub(crate) enum Client {
    /// abide, over whatever steers its pace.
    Abide(Controller),
    /// One that others use, by the name of its row.
    Peer(&'static str, Run),
}

/// What is run where nobody says other: each takes its time.
pub(crate) fn names() -> Vec<String> {
    ["a", "b", "c"].map(str::to_owned).to_vec()
}

/// Everybody who is measured.
pub(crate) fn clients(controllers: &[Controller]) -> Vec<Client> {
    let own = controllers.iter().map(|c| Client::Abide(*c));
    let peers = PEERS.into_iter().chain([TOLD]);
    own.chain(peers.map(|(name, run)| Client::Peer(name, run)))
        .collect()
}

impl Client {
    /// As rows name it.
    const fn name(&self) -> &'static str {
        match self {
            Self::Abide(controller) => controller.name(),
            Self::Peer(name, _) => name,
        }
    }

    fn run(&self, scenario: &Scenario, job: Job, seed: u64) -> Result<Outcome> {
        let (policy, trip) = (scenario.policy(seed), scenario.trip);
        match *self {
            Self::Peer(_, run) => in_real_time(run, job, policy, trip),
            Self::Abide(controller) => {
                let mut plan = Plan::new(job.workers, trip);
                for gate in [
                    &mut plan.gates.provider,
                    &mut plan.gates.account,
                    &mut plan.gates.route,
                ] {
                    gate.adaptive = controller.adaptive();
                }
                scenario.tell(&mut plan);
                let gates = plan.gates;
                let run = move |world| Box::pin(abide_call::run(world, gates)) as _;
                in_real_time(run, job, policy, trip)
            }
        }
    }
}

/// Runs one client.
pub(crate) fn row(
    name: &str,
    scenario: &Scenario,
    client: &Client,
    (items, workers, seeds): (u32, u32, u64),
) -> Result<Row> {
    if !scenario.is_timeless() {
        bail!("`{name}` is for virtual time only");
    }
    let job = Job {
        scenario: scenario.like(),
        items,
        workers,
    };
    let outcomes: Vec<Outcome> = (0..seeds)
        .map(|seed| client.run(scenario, job, seed))
        .collect::<Result<_>>()?;
    Ok(sum_up(name, client.name(), job, &outcomes))
}

fn sum_up(scenario: &str, controller: &str, job: Job, runs: &[Outcome]) -> Row {
    let middle = |f: &dyn Fn(&Outcome) -> u64| median(runs.iter().map(|o| f(o) as f64)) as u64;
    let worst = |f: &dyn Fn(&Outcome) -> u64| runs.iter().map(f).max().unwrap_or(0);
    let seconds = |f: &dyn Fn(&Outcome) -> f64| median(runs.iter().map(f));
    let took = |o: &Outcome| o.took.as_secs_f64();
    let oracle = |o: &Outcome| o.oracle.as_secs_f64();
    Row {
        scenario: scenario.to_owned(),
        controller: controller.to_owned(),
        items: job.items,
        done: middle(&|o| u64::from(o.claimed)),
        failed: middle(&|o| u64::from(job.items.saturating_sub(o.claimed))),
        skipped: 0,
        // Every call comes back with an outcome.
        lost: 0,
        requests: middle(&|o| o.truth.requests),
        refused: middle(&|o| o.truth.refused),
        sent_inside_hold: worst(&|o| o.truth.sent_inside_hold),
        bans: worst(&|o| o.truth.bans),
        seconds: seconds(&took),
        oracle_seconds: seconds(&oracle),
        peak_burst_after_hold: middle(&|o| o.truth.peak_burst_after_hold),
        told: 0,
        ratio: seconds(&|o| took(o) / oracle(o).max(1e-9)),
        never_accepted: worst(&|o| o.claimed_falsely(job)),
        interactive_p99_trips: None,
        bulk_share: None,
    }
}
