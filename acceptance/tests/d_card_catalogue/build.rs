//! Item 7: the art build.

use abide_acceptance::script::{asking, bare, cut, ok};

use crate::*;

/// The build as that program would write it: image after image, until the host wants quiet.
struct Build {
    cached: Vec<usize>,
    failed: Vec<usize>,
    stopped: Option<Duration>,
}

async fn build(world: &World, images: impl IntoIterator<Item = usize>) -> Build {
    let mut build = Build {
        cached: Vec::new(),
        failed: Vec::new(),
        stopped: None,
    };
    for image in images {
        let ended = world.ask(IMAGES).await;
        match &ended.result {
            Ok(()) => build.cached.push(image),
            Err(e) if e.turned().is_rate_limited() => {
                build.stopped = Some(ended.asked().unwrap());
                break;
            }
            Err(_) => build.failed.push(image),
        }
    }
    build
}

/// There, an hour's quiet was answered by one request for each image that was left, 100 ms apart.
#[tokio::test(start_paused = true)]
async fn d07_the_art_build_stops_when_the_host_asks_for_quiet() {
    let script = Script::new(|n| match n {
        200 => asking(429, 3_600),
        _ => ok(),
    });
    let world = World::new(script);
    let first = build(&world, 0..1_000).await;
    assert_eq!(first.cached, (0..200).collect::<Vec<_>>());
    assert_eq!((first.failed.len(), first.stopped), (0, Some(secs(3_600))));
    assert_eq!(world.arrivals.count(), 201);
    // Too early nothing is sent, and it is known when not to be.
    tokio::time::sleep(secs(600)).await;
    let early = build(&world, 200..1_000).await;
    assert_eq!((early.cached.len(), early.failed.len()), (0, 0));
    assert_eq!(world.arrivals.count(), 201);
    // The next build carries on with what is left.
    tokio::time::sleep(secs(3_000)).await;
    let next = build(&world, 200..1_000).await;
    assert_eq!(next.cached, (200..1_000).collect::<Vec<_>>());
    world.sim.assert_no_send_inside_hold();
}

#[tokio::test(start_paused = true)]
async fn d07_a_failure_costs_one_image() {
    let script = Script::new(|n| match n {
        10 => bare(404),
        // Three attempts each: the image is lost, the build is not.
        20..23 => bare(502),
        30..33 => cut(),
        _ => ok(),
    });
    let policy = POLICY.replace(
        "[\"rate_limited\", \"asked\", 500,",
        "[\"rate_limited\", \"asked\", \"head\", 500,",
    );
    let world = World::with(&policy, script);
    let done = build(&world, 0..50).await;
    assert_eq!((done.failed.len(), done.stopped), (3, None));
    assert_eq!(done.cached.len(), 47);
}
