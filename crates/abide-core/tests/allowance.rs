//! A bound on answers that lead to a ban.

#![allow(clippy::unwrap_used, clippy::panic, reason = "a test may panic")]

use std::time::Duration;

use abide_core::gate::{GateKey, GateSpec};
use abide_core::policy::ProviderPolicy;
use abide_core::provider::{Admit, Outcome, Provider, Request, Start};
use abide_core::{AllowancePolicy, Finding, Instant, Scope, Verdict};

#[test]
fn with_the_allowance_spent_nothing_is_sent_until_some_of_it_is_back() {
    let mut policy = ProviderPolicy::default();
    policy.allowance = Some(AllowancePolicy {
        count: 100,
        per: Duration::from_secs(600),
    });
    let mut p = Provider::new(policy, 1);
    let spec = GateSpec::new(GateKey(1), Scope::Provider);
    let mut failed = Finding::of(Verdict::AuthError);
    failed.counted = true;
    let mut sent = 0;
    let mut now = Instant::from_secs(1000);
    loop {
        let mut request = Request::new(p.gates(now, &[spec]));
        request.hold_limit = now;
        match p.admit(now, &request) {
            Admit::Go(pass) => {
                let Start::Go(pass) = p.start(now, pass) else {
                    panic!("nothing closed it");
                };
                p.settle(now, pass, &Outcome::Answered(failed.clone()));
                sent += 1;
            }
            Admit::Refuse(r) => {
                assert_eq!(sent, 95, "a twentieth is kept");
                let at = r.retry_at.unwrap();
                assert!(at >= Instant::from_secs(1600), "{at:?}");
                break;
            }
            Admit::Waiting(_) => panic!("it waits for nothing"),
        }
        now = now.after(Duration::from_millis(10));
    }
}
