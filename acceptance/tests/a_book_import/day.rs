//! A day's quota: read from a bucket of its own, waited for by nobody, kept over a restart.

use std::sync::Arc;

use abide::core::{Verdict, WallTime};
use abide_acceptance::Program;
use abide_acceptance::wire::{Http, Ledger, Script, good, json, with};
use abide_sim::Reply;
use abide_store::{Store, StoreError, StoredGate};

use crate::common::{LOOP, TRIP, secs};
use crate::hardcover::{DATA, HOST, ask, hardcover, once};

fn told(status: u16, limits: &str, policy: Option<&str>) -> Reply {
    let reply = with(json(status, DATA), "ratelimit", limits);
    match policy {
        Some(policy) => with(reply, "ratelimit-policy", policy),
        None => reply,
    }
}

fn daily(program: &Program, script: Script) -> (Http, Ledger) {
    let (sim, came) = program.provider(script);
    (program.http(&[(HOST, &sim)]), came)
}

/// The day's hold is believed to its end, not for 30 s.
const DAILY: &str = "
[providers.hardcover]
hold.max = \"31d\"
wait.max = \"30s\"
";

/// `r=0` of the day, be it on a 200; nothing else says so.
#[tokio::test(start_paused = true)]
async fn a2_the_days_quota_is_read_from_its_own_bucket() {
    for (limits, policy, held) in [
        (r#""Free";r=8;t=42, "daily";r=0;t=3600"#, None, true),
        (
            r#""daily";r=0;t=43200"#,
            Some(r#""daily";q=5000;w=86400"#),
            true,
        ),
        (r#""Free";r=8;t=42, "daily";r=1;t=3600"#, None, false),
        (r#""daily";t=3600"#, None, false),
        (r#""daily";r=x;t=3600"#, None, false),
        (r#""daily";r=0"#, None, false),
        (r#""daily";r=0;t=0"#, None, false),
        (r#""Free";r=8;t=3600"#, None, false),
    ] {
        let program = Program::new(&format!("{LOOP}{DAILY}"));
        let script = Script::of([told(200, limits, policy)]);
        let (http, came) = daily(&program, script);
        // The last request of the day is answered like any other.
        let last = ask(&http, "mine", once).await.unwrap();
        assert_eq!(
            (last.status.as_u16(), &last.body[..]),
            (200, DATA.as_bytes())
        );
        let next = ask(&http, "mine", once).await;
        assert_eq!(next.is_err(), held, "{limits}");
        assert_eq!(came.count(), if held { 1 } else { 2 }, "{limits}");
    }
}

/// Waited for by nobody, told with its end, and its own cause.
#[tokio::test(start_paused = true)]
async fn a21_a_used_up_day_is_no_refusal_to_be_waited_out() {
    let program = Program::new(&format!("{LOOP}{DAILY}"));
    let script = Script::of([told(429, r#""daily";r=0;t=43200"#, None)]);
    let (http, came) = daily(&program, script);
    for n in 0..3 {
        let before = program.clock.elapsed();
        let result = ask(&http, "mine", |o| o.patience = Some(secs(86_400))).await;
        let turned = match &result {
            Ok(last) => last.turned(),
            Err(missed) => missed.turned().unwrap(),
        };
        assert_eq!(turned.refusal.cause, Some(Verdict::QuotaExhausted), "{n}");
        assert!(program.clock.elapsed() - before <= TRIP);
        let midnight = turned.retry_at().unwrap().to_string();
        assert!(midnight.starts_with("2026-03-11T00:00:0"), "{midnight}");
    }
    assert_eq!(came.count(), 1);
    // A minute's refusal beside it is waited for, and has the other cause.
    let one = hardcover(Script::of([told(
        429,
        r#""Free";r=0;t=17, "daily";r=9;t=43200"#,
        None,
    )]));
    let came = ask(&one.http, "mine", once).await.unwrap();
    assert_eq!(came.turned().refusal.cause, Some(Verdict::RateLimited));
}

/// Kept by an HMAC of the token, over a restart; not for another token, and not for ever.
#[tokio::test(start_paused = true)]
async fn a2_a_used_up_day_outlives_a_restart() {
    let dir = tempfile::tempdir().unwrap();
    let path = dir.path().join("state.db");
    let start = |path: &std::path::Path| {
        let store = abide_store::Sqlite::open(path).unwrap();
        let text = format!("{LOOP}{DAILY}");
        Program::with(&text, abide_config::Use::Call, move |governor| {
            governor.store(Arc::new(store))
        })
    };
    {
        let program = start(&path);
        let script = Script::of([told(429, r#""daily";r=0;t=43200"#, None)]);
        let (http, came) = daily(&program, script);
        ask(&http, "t0k3n", once).await.unwrap();
        assert_eq!(came.count(), 1);
        program.governor.save().unwrap();
    }
    let mut files = Vec::new();
    for file in std::fs::read_dir(dir.path()).unwrap() {
        files.extend(std::fs::read(file.unwrap().path()).unwrap_or_default());
    }
    assert!(
        !files.windows(5).any(|w| w == b"t0k3n"),
        "a token was stored"
    );
    // Half a minute later by the clock on the wall, in a new process.
    let program = start(&path);
    let (http, came) = daily(&program, Script::of([good()]));
    let missed = ask(&http, "t0k3n", once).await.unwrap_err();
    let turned = missed.turned().unwrap();
    assert_eq!(turned.refusal.cause, Some(Verdict::QuotaExhausted));
    assert_eq!(came.count(), 0);
    let left = turned.refusal.retry_in(turned.at.now).unwrap();
    assert!(left > secs(43_000) && left <= secs(43_201), "{left:?}");
    // Another account has its own day.
    assert_eq!(ask(&http, "other", once).await.unwrap().status, 200);
    tokio::time::sleep(secs(43_201)).await;
    assert_eq!(ask(&http, "t0k3n", once).await.unwrap().status, 200);
}

/// A store on a full disk.
#[derive(Debug)]
struct Full;

impl Store for Full {
    fn secret(&self) -> [u8; 32] {
        [7; 32]
    }

    fn load(&self, _: WallTime) -> Result<Vec<StoredGate>, StoreError> {
        Ok(Vec::new())
    }

    fn put(&self, _: StoredGate) {}

    fn changes(&self, _: WallTime) -> Result<Vec<StoredGate>, StoreError> {
        Err(full())
    }

    fn flush(&self) -> Result<(), StoreError> {
        Err(full())
    }
}

fn full() -> StoreError {
    StoreError::Corrupt {
        path: "state.db".to_owned(),
        why: "no space left on device".to_owned(),
    }
}

/// What cannot be written is kept all the same, and no request gets through for it.
#[tokio::test(start_paused = true)]
async fn a2_a_used_up_day_is_kept_where_it_cannot_be_stored() {
    let text = format!("{LOOP}{DAILY}");
    let program = Program::with(&text, abide_config::Use::Call, |governor| {
        governor.store(Arc::new(Full))
    });
    let script = Script::of([told(429, r#""daily";r=0;t=43200"#, None)]);
    let (http, came) = daily(&program, script);
    ask(&http, "mine", once).await.unwrap();
    assert!(program.governor.save().is_err());
    for _ in 0..3 {
        let missed = ask(&http, "mine", once).await.unwrap_err();
        let cause = missed.turned().unwrap().refusal.cause;
        assert_eq!(cause, Some(Verdict::QuotaExhausted));
    }
    assert_eq!(came.count(), 1);
}
