//! Runs that come through a pipe: their records are kept in the state, sealed, so that such a run
//! can go on without its pipe.

use std::io;
use std::sync::Arc;

use abide::store::sqlite::ledger::{Fingerprint, Ledger, RunState};
use anyhow::Context;
use http::HeaderMap;

use super::args::Format;
use super::input::{Index, Parsed, Parser};
use super::shape::Shape;
use super::source::Items;
use crate::exit::Usage;
use crate::state::State;

/// What is needed of an input besides the input itself, kept with the run.
#[derive(Debug, serde::Serialize, serde::Deserialize)]
pub(super) struct Kept {
    pub(super) format: String,
    /// Sealed: a template may carry a credential.
    pub(super) template: Option<Vec<u8>>,
    pub(super) header: Option<Vec<u8>>,
    pub(super) id: Option<String>,
    #[serde(default)]
    pub(super) shape: Option<Shape>,
}

/// Keeps the records of a pipe in the state, sealed, so that the run can go on without it.
pub(super) fn keep_records(
    state: &State,
    ledger: &Ledger,
    items: &Items,
    prints: &[Fingerprint],
) -> anyhow::Result<()> {
    let mut batch = Vec::with_capacity(1000);
    for (place, print) in items.index.places.iter().zip(prints) {
        let raw = items.raw(*place)?;
        let mut record = place.line.to_be_bytes().to_vec();
        record.extend_from_slice(&raw);
        batch.push((*print, state.seal.seal(&record)?));
        if batch.len() == 1000 {
            ledger.store_items(std::mem::take(&mut batch))?;
        }
    }
    ledger.store_items(batch)?;
    ledger.seal()?;
    Ok(())
}

/// The one interrupted run that came through a pipe.
pub(super) fn lone_pipe(state: &State) -> anyhow::Result<String> {
    let runs = state.store.runs()?;
    let mut piped = runs
        .iter()
        .filter(|r| r.state == RunState::Interrupted && r.input == "standard input");
    match (piped.next(), piped.next()) {
        (Some(run), None) => Ok(run.name.clone()),
        (None, _) => {
            Err(Usage("there is no interrupted run of a pipe to go on with".into()).into())
        }
        (Some(a), Some(b)) => Err(Usage(format!(
            "several runs of pipes are unfinished ({}, {} …); name one with --run",
            a.name, b.name
        ))
        .into()),
    }
}

/// The items of a pipe, from the state.
pub(super) fn stored(
    state: &State,
    ledger: &Arc<Ledger>,
    options: &str,
    headers: HeaderMap,
    each: &mut dyn FnMut(u32, &Parsed),
) -> anyhow::Result<Items> {
    let lost = "the stored requests cannot be read: the install key is another";
    let kept: Kept = serde_json::from_str(options).context("the run's options cannot be read")?;
    let format = <Format as clap::ValueEnum>::from_str(&kept.format, true)
        .map_err(|_| anyhow::anyhow!("the run's input has an unknown form {:?}", kept.format))?;
    let template = match &kept.template {
        Some(sealed) => Some(String::from_utf8(state.seal.unseal(sealed).context(lost)?)?),
        None => None,
    };
    // The records go to a file of this process: the same code then loads them.
    let mut file = tempfile::tempfile()?;
    let mut index = Index::new(state.key());
    let mut parser = Parser::new(format, headers);
    if let Some(header) = &kept.header {
        let header = parser.header(header, template.as_deref(), kept.id.as_deref());
        header.map_err(anyhow::Error::msg)?;
    }
    let (mut offset, mut from) = (0_u64, 0_u32);
    loop {
        let batch = ledger.stored_items(from, 1000)?;
        if batch.is_empty() {
            break;
        }
        for sealed in &batch {
            let record = state.seal.unseal(sealed).context(lost)?;
            let (line, raw) = record.split_first_chunk::<4>().context(lost)?;
            io::Write::write_all(&mut file, raw)?;
            index.push(&parser, offset, u32::from_be_bytes(*line), raw, each);
            offset += raw.len() as u64;
            from += 1;
        }
    }
    Ok(Items {
        file,
        parser,
        index,
    })
}
