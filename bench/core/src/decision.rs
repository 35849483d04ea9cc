//! Admit, start and settle of a plain success: three gates of two windows each.

use std::hint::black_box;
use std::num::NonZeroU32;
use std::time::Duration;

use abide::clock::{Clock, System};
use abide::core::gate::{GateSet, GateSpec, KeyHasher};
use abide::core::pace::{Gcra, Sliding, Window};
use abide::core::policy::ProviderPolicy;
use abide::core::provider::{Admit, Outcome, Provider, Request, Start};
use abide::core::{Finding, Instant, Scope};
use governor::{Quota, RateLimiter};
use serde_json::{Map, Value};

/// Operations a batch.
const OPS: u32 = 2_000;
const ACCOUNTS: usize = 100_000;

/// Windows that always have room: what is timed is the deciding, not the waiting.
fn windows(sliding: bool) -> Vec<Window> {
    let second = Duration::from_secs(1);
    if sliding {
        return vec![
            Window::from(Sliding::new(1_000_000_000, second)),
            Window::from(Sliding::new(2_000_000_000, 60 * second)),
        ];
    }
    vec![
        Window::Gcra(Gcra::per(1_000_000_000, second, 1_000_000)),
        Window::Gcra(Gcra::per(4_000_000_000, 60 * second, 4_000_000)),
    ]
}

fn provider(sliding: bool) -> Provider {
    let mut policy = ProviderPolicy::default();
    for gate in [&mut policy.provider, &mut policy.account, &mut policy.route] {
        gate.windows = windows(sliding);
        gate.concurrency = u32::MAX;
    }
    policy.remembered_gates = 3 * ACCOUNTS;
    Provider::new(policy, 1)
}

fn specs(hasher: &KeyHasher, account: usize) -> [GateSpec; 3] {
    let name = account.to_le_bytes();
    [
        GateSpec::new(hasher.key(Scope::Provider, &[b"bench"]), Scope::Provider),
        GateSpec::new(
            hasher.key(Scope::Account, &[b"bench", &name]),
            Scope::Account,
        ),
        GateSpec::new(
            hasher.key(Scope::Route, &[b"bench", &name, b"/items"]),
            Scope::Route,
        ),
    ]
}

#[inline]
fn decide(p: &mut Provider, now: Instant, request: &Request, done: &Outcome) {
    let Admit::Go(pass) = p.admit(now, request) else {
        return;
    };
    let Start::Go(pass) = p.start(now, pass) else {
        return;
    };
    p.settle(now, pass, done);
}

fn median(batches: usize, mut batch: impl FnMut()) -> f64 {
    let mut times: Vec<f64> = (0..batches)
        .map(|_| {
            let began = System.now();
            batch();
            System.now().since(began).as_nanos() as f64 / f64::from(OPS)
        })
        .collect();
    times.sort_by(f64::total_cmp);
    (10.0 * times[times.len() / 2]).round() / 10.0
}

pub(crate) fn measure(batches: usize, plainest: bool, figures: &mut Map<String, Value>) {
    let done = Outcome::Answered(Finding::success());
    let hasher = KeyHasher::new((1, 2));
    let mut put = |name: &str, ns: f64| {
        figures.insert(name.to_owned(), Value::from(ns));
    };

    for (name, sliding) in [("gcra", false), ("sliding", true)] {
        if plainest && sliding {
            return;
        }
        let mut p = provider(sliding);
        // Resolved once, as a caller does that sends to one place again and again.
        let request = Request::new(p.gates(Instant::from_secs(1), &specs(&hasher, 0)));
        let mut now = 1_000_000_000_u64;
        put(
            &format!("decision.resolved.{name}_ns"),
            median(batches, || {
                for _ in 0..OPS {
                    now += 1_000;
                    decide(
                        &mut p,
                        black_box(Instant::from_nanos(now)),
                        black_box(&request),
                        &done,
                    );
                }
            }),
        );
    }

    if plainest {
        return;
    }
    let mut p = provider(false);
    put(
        "decision.keys_and_clock_ns",
        median(batches, || {
            for _ in 0..OPS {
                let now = System.now();
                let set = p.gates(now, &specs(&hasher, black_box(0)));
                decide(&mut p, now, &Request::new(set), &done);
            }
        }),
    );

    let mut p = provider(false);
    let mut now = 1_000_000_000_u64;
    let sets: Vec<GateSet> = (0..ACCOUNTS)
        .map(|a| p.gates(Instant::from_nanos(now), &specs(&hasher, a)))
        .collect();
    let mut dice = fastrand::Rng::with_seed(1);
    put(
        "decision.resolved_of_100k_accounts_ns",
        median(batches, || {
            for _ in 0..OPS {
                now += 1_000;
                let request = Request::new(sets[dice.usize(..ACCOUNTS)]);
                decide(&mut p, Instant::from_nanos(now), &request, &done);
            }
        }),
    );

    let many = NonZeroU32::MAX;
    let limiter = RateLimiter::direct(Quota::per_second(many));
    put(
        "peer.governor_check_ns",
        median(batches, || {
            for _ in 0..OPS {
                black_box(limiter.check().is_ok());
            }
        }),
    );
    let six: Vec<_> = (0..6)
        .map(|_| RateLimiter::direct(Quota::per_second(many)))
        .collect();
    put(
        "peer.governor_six_checks_ns",
        median(batches, || {
            for _ in 0..OPS {
                black_box(six.iter().all(|l| l.check().is_ok()));
            }
        }),
    );
    let keyed = RateLimiter::keyed(Quota::per_second(many));
    put(
        "peer.governor_keyed_of_100k_ns",
        median(batches, || {
            for _ in 0..OPS {
                black_box(keyed.check_key(&dice.usize(..ACCOUNTS)).is_ok());
            }
        }),
    );
}
