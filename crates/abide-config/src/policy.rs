//! From values to the core's policies.
//!
//! Every policy starts as the core's own default and takes over what the table of knobs says; a
//! test holds the two sets of defaults together.

use std::time::Duration;

use abide_core::ClassifyPolicy;
use abide_core::backoff::Backoff;
use abide_core::breaker::BreakerPolicy;
use abide_core::budget::BudgetPolicy;
use abide_core::call::{CallPolicy, Queueing, WriteRepeat};
use abide_core::classify::{HintZero, HoldOn, Phase, RetryOn};
use abide_core::control::{Adaptive, IntervalPolicy};
use abide_core::defer::DeferPolicy;
use abide_core::ladder::Ladder;
use abide_core::outage::OutagePolicy;
use abide_core::pace::{Gcra, Sliding, Window};
use abide_core::policy::{GatePolicy, Mode, ProviderPolicy};
use abide_core::reserve::Reserve;
use abide_core::run::RunPolicy;
use abide_core::spread::Spread;
use http::StatusCode;

use crate::config::{Config, Use};
use crate::error::Origin;
use crate::kind::TRANSPORT;
use crate::units::Rate;
use crate::value::Value;

/// A configuration as seen from one use and one provider.
pub(crate) struct View<'a> {
    config: &'a Config,
    of: Use,
    provider: Option<&'a str>,
    /// Only what somebody said, not the built-in defaults.
    given: bool,
}

/// What a value can be taken over as.
pub(crate) trait Take: Sized {
    fn take(value: &Value) -> Option<Self>;
}

macro_rules! takes {
    ($($type:ty: $pattern:pat => $value:expr),* $(,)?) => {$(
        impl Take for $type {
            fn take(value: &Value) -> Option<Self> {
                match value {
                    $pattern => $value,
                    _ => None,
                }
            }
        }
    )*};
}

takes! {
    bool: Value::Switch(on) => Some(*on),
    u32: Value::Count(n) => u32::try_from(*n).ok(),
    u64: Value::Size(n) => Some(*n),
    usize: Value::Count(n) => usize::try_from(*n).ok(),
    f64: Value::Number(n) => Some(*n),
    Duration: Value::Duration(d) => Some(*d),
    Rate: Value::Rate(r) => Some(*r),
    String: Value::Text(text) => Some(text.clone()),
    Vec<Duration>: Value::Durations(all) => Some(all.clone()),
    Vec<Rate>: Value::Rates(all) => Some(all.clone()),
    Vec<String>: Value::Words(all) => Some(all.clone()),
}

impl View<'_> {
    pub(crate) fn value(&self, key: &str) -> Option<&Value> {
        let found = self.config.effective(self.of, self.provider, key)?;
        let said = !matches!(found.origin, Origin::Default | Origin::Profile(_));
        (!self.given || said).then_some(found.value)
    }

    pub(crate) fn get<T: Take>(&self, key: &str) -> Option<T> {
        self.value(key).and_then(T::take)
    }

    pub(crate) fn put<T: Take>(&self, key: &str, into: &mut T) {
        if let Some(value) = self.get(key) {
            *into = value;
        }
    }

    pub(crate) fn is(&self, key: &str, word: &str) -> bool {
        matches!(self.value(key), Some(Value::Word(w)) if *w == word)
    }

    /// The windows somebody set for one kind of gate. Each holds at least `least`, the most that
    /// one request costs there: less would never let it through.
    pub(crate) fn windows(&self, prefix: &str, least: u32) -> Vec<Window> {
        let rate: Option<Rate> = self.get(&format!("{prefix}rate"));
        let burst: u32 = self.get(&format!("{prefix}burst")).unwrap_or(1);
        let burst = burst.max(least);
        let paced = rate.map(|r| Window::Gcra(Gcra::new(r.interval(), burst)));
        let limits: Vec<Rate> = self.get(&format!("{prefix}limits")).unwrap_or_default();
        let limits = limits.into_iter();
        let counted = limits.map(|r| Window::from(Sliding::new(r.count.max(least), r.per)));
        paced.into_iter().chain(counted).collect()
    }

    /// Completes one kind of gate; what is not named by the prefix is the same for all.
    fn gate(&self, prefix: &str, gate: &mut GatePolicy) {
        gate.windows = self.windows(prefix, 1);
        self.put(&format!("{prefix}concurrency"), &mut gate.concurrency);
        gate.adaptive = match gate.windows.is_empty() || !self.is("pace.adaptive", "auto") {
            true => self.adaptive(),
            false => Adaptive::Off,
        };
        gate.ladder = self.ladder();
        self.put("hold.ban", &mut gate.ban);
        self.put("hold.floor", &mut gate.floor);
        self.plans(gate);
        self.put("hold.max", &mut gate.hold_max);
        self.put("probe.lease", &mut gate.probe_lease);
        self.put("probe.gap", &mut gate.probe_gap);
    }

    /// What is planned beside the limits, and how long past an ask is waited.
    pub(crate) fn plans(&self, gate: &mut GatePolicy) {
        match self.value("pace.reserve") {
            Some(Value::Percent(n)) => gate.reserve = Reserve::Share(*n),
            Some(Value::Count(n)) => {
                gate.reserve = Reserve::Units(u32::try_from(*n).unwrap_or(u32::MAX));
            }
            Some(_) => gate.reserve = Reserve::Unit,
            None => {}
        }
        match self.value("pace.spread") {
            Some(Value::Percent(n)) => gate.spread = Spread::at_once(*n),
            Some(Value::Word("even")) => gate.spread = Spread::EVEN,
            Some(_) => gate.spread = Spread::NONE,
            None => {}
        }
        self.put("hold.margin", &mut gate.margin);
    }

    /// Which controller is wanted where one is wanted at all.
    pub(crate) fn adaptive(&self) -> Adaptive {
        if self.is("pace.adaptive", "off") {
            return Adaptive::Off;
        }
        if self.is("pace.adaptive", "aimd") {
            return Adaptive::Aimd;
        }
        if self.is("pace.adaptive", "cubic") {
            return Adaptive::Cubic;
        }
        if !self.is("pace.adaptive", "interval") {
            return Adaptive::Learn;
        }
        let mut p = IntervalPolicy::default();
        self.put("pace.interval.start", &mut p.start);
        self.put("pace.interval.factor", &mut p.factor);
        self.put("pace.interval.max", &mut p.max);
        self.put("pace.interval.decay_after", &mut p.decay_after);
        self.put("pace.interval.decay", &mut p.decay);
        self.put("pace.interval.off_below", &mut p.off_below);
        Adaptive::Interval(p)
    }

    pub(crate) fn ladder(&self) -> Ladder {
        let steps: Vec<Duration> = self.get("ladder.steps").unwrap_or_default();
        if !steps.is_empty() {
            return Ladder::Steps(steps);
        }
        let mut ladder = Ladder::default();
        if let Ladder::Growing { base, factor, cap } = &mut ladder {
            self.put("ladder.base", base);
            self.put("ladder.factor", factor);
            self.put("ladder.max", cap);
        }
        ladder
    }

    fn breaker(&self) -> Option<BreakerPolicy> {
        if self.get("breaker.enabled") == Some(false) {
            return None;
        }
        let mut b = BreakerPolicy::default();
        self.put("breaker.failures", &mut b.in_a_row);
        self.put("breaker.ratio", &mut b.ratio);
        self.put("breaker.at_least", &mut b.at_least);
        self.put("breaker.window", &mut b.window);
        self.put("breaker.open", &mut b.open);
        self.put("breaker.growth", &mut b.growth);
        self.put("breaker.open_max", &mut b.open_max);
        self.put("breaker.probe_lease", &mut b.probe_lease);
        Some(b)
    }

    fn budget(&self) -> BudgetPolicy {
        let mut b = BudgetPolicy::default();
        self.put("budget.ratio", &mut b.ratio);
        self.put("budget.per_second", &mut b.per_second);
        self.put("budget.cap", &mut b.cap);
        self.put("budget.failure_cost", &mut b.failure_cost);
        self.put("budget.timeout_cost", &mut b.timeout_cost);
        b
    }

    fn backoff(&self) -> Backoff {
        let mut b = Backoff::default();
        self.put("backoff.base", &mut b.base);
        self.put("backoff.factor", &mut b.factor);
        self.put("backoff.max", &mut b.max);
        b.jitter = !self.is("backoff.jitter", "none");
        b
    }

    pub(crate) fn classify(&self, p: &mut ClassifyPolicy) {
        if self.value("retry.on").is_some() {
            p.retry_on = self.retry_on();
        }
        if let Some(held) = self.get::<Vec<String>>("hold.on") {
            p.hold_on = HoldOn::statuses(held.iter().filter_map(|w| status(w)).collect());
            p.hold_on.transport = held.iter().any(|w| w == TRANSPORT);
        }
        match self.value("hint.zero") {
            Some(Value::Duration(floor)) => p.hint_zero = HintZero::Floor(*floor),
            Some(Value::Word("immediate")) => p.hint_zero = HintZero::Immediate,
            Some(Value::Word("ignore")) => p.hint_zero = HintZero::Ignore,
            _ => {}
        }
        self.put("quota.from", &mut p.quota_from);
        self.put("quota.to", &mut p.quota_to);
        self.put("ban.redirects", &mut p.ban_redirects);
        self.put("body.sample", &mut p.body_sample);
    }

    fn retry_on(&self) -> RetryOn {
        let mut on = RetryOn::nothing();
        for word in self.get::<Vec<String>>("retry.on").unwrap_or_default() {
            if let Some(status) = status(&word) {
                on.statuses.push(status);
            } else if let Some(phase) = phase(&word) {
                on.phases.push(phase);
            } else if word == "asked" {
                on.asked = true;
            } else {
                on.verdicts.extend(crate::kind::verdict(&word));
            }
        }
        on
    }
}

fn status(word: &str) -> Option<StatusCode> {
    let code: u16 = word.parse().ok()?;
    StatusCode::from_u16(code).ok()
}

fn phase(word: &str) -> Option<Phase> {
    match word {
        "connect" => Some(Phase::Connect),
        "send" => Some(Phase::Send),
        "head" => Some(Phase::Head),
        "body" => Some(Phase::Body),
        _ => None,
    }
}

/// What a bulk run needs beside the core's policies.
#[derive(Clone, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub struct FetchPolicy {
    /// How long one attempt may take up to its head, and how long its body may stand still.
    pub timeout: Duration,
    /// Redirects followed.
    pub max_redirects: u32,
    /// The largest body taken, in bytes.
    pub max_body: u64,
    /// What the run calls itself; `None` for abide and its version.
    pub user_agent: Option<String>,
    /// A mail address or page to be reached at.
    pub contact: Option<String>,
}

impl Config {
    fn view<'a>(&'a self, of: Use, provider: Option<&'a str>) -> View<'a> {
        View {
            config: self,
            of,
            provider,
            given: false,
        }
    }

    /// As [`view`](Self::view), of what somebody said only.
    pub(crate) fn given<'a>(&'a self, of: Use, provider: Option<&'a str>) -> View<'a> {
        View {
            given: true,
            ..self.view(of, provider)
        }
    }

    /// How one call behaves. In a bulk run, queueing is free and the retry budget is waited for.
    pub fn call(&self, of: Use, provider: Option<&str>) -> CallPolicy {
        let v = self.view(of, provider);
        let mut p = CallPolicy::default();
        v.put("attempts", &mut p.attempts);
        p.backoff = v.backoff();
        v.put("patience", &mut p.patience);
        p.wait_max = v.get("wait.max");
        v.put("body.replay", &mut p.body_replay);
        p.deadline = v.get("deadline");
        if of == Use::Gateway && p.deadline.is_none() && self.says_nothing(provider, "deadline") {
            // So that what bounds a connection and an answer decides.
            let told = self.gateway();
            p.beyond = Some(told.connect.saturating_add(told.head));
        }
        if v.is("retry.write", "refused-only") {
            p.write = WriteRepeat::RefusedOnly;
        }
        if of == Use::Fetch {
            p.queueing = Queueing::Free;
            p.wait_for_budget = true;
        }
        p
    }

    /// Whether a knob has its default because nobody set it.
    fn says_nothing(&self, provider: Option<&str>, key: &str) -> bool {
        let found = self.effective(Use::Gateway, provider, key);
        found.is_some_and(|e| *e.origin == Origin::Default)
    }

    /// How answers are judged.
    pub fn classify(&self, of: Use, provider: Option<&str>) -> ClassifyPolicy {
        let mut p = ClassifyPolicy::default();
        self.view(of, provider).classify(&mut p);
        p
    }

    /// How a provider and its gates behave.
    pub fn provider(&self, of: Use, provider: Option<&str>) -> ProviderPolicy {
        let v = self.view(of, provider);
        let mut p = ProviderPolicy::default();
        v.gate("", &mut p.provider);
        v.put("pace.gentle", &mut p.provider.gentle);
        v.gate("account.", &mut p.account);
        v.gate("route.", &mut p.route);
        p.mode = match v {
            _ if v.is("mode", "shadow") => Mode::Shadow,
            _ if v.is("mode", "observe") => Mode::Observe,
            _ => Mode::Enforce,
        };
        p.breaker = v.breaker();
        p.budget = v.budget();
        v.put("gates.max", &mut p.remembered_gates);
        v.put("queue.max", &mut p.waiting_calls);
        v.put("quota.from", &mut p.quota_from);
        p
    }

    /// When our own network is taken to be down; `None` where it never is.
    pub fn outage(&self, of: Use) -> Option<OutagePolicy> {
        let v = self.view(of, None);
        if v.get("outage.enabled") == Some(false) {
            return None;
        }
        let mut p = OutagePolicy::default();
        v.put("outage.window", &mut p.window);
        Some(p)
    }

    /// How a bulk run behaves.
    pub fn run(&self, provider: Option<&str>) -> RunPolicy {
        let v = self.view(Use::Fetch, provider);
        let mut p = RunPolicy::default();
        v.put("concurrency", &mut p.concurrency);
        v.put("patience", &mut p.patience);
        p.wait_max = v.get("wait.max");
        v.put("run.max_waits", &mut p.max_waits);
        v.put("run.budget", &mut p.wait_budget);
        v.put("run.streak", &mut p.streak);
        p
    }

    /// How jobs come back.
    pub fn defer(&self) -> DeferPolicy {
        let v = self.view(Use::Call, None);
        let mut p = DeferPolicy::default();
        v.put("defer.floor", &mut p.floor);
        v.put("defer.ceiling", &mut p.ceiling);
        v.put("defer.in_a_row", &mut p.in_a_row);
        p.max_age = v.get("defer.max_age");
        v.put("defer.attempts", &mut p.attempts);
        p
    }

    /// What a bulk run needs besides.
    pub fn fetch(&self) -> FetchPolicy {
        let v = self.view(Use::Fetch, None);
        FetchPolicy {
            timeout: v.get("timeout").unwrap_or(Duration::from_secs(30)),
            max_redirects: v.get("max_redirects").unwrap_or(10),
            max_body: v.get("max_body").unwrap_or(64 << 20),
            user_agent: v.get("user_agent"),
            contact: v.get("contact"),
        }
    }
}
