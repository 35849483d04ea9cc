//! A book importer: what a person who looks at a page and an import of a thousand rows see of the
//! same six providers.
//!
//! `cargo run -p abide-acceptance --example a_book_import`. The providers are simulated and time
//! is virtual, so the minutes that are waited for here are over at once.

use std::time::Duration;

use abide::layer::Options;
use abide_acceptance::Program;
use abide_acceptance::wire::{Came, Http, Missed, Script, asking, bare, good, json};
use http::Method;
use tokio::task::JoinSet;

/// What the program's owner writes.
const ABIDE_TOML: &str = r#"
[defaults]
attempts = 4
retry.on = ["rate_limited", "502", "503", "504", "connect", "send", "head"]
hold.on = ["502", "503", "504"]
hold.max = "30s"
wait.max = "30s"
patience = "2m"
ladder.base = "500ms"
ladder.max = "8s"

[providers.google-books]
hold.max = "31d"

[providers.hardcover]
attempts = 3
pace.adaptive = "interval"
"#;

#[tokio::main(flavor = "current_thread")]
async fn main() {
    tokio::time::pause();
    let program = Program::new(ABIDE_TOML);

    // Open Library refuses the fourth request, for twelve seconds.
    let script = Script::new(|n, _, _| if n == 3 { asking(429, 12) } else { good() });
    let (openlibrary, library) = program.provider(script);
    let quota = r#"{"error":{"code":403,"errors":[{"reason":"dailyLimitExceeded"}]}}"#;
    let (google, _) = program.provider(Script::of([json(403, quota)]));
    let limited = r#"{"errors":[{"message":"Rate limit exceeded. Try again in 2 seconds.","extensions":{"code":"rate-limit"}}]}"#;
    let (hardcover, _) = program.provider(Script::of([
        json(200, limited),
        json(200, r#"{"data":{}}"#),
    ]));
    let (library_of_norway, _) = program.provider(Script::of([bare(503), bare(503), good()]));
    let http = program.http(&[
        ("openlibrary.org", &openlibrary),
        ("www.googleapis.com", &google),
        ("api.hardcover.app", &hardcover),
        ("api.nb.no", &library_of_norway),
    ]);

    println!("An import asks Open Library for eight books at once:");
    let mut rows = JoinSet::new();
    for isbn in 1..=8 {
        let http = http.clone();
        rows.spawn(async move {
            let url = format!("https://openlibrary.org/isbn/{isbn}.json");
            (isbn, http.get(&url).await)
        });
    }
    tokio::time::sleep(Duration::from_secs(3)).await;

    println!("… meanwhile a person opens a page, and will not wait:");
    let page = http.send(
        Method::GET,
        "https://openlibrary.org/search.json?q=dune",
        "",
        |o: &mut Options| o.patience = Some(Duration::ZERO),
    );
    tell(&program, "page", &page.await);
    while let Some(Ok((isbn, came))) = rows.join_next().await {
        tell(&program, &format!("row {isbn}"), &came);
    }
    println!(
        "   {} requests in all, none of them inside the twelve seconds: {}",
        library.count(),
        openlibrary.truth().sent_inside_hold == 0
    );

    println!("Google Books says that the day is used up, which no wait of seconds heals:");
    let url = "https://www.googleapis.com/books/v1/volumes?q=isbn:1&key=s3cr3t";
    tell(&program, "once", &http.get(url).await);
    tell(&program, "again", &http.get(url).await);

    println!("Hardcover refuses within a 200, and then keeps a pace:");
    for n in 1..=3 {
        tell(
            &program,
            &format!("query {n}"),
            &hardcover_asks(&http).await,
        );
    }
    let pace = program.governor.provider("hardcover").state().interval;
    println!("   its pace is now one in {:?}", pace.unwrap_or_default());

    println!("The library of Norway is down for a moment:");
    let url = "https://api.nb.no/catalog/v1/items?q=isbn:1";
    tell(&program, "once", &http.get(url).await);
}

async fn hardcover_asks(http: &Http) -> Result<Came, Missed> {
    http.query("https://api.hardcover.app/v1/graphql").await
}

fn tell(program: &Program, what: &str, came: &Result<Came, Missed>) {
    let at = program.clock.elapsed().as_secs_f64();
    match came {
        Ok(came) => match &came.turned {
            Some(turned) => println!("   {at:6.2} s  {what}: {turned}"),
            None => println!("   {at:6.2} s  {what}: {}", came.status),
        },
        Err(missed) => println!("   {at:6.2} s  {what}: {missed}"),
    }
}
