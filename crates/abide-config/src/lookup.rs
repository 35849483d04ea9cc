//! How a knob is found, and its default.

use std::collections::BTreeMap;
use std::sync::OnceLock;

use crate::kind::Raw;
use crate::knob::Knob;
use crate::table::KNOBS;
use crate::table_gateway::GATEWAY;
use crate::value::Value;

impl Knob {
    /// The knob of a name.
    pub fn find(key: &str) -> Option<&'static Self> {
        Self::all().find(|k| k.key == key)
    }

    /// Every knob, those of the gateway last.
    pub fn all() -> impl Iterator<Item = &'static Self> {
        KNOBS.iter().chain(GATEWAY)
    }

    /// Its default in a call or in a bulk run.
    pub fn default_value(&self, fetch: bool) -> &'static Value {
        let (call, run) = &defaults()[self.key];
        if fetch { run } else { call }
    }
}

type Defaults = BTreeMap<&'static str, (Value, Value)>;

fn defaults() -> &'static Defaults {
    static DEFAULTS: OnceLock<Defaults> = OnceLock::new();
    DEFAULTS.get_or_init(|| {
        let read = |k: &Knob, text: &str| {
            let raw = Raw::Plain(text.to_owned());
            // A test reads every default; this stands in for one that cannot be.
            k.kind.read(&raw).unwrap_or(Value::Word("none"))
        };
        let pair = |k: &'static Knob| {
            let call = read(k, k.default);
            let run = k.fetch_default.map(|text| read(k, text));
            let run = run.unwrap_or_else(|| call.clone());
            (k.key, (call, run))
        };
        Knob::all().map(pair).collect()
    })
}

/// The candidate that was probably meant.
pub(crate) fn meant<'a>(
    word: &str,
    candidates: impl IntoIterator<Item = &'a str>,
) -> Option<String> {
    // Long words are no typing mistakes, and comparing them takes time.
    if word.len() > 100 {
        return None;
    }
    let scored = candidates.into_iter().filter_map(|c| {
        let begins = c
            .strip_prefix(word)
            .is_some_and(|rest| rest.starts_with('.'));
        let ends = c.strip_suffix(word).is_some_and(|rest| rest.ends_with('.'));
        let alike = strsim::normalized_damerau_levenshtein(word, c);
        let score = if begins || ends {
            alike.max(0.9)
        } else {
            alike
        };
        (score >= 0.6).then_some((c, score))
    });
    scored
        .reduce(|best, next| if next.1 > best.1 { next } else { best })
        .map(|(c, _)| c.to_owned())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_default_is_of_its_kind() {
        for k in Knob::all() {
            for text in [Some(k.default), k.fetch_default].into_iter().flatten() {
                let raw = Raw::Plain(text.to_owned());
                assert!(k.kind.read(&raw).is_some(), "{}: {text:?}", k.key);
            }
        }
    }

    #[test]
    fn no_key_is_another_keys_beginning_and_none_comes_twice() {
        for a in Knob::all() {
            for b in Knob::all() {
                assert!(
                    !b.key.starts_with(&format!("{}.", a.key)),
                    "{} {}",
                    a.key,
                    b.key
                );
            }
            assert_eq!(
                Knob::all().filter(|b| b.key == a.key).count(),
                1,
                "{}",
                a.key
            );
            assert_eq!(
                Knob::all().filter(|b| b.env() == a.env()).count(),
                1,
                "{}",
                a.key
            );
        }
    }

    #[test]
    fn every_knob_says_why_in_a_sentence() {
        for k in Knob::all() {
            assert!(k.why.ends_with('.') && k.why.len() > 30, "{}", k.key);
        }
    }

    #[test]
    fn near_misses_are_recognised() {
        let keys = || KNOBS.iter().map(|k| k.key);
        assert_eq!(meant("patiense", keys()).as_deref(), Some("patience"));
        assert_eq!(meant("wait", keys()).as_deref(), Some("wait.max"));
        assert_eq!(meant("max_body_size", keys()).as_deref(), Some("max_body"));
        assert_eq!(meant("retry.one", keys()).as_deref(), Some("retry.on"));
        assert_eq!(meant("zzz", keys()), None);
    }
}
