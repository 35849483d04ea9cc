//! Which requests are meant: by method, and by path templates, in which `*` stands for one segment
//! and `**` at the end for the rest.

use http::Method;

use crate::problem::{Place, Problem};

/// A path template.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct Pattern {
    segments: Vec<Option<Box<str>>>,
    open: bool,
}

impl Pattern {
    /// Reads a template; `None` when it does not begin with a slash, or has `**` inside.
    pub(crate) fn parse(text: &str) -> Option<Self> {
        let mut segments: Vec<&str> = text.strip_prefix('/')?.split('/').collect();
        let open = segments.last() == Some(&"**");
        if open {
            segments.pop();
        }
        if segments.contains(&"**") {
            return None;
        }
        let segments = segments.into_iter();
        Some(Self {
            segments: segments.map(|s| (s != "*").then(|| s.into())).collect(),
            open,
        })
    }

    /// Whether a path is meant. One slash at its end makes no difference.
    pub(crate) fn matches(&self, path: &str) -> bool {
        let path = path.strip_prefix('/').unwrap_or(path);
        // Most paths differ in their first segment.
        if let Some(Some(first)) = self.segments.first()
            && !path.starts_with(&**first)
        {
            return false;
        }
        let path = path.strip_suffix('/').unwrap_or(path);
        // Segments are short: looking at each byte costs less than preparing to search.
        let mut given = path.as_bytes().split(|b| *b == b'/');
        for segment in &self.segments {
            match (given.next(), segment) {
                (None, _) => return false,
                (Some(_), None) => {}
                (Some(g), Some(s)) if g == s.as_bytes() => {}
                _ => return false,
            }
        }
        self.open || given.next().is_none()
    }
}

/// Some paths, by templates: `*` stands for one segment, `**` at the end for the rest.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Paths(Vec<Pattern>);

impl Paths {
    /// Reads templates; `None` where one does not begin with a slash, or has `**` inside.
    pub fn parse<T: AsRef<str>>(texts: impl IntoIterator<Item = T>) -> Option<Self> {
        let all = texts.into_iter().map(|t| Pattern::parse(t.as_ref()));
        all.collect::<Option<_>>().map(Self)
    }

    /// Whether a path is among them.
    pub fn matches(&self, path: &str) -> bool {
        self.0.iter().any(|p| p.matches(path))
    }
}

/// The methods of these names.
pub(crate) fn methods(all: &[String], place: &Place, problems: &mut Vec<Problem>) -> Vec<Method> {
    let mut methods = Vec::new();
    for (i, name) in all.iter().enumerate() {
        match name.parse() {
            Ok(method) if *name == name.to_ascii_uppercase() => methods.push(method),
            _ => problems.push(Problem::new(
                place.item(i),
                format!("{name:?} is no method (they are written in capitals)"),
            )),
        }
    }
    methods
}

/// The path templates of these texts.
pub(crate) fn patterns(all: &[String], place: &Place, problems: &mut Vec<Problem>) -> Vec<Pattern> {
    let mut patterns = Vec::new();
    for (i, text) in all.iter().enumerate() {
        match Pattern::parse(text) {
            Some(p) => patterns.push(p),
            None => problems.push(Problem::new(
                place.item(i),
                format!(
                    "{text:?} is no path template: it begins with / and has ** only at its end"
                ),
            )),
        }
    }
    patterns
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn templates_match_whole_segments() {
        let is = |t: &str, path| Pattern::parse(t).unwrap().matches(path);
        assert!(is("/graphql", "/graphql"));
        assert!(is("/graphql", "/graphql/"));
        assert!(!is("/graphql", "/graphql2"));
        assert!(is("/repos/*/*", "/repos/a/b"));
        assert!(!is("/repos/*/*", "/repos/a"));
        assert!(!is("/repos/*/*", "/repos/a/b/c"));
        assert!(is("/repos/**", "/repos/a/b/c"));
        assert!(is("/repos/**", "/repos"));
        assert!(is("/**", "/"));
        assert!(is("/", "/"));
        assert!(!is("/", "/x"));
    }

    #[test]
    fn what_is_no_template_is_refused() {
        assert_eq!(Pattern::parse("graphql"), None);
        assert_eq!(Pattern::parse("/a/**/b"), None);
        assert_eq!(Pattern::parse(""), None);
    }
}
