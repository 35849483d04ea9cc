//! Opening a run: a new one, or one that goes on.

use std::fs::File;
use std::io::{self, Seek, SeekFrom};
use std::path::Path;
use std::sync::Arc;

use abide::core::WallTime;
use abide::core::call::Safety;
use abide::store::sqlite::ledger::{
    Fingerprint, Ledger, NewRun, Outcome, Owner, RunError, RunState,
};
use anyhow::{Context, bail};
use http::HeaderMap;

use super::args::{Args, Format};
use super::input::{self, Index, Parsed, Parser, Visit};
use super::name::{name, name_of};
use super::output::{self, Found, Target};
use super::piped::{Kept, keep_records, stored};
use super::shape::Shape;
use super::source::Items;
use crate::exit::Usage;
use crate::seal::Key;
use crate::state::State;

/// A run that is ours, and what is left of it.
pub(crate) struct Opened {
    pub(crate) name: String,
    pub(crate) ledger: Arc<Ledger>,
    pub(crate) items: Items,
    pub(crate) target: Target,
    /// Items still to be asked for, in input order.
    pub(crate) pending: Vec<u32>,
    /// Writes that were in flight when an earlier process of this run ended.
    pub(crate) unknown: Vec<u32>,
    /// Writes that ended, and how, but whose lines are gone. They are not sent again.
    pub(crate) lost: Vec<(u32, Outcome)>,
    pub(crate) finished_before: u64,
}

/// The input, indexed; and what a run over it is to be called.
pub(crate) struct Read {
    pub(crate) items: Items,
    header: Option<Vec<u8>>,
    stdin: bool,
}

/// Gathers what the walk over an input hands on.
struct Gather<'a> {
    header: Option<Vec<u8>>,
    each: &'a mut dyn FnMut(u32, &Parsed),
}

impl Visit for Gather<'_> {
    fn item(&mut self, item: u32, parsed: &Parsed, _raw: &[u8]) -> Result<(), String> {
        (self.each)(item, parsed);
        Ok(())
    }

    fn bad(&mut self, _item: u32, _raw: &[u8]) -> Result<(), String> {
        Ok(())
    }

    fn header(&mut self, raw: &[u8]) -> Result<(), String> {
        self.header = Some(raw.to_vec());
        Ok(())
    }
}

/// Reads and indexes the input; tells `each` of every good item.
pub(crate) fn read(
    args: &Args,
    headers: HeaderMap,
    key: Key,
    each: &mut dyn FnMut(u32, &Parsed),
) -> anyhow::Result<Read> {
    let stdin = args.input.as_os_str() == "-";
    let shown = if stdin {
        "standard input".to_owned()
    } else {
        args.input.display().to_string()
    };
    let file = if stdin {
        spool().with_context(|| format!("{shown} cannot be read"))?
    } else {
        let file = File::open(&args.input).with_context(|| format!("{shown} cannot be read"))?;
        let is_dir = file.metadata().is_ok_and(|m| m.is_dir());
        if is_dir {
            bail!("{shown} cannot be read: it is a folder");
        }
        file
    };
    let format = match args.format {
        Some(format) => format,
        None => {
            let mut first = [0; 256];
            let n = head(&file, &mut first).with_context(|| format!("{shown} cannot be read"))?;
            input::sniff(&shown, &first[..n], args.url.is_some())
        }
    };
    index(
        file,
        format,
        headers,
        args.url.as_deref(),
        args.id.as_deref(),
        key,
        each,
    )
    .map(|(items, header)| Read {
        items,
        header,
        stdin,
    })
    .map_err(|why| Usage(format!("{shown}: {why}")).into())
}

fn index(
    file: File,
    format: Format,
    headers: HeaderMap,
    template: Option<&str>,
    id: Option<&str>,
    key: Key,
    each: &mut dyn FnMut(u32, &Parsed),
) -> Result<(Items, Option<Vec<u8>>), String> {
    let mut parser = Parser::new(format, headers);
    let mut gather = Gather { header: None, each };
    let index = Index::read(&file, &mut parser, template, id, key, &mut gather)?;
    let header = gather.header;
    Ok((
        Items {
            file,
            parser,
            index,
        },
        header,
    ))
}

/// Copies standard input to a file that goes when the process does.
fn spool() -> io::Result<File> {
    let mut file = tempfile::tempfile()?;
    io::copy(&mut io::stdin().lock(), &mut file)?;
    file.seek(SeekFrom::Start(0))?;
    Ok(file)
}

fn head(file: &File, buf: &mut [u8]) -> io::Result<usize> {
    use std::io::Read as _;
    let n = file.try_clone()?.read(buf)?;
    file.try_clone()?.seek(SeekFrom::Start(0))?;
    Ok(n)
}

fn prints(bytes: &[u8]) -> Vec<Fingerprint> {
    bytes
        .chunks_exact(16)
        .map(|c| c.try_into().unwrap_or_default())
        .collect()
}

fn owner(now: WallTime) -> Owner {
    Owner {
        who: format!("process {}", std::process::id()),
        since: now,
    }
}

/// Makes a new run.
pub(crate) fn create(
    args: &Args,
    state: &State,
    read: Read,
    now: WallTime,
) -> anyhow::Result<Opened> {
    let name = name(args, now);
    let mut old = false;
    if let Ok(info) = state.store.run(&name) {
        match info.state {
            RunState::Finished => old = true,
            RunState::Running => {
                bail!(
                    "run {name} is under way in {} since {}",
                    info.owner.who,
                    info.owner.since
                )
            }
            _ => {
                return Err(Usage(format!(
                    "run {name} is unfinished: {} of {} items; go on with --resume, or forget it with \
                     `abide runs rm {name}`",
                    info.counts.finished(),
                    info.items
                ))
                .into());
            }
        }
    }
    // Before the run exists, so that a refusal leaves nothing behind.
    let target = output::open(args.out.as_deref(), false, 0, args.fsync)?;
    if old {
        state.store.remove_run(&name)?;
    }
    let kept = Kept {
        format: read.items.parser.format().as_str().to_owned(),
        template: args
            .url
            .as_deref()
            .map(|t| state.seal.seal(t.as_bytes()))
            .transpose()?,
        header: read.header.filter(|_| read.stdin),
        id: args.id.clone(),
        shape: Some(Shape::of(args)),
    };
    let fingerprints = prints(&read.items.index.prints);
    let whole = |p: &Path| std::path::absolute(p).unwrap_or_else(|_| p.to_owned());
    let new = NewRun {
        name: name.clone(),
        input: if read.stdin {
            "standard input".to_owned()
        } else {
            whole(&args.input).display().to_string()
        },
        kind: kept.format.clone(),
        options: serde_json::to_string(&kept)?,
        output: args.out.as_deref().map(|p| whole(p).display().to_string()),
        created: now,
        fingerprints: if read.stdin {
            Vec::new()
        } else {
            fingerprints.clone()
        },
        sealed: !read.stdin,
    };
    let ledger = match state.store.create_run(new, owner(now)) {
        Err(RunError::Exists(name)) => bail!("run {name} was made by another process just now"),
        Err(e @ RunError::UnfitName(_)) => return Err(Usage(format!("--run: {e}")).into()),
        other => Arc::new(other?),
    };
    if read.stdin {
        keep_records(state, &ledger, &read.items, &fingerprints)?;
    }
    let pending = (0..read.items.index.len()).collect();
    Ok(Opened {
        name,
        ledger,
        items: read.items,
        target,
        pending,
        unknown: Vec::new(),
        lost: Vec::new(),
        finished_before: 0,
    })
}

/// Goes on with a run.
pub(crate) fn resume(
    args: &Args,
    state: &State,
    headers: HeaderMap,
    now: WallTime,
    each: &mut dyn FnMut(u32, &Parsed),
) -> anyhow::Result<Opened> {
    let piped = args.input.as_os_str() == "-";
    let name = name_of(args, state, now)?;
    let ledger = match state.store.claim_run(&name, owner(now)) {
        Err(RunError::Unknown(name)) => {
            let hint = "see `abide runs list`; without --resume a new run begins";
            return Err(Usage(format!("there is no run {name} to go on with; {hint}")).into());
        }
        other => Arc::new(other?),
    };
    let info = state.store.run(&name)?;
    if !ledger.is_sealed() {
        bail!(
            "run {name} was stopped while it was still reading its pipe; start it again with the \
             pipe, after `abide runs rm {name}`"
        );
    }
    let from_state = piped && info.input == "standard input";
    let items = if from_state {
        stored(state, &ledger, &info.options, headers, each)?
    } else {
        read(args, headers, state.key(), each)?.items
    };
    let before: Vec<u8> = ledger.fingerprints()?.concat();
    if let Some(change) = items.index.changed_since(&before) {
        return Err(Usage(format!(
            "run {name}: {change}; restore it, or start a new run with --run"
        ))
        .into());
    }
    let committed = ledger.progress().committed;
    let out = args
        .out
        .clone()
        .or_else(|| info.output.as_ref().map(Into::into));
    let mut elsewhere = None;
    if let Some(path) = &args.out {
        let whole = std::path::absolute(path).unwrap_or_else(|_| path.clone());
        let whole = whole.display().to_string();
        let same = info.output.as_deref() == Some(&*whole);
        elsewhere = (!same).then_some(whole);
        if !same && std::fs::metadata(path).is_ok_and(|m| m.len() > 0) {
            return Err(Usage(format!(
                "run {name} writes to {}, and {} holds something else; go on without --out, or \
                 name a file that does not exist yet",
                info.output.as_deref().unwrap_or("standard output"),
                path.display()
            ))
            .into());
        }
    }
    let mut found = None;
    if let Some(path) = &out
        && std::fs::metadata(path).map_or(0, |m| m.len()) < committed
    {
        let exists = path.exists();
        found = Some(if exists {
            output::rescan(path)?
        } else {
            Found::default()
        });
    }
    let committed = found.as_ref().map_or(committed, |f| f.length);
    let mut target = output::open(out.as_deref(), true, committed, args.fsync)?;
    if elsewhere.is_some() {
        // Before its length is recorded: the old output must never be cut to that of the new.
        ledger.moves_to(elsewhere)?;
    }
    let mut progress = ledger.progress();
    progress.committed = committed;
    if args.retry_skipped
        && let Some(length) = output::without_skipped(&mut target, args.fsync)?
    {
        progress.committed = length;
    }
    let unknown = ledger.open_intents();
    let (mut pending, mut reopened, mut lost) = (Vec::new(), Vec::new(), Vec::new());
    for (item, outcome) in (0_u32..).zip(ledger.outcomes()) {
        let Some(outcome) = outcome else {
            pending.push(item);
            continue;
        };
        let skipped = outcome == Outcome::Skipped;
        let parsed = found.as_ref().map(|found| (found, items.parsed(item)));
        let (gone, write) = match &parsed {
            None => (false, false),
            Some((found, Ok(p))) => {
                let write = Safety::of(&p.wanted.method) == Safety::Write;
                (!found.ids.contains(&p.id), write)
            }
            Some((found, Err(_))) => (!found.ids.contains(&items.bad_id(item)), false),
        };
        if skipped && (args.retry_skipped || gone) || gone && !write {
            reopened.push(item);
        } else if gone {
            lost.push((item, outcome));
        } else {
            continue;
        }
        pending.push(item);
    }
    let sent: Vec<u32> = lost.iter().map(|(item, _)| *item).collect();
    // Before anything is asked: a process that ends early must not leave items behind as finished
    // that have no line.
    ledger.reopen(&reopened, &sent, progress)?;
    let finished_before = u64::from(items.index.len()) - pending.len() as u64;
    Ok(Opened {
        name,
        ledger,
        items,
        target,
        pending,
        unknown,
        lost,
        finished_before,
    })
}
