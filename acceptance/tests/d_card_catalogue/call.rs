//! Items 1, 2, 4, 5 and 6: one call.

use abide::core::Verdict;
use abide::core::refusal::RefusalKind;
use abide_acceptance::script::{asking, bare, cut, ok};

use crate::*;

#[tokio::test(start_paused = true)]
async fn d01_a_call_waits_thirty_seconds_at_a_time_and_sixty_in_all() {
    let world = World::saying([asking(429, 30), asking(429, 30), ok()]);
    let ended = world.ask(IMAGES).await;
    assert!(ended.result.is_ok());
    assert_eq!(ended.waits, [secs(30), secs(30)]);
    // Two waits between three attempts, and no more.
    let world = World::saying([asking(429, 30)]);
    let ended = world.ask(IMAGES).await;
    assert_eq!((ended.sends, ended.waits.len()), (3, 2));
    let refusal = &ended.turned().refusal;
    assert_eq!((refusal.attempts, refusal.waited), (3, secs(60)));
    assert_eq!(refusal.kind, RefusalKind::AttemptsSpent);
}

/// The bound is on the sum: with attempts to spare the third wait of 30 s is not begun.
#[tokio::test(start_paused = true)]
async fn d01_the_sum_binds_where_a_single_wait_does_not() {
    let policy = POLICY.replace("attempts = 3", "attempts = 9");
    let world = World::with(&policy, listed(vec![asking(429, 25)]));
    let ended = world.ask(IMAGES).await;
    assert_eq!((ended.sends, ended.waits), (3, vec![secs(25), secs(25)]));
}

#[tokio::test(start_paused = true)]
async fn d02_a_longer_ask_ends_the_call_at_once() {
    for status in [429, 500, 503] {
        for provider in [SOURCE, IMAGES, SCRYFALL] {
            for before in 0..3 {
                // The pause before the last answer is as long as that vendor wants at the least.
                let mut replies = vec![asking(429, 30); before];
                replies.extend([asking(status, 31), ok()]);
                let world = World::saying(replies);
                let ended = world.ask(provider).await;
                let what = format!("{status} of {provider} as answer {before}");
                assert_eq!(ended.sends, before + 1, "{what}");
                assert_eq!(ended.after, ms(10), "{what}: at once");
                assert_eq!(ended.asked(), Some(secs(31)), "{what}");
                let turned = ended.turned();
                assert_eq!(turned.is_rate_limited(), status == 429, "{what}");
                let wall = turned.at.wall;
                assert_eq!(turned.retry_at(), Some(wall.after(secs(31))), "{what}");
                // The program's own error comes back with it.
                let error = ended.result.unwrap_err().into_error();
                assert_eq!(error.unwrap().as_u16(), status, "{what}");
            }
        }
    }
}

/// The ask itself is not shortened to fit: what is just within the bound is waited out whole.
#[tokio::test(start_paused = true)]
async fn d02_an_ask_as_long_as_the_bound_is_waited_out() {
    let world = World::saying([asking(503, 30), ok()]);
    let ended = world.ask(IMAGES).await;
    assert_eq!((ended.result.is_ok(), ended.waits), (true, vec![secs(30)]));
}

#[tokio::test(start_paused = true)]
async fn d04_no_wait_after_the_last_attempt() {
    for reply in [asking(429, 30), bare(429), asking(503, 7), bare(503), cut()] {
        let world = World::saying([reply]);
        let ended = world.ask(SOURCE).await;
        assert_eq!((ended.sends, ended.after), (3, ms(10)));
    }
}

#[tokio::test(start_paused = true)]
async fn d05_the_error_carries_the_last_wait_asked_for() {
    // The one too long to sit out.
    let ended = World::saying([asking(429, 5), asking(429, 90)])
        .ask(SOURCE)
        .await;
    assert_eq!(ended.asked(), Some(secs(90)));
    // The last one's when attempts ran out.
    let replies = [asking(429, 5), asking(429, 7), asking(429, 9)];
    let ended = World::saying(replies).ask(SOURCE).await;
    assert_eq!((ended.sends, ended.asked()), (3, Some(secs(9))));
    // None when the source never said.
    let ended = World::saying([bare(429)]).ask(SOURCE).await;
    assert_eq!((ended.sends, ended.asked()), (3, None));
    assert!(ended.turned().is_rate_limited());
}

#[tokio::test(start_paused = true)]
async fn d06_an_image_that_keeps_failing_is_no_refusal() {
    for status in [500, 502, 503, 504] {
        let world = World::saying([bare(status)]);
        let ended = world.ask(IMAGES).await;
        let turned = ended.turned();
        assert_eq!(ended.sends, 3, "{status}");
        assert!(!turned.is_rate_limited(), "{status}");
        assert_eq!(turned.refusal.cause, Some(Verdict::Unavailable));
        assert_eq!((ended.asked(), turned.retry_at()), (None, None));
        assert_eq!(ended.waits, [secs(1), secs(2)], "{status}: our own waits");
        // Nothing asked anybody to stay away, so the next image goes at once.
        assert_eq!(world.ask(IMAGES).await.sends, 3, "{status}");
    }
}

/// Of the catalogue's own calls a bare 5xx and a broken connection end it: only a refusal is
/// asked again.
#[tokio::test(start_paused = true)]
async fn d06_a_page_that_fails_is_not_asked_again_in_the_call() {
    for reply in [bare(500), bare(503), cut()] {
        let ended = World::saying([reply, ok()]).ask(SCRYFALL).await;
        assert_eq!((ended.sends, ended.after), (1, ms(10)));
        assert!(!ended.turned().is_rate_limited());
    }
}
