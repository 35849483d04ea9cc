//! `abide fetch`: a durable, resumable bulk run.
//!
//! Read the input, open the run, work its items, write their lines, tell what it came to. What is
//! sent when is decided in the core; here are files, a terminal and signals.

mod args;
mod bad;
mod begun;
mod dry;
mod input;
mod name;
mod open;
mod output;
mod piped;
mod places;
mod policy;
mod progress;
mod shape;
mod source;
mod summary;

use std::sync::Arc;
use std::time::Duration;

use abide::Client;
use abide::core::run::Item;
use abide::run::{Bulk, Outcome, Report, Sink, Totals};
use abide::store::sqlite::ledger::Ledger;
use anyhow::Context;
use tokio_util::sync::CancellationToken;

pub(crate) use args::Args;

use crate::exit::Exit;
use crate::state::State;
use bad::report_bad;
use input::Parsed;
use open::Opened;
use output::{Bodies, Handle, Tally, Writing};
use places::Places;
use summary::{Facts, Summary};

pub(crate) fn run(args: &Args) -> anyhow::Result<Exit> {
    crate::log::begin_if_asked()?;
    let mut args = args.clone();
    args.out = args.out.filter(|out| out.as_os_str() != "-");
    let runtime = tokio::runtime::Builder::new_multi_thread()
        .enable_all()
        .build()
        .context("the async runtime cannot start")?;
    let exit = runtime.block_on(fetch(&args));
    // A writer that waits for a broken disk must not keep the process.
    runtime.shutdown_timeout(Duration::from_secs(1));
    exit
}

async fn fetch(args: &Args) -> anyhow::Result<Exit> {
    let mut setup = policy::Setup::new(args)?;
    if args.dry_run {
        return dry::run(args, &setup);
    }
    let state = State::open(args.state.as_deref(), args.fsync)?;
    let governor = setup.governor(Arc::new(state.store.clone()))?;
    let now = governor.clock().wall();
    let begun;
    let args = if args.resume {
        begun = begun::as_begun(args, &state, now)?;
        setup.bulk.done = policy::statuses(begun.done_status.as_deref())?;
        &begun
    } else {
        args
    };
    let client = setup.client(governor.clone())?;
    let mut bulk = Bulk::new(&client, setup.bulk.clone());

    let mut places = Places::default();
    let mut each = |item: u32, parsed: &Parsed| {
        if let Some(target) =
            bulk.target(&parsed.wanted.method, &parsed.url, &parsed.wanted.headers)
        {
            places.put(item, target, parsed.priority, parsed.wanted.patience);
        }
    };
    let opened = if args.resume {
        open::resume(args, &state, setup.headers.clone(), now, &mut each)?
    } else {
        let read = open::read(args, setup.headers.clone(), state.key(), &mut each)?;
        report_bad(&read.items, args)?;
        open::create(args, &state, read, now)?
    };
    let mut pending = vec![false; opened.items.index.len() as usize];
    for item in &opened.pending {
        pending[*item as usize] = true;
    }
    for item in opened
        .unknown
        .iter()
        .chain(opened.lost.iter().map(|(item, _)| item))
    {
        pending[*item as usize] = false;
    }
    if setup.is_anonymous() {
        ask_for_contact(&places);
    }
    places.add_to(&mut bulk, &pending);
    let looking = governor.keep_looking();
    let exit = work(args, &client, bulk, opened, &pending).await;
    looking.abort();
    governor
        .save()
        .context("what was learned could not be saved")?;
    exit
}

/// Says who wants to know whom they can write to.
fn ask_for_contact(places: &Places) {
    let wanting = places.wanting_contact();
    let names = |required| {
        let named = wanting.iter().filter(|(_, r)| *r == required);
        named.map(|(name, _)| *name).collect::<Vec<_>>().join(", ")
    };
    let (required, wanted) = (names(true), names(false));
    if !required.is_empty() {
        eprintln!(
            "abide: {required} may refuse who does not say whom to write to: give --contact \
             (a mail address or page)"
        );
    }
    if !wanted.is_empty() {
        eprintln!(
            "abide: {wanted} serves those better who give --contact (a mail address or page)"
        );
    }
}

/// Hands items' ends to the writer, and their intents to the ledger.
struct Recorder {
    writer: Handle,
    ledger: Arc<Ledger>,
}

impl Sink for Recorder {
    async fn intend(&self, item: Item) -> Result<(), String> {
        let ledger = Arc::clone(&self.ledger);
        let intended = tokio::task::spawn_blocking(move || ledger.intend(&[item])).await;
        let why = match intended {
            Ok(Ok(())) => return Ok(()),
            Ok(Err(e)) => e.to_string(),
            Err(e) => e.to_string(),
        };
        self.writer
            .broke(&format!("the run's state cannot be written: {why}"));
        Err(why)
    }

    async fn take(&self, report: Report) {
        self.writer.send(report).await;
    }
}

async fn work(
    args: &Args,
    client: &Client,
    bulk: Bulk,
    opened: Opened,
    pending: &[bool],
) -> anyhow::Result<Exit> {
    let governor = client.governor();
    let clock = Arc::clone(governor.clock());
    let total = u64::from(opened.items.index.len());
    let tally = Arc::new(Tally::default());
    let items = Arc::new(opened.items);
    let ledger = opened.ledger;
    let before = ledger.progress();
    let bad_lines = items.index.bad.len() as u64;
    let bodies =
        match &args.save_dir {
            Some(dir) => Some(Bodies::open(dir, args.fsync).with_context(|| {
                format!("the folder {} cannot be used for bodies", dir.display())
            })?),
            None => None,
        };
    let writing = Writing {
        target: opened.target,
        bodies,
        ledger: Arc::clone(&ledger),
        items: Arc::clone(&items),
        ordered: args.ordered.then(|| opened.pending.clone()),
        fsync: args.fsync,
        client: client.clone(),
        before,
    };
    let (writer, thread) =
        output::start(writing, Arc::clone(&tally)).context("the writer cannot start")?;
    let began = clock.now();
    let stop = CancellationToken::new();
    let signals = tokio::spawn(signals(stop.clone()));
    let broken = tokio::spawn(stop_when_broken(Arc::clone(&tally), stop.clone()));
    let shown = (!args.quiet).then(|| {
        tokio::spawn(progress::show(
            total,
            opened.finished_before,
            Arc::clone(&tally),
            governor.clone(),
        ))
    });

    for item in &opened.unknown {
        let why = "effect unknown: it was in flight when an earlier process of this run ended; \
                   look at the provider before sending it again";
        writer.send(failed(*item, why.to_owned())).await;
    }
    for (item, outcome) in &opened.lost {
        let why = format!("its line was lost; it had ended {outcome}");
        writer.send(failed(*item, why)).await;
    }
    for (item, bad) in &items.index.bad {
        if pending[*item as usize] {
            writer
                .send(failed(*item, format!("line {}, {bad}", items.line(*item))))
                .await;
        }
    }
    let sink = Arc::new(Recorder {
        writer,
        ledger: Arc::clone(&ledger),
    });
    let totals = bulk.work(Arc::clone(&items), sink, stop).await;
    // Every way to the writer is gone now: it writes what it has, and ends.
    let written = tokio::task::spawn_blocking(move || thread.join()).await;
    for task in [Some(signals), Some(broken), shown].into_iter().flatten() {
        task.abort();
        // Waited for, so that the terminal is clean before the summary.
        let _ = task.await;
    }
    if !matches!(written, Ok(Ok(()))) {
        tally
            .broken
            .lock()
            .get_or_insert_with(|| "the writer ended early".to_owned());
    }
    // After a failed commit the ledger's own idea of the output's length is ahead of the file's:
    // nothing more is written, and a resumed run cuts the output back to what was committed.
    if tally.broken.lock().is_none() {
        record_totals(&ledger, before, client, &totals)?;
    }
    let summary = Summary::new(&Facts {
        run: &opened.name,
        items: total,
        counts: ledger.counts(),
        progress: ledger.progress(),
        bad_lines,
        retry_at: ledger.earliest_retry(),
        tally: &tally,
        totals: &totals,
        learned: client.governor().learned(),
        elapsed: clock.now().since(began),
    });
    tell(args, &summary)?;
    Ok(summary.exit())
}

fn record_totals(
    ledger: &Ledger,
    before: abide::store::sqlite::ledger::Progress,
    client: &Client,
    totals: &Totals,
) -> anyhow::Result<()> {
    let mut progress = ledger.progress();
    progress.totals.sent = before.totals.sent + client.sent();
    progress.totals.refused = before.totals.refused + totals.refusals;
    let held: Duration = totals.held.iter().map(|(_, d)| *d).sum();
    progress.totals.held = before.totals.held + held;
    ledger
        .finish(&[], progress)
        .context("the run's totals cannot be written")
}

fn tell(args: &Args, summary: &Summary) -> anyhow::Result<()> {
    if args.json {
        let text = serde_json::to_string(summary)?;
        // Standard output belongs to the results, unless they go elsewhere.
        if args.out.is_some() {
            println!("{text}");
        } else {
            eprintln!("{text}");
        }
    } else if !args.quiet {
        let program = std::env::args()
            .next()
            .unwrap_or_else(|| "abide".to_owned());
        let program = program
            .rsplit(['/', '\\'])
            .next()
            .unwrap_or("abide")
            .to_owned();
        summary.print(&format!("{program} fetch … --run {}", summary.run()));
    }
    Ok(())
}

/// The first Ctrl-C (or SIGTERM, or a closed terminal) finishes what is on the wire and saves; the
/// second ends at once.
async fn signals(stop: CancellationToken) {
    interrupted().await;
    eprintln!("abide: finishing what is on the wire; press Ctrl-C again to stop at once");
    stop.cancel();
    interrupted().await;
    std::process::exit(130);
}

async fn interrupted() {
    #[cfg(unix)]
    {
        use tokio::signal::unix::{SignalKind, signal};
        let terms = (
            signal(SignalKind::terminate()),
            signal(SignalKind::hangup()),
        );
        if let (Ok(mut term), Ok(mut hangup)) = terms {
            tokio::select! {
                _ = tokio::signal::ctrl_c() => {}
                _ = term.recv() => {}
                _ = hangup.recv() => {}
            }
            return;
        }
    }
    let _ = tokio::signal::ctrl_c().await;
}

async fn stop_when_broken(tally: Arc<Tally>, stop: CancellationToken) {
    loop {
        tally.changed.notified().await;
        if tally.broken.lock().is_some() {
            stop.cancel();
            return;
        }
    }
}

/// The report of an item that was never asked for.
fn failed(item: Item, reason: String) -> Report {
    Report {
        item,
        outcome: Outcome::Failed,
        cause: None,
        status: None,
        attempts: 0,
        waited: Duration::ZERO,
        provider: None,
        retry_at: None,
        reason: Some(reason),
        body: None,
        content_type: None,
        write: false,
        name: None,
    }
}
