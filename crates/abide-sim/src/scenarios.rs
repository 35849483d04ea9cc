//! The named provider policies that abide is measured against.
//!
//! | name | policy |
//! |---|---|
//! | `a` | token bucket 50/s, burst 10; 429 with Retry-After 1 |
//! | `b` | fixed window of 100 per 2 s from even seconds; announced in headers, no Retry-After |
//! | `b2` | as `b`, without any header |
//! | `c` | at most 40 in any second; 429 without a hint |
//! | `d` | the bucket of `a` in a penalty box: hold 2 s, ban 10 s |
//! | `e` | concurrency 4, 100 ms ± 30 % each; over it 503 after 2 ms |
//! | `f` | 320 ms each; from 3 s to 8 s 502, 503 or a closed connection |
//! | `g` | the bucket of `a` behind GraphQL, without a hint |
//! | `h` | 403 quotaExceeded after 300 requests |
//! | `i` | 429 with Retry-After 600 after 100 requests |
//! | `j` | no limit |

use std::time::Duration;

use abide_core::Instant;
use fastrand::Rng;
use http::StatusCode;

use crate::policy::{
    Concurrency, FixedWindow, Graphql, Hint, Outage, PenaltyBox, Plain, Policy, Quota, Reset,
    Service, SlidingWindow, Timed, TokenBucket,
};
use crate::reply::Answer;

/// All names, in order.
pub const NAMES: [&str; 11] = ["a", "b", "b2", "c", "d", "e", "f", "g", "h", "i", "j"];

/// The policy of that name, with its dice from `seed`; `None` for an unknown name.
pub fn named(name: &str, seed: u64) -> Option<Box<dyn Policy>> {
    let rng = Rng::with_seed(seed);
    let second = Duration::from_secs(1);
    let bucket = TokenBucket::new(50, second, 10);
    let window = FixedWindow::new(100, 2 * second);
    let ten_minutes = Duration::from_secs(600);
    Some(match name {
        "a" => Box::new(bucket.hinting(Hint::Fixed(second))),
        "b" => Box::new(window.announced()),
        "b2" => Box::new(window),
        "c" => Box::new(SlidingWindow::new(40, second)),
        "d" => Box::new(PenaltyBox::around(bucket)),
        "e" => {
            let service = Service::jittered(Duration::from_millis(100), 0.3, rng);
            Box::new(Concurrency::new(4, service))
        }
        "f" => {
            let service = Service::constant(Duration::from_millis(320));
            let down = (Instant::from_secs(3), Instant::from_secs(8));
            Box::new(Timed::over(
                Outage::over(Plain::new(), down.0, down.1, rng),
                service,
            ))
        }
        "g" => Box::new(Graphql::over(bucket)),
        "h" => Box::new(Quota::new(300, Reset::Never)),
        "i" => Box::new(
            Quota::new(100, Reset::After(ten_minutes))
                .hinting(Hint::Fixed(ten_minutes))
                .refusing_with(Answer::refusal(StatusCode::TOO_MANY_REQUESTS)),
        ),
        "j" => Box::new(Plain::new()),
        _ => return None,
    })
}
