//! All profiles: those built in, and a user's own.
//!
//! A profile is read when it is first asked for. Of several that fit a URL the one with the
//! closest host wins, then the one with the longest path.

use std::borrow::Cow;
use std::collections::HashMap;
use std::sync::{Arc, OnceLock};

use crate::extend::{GENERIC, Origin, merge, parent, rules};
use crate::format;
use crate::host::Host;
use crate::load::{Fault, parse, placed};
use crate::problem::{Problem, Step, one_of};
use crate::profile::Profile;

/// The longest line of parents; a longer one goes in a circle.
const MOST_PARENTS: usize = 8;

/// One profile of the built-in catalogue.
struct BuiltIn {
    name: &'static str,
    hosts: &'static [&'static str],
    text: &'static str,
}

static BUILT_IN: &[BuiltIn] = include!(concat!(env!("OUT_DIR"), "/catalogue.rs"));

/// All profiles.
#[derive(Debug)]
pub struct Catalogue {
    entries: Vec<Entry>,
    /// The latest of each name.
    names: HashMap<String, usize>,
    /// By the text of a host, `*.` included.
    hosts: HashMap<String, Vec<usize>>,
}

#[derive(Debug)]
struct Entry {
    name: String,
    /// The file of a user's own.
    origin: Option<String>,
    text: Cow<'static, str>,
    made: OnceLock<Option<Arc<Profile>>>,
}

/// A user's profile that cannot be used.
#[derive(Debug, thiserror::Error)]
#[error("{origin}: {}", faults.iter().map(ToString::to_string).collect::<Vec<_>>().join("; "))]
pub struct Unusable {
    /// The file.
    pub origin: String,
    /// What is wrong with it.
    pub faults: Vec<Fault>,
}

impl Catalogue {
    /// The profiles that are built in.
    pub fn built_in() -> Self {
        let mut all = Self {
            entries: Vec::with_capacity(BUILT_IN.len()),
            names: HashMap::with_capacity(BUILT_IN.len()),
            hosts: HashMap::with_capacity(2 * BUILT_IN.len()),
        };
        for b in BUILT_IN {
            let hosts = b.hosts.iter().map(|h| (*h).to_owned());
            all.put(b.name.to_owned(), None, Cow::Borrowed(b.text), hosts);
        }
        all
    }

    /// Adds a user's own profile. One of a known name takes that one's place; by extending its
    /// own name it adds to it.
    ///
    /// # Errors
    /// When it cannot be used, or when one that stands on it could not be used any more:
    /// everything that is wrong with it.
    pub fn add(&mut self, origin: &str, text: String) -> Result<(), Unusable> {
        let unusable = |faults| Unusable {
            origin: origin.to_owned(),
            faults,
        };
        let told = parse(&text).map_err(|f| unusable(vec![f]))?;
        let (profile, faults) = self
            .make(&told, &text, self.entries.len())
            .map_err(|f| unusable(vec![f]))?;
        if !faults.is_empty() {
            return Err(unusable(faults));
        }
        let hosts: Vec<String> = profile
            .told()
            .hosts
            .iter()
            .map(|h| h.to_ascii_lowercase())
            .collect();
        let took_over = self.names.get(&told.name).copied();
        self.put(
            told.name,
            Some(origin.to_owned()),
            Cow::Owned(text),
            hosts.into_iter(),
        );
        if let Some(entry) = self.entries.last() {
            let _ = entry.made.set(Some(Arc::new(profile)));
        }
        let Some(earlier) = took_over else {
            // Nothing can stand on a name that was not there.
            return Ok(());
        };
        let broken = self.renew();
        if broken.is_empty() {
            return Ok(());
        }
        self.take_back(earlier);
        Err(unusable(broken))
    }

    /// Makes everything anew that stands on the profile added last; what cannot be made any more
    /// is told, since it would be treated as a provider of which nothing is known.
    fn renew(&mut self) -> Vec<Fault> {
        let last = self.entries.len() - 1;
        let mut broken = Vec::new();
        for at in 0..last {
            let entry = &self.entries[at];
            if self.names.get(&entry.name) != Some(&at) || !self.line(at).contains(&last) {
                continue;
            }
            let (made, faults) =
                match parse(&entry.text).and_then(|told| self.make(&told, &entry.text, at)) {
                    Ok((profile, faults)) => (Some(Arc::new(profile)), faults),
                    Err(fault) => (None, vec![fault]),
                };
            let told = faults.into_iter().map(|f| Fault {
                line: 0,
                column: 0,
                what: format!("{:?}, which stands on it, cannot be used: {f}", entry.name),
            });
            broken.extend(told);
            self.entries[at].made = OnceLock::from(made);
        }
        broken
    }

    /// Undoes the last addition; `earlier` is the one whose place it took.
    fn take_back(&mut self, earlier: usize) {
        let Some(gone) = self.entries.pop() else {
            return;
        };
        let last = self.entries.len();
        for at in self.hosts.values_mut() {
            at.retain(|i| *i != last);
        }
        self.names.insert(gone.name, earlier);
        // What was made on top of it is made again when it is asked for.
        for entry in &mut self.entries {
            entry.made = OnceLock::new();
        }
    }

    /// The parents of an entry, the closest first, by their places.
    fn line(&self, mut at: usize) -> Vec<usize> {
        let mut all = Vec::new();
        while all.len() < MOST_PARENTS {
            let entry = &self.entries[at];
            let above = parse(&entry.text)
                .ok()
                .and_then(|told| parent(&told).map(str::to_owned));
            let Some(next) = above.and_then(|above| self.above(&above, at, &entry.name)) else {
                break;
            };
            all.push(next);
            at = next;
        }
        all
    }

    fn put(
        &mut self,
        name: String,
        origin: Option<String>,
        text: Cow<'static, str>,
        hosts: impl Iterator<Item = String>,
    ) {
        let at = self.entries.len();
        for host in hosts {
            let bare = Host::parse(&host).map(|h| h.without_port());
            self.hosts.entry(bare.unwrap_or(host)).or_default().push(at);
        }
        self.names.insert(name.clone(), at);
        self.entries.push(Entry {
            name,
            origin,
            text,
            made: OnceLock::new(),
        });
    }

    /// Every name, in alphabetical order.
    pub fn names(&self) -> Vec<&str> {
        let mut names: Vec<&str> = self.names.keys().map(String::as_str).collect();
        names.sort_unstable();
        names
    }

    /// The profile of a name.
    pub fn get(&self, name: &str) -> Option<Arc<Profile>> {
        self.at(*self.names.get(name)?)
    }

    /// Where a profile comes from: a user's file, or `None` for a built-in one.
    pub fn origin(&self, name: &str) -> Option<&str> {
        self.entries[*self.names.get(name)?].origin.as_deref()
    }

    /// Its parents, the closest first.
    pub fn parents(&self, name: &str) -> Vec<String> {
        let line = self.names.get(name).map(|at| self.line(*at));
        let names = line.into_iter().flatten();
        names.map(|at| self.entries[at].name.clone()).collect()
    }

    /// Says that no provider has this name, and which one may have been meant.
    pub fn unknown(&self, name: &str) -> String {
        match self.names().as_slice() {
            known if known.len() <= 12 => one_of(name, known),
            known => match one_of(name, known) {
                said if said.contains("may be meant") => said,
                _ => format!("{name:?} is unknown; `abide providers` lists all"),
            },
        }
    }

    /// What a profile's file says itself, as JSON.
    pub fn json(&self, name: &str) -> Option<serde_json::Value> {
        toml::from_str(self.text(name)?).ok()
    }

    /// The profile that is meant by a parent's name. `before` keeps a profile that extends its
    /// own name from being its own parent.
    fn above(&self, name: &str, before: usize, child: &str) -> Option<usize> {
        let known = self.entries.iter().enumerate().rev();
        let mut found = known.filter(|(i, e)| e.name == name && (*i < before || child != name));
        found.next().map(|(i, _)| i)
    }

    /// The text of a profile.
    pub fn text(&self, name: &str) -> Option<&str> {
        Some(&self.entries[*self.names.get(name)?].text)
    }

    /// What is known of providers that no profile names.
    pub fn generic(&self) -> Arc<Profile> {
        self.get(GENERIC)
            .unwrap_or_else(|| Arc::new(Profile::new(format::Profile::default(), &[]).0))
    }

    /// The profile of an address.
    pub fn find(&self, host: &str, port: u16, path: &str) -> Option<Arc<Profile>> {
        let host = host.strip_suffix('.').unwrap_or(host).to_ascii_lowercase();
        self.near(&host)
            .into_iter()
            .filter_map(|i| {
                let profile = self.at(i)?;
                Some((profile.fit(&host, port, path)?, i, profile))
            })
            .max_by(|a, b| (a.0, a.1).cmp(&(b.0, b.1)))
            .map(|(_, _, profile)| profile)
    }

    /// Whether the path of an address has a say in whose it is.
    pub fn depends_on_path(&self, host: &str) -> bool {
        let host = host.strip_suffix('.').unwrap_or(host).to_ascii_lowercase();
        let near = self.near(&host).into_iter();
        let mut profiles = near.filter_map(|i| self.at(i));
        profiles.any(|p| !p.told().paths.is_empty())
    }

    /// The profiles that may be a host's, by their places.
    fn near(&self, host: &str) -> Vec<usize> {
        let mut near: Vec<usize> = self.hosts.get(host).cloned().unwrap_or_default();
        let mut rest = host;
        while let Some((_, above)) = rest.split_once('.') {
            near.extend(self.hosts.get(&format!("*.{above}")).into_iter().flatten());
            rest = above;
        }
        near.retain(|i| self.names.get(&self.entries[*i].name) == Some(i));
        near
    }

    /// Everything that is wrong with a profile's text, its own tests aside.
    pub fn faults(&self, text: &str) -> Vec<Fault> {
        match parse(text).and_then(|told| self.make(&told, text, self.entries.len())) {
            Ok((_, faults)) => faults,
            Err(fault) => vec![fault],
        }
    }

    /// The profile that a text would be.
    ///
    /// # Errors
    /// When it cannot be read.
    pub fn preview(&self, text: &str) -> Result<Profile, Fault> {
        let told = parse(text)?;
        self.make(&told, text, self.entries.len())
            .map(|made| made.0)
    }

    fn at(&self, at: usize) -> Option<Arc<Profile>> {
        let entry = &self.entries[at];
        let make = || {
            let told = parse(&entry.text).ok()?;
            let (profile, _) = self.make(&told, &entry.text, at).ok()?;
            Some(Arc::new(profile))
        };
        entry.made.get_or_init(make).clone()
    }

    /// Merges parents in. `before` keeps a profile that extends its own name from being its own
    /// parent.
    fn make(
        &self,
        told: &format::Profile,
        text: &str,
        before: usize,
    ) -> Result<(Profile, Vec<Fault>), Fault> {
        let nowhere = |what: String| Fault {
            line: 0,
            column: 0,
            what,
        };
        let mut merged = told.clone();
        let (mut all, mut origins) = (Vec::new(), Vec::new());
        rules(&mut all, &mut origins, told, true);
        let (mut at, mut above) = (before, parent(told).map(str::to_owned));
        // Whose parent is looked for: only a profile that extends its own name looks below itself.
        let mut current = told.name.clone();
        for _ in 0..MOST_PARENTS {
            let Some(name) = above else {
                merged.rules = all;
                let (profile, problems) = Profile::new(merged, &origins);
                let own = problems.iter().filter_map(|p| own(told, &origins, p));
                let faults = own.map(|p| placed(text, &p));
                return Ok((profile, faults.collect()));
            };
            let found = self.above(&name, at, &current);
            at = found.ok_or_else(|| nowhere(format!("extends {name:?}, which is no profile")))?;
            let next = parse(&self.entries[at].text)
                .map_err(|f| nowhere(format!("extends {name:?}, where {f}")))?;
            rules(&mut all, &mut origins, &next, false);
            merge(&mut merged, &next);
            above = parent(&next).map(str::to_owned);
            current = next.name;
        }
        Err(nowhere(format!(
            "has more than {MOST_PARENTS} parents: does it extend itself?"
        )))
    }
}

/// A problem where the profile's own file has it; `None` when it lies in a parent.
fn own(told: &format::Profile, origins: &[Origin], problem: &Problem) -> Option<Problem> {
    let mut problem = problem.clone();
    let [Step::Key(list), Step::Item(n), ..] = problem.place.0.as_mut_slice() else {
        return Some(problem);
    };
    let own = match list.as_str() {
        "rule" => {
            *n = origins.get(*n)?.own?;
            true
        }
        "reading" => *n < told.readings.len(),
        "ask" => *n < told.asks.len(),
        "gate" => *n < told.gates.len(),
        "reads" => *n < told.reads.len(),
        _ => true,
    };
    own.then_some(problem)
}
