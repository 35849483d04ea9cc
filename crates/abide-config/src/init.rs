//! A starter file: every knob with its reason and its default, commented out.

use std::fmt::Write as _;

use crate::knob::Knob;
use crate::table::KNOBS;
use crate::table_gateway::GATEWAY;

/// Lines of comments are broken here.
const WIDTH: usize = 90;

const HEAD: &str = "\
# abide.toml
#
# Everything here is commented out and shows its default. What counts, in this order: a flag on the
# command line, an environment variable (named in brackets above each key), the section of the
# provider, [fetch] (in a bulk run), [defaults], the built-in default.
#
# `abide config show` prints what is in force and where each value comes from.
# Durations need a unit: \"250ms\", \"30s\", \"2m 13s\", \"1.5h\", \"31d\".

";

const PROVIDER: &str = "\
# What you know of a provider. Every key of [defaults] may stand here too.
# [providers.example]
# hosts = [\"api.example.org\", \"*.example.net\"]
# rate = \"50/s\"
# burst = 10
# limits = [\"5000/h\"]
# concurrency = 4
#
# Where `abide serve` asks it, as http://127.0.0.1:4180/example/… (ABIDE_UPSTREAM_EXAMPLE)
# upstream = \"https://api.example.org/v1\"
#
# Or with more to be said:
# [providers.example.upstream]
# url = \"https://api.example.org/v1\"
# credential = { env = \"EXAMPLE_TOKEN\", prefix = \"Bearer \" }   # or { file = \"/run/secrets/example\" }
# aliases = [\"example.localhost\"]
# ca = \"example-ca.pem\"
# cert = \"us.pem\"
# key = \"us.key\"
# proxy = \"http://proxy.example:3128\"
# private = true                                  # `hosts` may be of an inner network
# connect = \"10s\"                               # in place of those of [gateway]
# head = \"120s\"
# body_idle = \"60s\"

# A question that several providers answer, asked as http://127.0.0.1:4180/book/isbn/978…
# [[chain]]
# name = \"book\"
# path = \"/isbn/{isbn}\"
# members = [
#     { provider = \"openlibrary\", path = \"/isbn/{isbn}.json\" },
#     { provider = \"example\", path = \"/books?isbn={isbn}\", independent = true },
# ]
";

/// The text of the starter file.
pub fn init() -> String {
    let mut out = HEAD.to_owned();
    out.push_str("[defaults]\n\n");
    for knob in KNOBS.iter().filter(|k| !k.fetch_only) {
        entry(&mut out, knob, false);
    }
    out.push_str("# Bulk runs (`abide fetch`). Every key of [defaults] may stand here too.\n");
    out.push_str("[fetch]\n\n");
    for knob in KNOBS {
        if knob.fetch_only || knob.fetch_default.is_some() {
            entry(&mut out, knob, true);
        }
    }
    out.push_str("# The gateway (`abide serve`).\n[gateway]\n\n");
    for knob in GATEWAY {
        entry(&mut out, knob, false);
    }
    out.push_str(PROVIDER);
    out
}

fn entry(out: &mut String, knob: &Knob, fetch: bool) {
    for line in wrapped(&format!("{} ({})", knob.why, knob.env())) {
        // Writing to a string cannot fail.
        let _ = writeln!(out, "# {line}");
    }
    let (key, value) = (knob.shown(), knob.default_value(fetch));
    let _ = writeln!(out, "# {key} = {value}\n");
}

fn wrapped(text: &str) -> Vec<String> {
    let mut lines: Vec<String> = Vec::new();
    for word in text.split_whitespace() {
        match lines.last_mut() {
            Some(line) if line.len() + word.len() < WIDTH => {
                line.push(' ');
                line.push_str(word);
            }
            _ => lines.push(word.to_owned()),
        }
    }
    lines
}
