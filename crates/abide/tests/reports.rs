//! What users of other clients suffered, by report, over a real socket: waits that were too long,
//! answers that were misread, and requests that went twice.

#![allow(clippy::unwrap_used, reason = "a test may panic")]

mod common;

use std::io::{BufRead as _, BufReader};
use std::net::TcpListener;
use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::time::Duration;

use abide::core::Verdict;
use abide::core::call::WriteRepeat;
use abide::core::classify::ClassifyPolicy;
use abide::core::ladder::Ladder;
use abide::core::pace::{Sliding, Window};
use abide::core::policy::ProviderPolicy;
use abide::core::refusal::RefusalKind;
use abide::run::{BulkPolicy, Outcome};
use abide::{Client, Governor};
use common::bulk::run;
use common::{
    Peer, Reply, client, hasty, hasty_call, hasty_with, known_as, ms, now, reply, turned, until,
};
use http::StatusCode;

const SECOND: Duration = Duration::from_secs(1);
const HOUR: Duration = Duration::from_secs(3_600);

fn page(status: u16, text: &str) -> Reply {
    reply(status)
        .header("Content-Type", "text/html")
        .saying(text)
}

/// Ten seconds are no hour: nothing is slept, nothing is asked early, and the true time is told.
#[tokio::test]
async fn report_25_an_ask_beyond_the_callers_time_is_told_and_not_slept_through() {
    for status in [429, 503] {
        let peer = Peer::saying([reply(status).header("Retry-After", "3600"), reply(200)]);
        let call = client().get(&peer.url("/")).up_to(10 * SECOND);
        let t = turned(call.send().await);
        assert_eq!((t.refusal.attempts, peer.requests()), (1, 1), "{status}");
        assert!(t.refusal.waited < SECOND, "{:?}", t.refusal.waited);
        let left = t.refusal.retry_in(t.at.now).unwrap();
        assert!(
            left > HOUR - 60 * SECOND && left <= HOUR + SECOND,
            "{left:?}"
        );
    }
}

/// What is waited counts against the deadline, whatever patience there would be.
#[tokio::test]
async fn report_26_a_wait_counts_against_the_deadline() {
    let peer = Peer::saying([reply(429).header("Retry-After", "3600"), reply(200)]);
    let began = now();
    let call = client().get(&peer.url("/")).up_to(2 * HOUR);
    let t = turned(call.deadline(5 * SECOND).send().await);
    assert_eq!(t.refusal.kind, RefusalKind::DeadlineTooSoon);
    assert_eq!((t.refusal.attempts, peer.requests()), (1, 1));
    assert!(now().since(began) < 5 * SECOND);
    assert!(t.refusal.retry_at.is_some());
    // A moment fits in, and leaves the rest for an answer that never comes.
    let peer = Peer::saying([reply(429).header("Retry-After", "0.2"), Reply::Silence]);
    let began = now();
    let call = client().get(&peer.url("/")).deadline(SECOND);
    let t = turned(call.send().await);
    assert_eq!(t.refusal.kind, RefusalKind::DeadlinePassed);
    assert_eq!((t.refusal.attempts, peer.requests()), (2, 2));
    assert!(now().since(began) >= SECOND);
}

#[tokio::test]
async fn report_31_a_caller_with_a_second_is_told_at_once_and_so_is_everybody_else() {
    let peer = Peer::saying([reply(429).header("Retry-After", "60"), reply(200)]);
    let client = client();
    let mut told = Vec::new();
    for path in ["/play", "/pause", "/devices"] {
        let began = now();
        let call = client.clone().get(&peer.url(path)).up_to(HOUR);
        let t = turned(call.deadline(SECOND).send().await);
        assert!(now().since(began) < SECOND, "it slept");
        let left = t.refusal.retry_in(t.at.now).unwrap();
        assert!(left > 55 * SECOND, "{left:?}");
        told.push((t.refusal.attempts, t.refusal.retry_at));
    }
    let end = told[0].1;
    assert!(end.is_some());
    assert_eq!(told, [(1, end), (0, end), (0, end)]);
    assert_eq!(peer.requests(), 1);
}

#[tokio::test]
async fn report_42_a_refusal_in_plain_words_is_one_where_json_is_expected() {
    let busy = reply(429).header("Content-Type", "text/plain");
    let busy = busy.header("Retry-After", "0.2").saying("Retry later\n");
    let peer = Peer::saying([busy, reply(200).json("{}")]);
    let client = known_as("expects = \"json\"\n");
    let answer = client.get(&peer.url("/")).send().await.unwrap();
    assert_eq!((answer.status().as_u16(), answer.attempts()), (200, 2));
    let seen = peer.seen();
    assert!(seen[1].at >= seen[0].answered.unwrap().after(ms(200)));
}

/// One limit is told as a page, the other one in JSON with a wait in a place of its own.
#[tokio::test]
async fn report_44_a_limit_told_as_a_page_holds_like_one_told_in_json() {
    let json = r#"{"error_type":"rate_limit","extras":{"wait_seconds":100}}"#;
    for (refusal, waits) in [
        (page(429, "<html>Slow down</html>"), SECOND),
        (reply(429).json(json), 100 * SECOND),
    ] {
        let peer = Peer::saying([refusal]);
        let client = known_as("expects = \"json\"\n\n[[ask]]\njson = \"$.extras.wait_seconds\"\n");
        turned(client.get(&peer.url("/")).fail_fast().send().await);
        let hold = client.governor().held()[0].hold;
        assert_eq!(hold.cause, Verdict::RateLimited);
        let long = hold.until.since(hold.since);
        assert!(
            long > waits - SECOND / 2 && long < waits + SECOND / 2,
            "{long:?}"
        );
        turned(client.get(&peer.url("/other")).fail_fast().send().await);
        assert_eq!(peer.requests(), 1);
    }
}

fn query(client: &Client, peer: &Peer) -> abide::RequestBuilder {
    let call = client.post(&peer.url("/graphql"));
    call.body(r#"{"query":"{ viewer { id } }"}"#)
}

/// The status comes before the body, and what the body said is there to be read.
#[tokio::test]
async fn report_46_a_page_on_a_graphql_path_is_judged_by_its_status() {
    let client = known_as("extends = \"github\"\n");
    let busy = page(429, "<html>Too many requests</html>").header("Retry-After", "0.2");
    let peer = Peer::saying([busy, reply(200).json(r#"{"data":{}}"#)]);
    let answer = query(&client, &peer).send().await.unwrap();
    assert_eq!(answer.attempts(), 2);
    drop(answer);

    let client = known_as("extends = \"github\"\n");
    let wall = page(403, "<html>Error 1020: access denied</html>").header("Server", "cloudflare");
    let peer = Peer::saying([wall, reply(200).json(r#"{"data":{}}"#)]);
    let t = turned(query(&client, &peer).send().await);
    assert_eq!(t.refusal.cause, Some(Verdict::Banned));
    let last = t.last.unwrap();
    assert_eq!(last.status, 403);
    let words = String::from_utf8_lossy(&last.sample).into_owned();
    assert!(words.contains("access denied"), "{words}");
    assert_eq!(peer.requests(), 1);
}

/// Errors in a 200 are handed to their caller, and prove nobody well.
#[tokio::test]
async fn report_47_errors_in_a_200_are_told_and_heal_nothing() {
    let errors = r#"{"data":null,"errors":[{"message":"no such field"}]}"#;
    let peer = Peer::start(move |seen| match seen.n {
        0 => reply(503),
        1 => reply(200).json(errors),
        _ => reply(200).json(r#"{"data":{"viewer":{}}}"#),
    });
    let client = known_as("extends = \"github\"\n");
    turned(query(&client, &peer).attempts(1).send().await);
    let answer = query(&client, &peer).attempts(1).send().await.unwrap();
    assert_eq!(answer.attempts(), 1);
    assert_eq!(answer.text().await.unwrap(), errors);
    assert!(!client.provider("peer").state().healthy);
    let answer = query(&client, &peer).attempts(1).send().await.unwrap();
    answer.text().await.unwrap();
    assert!(client.provider("peer").state().healthy);
}

/// What a profile finds in a 200 is what its item ends as: absence, a mistake, a credential that
/// nobody takes, and no such thing as done.
#[tokio::test]
async fn report_39_what_hides_in_a_200_is_what_its_item_ends_as() {
    let error = |code: u32| format!(r#"{{"error":{{"type":"x","code":{code}}}}}"#);
    let peer = Peer::start(move |seen| match seen.path.as_str() {
        "/album/absent" => reply(200).json(error(800)),
        "/album/wrong" => reply(200).json(error(500)),
        "/user/me" => reply(200).json(error(300)),
        _ => reply(200).json(r#"{"id":1}"#),
    });
    let client = known_as("extends = \"deezer\"\n");
    let paths = ["/album/absent", "/album/wrong", "/user/me", "/album/1"];
    let ran = run(&client, BulkPolicy::default(), &paths.map(|p| peer.url(p))).await;
    let told = ran.reports.iter().map(|r| (r.outcome, r.cause.unwrap()));
    assert_eq!(
        told.collect::<Vec<_>>(),
        [
            (Outcome::NotFound, Verdict::NotFound),
            (Outcome::Failed, Verdict::ClientError),
            (Outcome::Failed, Verdict::AuthError),
            (Outcome::Done, Verdict::Success),
        ]
    );
    let reason = |n: usize| ran.reports[n].reason.as_deref();
    assert_eq!(reason(1), Some("200 OK: its content says client_error"));
    let refused = "200 OK: the credential or permission was refused";
    assert_eq!((reason(0), reason(2)), (None, Some(refused)));
    assert_eq!(peer.requests(), 4);
    // What it said is there to be read.
    assert_eq!(ran.reports[0].body.as_deref(), Some(error(800).as_bytes()));
}

/// Errors alone fail their item, also behind the sample; data with errors is data.
#[tokio::test]
async fn report_47_an_item_of_errors_alone_is_not_done_and_one_with_data_is() {
    let large = "x".repeat(300_000);
    let wide = format!(r#"{{"extensions":"{large}","errors":[{{"message":"no such field"}}]}}"#);
    let peer = Peer::start(move |seen| match seen.path.as_str() {
        "/graphql/alone" => reply(200).json(r#"{"errors":[{"message":"no such field"}]}"#),
        "/graphql/null" => reply(200).json(r#"{"data":null,"errors":[{"message":"gone"}]}"#),
        "/graphql/wide" => reply(200).json(wide.clone()),
        _ => reply(200).json(r#"{"data":{"a":1},"errors":[{"message":"b is gone"}]}"#),
    });
    let client = known_as("extends = \"linear\"\n");
    let paths = [
        "/graphql/alone",
        "/graphql/null",
        "/graphql/wide",
        "/graphql/some",
    ];
    let ran = run(&client, BulkPolicy::default(), &paths.map(|p| peer.url(p))).await;
    let outcomes: Vec<_> = ran.reports.iter().map(|r| r.outcome).collect();
    let mut expected = [Outcome::Failed; 4];
    expected[3] = Outcome::Done;
    assert_eq!(outcomes, expected);
    assert!(client.governor().held().is_empty());
    // A status that was listed for what it is stays done.
    let peer = Peer::saying([reply(404)]);
    let mut policy = BulkPolicy::default();
    policy.done.push((404, 404));
    let ran = run(&client, policy, &[peer.url("/")]).await;
    assert_eq!(ran.count(Outcome::Done), 1);
}

/// A page that says that the house is closed is no empty list, and no item is done by it.
#[tokio::test]
async fn report_50_a_page_in_place_of_data_is_no_success() {
    let closed = page(200, "<html><h1>Down for maintenance</h1></html>");
    let peer = Peer::saying([closed]);
    let client = known_as("expects = \"json\"\n");
    let t = turned(client.get(&peer.url("/")).attempts(1).send().await);
    assert_eq!(t.refusal.cause, Some(Verdict::Unavailable));
    assert_eq!(t.last.unwrap().status, 200);
    let mut policy = BulkPolicy::default();
    (policy.call.attempts, policy.call.backoff.base) = (1, ms(1));
    let urls = [peer.url("/1"), peer.url("/2")];
    let ran = run(&client, policy, &urls).await;
    assert_eq!(ran.count(Outcome::Done), 0);
    for row in &ran.reports {
        assert_eq!(row.cause, Some(Verdict::Unavailable));
        assert!(row.reason.is_some());
    }
}

#[tokio::test]
async fn report_51_one_providers_hold_leaves_a_search_to_the_others() {
    let busy = Peer::saying([reply(429).header("Retry-After", "3600")]);
    let (one, two) = (Peer::saying([reply(200)]), Peer::saying([reply(200)]));
    let client = client();
    let search = |peer: &Peer| client.get(&peer.url("/search")).send();
    turned(search(&busy).await);
    let began = now();
    let (held, one, two) = tokio::join!(search(&busy), search(&one), search(&two));
    let held = turned(held).refusal;
    assert_eq!((held.attempts, held.cause), (0, Some(Verdict::RateLimited)));
    assert_eq!((one.unwrap().attempts(), two.unwrap().attempts()), (1, 1));
    assert!(now().since(began) < SECOND);
    assert_eq!(busy.requests(), 1);
}

/// What may be tried again is one list for every layer, and a write is on none.
#[tokio::test]
async fn report_53_a_500_repeats_reads_where_that_was_wished_and_a_write_never() {
    let mut classify = ClassifyPolicy::default();
    let statuses = &mut classify.retry_on.statuses;
    statuses.push(StatusCode::INTERNAL_SERVER_ERROR);
    let mut call = hasty_call();
    call.write = WriteRepeat::RefusedOnly;
    let governor = Governor::builder().seed(7).classify(classify);
    let client = Client::builder().governor(governor.build().unwrap());
    let client = client.call(call).build().unwrap();
    let peer = Peer::saying([reply(500)]);
    turned(client.get(&peer.url("/")).send().await);
    assert_eq!(peer.requests(), 4);
    for client in [client, hasty()] {
        let peer = Peer::saying([reply(500), reply(200)]);
        let t = turned(client.post(&peer.url("/")).body("b").send().await);
        assert_eq!((t.refusal.attempts, peer.requests()), (1, 1));
    }
}

/// Reads the head of each request and hangs up while its body is still coming; counts the heads.
fn hangs_up() -> (String, Arc<AtomicUsize>) {
    let listener = TcpListener::bind("127.0.0.1:0").unwrap();
    let url = format!("http://{}/", listener.local_addr().unwrap());
    let heads = Arc::new(AtomicUsize::new(0));
    let count = Arc::clone(&heads);
    std::thread::spawn(move || {
        for stream in listener.incoming().flatten() {
            let mut wire = BufReader::with_capacity(64, stream);
            let mut line = String::new();
            while wire.read_line(&mut line).is_ok_and(|n| n > 2) {
                line.clear();
            }
            count.fetch_add(1, Ordering::Relaxed);
        }
    });
    (url, heads)
}

/// Whoever had the head may have done the deed: only a key makes a second one harmless.
#[tokio::test]
async fn report_54_a_connection_that_breaks_after_the_head_repeats_no_write() {
    let body = vec![b'x'; 60_000];
    let (url, heads) = hangs_up();
    let t = turned(hasty().post(&url).body(body.clone()).send().await);
    assert_eq!(t.refusal.cause, Some(Verdict::Unavailable));
    assert_eq!((t.refusal.attempts, heads.load(Ordering::Relaxed)), (1, 1));
    let (url, heads) = hangs_up();
    let call = hasty().post(&url).body(body).idempotent("k-1");
    turned(call.send().await);
    assert_eq!(heads.load(Ordering::Relaxed), 4);
}

/// However the answer is lost once the request was taken, a write that costs money goes once.
#[tokio::test]
async fn report_55_a_write_that_was_taken_is_never_sent_again() {
    for lost in [
        Reply::Close,
        Reply::Silence,
        reply(200).sized(1_000).cut_after(10),
    ] {
        let peer = Peer::saying([lost.clone(), reply(200)]);
        let call = hasty().post(&peer.url("/completions")).body("prompt");
        let ended = call.attempt_timeout(ms(500)).send().await;
        if let Ok(answer) = ended {
            answer.text().await.unwrap_err();
        }
        assert_eq!(peer.requests(), 1, "{lost:?}");
    }
}

/// A limit is tried again when its own header says so, also where that counts milliseconds.
#[tokio::test]
async fn report_56_a_limit_is_tried_again_when_its_header_says_and_not_at_once() {
    // Whoever did not read it would wait for too long.
    let mut gates = ProviderPolicy::default();
    gates.account.ladder = Ladder::Steps(vec![HOUR]);
    let governor = Governor::builder().seed(7).policy(gates);
    let client = Client::builder().governor(governor.build().unwrap());
    let client = client.build().unwrap();
    for (name, value, least) in [
        ("Retry-After", "0.2", ms(200)),
        ("x-ms-retry-after-ms", "250", ms(250)),
        ("retry-after-ms", "300", ms(300)),
    ] {
        let peer = Peer::saying([reply(429).header(name, value), reply(200)]);
        let answer = client.get(&peer.url("/")).send().await.unwrap();
        assert_eq!(answer.attempts(), 2, "{name}");
        let seen = peer.seen();
        let soonest = seen[0].answered.unwrap().after(least);
        assert!(seen[1].at >= soonest, "{name}");
    }
}

/// Each provider has a bucket of its own, and so has each credential where those are counted.
#[tokio::test]
async fn report_63_an_empty_bucket_is_its_owners_alone() {
    let two = || -> Vec<Window> { vec![Sliding::new(2, HOUR).into()] };
    let mut gates = ProviderPolicy::default();
    gates.provider.windows = two();
    let client = hasty_with(gates);
    let (a, b) = (Peer::saying([reply(200)]), Peer::saying([reply(200)]));
    for peer in [&a, &b] {
        for _ in 0..2 {
            client.get(&peer.url("/")).send().await.unwrap();
        }
        let t = turned(client.get(&peer.url("/")).send().await);
        assert_eq!((t.refusal.attempts, peer.requests()), (0, 2));
    }
    let mut gates = ProviderPolicy::default();
    gates.account.windows = two();
    let client = hasty_with(gates);
    let peer = Peer::saying([reply(200)]);
    for token in ["one", "two"] {
        let ask = || client.get(&peer.url("/")).bearer_auth(token).send();
        for _ in 0..2 {
            ask().await.unwrap();
        }
        turned(ask().await);
    }
    assert_eq!(peer.requests(), 4);
}

/// Patience is for waiting: it ends no exchange, and a line that is too long is told as ours.
#[tokio::test]
async fn report_65_a_line_that_is_too_long_is_no_failure_of_its_provider() {
    let peer = Peer::saying([reply(200).after(ms(700))]);
    let mut gates = ProviderPolicy::default();
    gates.provider.concurrency = 1;
    let client = hasty_with(gates);
    let slow = client.get(&peer.url("/slow")).up_to(ms(100)).send();
    let slow = tokio::spawn(slow);
    until(|| peer.requests() == 1).await;
    for _ in 0..6 {
        let call = client.get(&peer.url("/quick")).up_to(ms(10));
        let refusal = turned(call.send().await).refusal;
        assert_eq!(refusal.kind, RefusalKind::QueueTooLong);
        assert_eq!((refusal.attempts, refusal.cause), (0, None));
    }
    let answer = slow.await.unwrap().unwrap();
    assert_eq!((answer.status().as_u16(), answer.attempts()), (200, 1));
    drop(answer);
    let state = client.provider(&peer.name()).state();
    assert_eq!((state.failures, state.healthy), (0, true));
    assert!(state.available);
}

/// A ban in a 200 ends the asking for a day, for everybody.
#[tokio::test]
async fn report_68_a_ban_in_a_200_is_not_answered_by_more_requests() {
    let banned = reply(200).header("Content-Type", "text/xml");
    let banned = banned.saying(r#"<error code="500">banned</error>"#);
    let peer = Peer::saying([banned]);
    let client = known_as("extends = \"anidb\"\n");
    for (n, id) in (1..6).enumerate() {
        let url = peer.url(&format!("/httpapi?request=anime&aid={id}"));
        let t = turned(client.get(&url).up_to(HOUR).send().await);
        assert_eq!(t.refusal.cause, Some(Verdict::Banned));
        assert_eq!(t.refusal.attempts, u32::from(n == 0));
        let left = t.refusal.retry_in(t.at.now).unwrap();
        assert!(left > 23 * HOUR, "{left:?}");
    }
    assert_eq!(peer.requests(), 1);
}

/// A body that never gets better is asked for as often as a call may be sent, and not for ever.
#[tokio::test]
async fn report_70_a_field_that_stays_empty_bounds_the_repeats() {
    let rule = r#"
[[rule]]
status = [200]
json = { "$.stats" = { null = true } }
verdict = "unavailable"
"#;
    let peer = Peer::saying([reply(200).json(r#"{"stats":null}"#)]);
    let client = known_as(rule);
    let t = turned(client.get(&peer.url("/u/1")).attempts(3).send().await);
    assert_eq!(t.refusal.kind, RefusalKind::AttemptsSpent);
    assert_eq!((t.refusal.attempts, peer.requests()), (3, 3));
}
