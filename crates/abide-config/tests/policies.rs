//! The policies that follow, and that the two sets of defaults are one.

#![allow(
    clippy::unwrap_used,
    reason = "helpers of tests stop at the first surprise"
)]

use std::time::Duration;

use abide_config::{Config, File, Use};
use abide_core::ClassifyPolicy;
use abide_core::breaker::BreakerPolicy;
use abide_core::call::{CallPolicy, Queueing, WriteRepeat};
use abide_core::classify::{HintZero, Phase};
use abide_core::control::{Adaptive, IntervalPolicy};
use abide_core::ladder::Ladder;
use abide_core::outage::OutagePolicy;
use abide_core::pace::{Gcra, Sliding, Window};
use abide_core::policy::{Mode, ProviderPolicy};
use abide_core::reserve::Reserve;
use abide_core::run::RunPolicy;
use abide_core::spread::Spread;

fn load(text: &str) -> Config {
    let file = File {
        path: "abide.toml".into(),
        text: text.into(),
    };
    Config::load(Some(&file), [], []).unwrap()
}

const fn secs(s: u64) -> Duration {
    Duration::from_secs(s)
}

#[test]
fn the_defaults_are_the_cores() {
    let c = Config::default();
    assert_eq!(c.call(Use::Call, None), CallPolicy::default());
    assert_eq!(c.provider(Use::Call, None), ProviderPolicy::default());
    assert_eq!(c.run(None), RunPolicy::default());
    let (mut ours, mut cores) = (c.classify(Use::Call, None), ClassifyPolicy::default());
    for p in [&mut ours, &mut cores] {
        p.retry_on.statuses.sort();
    }
    assert_eq!(ours, cores);
}

#[test]
fn a_run_has_defaults_of_its_own() {
    let c = Config::default();
    let call = c.call(Use::Fetch, None);
    assert_eq!((call.attempts, call.patience), (8, secs(300)));
    assert_eq!(call.body_replay, 64 << 20);
    assert_eq!(
        (call.queueing, call.wait_for_budget),
        (Queueing::Free, true)
    );
    let breaker = c.provider(Use::Fetch, None).breaker;
    assert_eq!(breaker, Some(BreakerPolicy::for_run()));
}

#[test]
fn every_knob_reaches_its_policy() {
    let c = load(
        r#"
[defaults]
attempts = 2
patience = "40s"
wait.max = "20s"
deadline = "2m"
backoff = { base = "1s", factor = 3, max = "9s", jitter = "none" }
retry.on = [500, "unavailable", "body"]
retry.write = "refused-only"
rate = "50/s"
burst = 10
limits = ["100/2s"]
concurrency = 3
pace.gentle = false
pace.reserve = "20%"
pace.spread = "25%"
pace.adaptive = "interval"
pace.interval = { start = "2s", factor = 3, max = "10s", decay_after = 7, decay = 0.25, off_below = "1s" }
account = { rate = "1/10s", concurrency = 2 }
route.limits = ["5/s", "100/m"]
ladder = { base = "2s", factor = 4, max = "30s" }
hold.on = [502, 503, "transport"]
hold.floor = "5s"
hold.margin = "300ms"
hold.max = "7d"
hint.zero = "ignore"
quota = { from = "1h", to = "2d" }
ban.redirects = ["example.org/blocked"]
probe = { lease = "20s", gap = "3s" }
breaker = { failures = 9, ratio = 0.7, at_least = 4, window = "1m", open = "2s", open_max = "8s", probe_lease = "5s" }
budget = { ratio = 0.5, per_second = 1, cap = 7, failure_cost = 2, timeout_cost = 3.5 }
gates.max = 50
outage.window = "7s"
queue.max = 60
body = { sample = "1KiB", replay = "2KiB" }

[fetch]
run = { max_waits = 1, budget = "1m", streak = 9 }
timeout = "5s"
max_redirects = 0
max_body = "1MB"
user_agent = "books/1"
contact = "me@example.org"
"#,
    );
    let call = c.call(Use::Call, None);
    assert_eq!((call.attempts, call.patience), (2, secs(40)));
    assert_eq!(
        (call.wait_max, call.deadline),
        (Some(secs(20)), Some(secs(120)))
    );
    assert_eq!(
        (call.backoff.base, call.backoff.factor, call.backoff.max),
        (secs(1), 3, secs(9))
    );
    assert!(!call.backoff.jitter);
    assert_eq!(call.write, WriteRepeat::RefusedOnly);

    let classify = c.classify(Use::Call, None);
    assert_eq!(classify.retry_on.statuses, [500]);
    assert_eq!(
        classify.retry_on.verdicts,
        [abide_core::Verdict::Unavailable]
    );
    assert_eq!(classify.retry_on.phases, [Phase::Body]);
    assert!(!classify.retry_on.asked);
    assert_eq!(classify.hold_on.statuses, [502, 503]);
    assert!(classify.hold_on.transport);
    assert_eq!(classify.hint_zero, HintZero::Ignore);
    assert_eq!(
        (classify.quota_from, classify.quota_to),
        (secs(3600), secs(2 * 86_400))
    );
    assert_eq!(classify.ban_redirects, ["example.org/blocked"]);

    let p = c.provider(Use::Call, None);
    let windows = [
        Window::Gcra(Gcra::new(Duration::from_millis(20), 10)),
        Window::from(Sliding::new(100, secs(2))),
    ];
    assert_eq!(p.provider.windows, windows);
    assert_eq!((p.provider.concurrency, p.provider.gentle), (3, false));
    for gate in [&p.provider, &p.account, &p.route] {
        assert_eq!(gate.reserve, Reserve::Share(20));
        assert_eq!(gate.spread, Spread::at_once(25));
        assert_eq!(gate.margin, Duration::from_millis(300));
    }
    let Adaptive::Interval(interval) = &p.provider.adaptive else {
        panic!("{:?}", p.provider.adaptive);
    };
    assert_eq!(
        (interval.start, interval.max, interval.off_below),
        (secs(2), secs(10), secs(1))
    );
    assert_eq!([interval.factor, interval.decay], [3.0, 0.25]);
    assert_eq!(interval.decay_after, 7);
    assert_eq!(p.account.windows, [Window::Gcra(Gcra::new(secs(10), 1))]);
    assert_eq!((p.account.concurrency, p.route.windows.len()), (2, 2));
    for gate in [&p.provider, &p.account, &p.route] {
        let Ladder::Growing { base, factor, cap } = gate.ladder else {
            panic!("{:?}", gate.ladder);
        };
        assert_eq!((base, factor, cap), (secs(2), 4, secs(30)));
        assert_eq!((gate.floor, gate.hold_max), (secs(5), secs(7 * 86_400)));
        assert_eq!((gate.probe_lease, gate.probe_gap), (secs(20), secs(3)));
    }
    let b = p.breaker.unwrap();
    assert_eq!((b.in_a_row, b.at_least, b.window), (9, 4, secs(60)));
    assert_eq!(
        (b.open, b.open_max, b.probe_lease),
        (secs(2), secs(8), secs(5))
    );
    assert!((b.ratio - 0.7).abs() < 1e-9);
    let budget = [p.budget.ratio, p.budget.per_second, p.budget.cap];
    assert_eq!(budget, [0.5, 1.0, 7.0]);
    assert_eq!([p.budget.failure_cost, p.budget.timeout_cost], [2.0, 3.5]);
    assert_eq!((p.remembered_gates, p.waiting_calls), (50, 60));
    assert_eq!(p.quota_from, secs(3600));
    assert_eq!((classify.body_sample, call.body_replay), (1024, 2048));

    assert_eq!(c.outage(Use::Call).unwrap().window, secs(7));
    let run = c.run(None);
    assert_eq!(
        (run.concurrency, run.patience, run.wait_max),
        (3, secs(40), Some(secs(20)))
    );
    assert_eq!(
        (run.max_waits, run.wait_budget, run.streak),
        (1, secs(60), 9)
    );
    let f = c.fetch();
    assert_eq!(
        (f.timeout, f.max_redirects, f.max_body),
        (secs(5), 0, 1_000_000)
    );
    assert_eq!(f.user_agent.as_deref(), Some("books/1"));
    assert_eq!(f.contact.as_deref(), Some("me@example.org"));
}

#[test]
fn words_that_stand_for_none() {
    let c = load(
        "[defaults]\nwait.max = \"patience\"\ndeadline = \"none\"\nrate = \"none\"\n\
         account.concurrency = \"none\"\nladder.steps = [\"5s\", \"10s\"]\nbreaker.enabled = false\n\
         hint.zero = \"immediate\"\n[fetch]\nuser_agent = \"none\"\n",
    );
    let call = c.call(Use::Call, None);
    assert_eq!((call.wait_max, call.deadline), (None, None));
    let p = c.provider(Use::Call, None);
    assert!(p.provider.windows.is_empty() && p.breaker.is_none());
    assert_eq!(p.account.concurrency, u32::MAX);
    assert_eq!(p.provider.ladder, Ladder::Steps(vec![secs(5), secs(10)]));
    assert_eq!(c.classify(Use::Call, None).hint_zero, HintZero::Immediate);
    assert_eq!(c.fetch().user_agent, None);
}

#[test]
fn a_known_limit_is_not_learned() {
    let p = load("[providers.p]\nrate = \"50/s\"\n").provider(Use::Call, Some("p"));
    assert!(p.provider.adaptive.is_off(), "the limit is known");
    assert_eq!(p.account.adaptive, Adaptive::Learn, "an account's is not");
}

#[test]
fn a_rate_can_be_halved_by_each_refusal_down_to_one_in_ten_seconds() {
    let text = "[providers.p]\npace.adaptive = \"interval\"\npace.interval.max = \"10s\"\n";
    let p = load(text).provider(Use::Call, Some("p"));
    let mut wanted = IntervalPolicy::default();
    wanted.max = secs(10);
    assert_eq!(p.provider.adaptive, Adaptive::Interval(wanted));
    let other = load(text).provider(Use::Call, Some("q"));
    assert_eq!(other.provider.adaptive, Adaptive::Learn);
}

#[test]
fn a_reserve_is_a_part_or_a_count_and_a_spread_a_word_or_a_part() {
    let of = |text: &str| {
        let text = format!("[providers.p]\npace = {{ {text} }}\n");
        load(&text).provider(Use::Fetch, Some("p")).provider
    };
    assert_eq!(of("reserve = 5").reserve, Reserve::Units(5));
    assert_eq!(of("reserve = \"none\"").reserve, Reserve::Unit);
    assert_eq!(of("reserve = \"20 %\"").reserve, Reserve::Share(20));
    assert_eq!(of("spread = \"even\"").spread, Spread::EVEN);
    assert_eq!(of("spread = \"none\"").spread, Spread::NONE);
    assert_eq!(of("adaptive = \"aimd\"").adaptive, Adaptive::Aimd);
}

#[test]
fn tcps_controller_can_be_asked_for() {
    let text = "[providers.p]\npace.adaptive = \"cubic\"\n";
    let p = load(text).provider(Use::Call, Some("p"));
    assert_eq!(p.provider.adaptive, Adaptive::Cubic);
}

#[test]
fn the_outage_guard_is_of_all_providers_together() {
    let off = load("[defaults]\noutage.enabled = false\n");
    assert_eq!(off.outage(Use::Call), None);
    let on = load("");
    assert_eq!(on.outage(Use::Fetch), Some(OutagePolicy::default()));
}

#[test]
fn a_provider_is_rehearsed_or_observed_where_its_section_says_so() {
    let text = "[defaults]\nmode = \"observe\"\n[providers.shop]\nhosts = [\"a.example\"]\nmode = \"shadow\"\n";
    let file = File {
        path: "abide.toml".to_owned(),
        text: text.to_owned(),
    };
    let config = Config::load(Some(&file), [], []).unwrap();
    let mode = |provider| config.provider(Use::Gateway, provider).mode;
    assert_eq!(mode(Some("shop")), Mode::Shadow);
    assert_eq!(mode(None), Mode::Observe);
    let default = Config::load(None, [], []).unwrap();
    assert_eq!(default.provider(Use::Gateway, None).mode, Mode::Enforce);
}

#[test]
fn a_call_through_the_gateway_ends_where_nobody_bounds_it() {
    let config = Config::load(None, [], []).unwrap();
    let deadline = |of| config.call(of, None).bound();
    assert_eq!(deadline(Use::Call), None);
    // Its patience, a connection and an answer.
    assert_eq!(
        deadline(Use::Gateway),
        Some(Duration::from_secs(30 + 10 + 120))
    );
}
