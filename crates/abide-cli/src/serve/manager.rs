//! What a service manager is told (systemd's protocol): that the gateway is ready, that it stops, and
//! that it is alive. Without one nothing happens.

use std::time::Duration;

use abide_gateway::Pulse;
use sd_notify::NotifyState;

pub(super) fn is_ready() {
    tell(&[NotifyState::Ready]);
}

pub(super) fn stops() {
    tell(&[NotifyState::Stopping]);
}

/// Tells a watchdog that we are alive, four times in its time, as long as every worker is: one that
/// hangs serves nobody, however well this thread is.
pub(super) async fn keep_alive(mut pulse: Pulse) {
    let Some(within) = within() else {
        return;
    };
    loop {
        if pulse.is_felt() {
            tell(&[NotifyState::Watchdog]);
        }
        tokio::time::sleep(within / 4).await;
    }
}

fn within() -> Option<Duration> {
    let within = sd_notify::watchdog_enabled()?;
    (!within.is_zero()).then_some(within)
}

fn tell(what: &[NotifyState<'_>]) {
    if let Err(e) = sd_notify::notify(what) {
        eprintln!("abide: the service manager cannot be told: {e}");
    }
}
