//! Reading abide.toml: every value with its place, every mistake at once.

use std::collections::BTreeMap;
use std::fs::File as Disk;
use std::io::Read as _;
use std::ops::Range;
use std::path::Path;

use toml::Spanned;
use toml::de::{DeTable, DeValue};

use crate::chain::{self, ChainRoute};
use crate::error::{ConfigError, Origin};
use crate::kind::Raw;
use crate::knob::Knob;
use crate::layer::Layer;
use crate::lookup::meant;
use crate::table_gateway::PREFIX;
use crate::upstream::Upstream;
use abide_profile::Host;

/// The largest file read: a hundred times what anyone writes by hand.
const LARGEST: u64 = 4 << 20;
/// The most providers one file may name.
const PROVIDERS: usize = 10_000;
/// The most hosts one provider may have.
const HOSTS: usize = 1_000;

/// What only a provider's section has, and is no knob.
const OF_PROVIDERS: [&str; 2] = ["hosts", "upstream"];

/// The text of a configuration file.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct File {
    /// Its path, as it is to be named in errors.
    pub path: String,
    /// What it says.
    pub text: String,
}

impl File {
    /// Reads a file.
    ///
    /// # Errors
    /// When it cannot be read, is no UTF-8, or is larger than 4 MiB.
    pub fn read(path: &Path) -> Result<Self, ConfigError> {
        let name = path.display().to_string();
        let bad = |message: String| ConfigError::new(Origin::at(&name, "", 0), message);
        let file = Disk::open(path).map_err(|e| bad(format!("cannot be read: {e}")))?;
        let mut bytes = Vec::new();
        file.take(LARGEST + 1)
            .read_to_end(&mut bytes)
            .map_err(|e| bad(format!("cannot be read: {e}")))?;
        if bytes.len() as u64 > LARGEST {
            return Err(bad("is larger than 4 MiB".to_owned()));
        }
        match String::from_utf8(bytes) {
            Ok(text) => Ok(Self { path: name, text }),
            Err(e) => {
                let good = e.utf8_error().valid_up_to();
                let text = String::from_utf8_lossy(e.as_bytes()).into_owned();
                let at = Origin::at(&name, &text, good);
                Err(ConfigError::new(at, "is not UTF-8 from here on"))
            }
        }
    }
}

/// What a file sets.
#[derive(Clone, Debug, Default, PartialEq)]
pub(crate) struct Sections {
    pub(crate) defaults: Layer,
    pub(crate) fetch: Layer,
    pub(crate) gateway: Layer,
    pub(crate) chains: Vec<ChainRoute>,
    pub(crate) providers: BTreeMap<String, Provider>,
    /// Profiles of the user's own: their text, and where they begin.
    pub(crate) profiles: BTreeMap<String, (String, Origin)>,
}

/// A provider as the file names it.
#[derive(Clone, Debug, Default, PartialEq)]
pub(crate) struct Provider {
    pub(crate) hosts: Vec<(Host, Origin)>,
    pub(crate) upstream: Option<Upstream>,
    pub(crate) layer: Layer,
}

impl Provider {
    /// The hosts by which it is recognised; that of its upstream is one of them.
    pub(crate) fn hosts(&self) -> impl Iterator<Item = &Host> {
        let upstream = self.upstream.iter().map(|u| &u.host);
        self.hosts.iter().map(|h| &h.0).chain(upstream)
    }
}

/// Where a knob may stand.
#[derive(Clone, Copy, PartialEq, Eq)]
enum Place {
    Defaults,
    Fetch,
    Gateway,
    Provider,
}

pub(crate) fn read(file: &File, errors: &mut Vec<ConfigError>) -> Sections {
    let mut reader = Reader { file, errors };
    let mut sections = Sections::default();
    match DeTable::parse(&file.text) {
        Ok(root) => reader.root(root.get_ref(), &mut sections),
        Err(e) => {
            let span = e.span().unwrap_or(0..0);
            let message = e.message().replace('\n', " ");
            reader.fail(&span, message, None);
        }
    }
    sections
}

struct Reader<'a> {
    file: &'a File,
    errors: &'a mut Vec<ConfigError>,
}

impl Reader<'_> {
    fn origin(&self, span: &Range<usize>) -> Origin {
        Origin::at(&self.file.path, &self.file.text, span.start)
    }

    fn fail(&mut self, span: &Range<usize>, message: impl Into<String>, help: Option<String>) {
        let error = ConfigError::new(self.origin(span), message).with_help(help);
        self.errors.push(error);
    }

    fn root(&mut self, root: &DeTable<'_>, out: &mut Sections) {
        for (key, value) in root {
            let table = value.get_ref().as_table();
            match (key.get_ref().as_ref(), table) {
                ("chain", _) => self.chains(value, out),
                ("defaults", Some(t)) => self.knobs(t, "", Place::Defaults, &mut out.defaults),
                ("fetch", Some(t)) => self.knobs(t, "", Place::Fetch, &mut out.fetch),
                ("gateway", Some(t)) => self.knobs(t, PREFIX, Place::Gateway, &mut out.gateway),
                ("providers", Some(t)) => self.providers(t, out),
                ("profiles", Some(t)) => self.profiles(t, out),
                (name @ ("defaults" | "fetch" | "gateway" | "profiles" | "providers"), None) => {
                    let message = format!("expected a section [{name}], found a value");
                    self.fail(&value.span(), message, None);
                }
                (name, _) => {
                    let sections = [
                        "chain",
                        "defaults",
                        "fetch",
                        "gateway",
                        "profiles",
                        "providers",
                    ];
                    let help = match meant(name, sections) {
                        Some(near) => Some(format!("did you mean [{near}]?")),
                        None if Knob::find(name).is_some() => {
                            Some("it belongs into a section, as [defaults]".to_owned())
                        }
                        None => Some(
                            "there are [defaults], [fetch], [gateway], [[chain]], \
                             [providers.NAME] and [profiles.NAME]"
                                .to_owned(),
                        ),
                    };
                    self.fail(
                        &key.span(),
                        format!("unknown section {}", short(name)),
                        help,
                    );
                }
            }
        }
    }

    fn providers(&mut self, table: &DeTable<'_>, out: &mut Sections) {
        for (key, value) in table {
            let name = key.get_ref().as_ref();
            if out.providers.len() >= PROVIDERS {
                self.fail(
                    &key.span(),
                    format!("more than {PROVIDERS} providers"),
                    None,
                );
                return;
            }
            let fit = |b: u8| b.is_ascii_alphanumeric() || b"-_.".contains(&b);
            if name.is_empty() || name.len() > 64 || !name.bytes().all(fit) {
                let message = format!("{} cannot name a provider", short(name));
                let help = "1 to 64 of the characters a-z A-Z 0-9 - _ .".to_owned();
                self.fail(&key.span(), message, Some(help));
                continue;
            }
            let Some(table) = value.get_ref().as_table() else {
                let message = format!("expected a section [providers.{name}], found a value");
                let help = knob_outside_a_provider(name);
                self.fail(&value.span(), message, help);
                continue;
            };
            let mut provider = Provider::default();
            if let Some(hosts) = table.get("hosts") {
                self.hosts(hosts, &mut provider);
            }
            if let Some(upstream) = table.get("upstream") {
                self.upstream(upstream, &mut provider);
            }
            self.knobs(table, "", Place::Provider, &mut provider.layer);
            out.providers.insert(name.to_owned(), provider);
        }
    }

    /// Profiles are read by those who know their format; here only their text is taken out.
    fn profiles(&mut self, table: &DeTable<'_>, out: &mut Sections) {
        let whole: toml::Table = self.file.text.parse().unwrap_or_default();
        for (key, value) in table {
            let name = key.get_ref().as_ref();
            let told = whole.get("profiles").and_then(|p| p.get(name));
            let Some(mut told) = told.and_then(toml::Value::as_table).cloned() else {
                let message = format!("expected a section [profiles.{}]", short(name));
                self.fail(&value.span(), message, None);
                continue;
            };
            told.insert("name".to_owned(), toml::Value::String(name.to_owned()));
            match toml::to_string(&told) {
                Ok(text) => {
                    let origin = self.origin(&key.span());
                    out.profiles.insert(name.to_owned(), (text, origin));
                }
                Err(e) => self.fail(&value.span(), e.to_string(), None),
            }
        }
    }

    fn hosts(&mut self, value: &Spanned<DeValue<'_>>, provider: &mut Provider) {
        let list = value.get_ref().as_array().filter(|l| l.len() <= HOSTS);
        let Some(list) = list else {
            let message = format!(
                "hosts: expected a list of at most {HOSTS} hosts, as [\"api.example.org\"], found {}",
                raw(value.get_ref()).found()
            );
            return self.fail(&value.span(), message, None);
        };
        for item in list {
            match item.get_ref().as_str().and_then(Host::parse) {
                Some(host) => provider.hosts.push((host, self.origin(&item.span()))),
                None => {
                    let message = format!(
                        "hosts: expected a host as \"api.example.org\", \"*.example.org\" or \
                         \"localhost:8080\" (no scheme, no path), found {}",
                        raw(item.get_ref()).found()
                    );
                    self.fail(&item.span(), message, None);
                }
            }
        }
    }

    fn upstream(&mut self, value: &Spanned<DeValue<'_>>, provider: &mut Provider) {
        match Upstream::read(value, |span| self.origin(span)) {
            Ok(upstream) => provider.upstream = Some(upstream),
            Err((span, why, help)) => self.fail(&span, why, help),
        }
    }

    fn chains(&mut self, value: &Spanned<DeValue<'_>>, out: &mut Sections) {
        match chain::read(value, |span| self.origin(span)) {
            Ok(chains) => out.chains = chains,
            Err((span, why, help)) => self.fail(&span, why, help),
        }
    }

    fn knobs(&mut self, table: &DeTable<'_>, prefix: &str, place: Place, out: &mut Layer) {
        for (key, value) in table {
            let name = format!("{prefix}{}", key.get_ref());
            if place == Place::Provider && OF_PROVIDERS.contains(&name.as_str()) {
                continue;
            }
            let inside = format!("{name}.");
            let is_group = Knob::all().any(|k| k.key.starts_with(&inside));
            match (Knob::find(&name), value.get_ref()) {
                (None, DeValue::Table(t)) if is_group => self.knobs(t, &inside, place, out),
                (None, _) => self.unknown(&name, &key.span(), place),
                (Some(k), _) if k.fetch_only && place != Place::Fetch => {
                    let help = Some("put it into [fetch]".to_owned());
                    self.fail(&key.span(), format!("{name} is a bulk run's alone"), help);
                }
                (Some(k), _) if k.is_gateways() && place != Place::Gateway => {
                    let help = Some("put it into [gateway]".to_owned());
                    self.fail(&key.span(), format!("{name} is the gateway's"), help);
                }
                (Some(k), _) if k.shared && place == Place::Provider => {
                    let help = Some("put it into [defaults]".to_owned());
                    let message = format!("{name} is of all providers together");
                    self.fail(&key.span(), message, help);
                }
                (Some(knob), found) => {
                    let found = raw(found);
                    match knob.kind.read(&found) {
                        Some(v) => {
                            let origin = self.origin(&value.span());
                            out.set(knob.key, v, origin);
                        }
                        None => {
                            let message = unfit(knob, &found);
                            self.fail(&value.span(), message, None);
                        }
                    }
                }
            }
        }
    }

    fn unknown(&mut self, name: &str, span: &Range<usize>, place: Place) {
        let known = Knob::all()
            .filter(|k| place == Place::Fetch || !k.fetch_only)
            .filter(|k| k.is_gateways() == (place == Place::Gateway));
        let own = OF_PROVIDERS.iter().filter(|_| place == Place::Provider);
        let near = meant(name, known.map(|k| k.key).chain(own.copied()));
        let shown = |name: &str| name.strip_prefix(PREFIX).unwrap_or(name).to_owned();
        let help = near.map(|near| format!("did you mean {:?}?", shown(&near)));
        self.fail(span, format!("unknown key {}", short(&shown(name))), help);
    }
}

/// The message about a value that is not what its knob takes.
pub(crate) fn unfit(knob: &Knob, found: &Raw) -> String {
    let (key, expected) = (knob.key, knob.kind.expected());
    if knob.is_secret() {
        return format!("{key}: expected {expected}, found something else");
    }
    format!("{key}: expected {expected}, found {}", found.found())
}

fn knob_outside_a_provider(name: &str) -> Option<String> {
    let is_knob = OF_PROVIDERS.contains(&name) || Knob::find(name).is_some();
    is_knob.then(|| format!("{name} belongs to a provider, as [providers.NAME]"))
}

/// A name from a file, quoted and cut to a length that fits a line.
fn short(name: &str) -> String {
    Raw::Text(name.to_owned()).found()
}

fn raw(value: &DeValue<'_>) -> Raw {
    match value {
        DeValue::String(s) => Raw::Text(s.to_string()),
        DeValue::Integer(n) => {
            let digits = i64::from_str_radix(n.as_str(), n.radix());
            digits.map_or(Raw::Other("a number too large"), Raw::Whole)
        }
        DeValue::Float(n) => {
            let n = n.as_str().parse();
            n.map_or(Raw::Other("a number too large"), Raw::Real)
        }
        DeValue::Boolean(on) => Raw::Switch(*on),
        DeValue::Datetime(_) => Raw::Other("a date"),
        DeValue::Array(all) => Raw::List(all.iter().map(|v| raw(v.get_ref())).collect()),
        DeValue::Table(_) => Raw::Other("a table"),
    }
}
