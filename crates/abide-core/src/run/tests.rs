use super::*;
use crate::refusal::{DecidedBy, RefusalKind};

fn at(s: u64) -> Instant {
    Instant::from_secs(s)
}

fn secs(s: u64) -> Duration {
    Duration::from_secs(s)
}

fn refused(retry_at: u64, cause: Verdict) -> End {
    let mut r = Refusal::new(RefusalKind::AttemptsSpent, DecidedBy::Provider);
    r.cause = Some(cause);
    r.retry_at = Some(at(retry_at));
    End::Refused(Box::new(r))
}

fn run(items: u32) -> (Run, LaneId) {
    let mut run = Run::new(RunPolicy::default());
    let lane = run.lane();
    for i in 0..items {
        run.add(lane, i, 3);
    }
    (run, lane)
}

#[test]
fn a16_three_waits_and_the_fourth_refusal_gives_up() {
    let (mut run, lane) = run(1);
    let (_, item) = run.take(at(0)).unwrap();
    for n in 0..3 {
        assert_eq!(run.refused(at(n), lane, item, at(n + 1)), Turn::Wait);
    }
    assert_eq!(run.refused(at(3), lane, item, at(4)), Turn::GiveUp);
}

#[test]
fn a16_progress_in_the_lane_makes_waiting_make_sense_again() {
    let (mut run, lane) = run(9);
    let (_, item) = run.take(at(0)).unwrap();
    for n in 0..8 {
        assert_eq!(run.refused(at(n), lane, item, at(n + 1)), Turn::Wait);
        let (_, other) = run.take(at(n)).unwrap();
        run.end(at(n), lane, other, &End::Answered);
    }
}

#[test]
fn a18_a_streak_of_three_stops_the_lane_and_the_rest_end_unsent() {
    let (mut run, lane) = run(1000);
    for n in 0..3 {
        assert!(run.stop(lane).is_none());
        let (_, item) = run.take(at(n)).unwrap();
        run.end(at(n), lane, item, &refused(60, Verdict::RateLimited));
    }
    assert!(run.take(at(4)).is_none());
    let mut ended = 0;
    while let Some((_, _, stop)) = run.take_stopped() {
        assert_eq!(stop.retry_at, Some(at(60)));
        ended += 1;
    }
    assert_eq!(ended, 997);
}

#[test]
fn a18_any_answer_ends_a_streak() {
    let (mut run, lane) = run(100);
    for n in 0..20 {
        let (_, item) = run.take(at(n)).unwrap();
        run.end(at(n), lane, item, &refused(60, Verdict::RateLimited));
        let (_, item) = run.take(at(n)).unwrap();
        run.end(at(n), lane, item, &End::Answered);
    }
    assert!(run.stop(lane).is_none());
}

#[test]
fn a19_the_budget_is_the_union_of_the_time_holds_block() {
    let (mut run, lane) = run(100);
    let items: Vec<Item> = (0..8).map(|_| run.take(at(0)).unwrap().1).collect();
    // Eight items wait at the same hold of 100 s: that is 100 s of the budget, not 800.
    assert_eq!(run.closed(at(0), lane, at(100), secs(300)), Turn::Wait);
    for i in &items {
        assert_eq!(run.refused(at(0), lane, *i, at(100)), Turn::Wait);
    }
    assert_eq!(run.closing(at(150), lane).waited, secs(100));
    for n in 2..7 {
        assert_eq!(
            run.closed(at(100 * n), lane, at(100 * n + 100), secs(300)),
            Turn::Wait
        );
    }
    assert_eq!(run.closing(at(700), lane).waited, secs(600));
    assert_eq!(run.closed(at(701), lane, at(702), secs(300)), Turn::GiveUp);
}

#[test]
fn a21_a_quota_or_a_ban_stops_the_lane_at_once() {
    for cause in [Verdict::QuotaExhausted, Verdict::Banned] {
        let (mut run, lane) = run(10);
        let (_, item) = run.take(at(0)).unwrap();
        run.end(at(0), lane, item, &refused(86_400, cause));
        assert_eq!(run.stop(lane).unwrap().cause, cause);
    }
}

#[test]
fn d07_a_final_failure_fails_one_item_only() {
    let (mut run, lane) = run(100);
    for n in 0..50 {
        let (_, item) = run.take(at(n)).unwrap();
        run.end(
            at(n),
            lane,
            item,
            &End::Unavailable {
                open: false,
                retry_at: None,
            },
        );
    }
    assert!(run.stop(lane).is_none());
}

#[test]
fn a15_an_outage_behind_an_open_breaker_counts_toward_the_streak() {
    let (mut run, lane) = run(100);
    for n in 0..3 {
        let (_, item) = run.take(at(n)).unwrap();
        run.end(
            at(n),
            lane,
            item,
            &End::Unavailable {
                open: true,
                retry_at: Some(at(60)),
            },
        );
    }
    assert_eq!(run.stop(lane).unwrap().cause, Verdict::Unavailable);
}

#[test]
fn sc_h16_a_held_lane_takes_nothing_and_the_others_go_on() {
    let mut run = Run::new(RunPolicy::default());
    let (held, open) = (run.lane(), run.lane());
    for i in 0..500 {
        run.add(held, i, 3);
        run.add(open, 500 + i, 3);
    }
    assert_eq!(run.closed(at(0), held, at(60), secs(300)), Turn::Wait);
    for _ in 0..500 {
        let (lane, item) = run.take(at(1)).unwrap();
        assert_eq!(lane, open);
        run.end(at(1), lane, item, &End::Answered);
    }
    assert!(run.take(at(59)).is_none());
    assert_eq!(run.next_opening(at(1)), Some(at(60)));
    assert_eq!(run.take(at(60)).unwrap().0, held);
}

#[test]
fn a_hold_that_is_not_affordable_turns_items_away_instead_of_waiting() {
    let (mut run, lane) = run(1000);
    assert_eq!(run.closed(at(0), lane, at(3600), secs(300)), Turn::GiveUp);
    for _ in 0..3 {
        let (_, item) = run.take(at(0)).unwrap();
        run.end(at(0), lane, item, &refused(3600, Verdict::RateLimited));
    }
    assert_eq!(run.stop(lane).unwrap().retry_at, Some(at(3600)));
}

#[test]
fn an_answer_that_hides_something_is_what_it_hides() {
    use Answered::{Done, Failed, NotFound};
    let of = |status: u16, listed, verdict| {
        Answered::of(StatusCode::from_u16(status).unwrap(), listed, verdict)
    };
    for (status, listed, verdict, ended) in [
        (200, true, Verdict::Success, Done),
        (200, true, Verdict::NotFound, NotFound),
        (200, true, Verdict::ClientError, Failed),
        (200, true, Verdict::AuthError, Failed),
        (202, false, Verdict::Success, Failed),
        (404, false, Verdict::NotFound, NotFound),
        (404, true, Verdict::NotFound, Done),
        (400, true, Verdict::ClientError, Done),
        (400, false, Verdict::ClientError, Failed),
        (304, true, Verdict::Success, Done),
    ] {
        let told = of(status, listed, verdict);
        assert_eq!(told, ended, "{status} {listed} {verdict}");
    }
}
