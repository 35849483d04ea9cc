//! Limits that several processes share: what of them one process may use with a store that lends, and
//! what without.
//!
//! With a store nothing is sent that was not lent. Without it nobody knows what the others send, so
//! each keeps to its part of every limit: two processes at the full rate because the store is gone
//! would be what the store is there against. A part is never less than one request at a time, so
//! more processes than a limit has units send more than it allows together; a longer window then
//! makes up for what can be made up.

use std::time::Duration;

use crate::pace::{Fixed, Gcra, Shape, Sliding, Window};
use crate::policy::{GatePolicy, ProviderPolicy};

/// How much of a limit is lent ahead at most: what it gives in a tenth of a second. The others are
/// never without it for longer.
pub const AHEAD: Duration = Duration::from_millis(100);

/// Less than this is not worth lending ahead: at 160 requests a second each can wait for the store by
/// itself.
const WORTH: u128 = 16;

impl ProviderPolicy {
    /// The same, where a store lends what is sent: request by request, or, with `ahead`, several at
    /// once where a limit is high.
    #[must_use]
    pub fn lent(mut self, ahead: bool) -> Self {
        for gate in self.gates() {
            // Where no limit is known there is nothing to lend but the probe.
            gate.leased = !gate.windows.is_empty();
            gate.probe_leased = true;
            gate.lease_ahead = if ahead { most_ahead(&gate.windows) } else { 0 };
        }
        self
    }

    /// The same, for one of so many processes that cannot ask the store: its part of every limit.
    #[must_use]
    pub fn part_of(mut self, processes: u32) -> Self {
        let n = processes.max(1);
        for gate in self.gates() {
            (gate.leased, gate.probe_leased) = (false, false);
            gate.windows = gate.windows.iter().map(|w| part(w, n)).collect();
        }
        self
    }

    fn gates(&mut self) -> impl Iterator<Item = &mut GatePolicy> {
        let scopes = [&mut self.provider, &mut self.account, &mut self.route];
        scopes.into_iter().chain(&mut self.classes)
    }
}

/// What the slowest of some windows gives in a tenth of a second, as far as that is worth lending.
fn most_ahead(windows: &[Window]) -> u32 {
    let units = windows.iter().map(|w| {
        let unit = w.unit().max(1);
        (AHEAD.as_nanos() / u128::from(unit)).min(u128::from(w.size()))
    });
    let most = units.min().unwrap_or(0);
    if most < WORTH {
        return 0;
    }
    u32::try_from(most).unwrap_or(u32::MAX)
}

fn part(window: &Window, n: u32) -> Window {
    match window.shape() {
        Shape::Bucket { interval, burst } => {
            Gcra::new(interval.saturating_mul(n), (burst / n).max(1)).into()
        }
        Shape::Fixed {
            limit,
            period,
            boundary,
        } => {
            let (limit, period) = units(limit, period, n);
            Fixed::new(limit, period, boundary).into()
        }
        Shape::Sliding { limit, period } => {
            let (limit, period) = units(limit, period, n);
            Sliding::new(limit, period).into()
        }
    }
}

/// A part of so many units in a period; where that is none, one in a longer period.
fn units(limit: u64, period: Duration, n: u32) -> (u32, Duration) {
    let part = limit / u64::from(n);
    if part > 0 {
        return (u32::try_from(part).unwrap_or(u32::MAX), period);
    }
    let times = u64::from(n).div_ceil(limit.max(1));
    (
        1,
        period.saturating_mul(u32::try_from(times).unwrap_or(u32::MAX)),
    )
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::time::Instant;

    fn policy(windows: Vec<Window>) -> ProviderPolicy {
        let mut policy = ProviderPolicy::default();
        policy.account.windows = windows;
        policy
    }

    #[test]
    fn the_parts_of_a_limit_are_the_limit_together() {
        let second = Duration::from_secs(1);
        let all = vec![
            Gcra::per(100, second, 10).into(),
            Sliding::new(100, second).into(),
            Fixed::new(100, second, Instant::ORIGIN).into(),
        ];
        let part = policy(all).part_of(3).account.windows;
        let shapes: Vec<_> = part.iter().map(Window::shape).collect();
        let interval = Duration::from_millis(30);
        assert_eq!(shapes[0], Shape::Bucket { interval, burst: 3 });
        assert!(matches!(shapes[1], Shape::Sliding { limit: 33, .. }));
        assert!(matches!(shapes[2], Shape::Fixed { limit: 33, .. }));
    }

    #[test]
    fn a_part_is_one_request_at_least_in_a_longer_window() {
        let minute = Duration::from_secs(60);
        let part = policy(vec![Sliding::new(2, minute).into()]).part_of(5);
        let period = minute * 3;
        let shape = part.account.windows[0].shape();
        assert_eq!(shape, Shape::Sliding { limit: 1, period });
    }

    #[test]
    fn only_high_limits_are_lent_ahead() {
        let second = Duration::from_secs(1);
        let ahead = |count, burst| {
            let lent = policy(vec![Gcra::per(count, second, burst).into()]).lent(true);
            (lent.account.leased, lent.account.lease_ahead)
        };
        assert_eq!(ahead(100, 100), (true, 0));
        assert_eq!(ahead(10_000, 10_000), (true, 1_000));
        // No more than fits at once.
        assert_eq!(ahead(10_000, 50), (true, 50));
        let strict = policy(vec![Gcra::per(10_000, second, 50).into()]).lent(false);
        assert_eq!(strict.account.lease_ahead, 0);
    }
}
