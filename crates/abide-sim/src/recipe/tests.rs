use super::*;

fn described(text: &str) -> String {
    Recipe::parse(text).unwrap().policy(0).describe()
}

#[test]
fn every_kind_is_read() {
    let cases = [
        (
            "kind = \"bucket\"\ncount = 50\nper = \"1s\"\nburst = 10",
            "token bucket, burst 10, 50 per 1s",
        ),
        (
            "kind = \"fixed\"\ncount = 100\nper = \"2s\"\nphase = \"500ms\"\nannounce = true",
            "fixed window, 100 per 2s from 500ms, announced",
        ),
        (
            "kind = \"sliding\"\ncount = 40\nper = \"1m 30s\"\nretry_after = \"true\"",
            "at most 40 in any 90s",
        ),
        (
            "kind = \"concurrency\"\nlimit = 4\nservice = \"100ms\"\njitter = 0.3",
            "at most 4 at once, 100ms each",
        ),
        (
            "kind = \"quota\"\ncount = 300\nper = \"1d\"\nrefuses = 403",
            "300 requests, reset After(86400s)",
        ),
        (
            "kind = \"none\"\nservice = \"320ms\"\noutage = { from = \"3s\", until = \"8s\" }",
            "no limit, always 200, answered in 320ms ± 0 %, down from 3.000000000s to 8.000000000s",
        ),
    ];
    for (text, what) in cases {
        assert_eq!(described(text), what, "{text}");
    }
    let text = "kind = \"bucket\"\ncount = 5\nper = \"1s\"\n\
                penalty = { hold = \"3s\", strikes = 2, ban = \"1m\" }";
    let told = described(text);
    assert!(told.contains("hold of 3s"), "{told}");
    assert!(told.contains("2 in a row bring a ban of 60s"), "{told}");
}

#[test]
fn what_is_wrong_has_a_place() {
    let cases = [
        ("count = 5", (1, 1), "missing field `kind`"),
        ("kind = \"bukket\"", (1, 8), "unknown variant `bukket`"),
        ("kind = \"bucket\"", (1, 8), "kind \"bucket\" needs count"),
        (
            "kind = \"none\"\n\nbrust = 5",
            (3, 1),
            "unknown field `brust`",
        ),
        (
            "kind = \"none\"\ncount = 5",
            (2, 9),
            "kind \"none\" has no count",
        ),
        (
            "kind = \"fixed\"\ncount = 5\nper = \"30\"",
            (3, 7),
            "\"30\" is no time",
        ),
        (
            "kind = \"fixed\"\ncount = 5\nper = \"0s\"",
            (3, 7),
            "per must be longer than nothing",
        ),
        (
            "kind = \"fixed\"\ncount = -5\nper = \"1s\"",
            (2, 9),
            "count must be from 1",
        ),
        (
            "kind = \"fixed\"\ncount = 5\nper = \"1s\"\nrefuses = 418",
            (4, 11),
            "refuses is one of 429, 403, 503",
        ),
        (
            "kind = \"fixed\"\ncount = 5\nper = \"1s\"\nretry_after = \"soon\"",
            (4, 15),
            "\"soon\" is no time",
        ),
        (
            "kind = \"none\"\njitter = 0.5",
            (2, 10),
            "jitter needs service",
        ),
        (
            "kind = \"none\"\nservice = \"1s\"\njitter = 1.5",
            (3, 10),
            "jitter must be from 0 to 1",
        ),
        (
            "kind = \"none\"\noutage = { from = \"8s\", until = \"3s\" }",
            (2, 33),
            "until must be after from",
        ),
        (
            "kind = \"bucket\"\ncount = 5\nper = \"1s\"\npenalty = { strikes = 0 }",
            (4, 23),
            "strikes must be from 1 to 1000",
        ),
        (
            "kind = \"bucket\"\ncount = 5\nper = \"1s\"\nrefuses = 503\npenalty = {}",
            (4, 11),
            "a penalty always refuses with 429",
        ),
    ];
    for (text, place, what) in cases {
        let fault = Recipe::parse(text).unwrap_err();
        assert_eq!((fault.line, fault.column), place, "{text}: {fault}");
        assert!(fault.what.starts_with(what), "{text}: {fault}");
    }
}

#[test]
fn times_have_units() {
    let read = |text| time(text).ok();
    assert_eq!(read("250ms"), Some(Duration::from_millis(250)));
    assert_eq!(read("1.5h"), Some(Duration::from_secs(5_400)));
    assert_eq!(read("1m 30s"), Some(Duration::from_secs(90)));
    assert_eq!(read("1m30s"), Some(Duration::from_secs(90)));
    for text in ["", "30", "s", "1 s", "-1s", "1.2.3s", "1w", "400d", "∞s"] {
        assert_eq!(read(text), None, "{text:?}");
    }
}
