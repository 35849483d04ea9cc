use super::*;

const HOUR: Duration = Duration::from_secs(3600);

fn now() -> WallTime {
    WallTime::from_unix_secs(1_773_144_000)
}

fn secs(n: u64) -> Duration {
    Duration::from_secs(n)
}

fn standing() -> Standing {
    Standing {
        attempts: 1,
        created: now(),
        ..Standing::default()
    }
}

fn refused(after: u64) -> Ended {
    Ended::Refused {
        until: Some(now().after(secs(after))),
    }
}

fn put_off(after: Duration) -> Fate {
    Fate::PutOff {
        at: now().after(after),
        counted: true,
    }
}

#[test]
fn d08_a_refusal_comes_back_when_asked_and_at_the_floor_at_the_earliest() {
    let policy = DeferPolicy::default();
    let of = |ended| policy.decide(now(), &standing(), ended, 0.5);
    assert_eq!(of(refused(600)), put_off(secs(600)));
    assert_eq!(of(refused(5)), put_off(secs(30)));
    assert_eq!(of(Ended::Refused { until: None }), put_off(secs(30)));
}

#[test]
fn d08_an_ask_beyond_the_ceiling_fails_and_as_long_as_it_is_waited_for() {
    let policy = DeferPolicy::default().ceiling(HOUR);
    let of = |ended| policy.decide(now(), &standing(), ended, 0.5);
    assert_eq!(of(refused(3600)), put_off(HOUR));
    let beyond = now().after(secs(3601));
    assert_eq!(of(refused(3601)), Fate::Failed(Spent::Ask(beyond)));
}

#[test]
fn d10_three_in_a_row_and_progress_begins_anew() {
    let policy = DeferPolicy::default();
    let mut job = standing();
    for row in 1..=3 {
        let fate = policy.decide(now(), &job, refused(60), 0.5);
        assert_eq!(fate, put_off(secs(60)));
        job.in_a_row = DeferPolicy::row(&job, true);
        assert_eq!(job.in_a_row, row);
    }
    let spent = policy.decide(now(), &job, refused(60), 0.5);
    assert_eq!(spent, Fate::Failed(Spent::Deferrals));
    job.progressed = true;
    assert_eq!(
        policy.decide(now(), &job, refused(60), 0.5),
        put_off(secs(60))
    );
    assert_eq!(DeferPolicy::row(&job, true), 1);
}

#[test]
fn d10_a_class_may_allow_none() {
    let policy = DeferPolicy::default().in_a_row(0);
    let fate = policy.decide(now(), &standing(), refused(60), 0.5);
    assert_eq!(fate, Fate::Failed(Spent::Deferrals));
}

#[test]
fn d07_deferrals_move_no_backoff_and_use_no_attempt() {
    let policy = DeferPolicy::default();
    let mut job = standing();
    job.in_a_row = 500;
    // Five hundred deferrals later the first try that goes wrong waits the first backoff.
    let fate = policy.decide(now(), &job, Ended::Retry, 1.0);
    assert_eq!(fate, Fate::Again(now().after(secs(5))));
    job.attempts = 4;
    let fate = policy.decide(now(), &job, Ended::Retry, 1.0);
    assert_eq!(fate, Fate::Failed(Spent::Attempts));
}

#[test]
fn d09_age_bounds_what_counts_do_not() {
    let policy = DeferPolicy::default();
    let mut job = standing();
    job.created = now().before(secs(7 * 24 * 3600 - 60));
    job.progressed = true;
    assert_eq!(
        policy.decide(now(), &job, refused(60), 0.5),
        put_off(secs(60))
    );
    let late = policy.decide(now(), &job, refused(61), 0.5);
    assert_eq!(late, Fate::Failed(Spent::Age));
    job.created = now();
    job.deadline = Some(now().after(secs(10)));
    let late = policy.decide(now(), &job, refused(60), 0.5);
    assert_eq!(late, Fate::Failed(Spent::Age));
}

#[test]
fn who_was_turned_away_unsent_goes_back_to_its_place() {
    let policy = DeferPolicy::default();
    let mut job = standing();
    job.in_a_row = 3;
    let until = Some(now().after(secs(7)));
    let fate = policy.decide(now(), &job, Ended::TurnedAway { until }, 0.5);
    let at = now().after(secs(7));
    assert_eq!(fate, Fate::PutOff { at, counted: false });
    assert_eq!(DeferPolicy::row(&job, false), 3);
    let until = Some(now().after(HOUR * 27));
    let fate = policy.decide(now(), &job, Ended::TurnedAway { until }, 0.5);
    assert!(matches!(fate, Fate::Failed(Spent::Ask(_))));
}

#[test]
fn a_job_that_kills_its_worker_is_poison() {
    let policy = DeferPolicy::default();
    assert!(!policy.is_poison(2));
    assert!(policy.is_poison(3));
}
