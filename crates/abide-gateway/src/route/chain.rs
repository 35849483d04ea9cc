//! The paths of a chain: what of the asked one fills the members' own.

use abide::core::chain::{Member, Role};

use crate::settings::ChainRoute;

/// Several providers for one question.
#[derive(Debug)]
pub(crate) struct Chain {
    pub(crate) name: String,
    path: Option<Vec<Part>>,
    pub(crate) members: Vec<Asked>,
}

/// One of them.
#[derive(Debug)]
pub(crate) struct Asked {
    pub(crate) provider: String,
    pub(crate) member: Member,
    path: Option<Vec<Part>>,
}

/// A piece of a path.
#[derive(Clone, Debug, PartialEq, Eq)]
enum Part {
    Text(String),
    Name(String),
}

impl Chain {
    pub(crate) fn new(told: &ChainRoute) -> Self {
        let members = told.members.iter().map(|m| Asked {
            provider: m.provider.clone(),
            member: Member {
                role: match m.local {
                    true => Role::Local,
                    false => Role::Network,
                },
                independent: m.independent,
            },
            path: m.path.as_deref().map(parts),
        });
        Self {
            name: told.name.clone(),
            path: told.path.as_deref().map(parts),
            members: members.collect(),
        }
    }

    /// What each member is asked for a path; `None` where it is none of this chain's. The query of
    /// the caller goes along.
    pub(crate) fn asks(&self, rest: &str) -> Option<Vec<String>> {
        let (path, query) = match rest.split_once('?') {
            Some((path, query)) => (path, Some(query)),
            None => (rest, None),
        };
        let filled = match &self.path {
            Some(own) => fit(own, path)?,
            None => Vec::new(),
        };
        let members = self.members.iter().map(|m| {
            let mut asked = match &m.path {
                Some(parts) => fill(parts, &filled),
                None => path.to_owned(),
            };
            if let Some(query) = query {
                asked.push(if asked.contains('?') { '&' } else { '?' });
                asked.push_str(query);
            }
            asked
        });
        Some(members.collect())
    }
}

fn parts(template: &str) -> Vec<Part> {
    let (mut parts, mut left) = (Vec::new(), template);
    while let Some((text, rest)) = left.split_once('{') {
        if !text.is_empty() {
            parts.push(Part::Text(text.to_owned()));
        }
        let (name, after) = rest.split_once('}').unwrap_or((rest, ""));
        parts.push(Part::Name(name.to_owned()));
        left = after;
    }
    if !left.is_empty() {
        parts.push(Part::Text(left.to_owned()));
    }
    parts
}

/// What the names of a template stand for in a path: each for something within one segment, up to
/// where the template goes on.
fn fit<'a>(template: &'a [Part], path: &'a str) -> Option<Vec<(&'a str, &'a str)>> {
    let (mut filled, mut left) = (Vec::new(), path);
    for (i, part) in template.iter().enumerate() {
        match part {
            Part::Text(text) => left = left.strip_prefix(text.as_str())?,
            Part::Name(name) => {
                let segment = left.find('/').unwrap_or(left.len());
                let end = match template.get(i + 1) {
                    Some(Part::Text(next)) => {
                        let next = next.split('/').next().unwrap_or_default();
                        match next.is_empty() {
                            true => segment,
                            false => left[..segment].rfind(next)?,
                        }
                    }
                    _ => segment,
                };
                let (value, rest) = left.split_at(end);
                if value.is_empty() {
                    return None;
                }
                filled.push((name.as_str(), value));
                left = rest;
            }
        }
    }
    left.is_empty().then_some(filled)
}

fn fill(template: &[Part], filled: &[(&str, &str)]) -> String {
    let mut out = String::new();
    for part in template {
        match part {
            Part::Text(text) => out.push_str(text),
            Part::Name(name) => {
                let value = filled.iter().find(|(n, _)| n == name).map(|(_, v)| *v);
                let value = value.unwrap_or_default();
                // In a query a value must not become a second parameter.
                match out.contains('?') {
                    true => out.extend(value.chars().map(|c| match c {
                        '&' => "%26".to_owned(),
                        '+' => "%2B".to_owned(),
                        '=' => "%3D".to_owned(),
                        c => c.to_string(),
                    })),
                    false => out.push_str(value),
                }
            }
        }
    }
    out
}

#[cfg(test)]
mod tests {
    use super::*;

    fn asks(own: &str, member: &str, path: &str) -> Option<String> {
        let chain = Chain {
            name: "book".to_owned(),
            path: Some(parts(own)),
            members: vec![Asked {
                provider: "x".to_owned(),
                member: Member::default(),
                path: Some(parts(member)),
            }],
        };
        Some(chain.asks(path)?.remove(0))
    }

    #[test]
    fn gw_members_are_asked_by_paths_of_their_own() {
        let of = |own, member, path| asks(own, member, path);
        let got = of("/isbn/{isbn}", "/isbn/{isbn}.json", "/isbn/978?lang=en");
        assert_eq!(got.as_deref(), Some("/isbn/978.json?lang=en"));
        let got = of(
            "/isbn/{isbn}",
            "/volumes?q=isbn:{isbn}",
            "/isbn/978?lang=en",
        );
        assert_eq!(got.as_deref(), Some("/volumes?q=isbn:978&lang=en"));
        let got = of("/{a}/{b}.json", "/{b}/{a}", "/x/y.z.json");
        assert_eq!(got.as_deref(), Some("/y.z/x"));
        let got = of("/t/{name}", "/s?q={name}", "/t/a&b=c+d");
        assert_eq!(got.as_deref(), Some("/s?q=a%26b%3Dc%2Bd"));
        for other in ["/isbn/", "/isbn/1/2", "/isbn", "/x/1"] {
            assert_eq!(of("/isbn/{isbn}", "/{isbn}", other), None, "{other}");
        }
    }
}
