//! Where a record lies, and what is wrong in it.

/// Where a record lies.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Place {
    pub(crate) offset: u64,
    pub(crate) length: u32,
    /// Counted from 1.
    pub(crate) line: u32,
}

/// What is wrong with a record, and where in it.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct Bad {
    /// Counted from 1, in bytes; 0 when it is the record as a whole.
    pub(crate) column: usize,
    pub(crate) why: String,
}

impl Bad {
    pub(crate) fn new(column: usize, why: impl Into<String>) -> Self {
        Self {
            column,
            why: why.into(),
        }
    }

    pub(crate) fn whole(why: impl Into<String>) -> Self {
        Self::new(0, why)
    }
}

impl std::fmt::Display for Bad {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        match self.column {
            0 => f.write_str(&self.why),
            c => write!(f, "column {c}: {}", self.why),
        }
    }
}
