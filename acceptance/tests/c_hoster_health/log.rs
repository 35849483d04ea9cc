//! Item 8: what is logged, and from when on.

use abide::View;
use abide_acceptance::log::Log;
use tracing::Level;

use crate::*;

#[tokio::test(start_paused = true)]
async fn c08_failures_in_a_row_are_told_loudly_from_the_fourth_on() {
    let log = Log::begin();
    let p = program();
    fail_often(&p.governor, HOSTER, 3).await;
    assert_eq!(log.records(Level::WARN, HOSTER), Vec::<String>::new());
    assert_eq!(log.records(Level::DEBUG, "failures=").len(), 3);
    fail_often(&p.governor, HOSTER, 2).await;
    let told = log.records(Level::WARN, HOSTER);
    assert_eq!(told.len(), 2, "{told:?}");
    for (line, (failures, wait)) in told.iter().zip([(4, "30s"), (5, "60s")]) {
        assert!(line.contains(&format!("failures={failures} ")), "{line}");
        assert!(line.contains(&format!("wait={wait}")), "{line}");
    }
}

/// How many were left out of a list, and of a round of the background, and how often each failed.
#[tokio::test(start_paused = true)]
async fn c08_what_a_view_leaves_out_is_told_with_the_failures_of_each() {
    let log = Log::begin();
    let p = program();
    let all = ["a.example", "b.example", "c.example"];
    let probers = all.map(|name| {
        let probe = |_| async { Ok::<_, Failed<()>>(()) };
        p.governor.keep_probing(name, probe)
    });
    fail_often(&p.governor, all[0], 1).await;
    let shown = p.governor.shown(&all, View::Healthy).unwrap();
    assert_eq!(shown.len(), 2);
    let told = log.records(Level::DEBUG, "left out");
    assert_eq!(told.len(), 1, "{told:?}");
    assert!(
        told[0].contains("left_out=1 ") && told[0].contains("of=3 "),
        "{told:?}"
    );
    assert!(told[0].contains("failed since"), "{told:?}");
    p.governor.shown(&all, View::Available).unwrap();
    let told = log.records(Level::DEBUG, "left out");
    assert!(told[1].contains("held now"), "{told:?}");
    let failures = all.map(|name| state(&p.governor, name).failures);
    assert_eq!(failures, [1, 0, 0]);
    drop(probers);
}
