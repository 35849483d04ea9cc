//! What a learner costs an answer, the looks for a limit after each refusal included.

use std::time::Duration;

use abide::clock::{Clock, System};
use abide::core::Instant;
use abide::core::control::{Before, Controller, Learner};
use serde_json::{Map, Value, json};

/// A hidden bucket of 50 a second, bursts of 10, met by whoever keeps to the learner's interval
/// and tries a little more every ten seconds. Returns nanoseconds an answer and how many were
/// refused.
fn answers(count: u32) -> (f64, u32) {
    let trip = Duration::from_millis(20);
    let clock = System;
    let mut learner = Learner::after(Before::default());
    let (mut tokens, mut last, mut now) = (10.0_f64, 0.0_f64, 0.0_f64);
    let (mut refused, mut took) = (0, Duration::ZERO);
    for n in 0..count {
        let rate = learner.interval().map_or(100.0, |i| 1.0 / i.as_secs_f64());
        let push = if n % 500 < 60 { 1.3 } else { 1.0 };
        now += 1.0 / (rate * push);
        tokens = (tokens + 50.0 * (now - last)).min(10.0) - 1.0;
        last = now;
        let sent = Instant::ORIGIN.after(Duration::from_secs_f64(now));
        let back = sent.after(trip);
        let begun = clock.now();
        learner.sent(sent, 1);
        if tokens < 0.0 {
            refused += 1;
            learner.refused(back, sent, true);
            took += clock.now().since(begun);
            (tokens, now, last) = (10.0, now + 1.0, now + 1.0);
            let begun = clock.now();
            learner.resumed(Instant::ORIGIN.after(Duration::from_secs_f64(now)));
            took += clock.now().since(begun);
        } else {
            learner.answered(back, sent, false);
            took += clock.now().since(begun);
        }
    }
    (took.as_nanos() as f64 / f64::from(count), refused)
}

/// What an answer costs in a run of a thousand, where most of what there is to learn is learned,
/// and in one of a hundred thousand.
pub(crate) fn measure(figures: &mut Map<String, Value>) {
    for count in [1_000, 100_000] {
        let (nanos, refused) = answers(count);
        figures.insert(format!("learner.answer_ns.{count}"), json!(nanos));
        figures.insert(format!("learner.refused.{count}"), json!(refused));
    }
}
