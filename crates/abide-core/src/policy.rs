//! Every knob of a gate and of a provider, its default, and why it is that.

use std::sync::LazyLock;
use std::time::Duration;

use crate::allowance::AllowancePolicy;
use crate::breaker::BreakerPolicy;
use crate::budget::BudgetPolicy;
use crate::control::Adaptive;
use crate::ladder::Ladder;
use crate::pace::Window;
use crate::reserve::Reserve;
use crate::spread::Spread;
use crate::verdict::{GateClass, Scope};

/// How one kind of gate behaves.
#[derive(Clone, Debug, PartialEq)]
#[non_exhaustive]
pub struct GatePolicy {
    /// Limits that are known. Default none: a guessed limit wastes most of what is allowed.
    pub windows: Vec<Window>,
    /// The most requests on the wire through this gate. Default unbounded; the provider's own
    /// gate has the bound.
    pub concurrency: u32,
    /// Start gently: at most two unanswered requests more than have come back well together.
    /// Default on: a ban box counts siblings on the wire.
    pub gentle: bool,
    /// Which controller steers a pace once refused. Default the
    /// learner; off where the limit is known.
    pub adaptive: Adaptive,
    /// What bulk leaves of each limit to whoever is more urgent. Default one unit of a bucket, which
    /// costs bulk nothing.
    pub reserve: Reserve,
    /// How what is announced to be left is spent until its window ends. Default all at once: for
    /// a job that is the fastest.
    pub spread: Spread,
    /// The waits where nobody said how long. Default 1 s × 2 up to 60 s.
    pub ladder: Ladder,
    /// The shortest hold after a refusal, whatever was asked. Default none: the provider's word
    /// counts, and a zero has its own rule (`hint.zero`).
    pub floor: Duration,
    /// How much longer a hold lasts than the provider asked for. Default nothing: its word is kept
    /// and never early. For a provider whose penalty grows with each request that comes a little
    /// too soon.
    pub margin: Duration,
    /// The shortest hold after a ban of which nobody knows how long it lasts. Default 24 h: whoever
    /// asks again sooner makes it longer, and most are lifted within a day.
    pub ban: Duration,
    /// The longest hold believed. Default 31 days: longer asks are unit mistakes; the true ask
    /// is told to callers all the same.
    pub hold_max: Duration,
    /// How long a probe may be out before the next waiter becomes the probe. Default 60 s:
    /// longer than any sane answer takes, short enough that a lost probe costs a minute.
    pub probe_lease: Duration,
    /// The least time between two probes when one ended without a verdict. Default 1 s, the
    /// ladder's first rung.
    pub probe_gap: Duration,
    /// Send only what a shared store lent. Default off: one process owns its limits.
    pub leased: bool,
    /// Let a probe out only where a shared store leaves it to this process. Default off. Of a gate that
    /// is [`leased`](Self::leased) this holds too.
    pub probe_leased: bool,
    /// The most that is asked of a shared store ahead of who waits. Default nothing: no process is
    /// lent what it may not need. Where a limit is high, a request that asks for itself waits for the
    /// store each time; then as much as the limit gives in 100 ms.
    pub lease_ahead: u32,
}

impl Default for GatePolicy {
    fn default() -> Self {
        Self {
            windows: Vec::new(),
            concurrency: u32::MAX,
            gentle: true,
            adaptive: Adaptive::Learn,
            reserve: Reserve::Unit,
            spread: Spread::NONE,
            ladder: Ladder::default(),
            floor: Duration::ZERO,
            margin: Duration::ZERO,
            ban: Duration::from_secs(24 * 3600),
            hold_max: Duration::from_secs(31 * 24 * 3600),
            probe_lease: Duration::from_secs(60),
            probe_gap: Duration::from_secs(1),
            leased: false,
            probe_leased: false,
            lease_ahead: 0,
        }
    }
}

impl GatePolicy {
    /// Whether there is more to a plan than windows and places, which takes the longer way.
    pub(crate) fn plans(&self) -> bool {
        self.reserve != Reserve::Unit || !self.spread.is_none()
    }
}

/// The gate of one host of several has no limit of its own.
static HOST: LazyLock<GatePolicy> = LazyLock::new(|| GatePolicy {
    gentle: false,
    ..GatePolicy::default()
});

/// Whether what is decided is done.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Hash)]
#[non_exhaustive]
pub enum Mode {
    /// Yes. The default.
    #[default]
    Enforce,
    /// Answers are read and holds are kept, and nothing waits for them.
    Observe,
    /// As in `Observe`, and what would have waited is told: a rehearsal.
    Shadow,
}

impl Mode {
    /// The word used in configuration, output and logs.
    pub const fn as_str(self) -> &'static str {
        match self {
            Self::Enforce => "enforce",
            Self::Observe => "observe",
            Self::Shadow => "shadow",
        }
    }
}

/// How a provider behaves as a whole.
#[derive(Clone, Debug, PartialEq)]
#[non_exhaustive]
pub struct ProviderPolicy {
    /// Whether what is decided is done. Default: yes.
    pub mode: Mode,
    /// The gate that everything passes. Default: 8 on the wire, which a browser is known to do
    /// to any host.
    pub provider: GatePolicy,
    /// The gate of a credential.
    pub account: GatePolicy,
    /// The gate of a route or bucket.
    pub route: GatePolicy,
    /// The gates that only this provider has, by [`GateClass`]. Default none.
    pub classes: Vec<GatePolicy>,
    /// The bound on answers that lead to a ban. Default none: few providers have one.
    pub allowance: Option<AllowancePolicy>,
    /// The breaker of the provider's gate, or of each of its hosts where it has several
    /// ([`GateClass::HOST`]); `None` for none.
    pub breaker: Option<BreakerPolicy>,
    /// The bound on re-sends.
    pub budget: BudgetPolicy,
    /// The most gates remembered. Default 100,000; when all are in use, new accounts share one
    /// overflow gate.
    pub remembered_gates: usize,
    /// An ask this long speaks of a quota rather than a rate, also where nothing was refused.
    /// Default 6 h. The same as [`ClassifyPolicy::quota_from`](crate::ClassifyPolicy::quota_from),
    /// from where a governor takes it.
    pub quota_from: Duration,
    /// It is on this machine, which is there without any network: an outage of ours is none of
    /// its. Default no.
    pub local: bool,
    /// The most waiting calls. Default 100,000: each costs about half a KiB here and more in
    /// the shell.
    pub waiting_calls: usize,
}

impl Default for ProviderPolicy {
    fn default() -> Self {
        let child = GatePolicy {
            gentle: false,
            ..GatePolicy::default()
        };
        Self {
            mode: Mode::Enforce,
            provider: GatePolicy {
                concurrency: 8,
                ..GatePolicy::default()
            },
            account: child.clone(),
            route: child,
            classes: Vec::new(),
            allowance: None,
            breaker: Some(BreakerPolicy::default()),
            budget: BudgetPolicy::default(),
            remembered_gates: 100_000,
            quota_from: Duration::from_secs(6 * 3600),
            local: false,
            waiting_calls: 100_000,
        }
    }
}

impl ProviderPolicy {
    /// The default policy under a bulk run: its breaker opens for a second first, since a run
    /// would rather wait than fail items.
    pub fn for_run() -> Self {
        Self {
            breaker: Some(BreakerPolicy::for_run()),
            ..Self::default()
        }
    }

    /// The policy of one of the provider's own gates, or that of its scope.
    pub fn of(&self, scope: Scope, class: GateClass) -> &GatePolicy {
        if class == GateClass::HOST {
            return &HOST;
        }
        let own = class.index().and_then(|n| self.classes.get(n));
        own.unwrap_or_else(|| self.gate(scope))
    }

    /// The policy of a kind of gate.
    pub const fn gate(&self, scope: Scope) -> &GatePolicy {
        match scope {
            Scope::Provider => &self.provider,
            Scope::Account => &self.account,
            Scope::Route | Scope::Request => &self.route,
        }
    }
}
