//! Every target over its corpus, and over mutations of it from a seeded generator.

use std::fs;
use std::path::{Path, PathBuf};

use abide_fuzz::{TARGETS, Target};

/// Mutations a target.
const MUTATIONS: u32 = 2_000;
/// Larger ones are cut: what they would show, smaller ones show sooner.
const LONGEST: usize = 4 * 1024;

fn corpus(name: &str) -> Vec<(PathBuf, Vec<u8>)> {
    let folder = Path::new(env!("CARGO_MANIFEST_DIR"))
        .join("corpus")
        .join(name);
    let mut all: Vec<_> = fs::read_dir(&folder)
        .unwrap_or_else(|e| panic!("{}: {e}", folder.display()))
        .map(|entry| entry.expect("can be listed").path())
        .map(|path| (path.clone(), fs::read(path).expect("can be read")))
        .collect();
    all.sort();
    assert!(!all.is_empty(), "{}: nothing is there", folder.display());
    all
}

/// Panics say what was wrong; this says for which input.
struct Shown<'a>(&'a str, &'a [u8]);

impl Drop for Shown<'_> {
    fn drop(&mut self) {
        if std::thread::panicking() {
            eprintln!("{}: {:?}", self.0, String::from_utf8_lossy(self.1));
            eprintln!("as bytes: {:?}", self.1);
        }
    }
}

fn run(name: &str, target: Target) {
    let seed = std::env::var("ABIDE_SEED")
        .ok()
        .and_then(|s| s.parse().ok());
    let mut dice = fastrand::Rng::with_seed(seed.unwrap_or(1));
    let corpus = corpus(name);
    for (path, data) in &corpus {
        let _shown = Shown(&path.to_string_lossy(), data);
        target(data);
    }
    for n in 0..MUTATIONS {
        let mut data = corpus[dice.usize(..corpus.len())].1.clone();
        for _ in 0..dice.usize(1..6) {
            mutate(&mut data, &corpus, &mut dice);
        }
        data.truncate(LONGEST);
        let _shown = Shown(&format!("{name}, mutation {n}"), &data);
        target(&data);
    }
}

/// Bytes that parsers stumble over.
const PIECES: [&[u8]; 22] = [
    b"\n",
    b"\n\n",
    b" ",
    b",",
    b";",
    b"=",
    b":",
    b"\"",
    b"\\",
    b"{",
    b"}",
    b"[",
    b"]",
    b"-1",
    b"0",
    b"1e999",
    b"99999999999999999999999",
    b"NaN",
    b"\\u0065",
    b"\xff",
    b"\xc2\xb5",
    b"\"\"\"",
];

fn mutate(data: &mut Vec<u8>, corpus: &[(PathBuf, Vec<u8>)], dice: &mut fastrand::Rng) {
    let at = dice.usize(..=data.len());
    let end = (at + dice.usize(..=8)).min(data.len());
    match dice.u8(..7) {
        0 => drop(data.drain(at..end)),
        1 => drop(data.splice(at..at, PIECES[dice.usize(..PIECES.len())].iter().copied())),
        2 => drop(data.splice(at..end, [dice.u8(..)])),
        3 => {
            if let Some(b) = data.get_mut(at) {
                *b ^= 1 << dice.u8(..8);
            }
        }
        4 => {
            let piece = data[at..end].to_vec().repeat(dice.usize(1..40));
            data.splice(at..at, piece);
        }
        5 => {
            let other = &corpus[dice.usize(..corpus.len())].1;
            let from = dice.usize(..=other.len());
            data.truncate(at);
            data.extend_from_slice(&other[from..]);
        }
        _ => data.truncate(at),
    }
}

macro_rules! targets {
    ($($name:ident)*) => {
        $(#[test]
        fn $name() {
            run(stringify!($name), abide_fuzz::$name);
        })*

        #[test]
        fn every_target_is_here() {
            let here = [$(stringify!($name)),*];
            assert_eq!(TARGETS.map(|t| t.0), here);
        }
    };
}

targets! {
    classify dates decode durations graphql profile_toml prose quota_headers recordings retry_after
    scanner
    structured
}

#[test]
fn a_corpus_is_small() {
    for (name, _) in TARGETS {
        let corpus = corpus(name);
        assert!(corpus.len() <= 40, "{name}: {} files", corpus.len());
        for (path, data) in corpus {
            assert!(
                data.len() <= 2048,
                "{}: {} bytes",
                path.display(),
                data.len()
            );
        }
    }
}
