//! The last step of an ordered run that was resumed: its lines, put into the input's order.
//!
//! Each process of a run writes its own part in order. Putting them together changes neither the
//! lines nor their length, so a crash at any instant leaves one whole output or the other, and
//! what was committed of it stays true.

use std::collections::HashMap;
use std::io::{BufRead, BufReader, BufWriter, Seek, SeekFrom, Write};

use super::resume::{Id, Target, replacing};
use crate::fetch::input::read_at;

/// Puts the lines of a complete output into the order of `ids`.
pub(super) fn sort(
    target: &mut Target,
    ids: impl Iterator<Item = String>,
    fsync: bool,
) -> anyhow::Result<()> {
    let Target::File(file, _) = &mut *target else {
        return Ok(());
    };
    file.seek(SeekFrom::Start(0))?;
    let mut places: HashMap<String, (u64, usize)> = HashMap::new();
    let (mut reader, mut line, mut end) = (BufReader::new(&*file), Vec::new(), 0);
    while reader.read_until(b'\n', &mut line)? > 0 {
        let id: Id = serde_json::from_slice(&line)?;
        places.insert(id.id, (end, line.len()));
        end += line.len() as u64;
        line.clear();
    }
    let ordered: Vec<(u64, usize)> = ids.filter_map(|id| places.remove(&id)).collect();
    let length: u64 = ordered.iter().map(|(_, length)| *length as u64).sum();
    if length != end || !places.is_empty() {
        anyhow::bail!("it has lines of no item of this run");
    }
    if ordered.is_sorted() {
        file.seek(SeekFrom::Start(end))?;
        return Ok(());
    }
    replacing(target, fsync, |old, new| {
        let mut writer = BufWriter::new(new);
        let mut line = Vec::new();
        for (offset, length) in ordered {
            line.resize(length, 0);
            read_at(old, &mut line, offset)?;
            writer.write_all(&line)?;
        }
        writer.flush()
    })
}

#[cfg(test)]
mod tests {
    use super::super::resume::open;
    use super::*;

    #[test]
    fn the_parts_of_an_output_become_one() {
        let dir = tempfile::tempdir().unwrap();
        let path = dir.path().join("out");
        let line = |id: u32| format!("{{\"id\":\"{id}\"}}\n");
        let text = |ids: &[u32]| ids.iter().map(|id| line(*id)).collect::<String>();
        std::fs::write(&path, text(&[1, 4, 10, 2, 3])).unwrap();
        let length = text(&[1, 4, 10, 2, 3]).len() as u64;
        let mut target = open(Some(&path), true, length, false).unwrap();
        let ids = || (1..=10).map(|id: u32| id.to_string());
        sort(&mut target, ids(), true).unwrap();
        let sorted = text(&[1, 2, 3, 4, 10]);
        assert_eq!(std::fs::read_to_string(&path).unwrap(), sorted);
        // Somebody else's line is left where it is.
        let told = sort(&mut target, ids().take(3), false);
        assert!(told.is_err());
        assert_eq!(std::fs::read_to_string(&path).unwrap(), sorted);
    }
}
