use super::*;
use crate::budget::BudgetPolicy;
use crate::finding::{Ask, AskSource};
use crate::verdict::GateClass;

fn at(s: u64) -> Instant {
    Instant::from_secs(s)
}

fn attempt(finding: &Finding) -> Attempt<'_> {
    Attempt {
        finding,
        retry_on: true,
        cause: RepeatCause::Failure,
        unsent: false,
        kept: true,
    }
}

fn budget() -> Budget {
    Budget::new(BudgetPolicy::default())
}

fn refused(until: u64) -> Finding {
    let mut f = Finding::of(Verdict::RateLimited);
    f.holds = true;
    f.scope = Scope::Account;
    f.asks.push(Ask {
        until: at(until),
        source: AskSource::RetryAfter,
        scope: Scope::Account,
        class: GateClass::PLAIN,
    });
    f
}

#[test]
fn a_write_goes_again_where_the_provider_says_nothing_was_done() {
    let mut finding = Finding::of(Verdict::Unavailable);
    finding.again = Some(true);
    let mut policy = CallPolicy::default();
    let plan = |policy: &CallPolicy| {
        let mut call = Call::new(policy.clone(), Safety::Write, Instant::from_secs(1));
        call.sent(Instant::from_secs(1));
        let attempt = Attempt {
            finding: &finding,
            retry_on: true,
            cause: RepeatCause::Failure,
            unsent: false,
            kept: true,
        };
        let mut budget = Budget::new(BudgetPolicy::default());
        call.plan(Instant::from_secs(1), &attempt, &mut budget, 0.0)
    };
    assert!(matches!(plan(&policy), Plan::Fail(_)), "not by default");
    policy.write = WriteRepeat::RefusedOnly;
    assert_eq!(plan(&policy), Plan::Again);
}

#[test]
fn d04_no_wait_after_the_last_attempt() {
    let mut c = Call::new(CallPolicy::default(), Safety::Read, at(0));
    let f = Finding::of(Verdict::Unavailable);
    for n in 1..=4 {
        c.asks(at(n));
        c.sent(at(n));
        let plan = c.plan(at(n), &attempt(&f), &mut budget(), 1.0);
        if n < 4 {
            assert_eq!(plan, Plan::Again);
        } else {
            let Plan::Fail(r) = plan else {
                panic!("{plan:?}")
            };
            assert_eq!((r.kind, r.attempts), (RefusalKind::AttemptsSpent, 4));
        }
    }
}

#[test]
fn sc_s01_a_write_is_sent_once_and_an_unsent_one_again() {
    let f = Finding::of(Verdict::Unavailable);
    let mut c = Call::new(
        CallPolicy::default(),
        Safety::of(&http::Method::POST),
        at(0),
    );
    c.sent(at(0));
    assert!(matches!(
        c.plan(at(0), &attempt(&f), &mut budget(), 0.5),
        Plan::Fail(_)
    ));
    let unsent = Attempt {
        unsent: true,
        ..attempt(&f)
    };
    assert_eq!(c.plan(at(0), &unsent, &mut budget(), 0.5), Plan::Again);
}

#[test]
fn a_body_above_the_bound_is_sent_once_and_the_reason_says_so() {
    let policy = CallPolicy {
        body_replay: 10,
        ..CallPolicy::default()
    };
    let mut c = Call::new(policy, Safety::Read, at(0));
    assert!(c.keeps(10) && !c.keeps(11));
    c.sent(at(0));
    let f = refused(9);
    let once = Attempt {
        kept: false,
        ..attempt(&f)
    };
    let Plan::Fail(r) = c.plan(at(0), &once, &mut budget(), 0.5) else {
        panic!("sent again")
    };
    assert_eq!(
        (r.kind, r.retry_at),
        (RefusalKind::BodyNotKept, Some(at(9)))
    );
    assert_eq!(c.plan(at(0), &attempt(&f), &mut budget(), 0.5), Plan::Again);
}

#[test]
fn sc_s06_a_refused_write_is_repeated_only_where_declared() {
    let f = refused(1);
    let mut c = Call::new(CallPolicy::default(), Safety::Write, at(0));
    c.sent(at(0));
    assert!(matches!(
        c.plan(at(0), &attempt(&f), &mut budget(), 0.5),
        Plan::Fail(_)
    ));
    let policy = CallPolicy {
        write: WriteRepeat::RefusedOnly,
        ..CallPolicy::default()
    };
    let mut c = Call::new(policy, Safety::Write, at(0));
    c.sent(at(0));
    assert_eq!(c.plan(at(0), &attempt(&f), &mut budget(), 0.5), Plan::Again);
}

#[test]
fn sc_w06_a_backoff_beyond_the_deadline_fails_at_once() {
    let policy = CallPolicy {
        deadline: Some(Duration::from_millis(100)),
        ..CallPolicy::default()
    };
    let mut c = Call::new(policy, Safety::Read, at(0));
    c.sent(at(0));
    let f = Finding::of(Verdict::Unavailable);
    let Plan::Fail(r) = c.plan(at(0), &attempt(&f), &mut budget(), 1.0) else {
        panic!("it must fail");
    };
    assert_eq!(r.kind, RefusalKind::DeadlineTooSoon);
    assert_eq!(r.retry_at, Some(Instant::from_millis(250)));
}

#[test]
fn sc_p20_a_quota_is_never_waited_for_in_a_call() {
    let mut f = refused(20 * 3600);
    f.verdict = Verdict::QuotaExhausted;
    let mut c = Call::new(CallPolicy::default(), Safety::Read, at(0));
    c.sent(at(0));
    let Plan::Fail(r) = c.plan(at(0), &attempt(&f), &mut budget(), 0.0) else {
        panic!("it must fail");
    };
    assert!(r.is_rate_limited());
    assert_eq!(r.retry_at, Some(at(20 * 3600)));
}

#[test]
fn patience_bounds_the_sum_of_all_waiting() {
    let mut c = Call::new(CallPolicy::default(), Safety::Read, at(0));
    c.asks(at(0));
    c.sent(at(20));
    let l = c.asks(at(21));
    assert_eq!(l.expires, at(31));
    assert_eq!(c.total_waited(), Duration::from_secs(20));
}

#[test]
fn a_call_begins_when_it_first_asks() {
    let policy = CallPolicy {
        deadline: Some(Duration::from_secs(10)),
        ..CallPolicy::default()
    };
    let mut call = Call::to_begin(policy, Safety::Read);
    let first = Instant::from_secs(100);
    // At the deadline itself there is no time left for an answer.
    let last = Instant::from_secs(110).before(Duration::from_nanos(1));
    assert_eq!(call.asks(first).expires, last);
    call.sent(first);
    let again = call.asks(Instant::from_secs(105));
    assert_eq!(again.expires, last);
}

#[test]
fn inv05_who_could_only_be_sent_at_its_deadline_is_turned_away_at_once() {
    let policy = CallPolicy {
        deadline: Some(Duration::from_secs(5)),
        ..CallPolicy::default()
    };
    let mut call = Call::new(policy, Safety::Read, at(1));
    let limits = call.asks(at(1));
    assert!(limits.expires < at(6) && limits.hold_limit < at(6));
    assert_eq!(call.late(at(5)), None);
    let late = call.late(at(6)).unwrap();
    assert_eq!(
        (late.kind, late.attempts),
        (RefusalKind::DeadlineTooSoon, 0)
    );
    assert_eq!(late.waited, Duration::from_secs(5));
}

#[test]
fn inv05_what_is_no_gate_is_waited_for_within_the_same_sum() {
    let mut policy = CallPolicy {
        patience: Duration::from_secs(10),
        ..CallPolicy::default()
    };
    let mut call = Call::new(policy.clone(), Safety::Read, at(0));
    call.asks(at(0));
    assert_eq!(call.wait_left(at(4)), Some(Duration::from_secs(6)));
    call.sent(at(4));
    call.waits(at(20));
    assert_eq!(call.wait_left(at(23)), Some(Duration::from_secs(3)));
    call.asks(at(23));
    assert_eq!(call.total_waited(), Duration::from_secs(7));
    policy.queueing = Queueing::Free;
    let call = Call::new(policy, Safety::Read, at(0));
    assert_eq!(call.wait_left(at(99)), None);
}
