//! Items 3 to 5: what the foreground shows, what the background may ask, and who heals a hoster
//! that nobody is shown.

use std::sync::atomic::{AtomicBool, AtomicUsize, Ordering};

use abide::{Prober, Said, View};
use tokio::time::sleep;

use crate::*;

const OTHER: &str = "other.example";

fn shown(governor: &Governor, view: View) -> Vec<String> {
    let shown = governor.shown(&[HOSTER, OTHER], view).unwrap();
    shown.iter().map(ToString::to_string).collect()
}

/// Tries hosters again, counts how often, and does as it is told.
struct Background {
    well: Arc<AtomicBool>,
    tries: Arc<AtomicUsize>,
    _probers: Vec<Prober>,
}

fn background(governor: &Governor) -> Background {
    let (well, tries) = (Arc::<AtomicBool>::default(), Arc::<AtomicUsize>::default());
    let probe = |name| {
        let (well, tries) = (Arc::clone(&well), Arc::clone(&tries));
        governor.keep_probing(name, move |_| {
            tries.fetch_add(1, Ordering::Relaxed);
            let well = well.load(Ordering::Relaxed);
            async move {
                match well {
                    true => Ok(()),
                    false => Err(Failed::new((), Said::failed(RESET))),
                }
            }
        })
    };
    Background {
        _probers: vec![probe(HOSTER), probe(OTHER)],
        well,
        tries,
    }
}

#[tokio::test(start_paused = true)]
async fn c03_the_foreground_shows_nobody_who_failed() {
    let p = program();
    let _background = background(&p.governor);
    assert_eq!(shown(&p.governor, View::Healthy), [HOSTER, OTHER]);
    assert!(fails(&p.governor, HOSTER).await);
    assert_eq!(shown(&p.governor, View::Healthy), [OTHER]);
    // Strictly: also when its hold is over.
    sleep(secs(5)).await;
    assert_eq!(shown(&p.governor, View::Healthy), [OTHER]);
    assert!(p.governor.provider(OTHER).is_healthy());
}

/// Otherwise a hoster that failed once would be hidden for ever.
#[tokio::test(start_paused = true)]
async fn c03_a_strict_view_without_a_prober_is_an_error() {
    let p = program();
    let e = p.governor.shown(&[HOSTER], View::Healthy).unwrap_err();
    assert_eq!(e.provider, HOSTER);
    assert!(e.to_string().contains("hidden for ever"), "{e}");
    let background = background(&p.governor);
    assert!(p.governor.shown(&[HOSTER], View::Healthy).is_ok());
    drop(background);
    assert!(p.governor.shown(&[HOSTER], View::Healthy).is_err());
}

#[tokio::test(start_paused = true)]
async fn c04_the_background_may_ask_when_the_time_is_over() {
    let p = program();
    assert!(fails(&p.governor, HOSTER).await);
    assert_eq!(shown(&p.governor, View::Available), [OTHER]);
    sleep(secs(5) - ms(1)).await;
    assert_eq!(shown(&p.governor, View::Available), [OTHER]);
    sleep(ms(1)).await;
    assert_eq!(shown(&p.governor, View::Available), [HOSTER, OTHER]);
    // Its success is what makes the hoster visible in the foreground again.
    assert!(!p.governor.provider(HOSTER).is_healthy());
    assert!(works(&p.governor, HOSTER).await);
    assert!(p.governor.provider(HOSTER).is_healthy());
}

#[tokio::test(start_paused = true)]
async fn c05_a_hoster_is_tried_again_when_its_hold_is_over_and_healed() {
    let p = program();
    let background = background(&p.governor);
    // Seven at once: still the first rung, and the prober's too.
    let mut together = tokio::task::JoinSet::new();
    for n in 0..7 {
        let governor = p.governor.clone();
        let end = Err(Said::failed(RESET));
        together.spawn(async move { touch_in(&governor, HOSTER, ms(100 + n), end).await });
    }
    together.join_all().await;
    let tries = || background.tries.load(Ordering::Relaxed);
    // 5 s, then 10, 20 and 30 after it, each try within a second of the hold's end.
    for (n, at) in [5_u64, 15, 35, 65].into_iter().enumerate() {
        let before = secs(at).saturating_sub(p.clock.elapsed());
        sleep(before.saturating_sub(ms(1))).await;
        assert_eq!(tries(), n, "not before {at} s");
        sleep(secs(3)).await;
        assert_eq!(tries(), n + 1, "soon after {at} s");
    }
    background.well.store(true, Ordering::Relaxed);
    assert_eq!(shown(&p.governor, View::Healthy), [OTHER]);
    sleep(secs(62)).await;
    assert_eq!(shown(&p.governor, View::Healthy), [HOSTER, OTHER]);
    let done = tries();
    sleep(secs(7_200)).await;
    assert_eq!(tries(), done, "who is well is left alone");
}
