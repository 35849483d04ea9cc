//! Each limit against a schedule worked out by hand.

mod common;

use std::time::Duration;

use abide_core::Instant;
use abide_sim::policy::{
    Concurrency, FixedWindow, Hint, PenaltyBox, Quota, Reset, Service, SlidingWindow, TokenBucket,
};
use abide_sim::{Announced, Answer};
use common::{EPOCH, at, fates, header, ms, replay};
use http::StatusCode;

const SECOND: Duration = Duration::from_secs(1);

#[test]
fn a_bucket_lets_the_burst_in_and_then_its_rate() {
    let bucket = TokenBucket::new(10, SECOND, 3);
    assert_eq!(
        fates(bucket, &[0, 0, 0, 0, 99, 100, 100, 200, 1_000, 1_000]),
        "+++--+-+++"
    );
}

#[test]
fn a_full_bucket_does_not_overflow() {
    let bucket = TokenBucket::new(10, SECOND, 2);
    assert_eq!(fates(bucket, &[0, 60_000, 60_000, 60_000]), "+++-");
}

#[test]
fn a_bucket_hints_truly_falsely_or_not_at_all() {
    let slow = TokenBucket::new(1, ms(2_500), 1);
    let hint = |hint| {
        let (_, replies) = replay(&mut slow.clone().hinting(hint), &[0, 100]);
        (
            header(&replies[1], "retry-after").map(<[u8]>::to_vec),
            replies[1].announced,
        )
    };
    assert_eq!(hint(Hint::None), (None, None));
    let three = Some(Announced::For(Duration::from_secs(3)));
    assert_eq!(hint(Hint::True), (Some(b"3".to_vec()), three));
    let one = Some(Announced::For(SECOND));
    assert_eq!(hint(Hint::Fixed(SECOND)), (Some(b"1".to_vec()), one));
}

#[test]
fn a_bucket_changes_its_rate() {
    let bucket = TokenBucket::new(10, SECOND, 1).changing(Instant::from_millis(150), 5);
    assert_eq!(fates(bucket, &[0, 99, 100, 249, 250, 449, 450]), "+-+-+-+");
}

#[test]
fn a_window_begins_anew_on_the_wall_clock() {
    let window = FixedWindow::new(2, 2 * SECOND);
    assert_eq!(
        fates(
            window.clone(),
            &[500, 1_999, 1_999, 2_000, 2_000, 2_001, 4_000]
        ),
        "++-++-+"
    );
    assert_eq!(
        fates(window.shifted(ms(300)), &[200, 200, 299, 300, 300, 300]),
        "++-++-"
    );
}

#[test]
fn a_window_announces_itself() {
    let mut window = FixedWindow::new(2, 2 * SECOND).announced();
    let (fates, replies) = replay(&mut window, &[500, 600, 700]);
    assert_eq!(fates, "++-");
    let reset = (EPOCH + 2).to_string();
    for (reply, remaining) in replies.iter().zip(["1", "0", "0"]) {
        assert_eq!(header(reply, "x-ratelimit-limit"), Some(&b"2"[..]));
        assert_eq!(
            header(reply, "x-ratelimit-remaining"),
            Some(remaining.as_bytes())
        );
        assert_eq!(header(reply, "x-ratelimit-reset"), Some(reset.as_bytes()));
        assert_eq!(header(reply, "retry-after"), None);
    }
    let end = Some(Announced::Until(Instant::from_secs(2)));
    assert_eq!(
        [
            replies[0].announced,
            replies[1].announced,
            replies[2].announced
        ],
        [None, end, end]
    );
}

#[test]
fn a_reset_between_seconds_is_told_late_never_early() {
    let mut window = FixedWindow::new(1, SECOND).shifted(ms(300)).announced();
    let (_, replies) = replay(&mut window, &[500]);
    assert_eq!(
        header(&replies[0], "x-ratelimit-reset"),
        Some((EPOCH + 2).to_string().as_bytes())
    );
    assert_eq!(
        replies[0].announced,
        Some(Announced::Until(Instant::from_secs(2)))
    );
}

#[test]
fn a_sliding_window_never_has_more_in_any_span() {
    let sliding = SlidingWindow::new(2, SECOND);
    assert_eq!(
        fates(sliding.clone(), &[0, 900, 999, 1_000, 1_001, 1_899, 1_900]),
        "++-+--+"
    );
    let (_, replies) = replay(&mut sliding.hinting(Hint::True), &[0, 400, 500]);
    assert_eq!(header(&replies[2], "retry-after"), Some(&b"1"[..]));
}

#[test]
fn concurrency_counts_until_departure() {
    let limit = Concurrency::new(2, Service::constant(ms(100)));
    let (fates, replies) = replay(&mut limit.clone(), &[0, 10, 20, 99, 100, 100, 110]);
    assert_eq!(fates, "++--+-+");
    assert_eq!((replies[0].after, replies[2].after), (ms(100), ms(2)));
    assert_eq!(
        replies[2].answer().unwrap().status,
        StatusCode::SERVICE_UNAVAILABLE
    );
}

#[test]
fn service_times_stay_inside_their_jitter() {
    let mut service = Service::jittered(ms(100), 0.3, fastrand::Rng::with_seed(7));
    let drawn: Vec<_> = (0..1_000).map(|_| service.draw()).collect();
    assert!(drawn.iter().all(|d| (ms(70)..=ms(130)).contains(d)));
    assert!(
        drawn
            .iter()
            .max()
            .unwrap()
            .saturating_sub(*drawn.iter().min().unwrap())
            > ms(50)
    );
}

#[test]
fn the_penalty_box_restarts_and_bans() {
    let penalty = || PenaltyBox::around(TokenBucket::new(10, SECOND, 1));
    // Over at 10; the hold ends at 2,010, and the next request is in.
    assert_eq!(fates(penalty(), &[0, 10, 2_009 + 1, 2_500]), "+-++");
    // Inside at 2,009 restarts it to 4,009.
    assert_eq!(fates(penalty(), &[0, 10, 2_009, 4_009]), "+--+");
    // The third in a row bans until 12,500, whatever is sent meanwhile.
    let (fates, replies) = replay(
        &mut penalty(),
        &[0, 10, 1_000, 2_500, 9_000, 12_499, 12_500],
    );
    assert_eq!(fates, "+-----+");
    let told: Vec<_> = replies[1..6]
        .iter()
        .map(|r| header(r, "retry-after").unwrap())
        .collect();
    assert_eq!(told, [&b"2"[..], b"2", b"10", b"4", b"1"]);
    assert_eq!(replies.iter().filter(|r| r.ban).count(), 1);
}

#[test]
fn an_accepted_request_forgives_the_strikes() {
    let penalty = PenaltyBox::around(TokenBucket::new(10, SECOND, 1));
    let (fates, replies) = replay(&mut penalty.clone(), &[0, 10, 1_000, 3_000, 3_010, 4_000]);
    assert_eq!(fates, "+--+--");
    assert!(replies.iter().all(|r| !r.ban));
}

#[test]
fn a_quota_without_reset_stays_empty() {
    let mut quota = Quota::new(2, Reset::Never).hinting(Hint::True);
    let (fates, replies) = replay(&mut quota, &[0, 1, 2, 86_400_000]);
    assert_eq!(fates, "++--");
    let answer = replies[3].answer().unwrap();
    assert_eq!(answer.status, StatusCode::FORBIDDEN);
    assert!(String::from_utf8_lossy(&answer.body).contains("quotaExceeded"));
    assert_eq!(header(&replies[3], "retry-after"), None);
}

#[test]
fn a_quota_resets_after_its_first_request_or_on_the_calendar() {
    let after = Quota::new(1, Reset::After(600 * SECOND)).hinting(Hint::True);
    let (fates, replies) = replay(
        &mut after.clone(),
        &[1_000, 2_000, 600_999, 601_000, 601_001],
    );
    assert_eq!(fates, "+--+-");
    assert_eq!(header(&replies[1], "retry-after"), Some(&b"599"[..]));
    let refusal = Answer::refusal(StatusCode::TOO_MANY_REQUESTS);
    let every = Quota::new(1, Reset::Every(60 * SECOND))
        .hinting(Hint::True)
        .refusing_with(refusal);
    let (fates, replies) = replay(&mut every.clone(), &[1_000, 2_000, 59_999, 60_000]);
    assert_eq!(fates, "+--+");
    assert_eq!(header(&replies[1], "retry-after"), Some(&b"58"[..]));
    assert_eq!(
        replies[1].answer().unwrap().status,
        StatusCode::TOO_MANY_REQUESTS
    );
    assert_eq!(at(0).wall.as_unix_secs_ceil() % 60, 0);
}
