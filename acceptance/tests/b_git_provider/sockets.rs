//! Over real sockets: a write that is asked after before it is repeated, and bodies.

use abide::Client;
use abide::core::refusal::RefusalKind;
use abide_acceptance::Program;
use abide_acceptance::wire::{Ledger, Script, asking, bare, cut, good, json};
use abide_sim::http::{Server, ServerOptions};
use abide_sim::{Provider, What};
use http::Method;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};

use crate::common::{RETRY, secs};

struct GitHub {
    server: Server,
    came: Ledger,
    client: Client,
}

/// GitHub, listening here.
fn github(text: &str, script: Script) -> GitHub {
    let came = script.ledger();
    let server = Server::start(Provider::new(script), ServerOptions::default()).unwrap();
    let section = format!("[providers.github]\nhosts = [\"{}\"]", server.address());
    let text = text.replace("[providers.github]", &section);
    let program = Program::new(&text);
    let client = program.setup.client(program.governor.clone()).unwrap();
    GitHub {
        server,
        came,
        client,
    }
}

#[tokio::test]
async fn b02_reads_are_repeated_over_the_wire_and_writes_are_not() {
    let hub = github(RETRY, Script::of([bare(502), bare(503), cut(), good()]));
    let url = format!("{}/repos/o/r", hub.server.url());
    let answer = hub.client.get(&url).bearer_auth("t0k3n").send().await;
    let answer = answer.unwrap();
    assert_eq!((answer.status().as_u16(), answer.attempts()), (200, 4));
    assert_eq!(answer.provider(), Some("github"));
    for failure in [bare(429), bare(500), bare(502), bare(503), cut()] {
        let hub = github(RETRY, Script::of([failure, good()]));
        let url = format!("{}/repos/o/r/pulls", hub.server.url());
        let error = hub.client.post(&url).body("{}").send().await.unwrap_err();
        let refusal = &error.turned().unwrap().refusal;
        assert_eq!(
            (refusal.kind, refusal.attempts),
            (RefusalKind::AttemptsSpent, 1)
        );
        assert_eq!(hub.came.count(), 1);
    }
    // A mutation is one by its text, where everything is a POST.
    for (query, requests) in [
        (r#"{"query":"query { viewer { login } }"}"#, 2),
        (
            r#"{"query":"mutation { mergePullRequest(input: {}) { id } }"}"#,
            1,
        ),
    ] {
        let hub = github(RETRY, Script::of([bare(503), good()]));
        let url = format!("{}/graphql", hub.server.url());
        let post = hub
            .client
            .post(&url)
            .header("content-type", "application/json");
        drop(post.body(query).send().await);
        assert_eq!(hub.came.count(), requests, "{query}");
    }
}

/// A branch that may be there already: asked after, and made only if it is not.
#[tokio::test]
async fn b08_a_write_can_be_repeated_once_it_was_asked_whether_it_happened() {
    for (happened, writes) in [(true, 1), (false, 2)] {
        let made = Arc::new(AtomicBool::new(false));
        let there = Arc::clone(&made);
        let script = Script::new(move |n, _, seen| match (seen.method == Method::GET, n) {
            (true, _) if there.load(Ordering::Relaxed) => json(200, r#"{"ref":"refs/heads/x"}"#),
            (true, _) => json(404, "{}"),
            (false, 0) => {
                there.store(happened, Ordering::Relaxed);
                let mut lost = bare(502);
                lost.acted = happened;
                lost
            }
            (false, _) => {
                there.store(true, Ordering::Relaxed);
                json(201, r#"{"ref":"refs/heads/x"}"#)
            }
        });
        let hub = github(RETRY, script);
        let check = format!("{}/repos/o/r/git/ref/heads/x", hub.server.url());
        let client = hub.client.clone();
        let create = hub
            .client
            .post(&format!("{}/repos/o/r/git/refs", hub.server.url()))
            .body(r#"{"ref":"refs/heads/x"}"#)
            .check_then_write(move || {
                let (client, check) = (client.clone(), check.clone());
                async move {
                    let answer = client.get(&check).send().await?;
                    Ok((answer.status() == 200).then_some(answer))
                }
            });
        let answer = create.send().await.unwrap();
        let branch: serde_json::Value = answer.json().await.unwrap();
        assert_eq!(branch["ref"], "refs/heads/x");
        let posts = hub.came.all();
        let posts = posts.iter().filter(|s| s.method == Method::POST).count();
        assert_eq!(posts, writes, "happened: {happened}");
        assert!(made.load(Ordering::Relaxed));
    }
}

/// Kept to be sent again up to a size, and the same bytes each time.
#[tokio::test]
async fn b3_a_body_is_kept_to_be_sent_again_up_to_its_bound() {
    let wished = RETRY.replace(
        "retry.write = \"never\"",
        "retry.write = \"refused-only\"\nbody.replay = \"64KiB\"",
    );
    for (size, requests) in [(60_000, 2), (70_000, 1)] {
        let hub = github(&wished, Script::of([asking(429, 1), good()]));
        let body = "x".repeat(size);
        let url = format!("{}/repos/o/r/pulls", hub.server.url());
        let post = hub.client.post(&url).body(body.clone()).send().await;
        let seen = hub.came.all();
        assert_eq!(seen.len(), requests, "{size}");
        assert!(seen.iter().all(|s| s.body == body));
        match post {
            Ok(answer) => assert_eq!(answer.attempts(), 2),
            Err(error) => {
                let kind = error.turned().unwrap().refusal.kind;
                assert_eq!((kind, requests), (RefusalKind::BodyNotKept, 1));
            }
        }
    }
}

/// A server that says nothing costs one timeout an attempt, and the deadline bounds them all.
#[tokio::test]
async fn b10_a_silent_server_costs_no_more_than_the_deadline() {
    let silent = Script::new(|_, _, _| abide_sim::Reply::failed(What::Silence));
    let hub = github(RETRY, silent);
    let url = format!("{}/repos/o/r", hub.server.url());
    let call = hub.client.get(&url).deadline(secs(1)).send();
    let error = call.await.unwrap_err();
    let refusal = &error.turned().unwrap().refusal;
    assert_eq!(refusal.kind, RefusalKind::DeadlinePassed);
    assert_eq!(hub.came.count(), 1);
}
