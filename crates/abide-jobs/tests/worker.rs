//! Workers and gates: requests over real sockets, by a clock that a test sets.
#![allow(clippy::unwrap_used, reason = "test code")]

mod common;

use std::sync::Arc;
use std::time::Duration;

use abide::clock::{Clock, System};
use abide::core::control::Adaptive;
use abide::core::defer::DeferPolicy;
use abide::core::policy::ProviderPolicy;
use abide::{Client, Governor};
use abide_jobs::{Context, JobSpec, Keeping, Outcome, Queue, State, Worker, WorkerBuilder};
use common::peer::{Peer, answer, ok, refusing};
use common::{Set, secs};

/// A queue in memory, a client, and what it asks.
struct World {
    clock: Arc<Set>,
    governor: Governor,
    client: Client,
    queue: Queue,
}

impl World {
    fn new() -> Self {
        let clock = Set::new();
        // Nothing is learned of a script that refuses and serves as it likes.
        let mut policy = ProviderPolicy::default();
        policy.provider.adaptive = Adaptive::Off;
        policy.account.adaptive = Adaptive::Off;
        let governor = Governor::builder()
            .clock(clock.clone())
            .seed(1)
            .outage(None)
            .policy(policy);
        let governor = governor.build().unwrap();
        let client = Client::builder()
            .governor(governor.clone())
            .build()
            .unwrap();
        let queue = Queue::builder()
            .governor(governor.clone())
            .seal(common::seal());
        Self {
            clock,
            governor,
            client,
            queue: queue.in_memory().unwrap(),
        }
    }

    /// Nothing is waited for at a gate: the clock stands still.
    fn worker(&self) -> WorkerBuilder {
        Worker::builder(self.queue.clone())
            .client(self.client.clone())
            .wait(Duration::ZERO)
            .concurrency(1)
            .seed(1)
    }

    /// Works until nothing is left, a second at a time; how long that took.
    async fn works_off(&self, worker: &Worker) -> u64 {
        for waited in 0..10_000 {
            worker.round().await.unwrap();
            let left = self.queue.counts().await.unwrap();
            if left.iter().all(|c| c.state.is_over()) {
                return waited;
            }
            self.clock.pass(secs(1));
        }
        panic!("{:?}", self.queue.counts().await.unwrap());
    }
}

#[tokio::test]
async fn an_answer_is_kept_with_its_head_and_without_its_cookies() {
    let (world, peer) = (World::new(), Peer::saying([ok()]));
    let spec = JobSpec::get(peer.url("/x?token=s3cr3t")).header("x-api-key", "s3cr3t");
    let id = world.queue.submit(spec).await.unwrap();
    world.worker().build().round().await.unwrap();
    let job = world.queue.get(id).await.unwrap();
    assert_eq!(job.state, State::Done, "{job:?}");
    assert!(!format!("{job:?}").contains("s3cr3t"));
    let result = world.queue.result(id).await.unwrap().unwrap();
    assert_eq!(
        (result.status, result.body.as_slice()),
        (Some(200), &b"hello"[..])
    );
    assert!(result.headers.iter().any(|(n, _)| n == "content-type"));
    assert!(!result.headers.iter().any(|(n, _)| n == "set-cookie"));
    let came = &peer.came()[0];
    assert!(came.line.starts_with("GET /x?token=s3cr3t") && came.head.contains("x-api-key"));
}

#[tokio::test]
async fn not_found_is_an_answer_and_a_bad_request_fails_for_good() {
    let world = World::new();
    for (status, state) in [
        ("404 Not Found", State::Done),
        ("400 Bad Request", State::Failed),
        ("401 Unauthorized", State::Failed),
    ] {
        let peer = Peer::saying([answer(status, "", "why")]);
        let id = world
            .queue
            .submit(JobSpec::get(peer.url("/")))
            .await
            .unwrap();
        world.worker().build().round().await.unwrap();
        assert_eq!(world.queue.get(id).await.unwrap().state, state, "{status}");
        let result = world.queue.result(id).await.unwrap().unwrap();
        assert_eq!(result.body, b"why");
        assert_eq!(peer.count(), 1);
    }
}

/// A row of a queue that fetched, locked and put back twenty thousand jobs one by one.
#[tokio::test]
async fn j08_jobs_of_a_held_provider_are_not_fetched() {
    let (world, peer) = (World::new(), Peer::saying([refusing(600)]));
    let specs = (0..200).map(|n| JobSpec::get(peer.url(&format!("/{n}"))));
    let all = world.queue.submit_all(specs).await.unwrap();
    let other = Peer::saying([ok()]);
    let free = world
        .queue
        .submit(JobSpec::get(other.url("/")))
        .await
        .unwrap();
    let worker = world.worker().build();
    let round = worker.round().await.unwrap();
    // One was sent, and one of the provider that is open; the others were not even looked at.
    assert_eq!((round.worked, peer.count()), (2, 1));
    assert_eq!(world.queue.get(free).await.unwrap().state, State::Done);
    let mut touched = 0;
    for job in &all {
        let job = world.queue.get(job.id).await.unwrap();
        touched += usize::from(job.started.is_some());
    }
    assert_eq!(touched, 1);
    let first = world.queue.get(all[0].id).await.unwrap();
    assert_eq!(
        (first.state, first.in_a_row, first.attempts),
        (State::Deferred, 1, 0)
    );
    assert!(first.hold.is_some(), "{first:?}");
    assert!(first.reason.unwrap().contains("rate limited"));
    // The worker sleeps until the hold ends.
    let ends = world.clock_at(600);
    assert!(round.next.unwrap() >= ends && round.next.unwrap() < ends.after(secs(2)));
    // A new one never asks earlier than that, and a restart of the worker changes nothing.
    world.clock.pass(secs(599));
    let late = world
        .queue
        .submit(JobSpec::get(peer.url("/new")))
        .await
        .unwrap();
    assert_eq!(world.worker().build().round().await.unwrap().worked, 0);
    assert_eq!(world.queue.get(late).await.unwrap().state, State::Queued);
    assert_eq!(peer.count(), 1);
    peer.say([ok()]);
    world.clock.pass(secs(2));
    world.works_off(&worker).await;
    assert_eq!(peer.count(), 1 + 200 + 1, "each was sent once more");
}

impl World {
    fn clock_at(&self, secs: i64) -> abide::core::WallTime {
        common::at(secs)
    }
}

#[tokio::test]
async fn d13a_no_sooner_than_asked_holds_for_the_source_and_d13b_for_run_now() {
    let (world, peer) = (World::new(), Peer::saying([refusing(600), ok()]));
    let id = world
        .queue
        .submit(JobSpec::get(peer.url("/")))
        .await
        .unwrap();
    let worker = world.worker().build();
    worker.round().await.unwrap();
    // Run now cancels the deferral; the gate holds.
    world.queue.run_now(id).await.unwrap();
    assert_eq!(worker.round().await.unwrap().worked, 0);
    assert_eq!(world.queue.get(id).await.unwrap().state, State::Queued);
    // Unless it is lifted too.
    assert_eq!(world.governor.lift_all(&peer.name()).len(), 1);
    assert_eq!(worker.round().await.unwrap().worked, 1);
    assert_eq!(world.queue.get(id).await.unwrap().state, State::Done);
}

#[tokio::test]
async fn an_account_that_is_held_holds_nobody_else() {
    let (world, peer) = (World::new(), Peer::saying([refusing(600), ok()]));
    let of = |who: &str| JobSpec::get(peer.url("/")).header("authorization", who);
    let first = world.queue.submit(of("Bearer a")).await.unwrap();
    let worker = world.worker().build();
    worker.round().await.unwrap();
    let same = world.queue.submit(of("Bearer a")).await.unwrap();
    let other = world.queue.submit(of("Bearer b")).await.unwrap();
    assert_eq!(worker.round().await.unwrap().worked, 1);
    for (id, state) in [
        (first, State::Deferred),
        (same, State::Queued),
        (other, State::Done),
    ] {
        assert_eq!(world.queue.get(id).await.unwrap().state, state);
    }
}

/// A small wait is waited out in the call; a longer one goes back to the queue, and no place is kept.
#[tokio::test]
async fn d15_d17_a_wait_is_given_back_to_the_queue() {
    let (world, peer) = (World::new(), Peer::saying([refusing(3600)]));
    for n in 0..8 {
        let url = peer.url(&format!("/{n}"));
        world.queue.submit(JobSpec::get(url)).await.unwrap();
    }
    let worker = world.worker().concurrency(8).build();
    let round = worker.round().await.unwrap();
    // All were taken together: some were refused, the others turned away unsent and uncounted.
    assert!(round.worked <= 8 && peer.count() <= 8);
    let mut filter = abide_jobs::Filter::default();
    filter.state = Some(State::Deferred);
    let put_off = world.queue.list(filter).await.unwrap();
    let counted = put_off.iter().filter(|j| j.in_a_row == 1).count();
    assert_eq!(counted, peer.count());
    assert!(put_off.iter().all(|j| j.attempts == 0));
}

#[tokio::test]
async fn inv06_a_write_is_sent_once() {
    let world = World::new();
    let worker = world.worker().build();
    // Refused: not sent again, unless its submitter says that a refusal did nothing.
    let peer = Peer::saying([refusing(60), ok()]);
    let once = JobSpec::http(http::Method::POST, peer.url("/")).body("x");
    let id = world.queue.submit(once.clone()).await.unwrap();
    worker.round().await.unwrap();
    let job = world.queue.get(id).await.unwrap();
    assert_eq!((job.state, peer.count()), (State::Failed, 1));
    assert!(job.reason.unwrap().contains("repeat_refused"));
    let peer = Peer::saying([refusing(60), ok()]);
    let again = JobSpec::http(http::Method::POST, peer.url("/"))
        .body("x")
        .repeat_refused();
    let id = world.queue.submit(again).await.unwrap();
    worker.round().await.unwrap();
    assert_eq!(world.queue.get(id).await.unwrap().state, State::Deferred);
    world.clock.pass(secs(61));
    worker.round().await.unwrap();
    assert_eq!(world.queue.get(id).await.unwrap().state, State::Done);
    assert_eq!(peer.came()[1].body, "x");
    // Broken off: nobody knows.
    let peer = Peer::saying([String::new()]);
    let lost = JobSpec::http(http::Method::POST, peer.url("/"));
    let id = world.queue.submit(lost).await.unwrap();
    worker.round().await.unwrap();
    let job = world.queue.get(id).await.unwrap();
    assert_eq!((job.state, peer.count()), (State::Failed, 1));
    assert!(job.reason.unwrap().starts_with("effect unknown"));
    // With a key the provider knows a repeat by, it is sent again.
    let peer = Peer::saying([String::new()]);
    let keyed = JobSpec::http(http::Method::POST, peer.url("/")).idempotent("k1");
    let id = world.queue.submit(keyed).await.unwrap();
    worker.round().await.unwrap();
    assert_eq!(world.queue.get(id).await.unwrap().state, State::Queued);
    assert!(
        peer.came()[0]
            .head
            .to_lowercase()
            .contains("idempotency-key: k1")
    );
}

#[tokio::test]
async fn a_refusal_inside_a_handler_puts_its_job_off() {
    let (world, peer) = (World::new(), Peer::saying([refusing(600), ok()]));
    let url = peer.url("/");
    let worker = world
        .worker()
        .handler("fetch", |ctx: Context, url: String| async move {
            let client = ctx.client().cloned().unwrap();
            let answer = client.get(&url).fail_fast().send().await?;
            Ok::<_, abide::Error>(Outcome::done(answer.status().as_u16()))
        })
        .build();
    let spec = JobSpec::handler("fetch", &url).provider(peer.name());
    let id = world.queue.submit(spec.clone()).await.unwrap();
    worker.round().await.unwrap();
    let job = world.queue.get(id).await.unwrap();
    assert_eq!(
        (job.state, job.attempts, job.in_a_row),
        (State::Deferred, 0, 1)
    );
    // The next of that provider is not begun.
    world.queue.submit(spec).await.unwrap();
    assert_eq!(worker.round().await.unwrap().worked, 0);
    world.clock.pass(secs(601));
    world.works_off(&worker).await;
    assert_eq!(world.queue.result(id).await.unwrap().unwrap().body, b"200");
}

#[tokio::test]
async fn a_named_credential_is_looked_up_when_it_is_needed() {
    let (world, peer) = (World::new(), Peer::saying([ok()]));
    let spec = JobSpec::get(peer.url("/")).credential("shop");
    let id = world.queue.submit(spec.clone()).await.unwrap();
    let worker = world
        .worker()
        .credentials(Arc::new(|name: &str| match name {
            "shop" => Ok((
                http::header::AUTHORIZATION,
                "Bearer s3cr3t".parse().unwrap(),
            )),
            other => Err(format!("there is no credential {other:?}")),
        }));
    let worker = worker.build();
    worker.round().await.unwrap();
    assert_eq!(world.queue.get(id).await.unwrap().state, State::Done);
    assert!(peer.came()[0].head.contains("Bearer s3cr3t"));
    let none = JobSpec::get(peer.url("/")).credential("none");
    let id = world.queue.submit(none).await.unwrap();
    worker.round().await.unwrap();
    let job = world.queue.get(id).await.unwrap();
    assert_eq!(
        job.reason.as_deref(),
        Some("there is no credential \"none\"")
    );
}

#[tokio::test]
async fn a_body_above_the_cap_is_cut_off_and_says_so() {
    let clock = Set::new();
    let governor = Governor::builder().clock(clock.clone()).build().unwrap();
    let mut keeping = Keeping::default();
    keeping.cap = 3;
    let queue = Queue::builder().governor(governor.clone()).keeping(keeping);
    let queue = queue.in_memory().unwrap();
    let peer = Peer::saying([ok()]);
    let id = queue.submit(JobSpec::get(peer.url("/"))).await.unwrap();
    let client = Client::builder().governor(governor).build().unwrap();
    let worker = Worker::builder(queue.clone()).client(client).build();
    worker.round().await.unwrap();
    let result = queue.result(id).await.unwrap().unwrap();
    assert_eq!((result.body.as_slice(), result.size), (&b"hel"[..], 5));
}

#[tokio::test]
async fn a_webhook_is_signed_and_tried_again() {
    let (world, peer) = (World::new(), Peer::saying([ok()]));
    let hook = Peer::saying([answer("500 Oops", "", ""), ok()]);
    let secret = "shared".to_owned();
    let spec = JobSpec::get(peer.url("/")).webhook(hook.url("/told"), Some(secret));
    world.queue.submit(spec).await.unwrap();
    let worker = world.worker().build();
    world.works_off(&worker).await;
    let came = hook.came();
    assert!(came.len() >= 2);
    let last = came.last().unwrap();
    let told: serde_json::Value = serde_json::from_str(&last.body).unwrap();
    assert_eq!(told["state"], "done");
    let key = ring::hmac::Key::new(ring::hmac::HMAC_SHA256, b"shared");
    let signed = ring::hmac::sign(&key, last.body.as_bytes());
    let hex: String = signed.as_ref().iter().map(|b| format!("{b:02x}")).collect();
    assert!(last.head.contains(&format!("sha256={hex}")));
    // Each time as the same delivery.
    let delivery = |c: &common::peer::Came| {
        let line = c.head.lines().find(|l| l.starts_with("abide-delivery"));
        line.map(str::to_owned)
    };
    assert_eq!(delivery(&came[0]), delivery(last));
}

/// In real time: the worker runs, the hold ends, the next request goes.
#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn the_end_of_a_hold_starts_its_jobs_at_once_and_a_stop_is_in_good_order() {
    let dir = tempfile::tempdir().unwrap();
    let governor = Governor::builder().build().unwrap();
    let client = Client::builder()
        .governor(governor.clone())
        .build()
        .unwrap();
    let queue = Queue::builder()
        .governor(governor)
        .open(dir.path())
        .unwrap();
    let worker = Worker::builder(queue.clone())
        .client(client)
        .policy(DeferPolicy::default().floor(secs(1)))
        .wait(Duration::ZERO)
        .concurrency(1)
        .build();
    let stop = tokio_util::sync::CancellationToken::new();
    let running = tokio::spawn({
        let stop = stop.clone();
        async move { worker.run(stop).await }
    });
    let peer = Peer::saying([refusing(2), ok()]);
    let ids = queue
        .submit_all((0..3).map(|_| JobSpec::get(peer.url("/"))))
        .await
        .unwrap();
    let began = System.now();
    let done = async {
        for job in &ids {
            while queue.get(job.id).await.unwrap().state != State::Done {
                tokio::time::sleep(Duration::from_millis(10)).await;
            }
        }
    };
    tokio::time::timeout(secs(20), done).await.unwrap();
    let took = System.now().since(began);
    assert!(took >= secs(2) && took < secs(8), "{took:?}");
    stop.cancel();
    tokio::time::timeout(secs(5), running)
        .await
        .unwrap()
        .unwrap()
        .unwrap();
}
