//! What kind of run it is.

use std::time::Duration;

use abide_core::breaker::BreakerPolicy;
use abide_core::call::{CallPolicy, Queueing};
use abide_core::policy::ProviderPolicy;
use abide_core::run::RunPolicy;
use abide_core::{ClassifyPolicy, GateClass, Instant, Moment, Scope, WallTime};

/// The wall clock at the origin of virtual time, unless a plan begins later: an even minute.
const EPOCH: i64 = 1_773_144_000;

/// The run and the network it goes over.
#[derive(Clone, Debug)]
#[non_exhaustive]
pub struct Plan {
    /// Items in hand of one provider, and requests on the wire to it.
    pub in_hand: u32,
    /// There and back.
    pub trip: Duration,
    /// By how much of itself each way may be longer or shorter.
    pub jitter: f64,
    /// How long an answer is waited for.
    pub timeout: Duration,
    /// Virtual time after which the run is abandoned and what is left counts as lost.
    pub at_most: Duration,
    /// How long after an even minute on the wall clock the run begins.
    pub begins: Duration,
    /// The gates that each request passes, widest first, with what it costs there.
    pub passes: Vec<(Scope, GateClass, u32)>,
    /// Whether the report tells what happened when.
    pub watched: bool,
    /// The gates.
    pub gates: ProviderPolicy,
    /// Each item's call.
    pub call: CallPolicy,
    /// The run.
    pub run: RunPolicy,
    /// What answers mean.
    pub classify: ClassifyPolicy,
}

impl Plan {
    /// A run as `abide fetch` does it, with `in_hand` items in hand over a wire of `trip`.
    pub fn new(in_hand: u32, trip: Duration) -> Self {
        let mut gates = ProviderPolicy::default();
        gates.provider.concurrency = in_hand;
        gates.breaker = Some(BreakerPolicy::for_run());
        let mut call = CallPolicy::default();
        call.attempts = 8;
        call.patience = Duration::from_secs(300);
        call.queueing = Queueing::Free;
        call.wait_for_budget = true;
        let mut run = RunPolicy::default();
        run.concurrency = in_hand;
        Self {
            in_hand,
            trip,
            jitter: 0.0,
            timeout: Duration::from_secs(30),
            at_most: Duration::from_secs(7 * 86_400),
            begins: Duration::ZERO,
            passes: [Scope::Provider, Scope::Account, Scope::Route]
                .map(|scope| (scope, GateClass::PLAIN, 1))
                .to_vec(),
            watched: false,
            gates,
            call,
            run,
            classify: ClassifyPolicy::default(),
        }
    }

    /// The same with each way up to `part` longer or shorter.
    #[must_use]
    pub const fn jittered(mut self, part: f64) -> Self {
        self.jitter = part;
        self
    }

    /// The same begun at this time on the wall clock, or at [`EPOCH`] where that is later.
    #[must_use]
    pub fn beginning(mut self, at: WallTime) -> Self {
        self.begins = at.since(WallTime::from_unix_secs(EPOCH));
        self
    }

    /// An instant of the run with its time on the wall clock.
    pub(in crate::world) fn moment(&self, now: Instant) -> Moment {
        let begun = WallTime::from_unix_secs(EPOCH).after(self.begins);
        Moment::new(now, begun.after(now.since(Instant::ORIGIN)))
    }
}
