//! What is wrong with a profile, and where.

use std::fmt;

/// A step on the way to a place in a file.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub enum Step {
    /// Into a table, by key.
    Key(String),
    /// Into a list, by position.
    Item(usize),
}

/// Where something is, from the top of the file.
#[derive(Clone, Debug, Default, PartialEq, Eq, Hash)]
pub struct Place(pub Vec<Step>);

impl Place {
    /// One step further in.
    #[must_use]
    pub fn key(&self, key: &str) -> Self {
        let mut steps = self.0.clone();
        steps.push(Step::Key(key.to_owned()));
        Self(steps)
    }

    /// One step further into a list.
    #[must_use]
    pub fn item(&self, n: usize) -> Self {
        let mut steps = self.0.clone();
        steps.push(Step::Item(n));
        Self(steps)
    }
}

impl fmt::Display for Place {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        for (i, step) in self.0.iter().enumerate() {
            match step {
                Step::Key(key) if i == 0 => f.write_str(key)?,
                Step::Key(key) => write!(f, ".{key}")?,
                // People count from 1.
                Step::Item(n) => write!(f, "[{}]", n + 1)?,
            }
        }
        Ok(())
    }
}

/// One thing that is wrong.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Problem {
    /// Where.
    pub place: Place,
    /// What, and what to do about it.
    pub what: String,
}

impl Problem {
    pub(crate) fn new(place: Place, what: impl Into<String>) -> Self {
        Self {
            place,
            what: what.into(),
        }
    }
}

impl fmt::Display for Problem {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        if self.place.0.is_empty() {
            return f.write_str(&self.what);
        }
        write!(f, "{}: {}", self.place, self.what)
    }
}

/// Says that a word is unknown, and which one may have been meant.
pub(crate) fn one_of(word: &str, known: &[&str]) -> String {
    let near = known
        .iter()
        .map(|k| (strsim::jaro_winkler(word, k), k))
        .filter(|(near, _)| *near > 0.8)
        .max_by(|a, b| a.0.total_cmp(&b.0));
    match near {
        Some((_, near)) => format!("{word:?} is unknown; {near:?} may be meant"),
        None => format!("{word:?} is none of {}", known.join(", ")),
    }
}
