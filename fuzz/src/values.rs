//! Single values: dates and spans of time.

use abide_core::signal::{Form, count, read};
use abide_core::{Hint, Skew, WallTime};
use abide_profile::duration;
use http::{HeaderMap, StatusCode};

use crate::input::{NOW, WALLS, moment};

const FORMS: [Form; 10] = [
    Form::Seconds,
    Form::Millis,
    Form::Micros,
    Form::Nanos,
    Form::Minutes,
    Form::Epoch,
    Form::Date,
    Form::Duration,
    Form::PerSecond,
    Form::Any,
];

/// One value, in every form it may be told in.
pub fn dates(data: &[u8]) {
    for wall in WALLS {
        let at = moment(wall);
        let signal = read(StatusCode::OK, &HeaderMap::new(), at, &mut Skew::new());
        for form in FORMS {
            let Hint::Until(until) = signal.told(data, form) else {
                continue;
            };
            assert!(until >= NOW, "{form:?} before now");
            if form == Form::Date
                && let Some(peer) = peer(data)
            {
                let ours = at.wall_at(until);
                assert!(ours == peer || peer <= wall, "{ours:?} is not {peer:?}");
            }
        }
    }
}

/// The date as other parsers read it; `None` where they and we may differ with good reason.
fn peer(data: &[u8]) -> Option<WallTime> {
    let text = std::str::from_utf8(data).ok()?.trim_matches([' ', '\t']);
    // A leap second, and forms that only others have.
    if text.contains(":60") || text.contains(['[', ',']) && !text.ends_with(" GMT") {
        return None;
    }
    if text.starts_with(|c: char| c.is_ascii_digit()) {
        let point: jiff::Timestamp = text.parse().ok()?;
        return Some(WallTime::from_unix_nanos(
            point.as_nanosecond().try_into().ok()?,
        ));
    }
    // The short form names years by two digits, and which century is meant depends on now.
    if text.len() != 29 {
        return None;
    }
    let since = httpdate::parse_http_date(text)
        .ok()?
        .duration_since(std::time::UNIX_EPOCH);
    Some(WallTime::from_unix_nanos(
        since.ok()?.as_nanos().try_into().ok()?,
    ))
}

/// One value as a span, a count, and a duration of a profile.
pub fn durations(data: &[u8]) {
    for form in FORMS {
        let span = form.span(data);
        let spaced = [b"  ", data, b"\t"].concat();
        // White space may push it beyond the longest value that is read.
        if spaced.len() <= abide_core::signal::MAX_VALUE {
            assert_eq!(span, form.span(&spaced), "{form:?}: space is no part of it");
        }
        if matches!(form, Form::Date | Form::Epoch) {
            assert_eq!(span, None, "a point is no span");
        }
    }
    let _ = count(data);
    if let Ok(text) = std::str::from_utf8(data)
        && let Ok(d) = duration(text)
    {
        assert!(!d.is_zero(), "{text:?}");
    }
}
