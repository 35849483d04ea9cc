//! A program that talks to Git providers: reads are repeated, writes are not, and a write whose
//! end nobody knows is asked after before it is sent again.
//!
//! `cargo run -p abide-acceptance --example b_git_provider`. The providers are simulated and time
//! is virtual.

use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};

use abide_acceptance::Program;
use abide_acceptance::wire::{Came, Missed, Script, bare, cut, good, json, with};
use http::Method;

/// What the program's owner writes.
const ABIDE_TOML: &str = r#"
[defaults]
attempts = 4
backoff.base = "250ms"
backoff.max = "4s"
patience = "10m"
retry.write = "never"

[providers.github]
retry.on = ["rate_limited", "500", "502", "503", "504", "head"]

# Its client repeats 429 and 502 by itself.
[providers.gitlab]
retry.on = ["500", "503", "504", "head"]
"#;

#[tokio::main(flavor = "current_thread")]
async fn main() {
    tokio::time::pause();
    let program = Program::new(ABIDE_TOML);
    let branch = Arc::new(AtomicBool::new(false));
    let there = Arc::clone(&branch);
    let secondary = with(
        json(
            403,
            r#"{"message":"You have exceeded a secondary rate limit."}"#,
        ),
        "x-ratelimit-remaining",
        "4321",
    );
    let script = Script::new(move |n, _, seen| match (&seen.method, seen.path.as_str()) {
        (&Method::POST, _) => {
            // It happens, and nobody hears of it.
            there.store(true, Ordering::Relaxed);
            cut()
        }
        (_, "/repos/o/r/git/ref/heads/dev") => match there.load(Ordering::Relaxed) {
            true => json(200, r#"{"ref":"refs/heads/dev"}"#),
            false => json(404, "{}"),
        },
        (_, "/orgs/o/secrets") => json(403, r#"{"message":"Must have admin rights."}"#),
        (_, "/repos/o/r/pulls") if n < 8 => secondary.clone(),
        _ if n < 2 => bare(502),
        _ => good(),
    });
    let (github, came) = program.provider(script);
    let (gitlab, lab) = program.provider(Script::of([bare(429)]));
    let http = program.http(&[("api.github.com", &github), ("gitlab.com", &gitlab)]);
    let api = |path: &str| format!("https://api.github.com{path}");

    println!("A read is repeated with growing waits of its own:");
    tell(&program, "repository", &http.get(&api("/repos/o/r")).await);
    println!("   {} requests", came.count());

    println!("A missing right is no limit, and is asked for once:");
    tell(
        &program,
        "secrets",
        &http.get(&api("/orgs/o/secrets")).await,
    );

    println!("A branch is to be made. Its answer is lost, and it is not sent again:");
    let refs = api("/repos/o/r/git/refs");
    let create = http.send(Method::POST, &refs, "{}", |_| {});
    tell(&program, "create", &create.await);
    println!("… the next run looks before it writes:");
    let check = http.get(&api("/repos/o/r/git/ref/heads/dev")).await;
    tell(&program, "branch", &check);

    println!("A secondary limit that names no time is waited out from a minute on:");
    tell(&program, "pulls", &http.get(&api("/repos/o/r/pulls")).await);

    println!("GitLab's own client repeats a 429, so it is handed on at once, and yet heard:");
    let project = "https://gitlab.com/api/v4/projects/1";
    tell(&program, "project", &http.get(project).await);
    println!("   {} request", lab.count());
    for held in program.governor.held() {
        let left = held.hold.until.since(program.governor.clock().now());
        println!("   {} is held for {left:?} more", held.provider);
    }
}

fn tell(program: &Program, what: &str, came: &Result<Came, Missed>) {
    let at = program.clock.elapsed().as_secs_f64();
    match came {
        Ok(came) => match &came.turned {
            Some(turned) => println!("   {at:6.2} s  {what}: {turned}"),
            None => println!("   {at:6.2} s  {what}: {}", came.status),
        },
        Err(missed) => match std::error::Error::source(missed) {
            Some(below) => println!("   {at:6.2} s  {what}: {missed}: {below}"),
            None => println!("   {at:6.2} s  {what}: {missed}"),
        },
    }
}
