//! Recordings that `abide explain` reads.

use abide_profile::Catalogue;
use abide_profile::judge::{Recorded, judge};
use http::Method;

/// Any text that is given to be explained.
pub fn recordings(data: &[u8]) {
    let all = Catalogue::built_in();
    for (status, headers, body) in crate::explain::answers(data) {
        let recorded = Recorded {
            method: Method::GET,
            path: "/".to_owned(),
            wall: abide_core::WallTime::from_unix_secs(1_773_144_000),
            status,
            headers,
            body,
            json: true,
        };
        let judged = judge(&all.generic(), &recorded);
        assert!(
            judged
                .wait
                .is_none_or(|w| w <= abide_profile::judge::CEILING)
        );
    }
}
