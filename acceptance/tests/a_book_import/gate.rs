//! The gate: what one refusal means for every other request to the same provider.

use abide::core::Verdict;
use abide::core::provider::Event;
use abide::core::refusal::RefusalKind;
use abide_acceptance::wire::{Cut, Script, asking, bare, cut, good};
use tokio::task::JoinSet;

use crate::common::{LOOP, One, SIX, TRIP, cause, ms, secs};

/// The editions of a work are asked for while its catalogue page is: one refusal stops both.
#[tokio::test(start_paused = true)]
async fn a07_a_refusal_shuts_the_gate_for_every_request() {
    let script = Script::new(|n, _, _| if n == 0 { asking(429, 12) } else { good() });
    let one = One::new(SIX[4], script);
    let mut rows = JoinSet::new();
    for n in 0..40 {
        let (http, url) = (one.http.clone(), format!("{}&page={n}", one.url));
        rows.spawn(async move { http.get(&url).await.unwrap().status.as_u16() });
        tokio::time::sleep(ms(5)).await;
    }
    while let Some(status) = rows.join_next().await {
        assert_eq!(status.unwrap(), 200);
    }
    one.sim.assert_no_send_inside_hold();
    // Nobody but the refused one asked twice, and nobody in the twelve seconds.
    assert_eq!(one.came.count(), 41);
    let closed = one.came.gaps().into_iter().max().unwrap();
    assert!(closed >= secs(12) - 2 * TRIP, "{closed:?}");
}

#[tokio::test(start_paused = true)]
async fn a08_a_hold_beyond_the_callers_deadline_fails_at_once_unsent() {
    let one = One::new(SIX[0], Script::of([asking(429, 25)]));
    let first = one.http.send(http::Method::GET, one.url, "", |o| {
        o.patience = Some(ms(0));
    });
    assert_eq!(first.await.unwrap().status, 429);
    let before = one.elapsed();
    let late = one.http.send(http::Method::GET, one.url, "", |o| {
        o.deadline = Some(secs(20));
    });
    let missed = late.await.unwrap_err();
    let turned = missed.turned().unwrap();
    assert_eq!(turned.refusal.kind, RefusalKind::DeadlineTooSoon);
    assert_eq!((turned.refusal.attempts, one.came.count()), (0, 1));
    assert_eq!(one.elapsed(), before, "nobody slept into a timeout");
    // The end of the hold travels with it.
    assert_eq!(turned.refusal.retry_in(turned.at.now), Some(secs(25)));
    // One whose deadline is later waits, and is served by the same gate.
    let script = Script::of([asking(429, 25), good()]);
    let one = One::new(SIX[0], script);
    let patient = one.http.send(http::Method::GET, one.url, "", |o| {
        o.deadline = Some(secs(26));
    });
    assert_eq!(patient.await.unwrap().status, 200);
}

#[tokio::test(start_paused = true)]
async fn a09_a_hold_remembers_its_cause() {
    for (status, mark, words) in [
        (429, Verdict::RateLimited, "asked for requests to wait"),
        (
            502,
            Verdict::Unavailable,
            "is unavailable, requests are held",
        ),
        (
            503,
            Verdict::Unavailable,
            "is unavailable, requests are held",
        ),
        (
            504,
            Verdict::Unavailable,
            "is unavailable, requests are held",
        ),
    ] {
        let one = One::new(SIX[0], Script::of([asking(status, 25)]));
        let fast = || {
            one.http.send(http::Method::GET, one.url, "", |o| {
                o.patience = Some(ms(0));
            })
        };
        fast().await.unwrap();
        let other = fast().await;
        assert_eq!(cause(&other), Some(mark), "{status}");
        let missed = other.unwrap_err();
        let turned = missed.turned().unwrap();
        assert_eq!(turned.is_rate_limited(), status == 429);
        // Until when, as a person reads it.
        let until = turned.retry_at().unwrap().to_string();
        let told = turned.to_string();
        let prefix = format!("openlibrary {words}");
        assert!(told.starts_with(&prefix) && told.contains(&until), "{told}");
        // Rounded up: 25 s after an answer that came 20 ms after noon.
        assert_eq!(until, "2026-03-10T12:00:26Z");
    }
}

/// The cause is that of the answer which closes longest, whichever came last.
#[tokio::test(start_paused = true)]
async fn a2_a_hold_takes_the_cause_of_whoever_lengthens_it() {
    for (first, second, mark) in [
        (asking(503, 20), asking(429, 5), Verdict::Unavailable),
        (asking(503, 5), asking(429, 20), Verdict::RateLimited),
    ] {
        let one = One::new(SIX[4], Script::of([first, second]));
        let fast = |o: &mut abide::layer::Options| o.patience = Some(ms(0));
        let get = http::Method::GET;
        let both = tokio::join!(
            one.http.send(get.clone(), one.url, "", fast),
            one.http.send(get.clone(), one.url, "", fast),
        );
        assert!(both.0.is_ok() && both.1.is_ok());
        let third = one.http.send(get, one.url, "", fast).await;
        assert_eq!(cause(&third), Some(mark));
        let missed = third.unwrap_err();
        let turned = missed.turned().unwrap();
        assert_eq!(turned.refusal.retry_in(turned.at.now), Some(secs(20)));
    }
}

/// Only what a provider says holds everybody; that a connection broke says nothing of the kind.
#[tokio::test(start_paused = true)]
async fn a2_a_broken_exchange_holds_nobody() {
    let one = One::new(
        SIX[4],
        Script::new(|n, _, _| if n == 0 { cut() } else { good() }),
    );
    let first = one.http.send(http::Method::GET, one.url, "", |o| {
        o.patience = Some(ms(0));
    });
    first.await.unwrap_err();
    let before = one.elapsed();
    assert_eq!(one.get().await.unwrap().status, 200);
    assert_eq!(one.elapsed() - before, TRIP);
    assert!(one.program.governor.held().is_empty());
}

/// After the last attempt too, so that others keep quiet; a 404 and a bare 500 hold nobody.
#[tokio::test(start_paused = true)]
async fn a2_the_gate_stays_shut_after_the_last_attempt() {
    let one = One::new(SIX[0], Script::of([asking(429, 9)]));
    one.get().await.unwrap();
    assert_eq!(one.came.count(), 4);
    let held = one.program.governor.held();
    assert_eq!(held.len(), 1);
    let now = one.program.governor.clock().now();
    assert_eq!(held[0].hold.until.since(now), secs(9));
    for status in [400, 404, 500] {
        let one = One::new(SIX[0], Script::of([bare(status)]));
        one.get().await.unwrap();
        assert!(one.program.governor.held().is_empty(), "{status}");
    }
}

/// Whoever slept looks again: somebody else's refusal may have lengthened the hold meanwhile.
#[tokio::test(start_paused = true)]
async fn a2_a_refusal_during_anothers_wait_is_waited_for_too() {
    // Two on the wire: the first answer asks for 5 s, the second, a second later, for 10.
    let script = Script::new(|n, _, _| match n {
        0 => asking(429, 5),
        1 => asking(429, 10).taking(secs(1)),
        _ => good(),
    });
    let one = One::new(SIX[4], script);
    let both = tokio::join!(one.get(), one.get());
    assert_eq!(
        (both.0.unwrap().status, both.1.unwrap().status),
        (200.try_into().unwrap(), 200.try_into().unwrap())
    );
    one.sim.assert_no_send_inside_hold();
    let third = one.came.all()[2].at.since(one.came.all()[1].at);
    assert!(third >= secs(11), "{third:?}");

    // And whoever has no time for the longer one is told so then, not at its end.
    let script = Script::new(|_, _, seen| match seen.path.ends_with("late") {
        true => asking(429, 5),
        false => asking(429, 25).taking(secs(1)),
    });
    let one = One::new(SIX[4], script);
    let url = format!("{}&late", one.url);
    let late = async {
        let tell = |o: &mut abide::layer::Options| o.deadline = Some(secs(8));
        let missed = one.http.send(http::Method::GET, &url, "", tell).await;
        (missed.unwrap_err(), one.elapsed())
    };
    let other = tokio::time::timeout(secs(2), one.get());
    let ((missed, told_at), _) = tokio::join!(late, other);
    assert_eq!(told_at, secs(1) + TRIP);
    let turned = missed.turned().unwrap();
    assert_eq!(turned.refusal.kind, RefusalKind::DeadlineTooSoon);
    assert_eq!(turned.refusal.retry_in(turned.at.now), Some(secs(25)));
}

/// The program lost the hold's end on a later attempt, and its importer guessed 2 s.
#[tokio::test(start_paused = true)]
async fn a2_a_refusal_of_a_later_attempt_still_says_when() {
    let one = One::new(SIX[0], Script::of([asking(429, 5), asking(429, 28)]));
    let late = one.http.send(http::Method::GET, one.url, "", |o| {
        o.deadline = Some(secs(20));
    });
    let came = late.await.unwrap();
    assert_eq!((came.status.as_u16(), one.came.count()), (429, 2));
    let turned = came.turned();
    assert_eq!(turned.refusal.kind, RefusalKind::DeadlineTooSoon);
    assert_eq!(turned.refusal.attempts, 2);
    assert_eq!(turned.refusal.retry_in(turned.at.now), Some(secs(28)));
    assert_eq!(one.elapsed(), secs(5) + 2 * TRIP);
}

/// The program's gate opened for all who waited in the same instant.
#[tokio::test(start_paused = true)]
async fn a2_no_herd_when_the_gate_opens() {
    let script = Script::new(|n, _, _| match n {
        0 => asking(429, 10),
        _ => good().taking(ms(200)),
    });
    let one = One::new(SIX[4], script);
    let mut rows = JoinSet::new();
    for n in 0..100 {
        let (http, url) = (one.http.clone(), format!("{}&page={n}", one.url));
        rows.spawn(async move { http.get(&url).await.unwrap().status.as_u16() });
    }
    while let Some(status) = rows.join_next().await {
        assert_eq!(status.unwrap(), 200);
    }
    one.sim.assert_no_herd();
    one.sim.assert_no_send_inside_hold();
    // One goes first, and the others once it is back.
    let at = one.came.all();
    let opened = at.iter().position(|s| s.at.since(at[0].at) >= secs(10));
    let opened = opened.unwrap();
    assert!(at[opened + 1].at.since(at[opened].at) >= ms(200));
}

/// The program bounded each wait by 30 s and none of them together.
#[tokio::test(start_paused = true)]
async fn a2_waiting_is_bounded_by_its_sum() {
    let one = One::new(SIX[0], Script::of([asking(429, 25)]));
    let sum = one.http.send(http::Method::GET, one.url, "", |o| {
        o.patience = Some(secs(60));
    });
    let came = sum.await.unwrap();
    // Two waits of 25 s; a third would be 75.
    assert_eq!((came.status.as_u16(), one.came.count()), (429, 3));
    let refusal = &came.turned().refusal;
    assert_eq!(
        (refusal.kind, refusal.waited),
        (RefusalKind::Held, secs(50))
    );
    assert_eq!(refusal.retry_in(came.turned().at.now), Some(secs(25)));
}

#[tokio::test(start_paused = true)]
async fn a11_a_backoff_beyond_the_deadline_returns_the_failure_at_once() {
    let text = format!(
        "{LOOP}
[providers.openlibrary]
backoff.base = \"1h\"
backoff.max = \"1h\"
patience = \"2h\"
wait.max = \"2h\"
deadline = \"20s\"
"
    );
    let one = One::with(&text, SIX[0], Script::of([cut()]));
    let missed = one.get().await.unwrap_err();
    assert_eq!(missed.into_inner(), Some(Cut));
    assert_eq!((one.came.count(), one.elapsed()), (1, TRIP));
}

/// Cancelled is gone: nothing is sent for a caller who left while it waited.
#[tokio::test(start_paused = true)]
async fn a2_who_leaves_is_not_asked_for_again() {
    let one = One::new(SIX[0], Script::of([asking(429, 5), good()]));
    let leaving = tokio::time::timeout(secs(2), one.get()).await;
    assert!(leaving.is_err());
    tokio::time::sleep(secs(60)).await;
    assert_eq!(one.came.count(), 1);
    assert_eq!(
        one.program.governor.provider("openlibrary").state().waiting,
        0
    );
}

/// Once for each hold, with what caused it and until when; not for everybody who waits.
#[tokio::test(start_paused = true)]
async fn a2_a_hold_is_told_once() {
    let script = Script::new(|n, _, _| if n == 0 { asking(503, 12) } else { good() });
    let one = One::new(SIX[4], script);
    let mut events = one.program.governor.changes();
    let mut rows = JoinSet::new();
    for _ in 0..30 {
        let (http, url) = (one.http.clone(), one.url);
        rows.spawn(async move { http.get(url).await.unwrap().status.as_u16() });
    }
    while let Some(status) = rows.join_next().await {
        assert_eq!(status.unwrap(), 200);
    }
    let (mut opened, mut ended) = (Vec::new(), 0);
    while let Ok((provider, event)) = events.try_recv() {
        match event {
            Event::HoldOpened { hold, .. } => {
                opened.push((
                    provider.to_string(),
                    hold.cause,
                    hold.until.since(hold.since),
                ));
            }
            Event::EpisodeEnded { .. } => ended += 1,
            _ => {}
        }
    }
    let told = ("audible".to_owned(), Verdict::Unavailable, secs(12));
    assert_eq!((opened, ended), (vec![told], 1));
}
