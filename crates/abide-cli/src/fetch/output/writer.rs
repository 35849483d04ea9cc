//! The one thread that writes: groups lines, writes them, commits the group.

use std::io;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, AtomicU64, Ordering};
use std::time::Duration;

use abide::Client;
use abide::run::{Name, Outcome, Report};
use abide::store::sqlite::ledger::{Finished, Ledger, Outcome as Stored, Progress, Totals};
use parking_lot::Mutex;
use tokio::sync::{Notify, OwnedSemaphorePermit, Semaphore, mpsc};

use super::body::Bodies;
use super::line;
use super::order::Order;
use super::resume::Target;
use super::sort::sort;
use crate::fetch::source::Items;

/// A group is written when it has this many lines …
const LINES: usize = 100;
/// … or is this old: a crash costs at most that much work of reads.
const AGE: Duration = Duration::from_millis(50);
/// How often the writer looks for more lines while it gathers.
const LOOK: Duration = Duration::from_millis(2);
/// Bodies on their way to the writer, in KiB: beyond it answers wait, so memory stays flat.
const KIB_UNDER_WAY: u32 = 64 * 1024;
/// How long the writer waits before it tries a failed write again: a disk that is full may be
/// made room on, and nothing is lost meanwhile.
const AGAIN: Duration = Duration::from_secs(1);
/// How often a failed write is tried before the run is stopped.
const TRIES: u32 = 3;

/// What has been counted so far, for progress and the summary.
#[derive(Debug, Default)]
pub(crate) struct Tally {
    pub(crate) done: AtomicU64,
    pub(crate) not_found: AtomicU64,
    pub(crate) skipped: AtomicU64,
    pub(crate) failed: AtomicU64,
    /// Why nothing can be written any more.
    pub(crate) broken: Mutex<Option<String>>,
    is_broken: AtomicBool,
    pub(crate) changed: Notify,
}

impl Tally {
    fn broke(&self, why: &str) {
        self.broken.lock().get_or_insert_with(|| why.to_owned());
        self.is_broken.store(true, Ordering::Relaxed);
        self.changed.notify_one();
    }

    pub(crate) fn finished(&self) -> u64 {
        [&self.done, &self.not_found, &self.skipped, &self.failed]
            .into_iter()
            .map(|n| n.load(Ordering::Relaxed))
            .sum()
    }

    fn count(&self, f: &Finished) {
        let slot = match f.outcome {
            Stored::Done => &self.done,
            Stored::NotFound => &self.not_found,
            Stored::Skipped => &self.skipped,
            _ => &self.failed,
        };
        slot.fetch_add(1, Ordering::Relaxed);
    }
}

/// The way to the writer.
#[derive(Clone)]
pub(crate) struct Handle {
    tx: mpsc::Sender<(Report, OwnedSemaphorePermit)>,
    room: Arc<Semaphore>,
    tally: Arc<Tally>,
}

impl Handle {
    /// Hands a report on; waits while the writer is behind.
    pub(crate) async fn send(&self, report: Report) {
        if self.tally.is_broken.load(Ordering::Relaxed) {
            // Nothing can be written: the item stays unfinished and is asked again later.
            return;
        }
        let kib = report.body.as_ref().map_or(1, |b| b.len() / 1024 + 1);
        let kib = u32::try_from(kib).unwrap_or(u32::MAX).min(KIB_UNDER_WAY);
        let Ok(room) = Arc::clone(&self.room).acquire_many_owned(kib).await else {
            return;
        };
        if self.tx.send((report, room)).await.is_err() {
            // The writer ends by itself only when every sender is gone.
            self.broke("the writer ended early");
        }
    }

    /// Nothing can be recorded any more: the run is to stop.
    pub(crate) fn broke(&self, why: &str) {
        self.tally.broke(why);
    }
}

/// What the writer needs.
pub(crate) struct Writing {
    pub(crate) target: Target,
    pub(crate) bodies: Option<Bodies>,
    pub(crate) ledger: Arc<Ledger>,
    pub(crate) items: Arc<Items>,
    /// The items still to come, when their order is to be kept.
    pub(crate) ordered: Option<Vec<u32>>,
    pub(crate) fsync: bool,
    pub(crate) client: Client,
    /// What earlier processes of this run have cost.
    pub(crate) before: Progress,
}

/// Starts the writer. It ends, everything written, when every handle is gone.
pub(crate) fn start(
    writing: Writing,
    tally: Arc<Tally>,
) -> io::Result<(Handle, std::thread::JoinHandle<()>)> {
    let (tx, rx) = mpsc::channel(4 * LINES);
    let room = Arc::new(Semaphore::new(KIB_UNDER_WAY as usize));
    let handle = Handle {
        tx,
        room,
        tally: Arc::clone(&tally),
    };
    let order = writing.ordered.clone().map(Order::new).transpose()?;
    let mut writer = Writer {
        w: writing,
        tally,
        order,
        group: Group::default(),
    };
    let thread = std::thread::Builder::new()
        .name("abide-writer".to_owned())
        .spawn(move || writer.run(rx))?;
    Ok((handle, thread))
}

#[derive(Default)]
struct Group {
    bytes: Vec<u8>,
    finished: Vec<Finished>,
}

struct Writer {
    w: Writing,
    tally: Arc<Tally>,
    order: Option<Order<Finished>>,
    group: Group,
}

type Incoming = mpsc::Receiver<(Report, OwnedSemaphorePermit)>;

impl Writer {
    fn run(&mut self, mut rx: Incoming) {
        let mut batch = Vec::with_capacity(LINES);
        loop {
            let n = rx.blocking_recv_many(&mut batch, LINES);
            if n == 0 {
                self.flush();
                return;
            }
            let urgent = batch.iter().any(|(report, _)| report.write);
            if n < LINES && !urgent {
                // Gather a little longer: commits cost the same for one line and for a hundred.
                // The end of a write is recorded at once: until then its effect is unknown.
                gather(&mut rx, &mut batch);
            }
            for (report, _room) in batch.drain(..) {
                self.take(&report);
            }
            self.commit();
        }
    }

    fn take(&mut self, report: &Report) {
        if self.tally.is_broken.load(Ordering::Relaxed) {
            return;
        }
        let name = report
            .name
            .clone()
            .unwrap_or_else(|| self.name(report.item));
        let (id, url) = (name.id, name.url);
        let mut file = None;
        if let (Some(bodies), Some(body)) = (&self.w.bodies, &report.body)
            && report.outcome != Outcome::Skipped
        {
            match attempt(|| bodies.save(&id, report.content_type.as_deref(), body)) {
                Ok(name) => file = Some(name),
                Err(e) => {
                    return self.broke(&format!("the body of item {id} cannot be saved: {e}"));
                }
            }
        }
        let finished = Finished {
            index: report.item,
            outcome: match report.outcome {
                Outcome::Done => Stored::Done,
                Outcome::NotFound => Stored::NotFound,
                Outcome::Skipped => Stored::Skipped,
                Outcome::Failed => Stored::Failed,
            },
            retry_at: report.retry_at,
        };
        let Self { order, group, .. } = self;
        match order {
            None => {
                line::write(&mut group.bytes, &id, &url, report, file.as_deref());
                group.finished.push(finished);
            }
            Some(order) => {
                let mut one = Vec::new();
                line::write(&mut one, &id, &url, report, file.as_deref());
                let taken = order.take(report.item, &one, finished, |bytes, finished| {
                    group.bytes.extend_from_slice(bytes);
                    group.finished.push(finished);
                });
                if let Err(e) = taken {
                    self.broke(&format!("results cannot be put in order: {e}"));
                }
            }
        }
    }

    /// What an item is called that was never loaded.
    fn name(&self, item: u32) -> Name {
        match self.w.items.parsed(item) {
            Ok(p) => Name {
                id: p.id,
                url: p.url.into(),
            },
            Err(_) => Name {
                id: self.w.items.bad_id(item),
                url: String::new(),
            },
        }
    }

    /// Writes what is still put aside: among it may be the ends of writes, which must not be lost.
    fn flush(&mut self) {
        let Self { order, group, .. } = self;
        let flushed = order.as_mut().map(|order| {
            order.rest(|bytes, finished| {
                group.bytes.extend_from_slice(bytes);
                group.finished.push(finished);
            })
        });
        if let Some(Err(e)) = flushed {
            return self.broke(&format!("results cannot be put in order: {e}"));
        }
        self.commit();
        let complete = self.w.ledger.counts().finished() == self.w.ledger.items();
        let earlier = self.w.before.committed > 0;
        if self.order.is_some() && earlier && complete && self.tally.broken.lock().is_none() {
            self.sort();
        }
    }

    /// Puts what the processes of this run have written together.
    fn sort(&mut self) {
        let items = Arc::clone(&self.w.items);
        let ids = (0..items.index.len()).map(|item| match items.parsed(item) {
            Ok(p) => p.id,
            Err(_) => items.bad_id(item),
        });
        if let Err(e) = sort(&mut self.w.target, ids, self.w.fsync) {
            self.broke(&format!(
                "the output is complete, but cannot be put in order: {e:#}"
            ));
        }
    }

    /// Writes the group, then commits it.
    fn commit(&mut self) {
        if self.group.finished.is_empty() || self.tally.is_broken.load(Ordering::Relaxed) {
            return;
        }
        let mut progress = self.w.ledger.progress();
        let start = progress.committed;
        let (target, bytes, fsync) = (&mut self.w.target, &self.group.bytes, self.w.fsync);
        let mut half = false;
        let written = if let Err(e) = target.check(start) {
            Err(e)
        } else if matches!(target, Target::Stdout) {
            // What a pipe has taken cannot be taken back: trying again would print it twice.
            target.write(bytes, fsync)
        } else {
            attempt(|| {
                if std::mem::replace(&mut half, true) {
                    target.truncate(start)?;
                }
                target.write(bytes, fsync)
            })
        };
        if let Err(e) = written {
            let name = match &self.w.target {
                Target::File(_, path) => path.display().to_string(),
                Target::Stdout => "standard output".to_owned(),
            };
            return self.broke(&format!("the output {name} cannot be written: {e}"));
        }
        if let Some(bodies) = &self.w.bodies
            && let Err(e) = attempt(|| bodies.sync())
        {
            return self.broke(&format!("bodies cannot be made durable: {e}"));
        }
        progress.committed = start + bytes.len() as u64;
        progress.totals = Totals {
            sent: self.w.before.totals.sent + self.w.client.sent(),
            ..progress.totals
        };
        let (ledger, finished) = (&self.w.ledger, &self.group.finished);
        if let Err(e) = attempt(|| ledger.finish(finished, progress)) {
            return self.broke(&format!("the run's state cannot be written: {e}"));
        }
        for f in &self.group.finished {
            self.tally.count(f);
        }
        self.group.bytes.clear();
        self.group.finished.clear();
        self.tally.changed.notify_one();
    }

    fn broke(&self, why: &str) {
        self.tally.broke(why);
    }
}

/// Gathers until the group is full, old enough, or nobody will send any more. Looks now and then
/// instead of being woken for each line: at full speed a wake-up a line is most of the work.
fn gather(rx: &mut Incoming, batch: &mut Vec<(Report, OwnedSemaphorePermit)>) {
    let mut age = Duration::ZERO;
    while batch.len() < LINES && age < AGE {
        match rx.try_recv() {
            Ok(one) => {
                let urgent = one.0.write;
                batch.push(one);
                if urgent {
                    return;
                }
            }
            Err(mpsc::error::TryRecvError::Empty) => {
                std::thread::sleep(LOOK);
                age += LOOK;
            }
            Err(mpsc::error::TryRecvError::Disconnected) => return,
        }
    }
}

/// Tries a few times, since a full disk may be made room on.
fn attempt<T, E>(mut f: impl FnMut() -> Result<T, E>) -> Result<T, E> {
    let mut tries = 1;
    loop {
        match f() {
            Ok(t) => return Ok(t),
            Err(e) if tries >= TRIES => return Err(e),
            Err(_) => {
                tries += 1;
                std::thread::sleep(AGAIN);
            }
        }
    }
}
