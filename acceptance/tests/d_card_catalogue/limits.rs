//! What is known of the source, and the limits the author admits.

use std::convert::Infallible;

use abide::Layer;
use abide::clock::Clock;
use abide::core::refusal::RefusalKind;
use abide_acceptance::script::{asking, bare, ok, saying};
use http::{Request, Response};
use http_body_util::Full;
use tokio::task::JoinSet;
use tower::{ServiceExt, service_fn};

use crate::*;

/// Limit e: there, without a `Retry-After` the next requests went 1 s and 2 s later, inside the 30
/// seconds for which the source limits whoever was refused.
#[tokio::test(start_paused = true)]
async fn d13e_without_a_hint_the_sources_known_thirty_seconds_are_kept() {
    for provider in [SCRYFALL, IMAGES] {
        let world = World::saying([bare(429), ok()]);
        let ended = world.ask(provider).await;
        assert!(ended.result.is_ok());
        assert_eq!(ended.waits, [secs(30)], "{provider}");
        // Refused again after that it is left alone for longer than a call may wait.
        let world = World::saying([bare(429)]);
        let ended = world.ask(provider).await;
        assert_eq!((ended.sends, ended.asked()), (2, None), "{provider}");
        assert!(ended.turned().retry_at().is_some(), "{provider}");
    }
    // Nor is a shorter ask of that source taken at its word.
    let ended = World::saying([asking(429, 5), ok()]).ask(SCRYFALL).await;
    assert_eq!(ended.waits, [secs(30)]);
}

/// Limit g: the refusal that was seen says it in words.
#[tokio::test(start_paused = true)]
async fn d13g_a_wait_told_in_words_is_read() {
    let body = r#"{"object":"error","status":429,"details":"You are being rate-limited, try again after 60 seconds"}"#;
    let ended = World::saying([saying(429, body), ok()]).ask(SCRYFALL).await;
    assert_eq!((ended.sends, ended.asked()), (1, Some(secs(60))));
    assert!(ended.turned().is_rate_limited());
}

/// Limit a, as far as it is about sending: no sooner than asked holds for the source, whoever
/// asks.
#[tokio::test(start_paused = true)]
async fn d13a_no_sooner_than_asked_holds_for_every_caller() {
    let world = World::saying([asking(429, 600), ok()]);
    assert_eq!(world.ask(SCRYFALL).await.sends, 1);
    for left in (1..=9).rev() {
        tokio::time::sleep(secs(60)).await;
        let second = world.ask(SCRYFALL).await;
        let turned = second.turned();
        assert_eq!((second.sends, turned.refusal.kind), (0, RefusalKind::Held));
        let until = turned.retry_at().unwrap().since(turned.at.wall);
        assert!(until <= secs(60 * left) && until + secs(1) > secs(60 * left));
    }
    tokio::time::sleep(secs(60)).await;
    assert!(world.ask(SCRYFALL).await.result.is_ok());
    // And a person may go on earlier than that.
    let world = World::saying([asking(429, 600), ok()]);
    assert_eq!(world.ask(SCRYFALL).await.sends, 1);
    world.program.governor.lift(SCRYFALL);
    assert!(world.ask(SCRYFALL).await.result.is_ok());
}

/// Ten a second, two of them on the routes that search, and the files as fast as they come.
#[tokio::test(start_paused = true)]
async fn d_pace_the_documented_limits_are_kept_without_being_told() {
    // `pace.gentle` and `concurrency` aside: only what the source documents is measured.
    let policy = format!("{POLICY}pace.gentle = false\nconcurrency = 1000\n");
    for (url, most) in [
        ("https://api.scryfall.com/cards/search?q=x", 2),
        ("https://api.scryfall.com/cards/named?exact=x", 2),
        ("https://api.scryfall.com/cards/0000", 10),
        ("https://cards.scryfall.io/normal/front/0.jpg", 100),
    ] {
        let program = Program::new(&policy.replace(
            "[providers.scryfall]\n",
            "[providers.scryfall]\npace.gentle = false\n",
        ));
        let clock = program.clock.clone();
        let below = service_fn(|_: Request<()>| async {
            Ok::<_, Infallible>(Response::new(Full::new(bytes::Bytes::from_static(b"{}"))))
        });
        let service = tower::Layer::layer(&Layer::new(program.governor.clone()), below);
        let began = clock.now();
        let mut all = JoinSet::new();
        for _ in 0..100 {
            let (service, clock) = (service.clone(), clock.clone());
            let request = Request::get(url).body(()).unwrap();
            all.spawn(async move {
                service.oneshot(request).await.map_err(drop).map(drop)?;
                Ok::<_, ()>(clock.now().since(began))
            });
        }
        let mut sent: Vec<Duration> = all.join_all().await.into_iter().flatten().collect();
        sent.sort();
        let first = sent.iter().filter(|at| **at < secs(1)).count();
        assert_eq!(first, most, "{url}");
        for at in &sent {
            let same = sent.iter().filter(|b| **b >= *at && **b < *at + secs(1));
            assert!(same.count() <= most, "{url}");
        }
    }
}
