//! Random worlds and random schedules, as numbers: a schedule that fails can be shrunk by leaving
//! steps out and by making numbers smaller.

use std::time::Duration;

use abide_core::breaker::BreakerPolicy;
use abide_core::control::{Adaptive, IntervalPolicy};
use abide_core::gate::{GateKey, GateSpec, Lately};
use abide_core::ladder::Ladder;
use abide_core::policy::{GatePolicy, ProviderPolicy};
use abide_core::reserve::Reserve;
use abide_core::{Ask, AskSource, BucketId, Finding, Health, Instant, Reading, Scope, Verdict};
use fastrand::Rng;

use super::gate::{Gentle, NaiveGate, NaiveLease};
use super::ranks::NaiveRanks;
use super::settle::Ended;
use super::window::{Limit, NaiveWindow};
use super::{Asked, Model, Trips};

const MS: u64 = 1_000_000;

/// One step: numbers that are read one after the other, each reduced to its range.
pub(crate) type Step = [u16; 24];

/// Reads a step.
#[derive(Debug)]
pub(crate) struct Words<'a> {
    words: &'a Step,
    next: usize,
}

impl<'a> Words<'a> {
    pub(crate) fn new(words: &'a Step) -> Self {
        Self { words, next: 0 }
    }

    /// A number below `n`.
    pub(crate) fn below(&mut self, n: usize) -> usize {
        let word = self.words[self.next % self.words.len()];
        self.next += 1;
        usize::from(word) % n.max(1)
    }

    pub(crate) fn one_in(&mut self, n: usize) -> bool {
        self.below(n) == n - 1
    }

    pub(crate) fn of<T: Copy>(&mut self, choices: &[T]) -> T {
        choices[self.below(choices.len())]
    }
}

pub(crate) fn steps(rng: &mut Rng, count: usize) -> Vec<Step> {
    (0..count)
        .map(|_| std::array::from_fn(|_| rng.u16(..)))
        .collect()
}

/// The limits of one scope, from which machine and model are made alike.
#[derive(Clone, Debug)]
pub(crate) struct Kind {
    pub(crate) policy: GatePolicy,
    pub(crate) limits: Vec<Limit>,
}

/// A world: gates and their policies.
#[derive(Clone, Debug)]
pub(crate) struct Universe {
    pub(crate) policy: ProviderPolicy,
    pub(crate) kinds: [Kind; 3],
    pub(crate) specs: Vec<GateSpec>,
}

impl Universe {
    pub(crate) fn random(seed: u64) -> Self {
        let rng = &mut Rng::with_seed(seed);
        let provider = kind(rng, 2);
        let account = kind(rng, 3);
        let route = kind(rng, 4);
        let mut policy = ProviderPolicy::default();
        policy.provider = provider.policy.clone();
        policy.account = account.policy.clone();
        policy.route = route.policy.clone();
        policy.breaker = rng.bool().then(|| {
            let mut b = BreakerPolicy::default();
            b.in_a_row = rng.u32(1..4);
            b.at_least = rng.u32(2..6);
            b.window = ms(rng.u64(500..5_000));
            b.open = ms(rng.u64(100..4_000));
            b.open_max = ms(8_000);
            b.probe_lease = ms(rng.u64(500..4_000));
            b
        });
        policy.waiting_calls = if rng.u8(..4) == 0 {
            rng.usize(1..6)
        } else {
            100_000
        };
        if rng.bool() {
            policy.quota_from = ms(rng.u64(..20_000));
        }
        let named = rng.bool();
        let scopes = [
            (Scope::Provider, rng.u64(1..3)),
            (Scope::Account, 3),
            (Scope::Route, 4),
        ];
        let mut specs = Vec::new();
        for (scope, count) in scopes {
            for _ in 0..count {
                let mut spec = GateSpec::new(GateKey(specs.len() as u64 + 1), scope);
                spec.provisional = named && scope == Scope::Route;
                specs.push(spec);
            }
        }
        Self {
            policy,
            kinds: [provider, account, route],
            specs,
        }
    }

    pub(crate) fn model(&self) -> Model {
        let gates = self.specs.iter().map(|spec| {
            let kind = match spec.scope {
                Scope::Provider => &self.kinds[0],
                Scope::Account => &self.kinds[1],
                _ => &self.kinds[2],
            };
            NaiveGate {
                scope: spec.scope,
                provisional: spec.provisional,
                alias: None,
                hold: None,
                episode: None,
                windows: kind.limits.iter().cloned().map(NaiveWindow::new).collect(),
                spacing: None,
                most: kind.policy.concurrency,
                gentle: kind.policy.gentle.then(Gentle::new),
                lag: 0,
                width: None,
                lease: (kind.policy.leased || kind.policy.probe_leased).then(|| NaiveLease {
                    uncounted: !kind.policy.leased,
                    ..NaiveLease::default()
                }),
                breaker: (spec.scope == Scope::Provider)
                    .then(|| self.policy.breaker.clone())
                    .flatten()
                    .map(abide_core::breaker::Breaker::new),
                opened_until: 0,
                control: None,
                lately: Lately::default(),
                free_at: 0,
                reserve: kind.policy.reserve,
                passed: [0; 8],
            }
        });
        Model {
            policy: self.policy.clone(),
            gates: gates.collect(),
            calls: Vec::new(),
            out: Vec::new(),
            ranks: NaiveRanks::default(),
            buckets: Vec::new(),
            order: 0,
            grants: 0,
            lifted: Vec::new(),
            trip: Trips::default(),
        }
    }
}

const fn ms(n: u64) -> Duration {
    Duration::from_millis(n)
}

fn kind(rng: &mut Rng, windows: usize) -> Kind {
    let limits: Vec<Limit> = (0..rng.usize(..windows)).map(|_| limit(rng)).collect();
    let mut policy = GatePolicy::default();
    policy.windows = limits.iter().map(Limit::real).collect();
    policy.concurrency = if rng.bool() { rng.u32(1..5) } else { u32::MAX };
    policy.gentle = rng.u8(..3) == 0;
    policy.adaptive = match rng.u8(..6) {
        0 | 1 => Adaptive::Aimd,
        2 => Adaptive::Interval(interval(rng)),
        _ => Adaptive::Off,
    };
    policy.reserve = match rng.u8(..4) {
        0 => Reserve::Share(rng.u8(1..100)),
        1 => Reserve::Units(rng.u32(1..4)),
        _ => Reserve::Unit,
    };
    policy.ladder = if rng.bool() {
        Ladder::Growing {
            base: ms(rng.u64(1..2_000)),
            factor: rng.u32(1..4),
            cap: ms(8_000),
        }
    } else {
        Ladder::Steps((0..rng.usize(1..4)).map(|_| ms(rng.u64(..3_000))).collect())
    };
    policy.floor = if rng.u8(..4) == 0 {
        ms(rng.u64(..800))
    } else {
        Duration::ZERO
    };
    policy.ban = ms(rng.u64(..4_000));
    policy.hold_max = if rng.u8(..3) == 0 {
        ms(5_000)
    } else {
        Duration::from_secs(86_400)
    };
    policy.probe_lease = ms(rng.u64(200..6_000));
    policy.probe_gap = ms(rng.u64(..2_000));
    policy.leased = rng.u8(..4) == 0;
    policy.probe_leased = rng.u8(..6) == 0;
    Kind { policy, limits }
}

fn interval(rng: &mut Rng) -> IntervalPolicy {
    let mut policy = IntervalPolicy::default();
    policy.start = ms(rng.u64(1..2_000));
    policy.factor = f64::from(rng.u32(1..4));
    policy.decay_after = rng.u32(1..5);
    policy.off_below = ms(rng.u64(..800));
    policy
}

fn limit(rng: &mut Rng) -> Limit {
    match rng.u8(..4) {
        0 | 1 => Limit::Bucket {
            interval: rng.u64(1..400) * MS + rng.u64(..3),
            burst: rng.u64(1..6),
        },
        2 => Limit::Fixed {
            limit: rng.u64(1..6),
            period: if rng.u8(..4) == 0 {
                60_000 * MS
            } else {
                rng.u64(1..3_000) * MS
            },
            phase: rng.u64(..5_000) * MS,
        },
        _ => Limit::Sliding {
            limit: if rng.u8(..4) == 0 {
                rng.u64(65..70)
            } else {
                rng.u64(1..6)
            },
            period: rng.u64(1..3_000) * MS,
        },
    }
}

/// How far time goes before a step.
pub(crate) fn advance(w: &mut Words<'_>, now: u64, next_wake: Option<u64>) -> u64 {
    let wake = next_wake.unwrap_or(now).min(now + 3_600_000 * MS);
    match w.below(12) {
        0..=3 => now,
        4..=6 => now + w.below(300) as u64 * MS,
        7 => now + w.below(10_000) as u64 * MS,
        8 => now + w.below(60_000) as u64,
        9 => wake.max(now) + w.below(300) as u64 * MS,
        _ => wake.max(now),
    }
}

pub(crate) fn asked(w: &mut Words<'_>, specs: &[GateSpec], now: u64) -> Asked {
    let count = 1 + w.below(4);
    let mut set = Vec::new();
    for _ in 0..count {
        set.push(w.below(specs.len()));
    }
    if w.one_in(40) {
        set.clear();
    }
    let soon = |w: &mut Words<'_>| now + w.below(4_000) as u64 * MS;
    Asked {
        set,
        cost: [1, 1, 1, 1, 2, 3, 0, 9][w.below(8)],
        paced: !w.one_in(5),
        urgency: w.of(&[3, 3, 3, 1, 6, 6, 1, 1]),
        fair: w.of(&[0, 0, 1, 2]),
        not_before: if w.one_in(5) { soon(w) } else { 0 },
        expires: match w.below(30) {
            0 => now.saturating_sub(w.below(400) as u64 * MS),
            1..11 => soon(w),
            _ => u64::MAX,
        },
        hold_limit: if w.one_in(3) { soon(w) } else { u64::MAX },
    }
}

const SCOPES: [Scope; 4] = [
    Scope::Account,
    Scope::Provider,
    Scope::Route,
    Scope::Request,
];

fn ask(w: &mut Words<'_>, now: u64) -> Ask {
    Ask {
        until: Instant::from_nanos(now + w.of(&[0, 1, 300, 1_000, 2_000, 9_000]) * MS),
        source: w.of(&[AskSource::RetryAfter, AskSource::Body]),
        scope: w.of(&SCOPES),
        class: abide_core::GateClass::PLAIN,
    }
}

pub(crate) fn finding(w: &mut Words<'_>, now: u64) -> Finding {
    let verdict = w.of(&[
        Verdict::Success,
        Verdict::Success,
        Verdict::Success,
        Verdict::RateLimited,
        Verdict::RateLimited,
        Verdict::NotFound,
        Verdict::Unavailable,
        Verdict::Unavailable,
        Verdict::QuotaExhausted,
        Verdict::Banned,
        Verdict::AuthError,
        Verdict::Offline,
    ]);
    let mut f = Finding::of(verdict);
    f.scope = w.of(&SCOPES);
    if w.one_in(8) {
        f.health = w.of(&[Health::Neutral, Health::Success, Health::Failure]);
    }
    f.holds = match verdict {
        Verdict::Success | Verdict::Unavailable => w.one_in(3),
        Verdict::NotFound | Verdict::AuthError | Verdict::Offline => false,
        _ => true,
    };
    if w.one_in(2) {
        f.asks.push(ask(w, now));
        if w.one_in(4) {
            f.asks.push(ask(w, now));
        }
    }
    if w.one_in(3) {
        f.readings.push(Reading {
            cost: w.one_in(3).then(|| w.below(5) as u32),
            bucket: w.one_in(2).then(|| BucketId(w.below(3) as u64)),
            ..Reading::default()
        });
    }
    f
}

pub(crate) fn ended(w: &mut Words<'_>, now: u64) -> Ended {
    match w.below(8) {
        0 => Ended::NotSent,
        1 => Ended::Cancelled { sent: true },
        2 => Ended::Cancelled { sent: false },
        _ => Ended::Answered(finding(w, now)),
    }
}
