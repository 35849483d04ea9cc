//! Loads items: from the input file, or from what a pipe was spooled to.

use std::fs::File;

use abide::core::run::Item;
use abide::run::{Name, Source, Wanted};

use super::input::{Index, Parsed, Parser, Place, read_at};

/// The items of a run.
pub(crate) struct Items {
    pub(crate) file: File,
    pub(crate) parser: Parser,
    pub(crate) index: Index,
}

impl Items {
    /// An item, read again from its record.
    pub(crate) fn parsed(&self, item: Item) -> Result<Parsed, String> {
        let place = self
            .index
            .places
            .get(item as usize)
            .ok_or_else(|| format!("item {item} is not in the input"))?;
        let raw = self
            .raw(*place)
            .map_err(|e| format!("line {} of the input: {e}", place.line))?;
        let parsed = self.parser.parse(&raw, place.line);
        parsed.map_err(|bad| format!("line {}, {bad}", place.line))
    }

    /// The bytes of a record.
    pub(crate) fn raw(&self, place: Place) -> std::io::Result<Vec<u8>> {
        let mut raw = vec![0; place.length as usize];
        read_at(&self.file, &mut raw, place.offset)?;
        Ok(raw)
    }

    /// What an item without an id of its own is called that cannot be read: apart from the
    /// numbers that good items may have.
    pub(crate) fn bad_id(&self, item: Item) -> String {
        format!("line {}", self.line(item))
    }

    /// The line of the input an item stands on.
    pub(crate) fn line(&self, item: Item) -> u32 {
        self.index.places.get(item as usize).map_or(0, |p| p.line)
    }
}

impl Source for Items {
    fn load(&self, item: Item) -> Result<Wanted, String> {
        self.parsed(item).map(|p| {
            let name = Name {
                id: p.id,
                url: p.url.into(),
            };
            Wanted {
                name: Some(name),
                ..p.wanted
            }
        })
    }
}
