//! `[[chain]]`: several providers for one question, asked through the gateway.
//!
//! ```toml
//! [[chain]]
//! name = "book"
//! path = "/isbn/{isbn}"
//! members = [
//!     { provider = "openlibrary", path = "/isbn/{isbn}.json" },
//!     { provider = "shop", path = "/books?isbn={isbn}", independent = true },
//! ]
//! ```

use std::ops::Range;

use toml::Spanned;
use toml::de::{DeTable, DeValue};

use crate::error::Origin;
use crate::upstream::{Wrong, optional, text, unknown};

/// The most chains one file may have, and the most members of one.
const MOST: usize = 1_000;

/// Several providers for one question.
#[derive(Clone, Debug, PartialEq)]
pub struct ChainRoute {
    /// The name in front of its paths.
    pub name: String,
    /// The paths asked of it, with names in braces for segments; every path when absent.
    pub path: Option<String>,
    /// Who is asked, in order.
    pub members: Vec<ChainMember>,
    pub(crate) origin: Origin,
}

/// One of them.
#[derive(Clone, Debug, PartialEq)]
pub struct ChainMember {
    /// The provider.
    pub provider: String,
    /// The path asked of it, with the names of the chain's path; the caller's own when absent.
    pub path: Option<String>,
    /// It shares nothing with those before it: it may be asked although one of them refused.
    pub independent: bool,
    /// It is on this machine.
    pub local: bool,
}

/// Reads all chains of a file.
pub(crate) fn read(
    value: &Spanned<DeValue<'_>>,
    origin: impl Fn(&Range<usize>) -> Origin,
) -> Result<Vec<ChainRoute>, Wrong> {
    let looks = || {
        let why = "chain: expected sections [[chain]] with `name` and `members`".to_owned();
        (value.span(), why, None)
    };
    let all = value.get_ref().as_array().filter(|a| a.len() <= MOST);
    let mut chains: Vec<ChainRoute> = Vec::new();
    for told in all.ok_or_else(looks)? {
        let table = told.get_ref().as_table().ok_or_else(looks)?;
        let chain = one(table, &told.span(), origin(&told.span()))?;
        if chains.iter().any(|c| c.name == chain.name) {
            let why = format!("chain: there is another one of the name {:?}", chain.name);
            return Err((told.span(), why, None));
        }
        chains.push(chain);
    }
    Ok(chains)
}

fn one(table: &DeTable<'_>, span: &Range<usize>, origin: Origin) -> Result<ChainRoute, Wrong> {
    for key in table.keys() {
        unknown("chain", key, &["members", "name", "path"])?;
    }
    let wrong = |why: String| (span.clone(), format!("chain: {why}"), None);
    let name = optional(table, "name")?.ok_or_else(|| wrong("it needs a `name`".to_owned()))?;
    let fit = |b: u8| b.is_ascii_alphanumeric() || b"-_.".contains(&b);
    if name == "-" || name.len() > 64 || !name.bytes().all(fit) {
        return Err(wrong(format!(
            "{name:?} cannot name one: 1 to 64 of a-z A-Z 0-9 - _ ."
        )));
    }
    let path = optional(table, "path")?;
    let names = names(path.as_deref().unwrap_or_default());
    let names = names.ok_or_else(|| wrong(format!("{path:?} is no path as \"/isbn/{{isbn}}\"")))?;
    let told = table.get("members").and_then(|m| m.get_ref().as_array());
    let told = told.filter(|m| !m.is_empty() && m.len() <= MOST);
    let told =
        told.ok_or_else(|| wrong("it needs `members`, a list of { provider = … }".to_owned()))?;
    let members = told.iter().map(|m| member(m, &names, path.is_some()));
    let members = members.collect::<Result<_, _>>()?;
    Ok(ChainRoute {
        name,
        path,
        members,
        origin,
    })
}

fn member(
    value: &Spanned<DeValue<'_>>,
    known: &[String],
    templated: bool,
) -> Result<ChainMember, Wrong> {
    let wrong = |why: String| (value.span(), format!("member: {why}"), None);
    let Some(table) = value.get_ref().as_table() else {
        return Err(wrong(
            "expected { provider = \"NAME\", path = \"/…\" }".to_owned(),
        ));
    };
    for key in table.keys() {
        unknown("member", key, &["independent", "local", "path", "provider"])?;
    }
    let provider = table.get("provider");
    let provider = provider.ok_or_else(|| wrong("it needs a `provider`".to_owned()))?;
    let path = optional(table, "path")?;
    if let Some(path) = &path {
        let used = names(path).ok_or_else(|| wrong(format!("{path:?} is no path")))?;
        if let Some(stranger) = used.iter().find(|n| !known.contains(n)) {
            let why = format!("the chain's `path` has no {{{stranger}}}");
            return Err(wrong(why));
        }
    } else if templated {
        return Err(wrong(
            "it needs a `path`, since the chain has one".to_owned(),
        ));
    }
    let switch = |key: &str| match table.get(key).map(Spanned::get_ref) {
        None => Ok(false),
        Some(DeValue::Boolean(on)) => Ok(*on),
        Some(_) => Err(wrong(format!("{key}: expected true or false"))),
    };
    Ok(ChainMember {
        provider: text("provider", provider)?.to_owned(),
        path,
        independent: switch("independent")?,
        local: switch("local")?,
    })
}

/// The names in braces of a path; `None` where it is none.
fn names(path: &str) -> Option<Vec<String>> {
    let mut names = Vec::new();
    if path.is_empty() {
        return Some(names);
    }
    if !path.starts_with('/') || path.bytes().any(|b| b <= b' ' || b == b'#' || b > b'~') {
        return None;
    }
    let mut left = path;
    while let Some(open) = left.find(['{', '}']) {
        let rest = left[open..].strip_prefix('{')?;
        let (name, after) = rest.split_once('}')?;
        let fit = |b: u8| b.is_ascii_alphanumeric() || b == b'_';
        if name.is_empty() || !name.bytes().all(fit) {
            return None;
        }
        names.push(name.to_owned());
        left = after;
    }
    Some(names)
}
