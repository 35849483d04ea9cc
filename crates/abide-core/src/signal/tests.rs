//! The head as a whole; each grammar has its tests beside it.

use http::{HeaderName, HeaderValue};
use proptest::prelude::*;

use super::*;

const WALL: WallTime = WallTime::from_unix_secs(1_773_144_000);

fn at() -> Moment {
    Moment::new(Instant::from_secs(1000), WALL)
}

fn head(lines: &[(&'static str, &str)]) -> Signal {
    let mut headers = HeaderMap::new();
    for (name, value) in lines {
        headers.append(
            HeaderName::from_static(name),
            HeaderValue::from_str(value).unwrap(),
        );
    }
    read(StatusCode::OK, &headers, at(), &mut Skew::new())
}

#[test]
fn finer_units_are_believed_first_and_a_zero_yields() {
    let after = |ms: u64| Hint::Until(Instant::from_millis(1_000_000 + ms));
    assert_eq!(
        head(&[("retry-after-ms", "1500"), ("retry-after", "2")]).retry_after,
        after(1500)
    );
    assert_eq!(
        head(&[("retry-after-ms", "0"), ("retry-after", "2")]).retry_after,
        after(2000)
    );
    assert_eq!(head(&[("x-amz-retry-after", "20")]).retry_after, after(20));
    assert_eq!(
        head(&[("x-ms-retry-after-ms", "20")]).retry_after,
        after(20)
    );
    assert_eq!(
        head(&[("x-ratelimit-retry-after", "1.5")]).retry_after,
        after(1500)
    );
    assert_eq!(head(&[("retry-after", "0")]).retry_after, Hint::Zero);
}

#[test]
fn the_date_may_follow_what_it_dates() {
    let signal = head(&[
        ("retry-after", "Tue, 10 Mar 2026 12:05:30 GMT"),
        ("x-ratelimit-reset", "1773144320"),
        ("date", "Tue, 10 Mar 2026 12:05:00 GMT"),
    ]);
    assert_eq!(signal.retry_after, Hint::Until(Instant::from_secs(1030)));
    assert_eq!(signal.readings[0].reset, Some(Instant::from_secs(1020)));
    assert_eq!(
        signal.instant_of(WallTime::from_unix_secs(1_773_144_310)),
        Some(Instant::from_secs(1010))
    );
}

#[test]
fn media_types_are_told_apart() {
    assert_eq!(Media::of(b"application/json; charset=utf-8"), Media::Json);
    assert_eq!(Media::of(b"application/problem+JSON"), Media::Json);
    assert_eq!(Media::of(b"Text/HTML"), Media::Html);
    assert_eq!(Media::of(b"text/plain"), Media::Other);
    assert_eq!(Media::of(b""), Media::Unknown);
}

#[test]
fn an_oversized_hint_is_not_read() {
    let signal = head(&[("retry-after", &"1".repeat(MAX_VALUE + 1))]);
    assert_eq!(signal.retry_after, Hint::Absent);
}

fn name() -> impl Strategy<Value = &'static str> {
    prop::sample::select(vec![
        "retry-after",
        "retry-after-ms",
        "x-ratelimit-retry-after",
        "x-ratelimit-limit",
        "x-ratelimit-remaining",
        "x-ratelimit-reset",
        "x-ratelimit-reset-after",
        "x-ratelimit-reset-tokens",
        "x-rate-limit-interval",
        "ratelimit-limit",
        "ratelimit-reset",
        "ratelimit",
        "ratelimit-policy",
        "date",
        "age",
        "location",
        "content-type",
    ])
}

fn value() -> impl Strategy<Value = Vec<u8>> {
    prop_oneof![
        prop::collection::vec(any::<u8>(), 0..60),
        "[0-9.,;:=\"a-zA-Z+ -]{0,40}".prop_map(String::into_bytes),
        "(Tue, )?[0-9]{1,2}[- ](Mar|Feb)[- ][0-9]{2,4} [0-9:]{8} GMT(, [0-9]{1,4})?"
            .prop_map(String::into_bytes),
        "[0-9]{1,40}(\\.[0-9]{1,12})?(ms|s|m|h)?".prop_map(String::into_bytes),
        "[0-9]{4}-[01][0-9]-[0-3][0-9]T[0-9]{2}:[0-9]{2}:[0-9]{2}(Z|[+-][0-9]{2}:[0-9]{2})"
            .prop_map(String::into_bytes),
        "\"[a-z]{1,3}\";[rtqw]=-?[0-9]{1,6}(;[rtqw]=[0-9]{1,16})?".prop_map(String::into_bytes),
    ]
}

proptest! {
    /// Whatever the bytes: no panic, and nothing read asks for a time that has passed.
    #[test]
    fn total_on_any_bytes(
        lines in prop::collection::vec((name(), value()), 0..12),
        now in any::<u64>(),
        wall in any::<i64>(),
    ) {
        let mut headers = HeaderMap::new();
        for (name, value) in &lines {
            if let Ok(value) = HeaderValue::from_bytes(value) {
                headers.append(HeaderName::from_static(name), value);
            }
        }
        let mut skew = Skew::new();
        for wall in [wall, WALL.as_unix_nanos()] {
            let at = Moment::new(Instant::from_nanos(now), WallTime::from_unix_nanos(wall));
            let signal = read(StatusCode::TOO_MANY_REQUESTS, &headers, at, &mut skew);
            if let Hint::Until(t) = signal.retry_after {
                prop_assert!(t > at.now || at.now == Instant::FAR);
            }
            for reading in &signal.readings {
                prop_assert!(reading.reset.is_none_or(|t| t >= at.now));
            }
        }
    }

    /// A span is never cut short, and several of them wait for the longest.
    #[test]
    fn spans_are_never_early(spans in prop::collection::vec((0u32..1_000_000, 0u32..1_000_000_000), 1..5)) {
        let text: Vec<_> = spans.iter().map(|(s, n)| format!("{s}.{n:09}")).collect();
        let longest = spans.iter().map(|(s, n)| Duration::new(u64::from(*s), *n)).max().unwrap();
        let signal = head(&[("retry-after", &text.join(", "))]);
        let expected = if longest.is_zero() {
            Hint::Zero
        } else {
            Hint::Until(at().now.after(longest))
        };
        prop_assert_eq!(signal.retry_after, expected);
    }

    /// Every date form, on a provider whose clock is off by any amount below a day, waits
    /// exactly as long as the provider meant by its own clock.
    #[test]
    fn dates_are_read_by_the_clock_that_wrote_them(ahead in -86_000i64..86_000, wait in 1i64..1_000_000) {
        let theirs = 1_773_144_000 + ahead;
        let date = httpdate::HttpDate::from(unix(theirs)).to_string();
        let until = httpdate::HttpDate::from(unix(theirs + wait)).to_string();
        let signal = head(&[("retry-after", &until), ("date", &date)]);
        let expected = Instant::from_secs(1000 + u64::try_from(wait).unwrap());
        prop_assert_eq!(signal.retry_after, Hint::Until(expected));
    }
}

fn unix(secs: i64) -> std::time::SystemTime {
    std::time::UNIX_EPOCH + Duration::from_secs(u64::try_from(secs).unwrap())
}
