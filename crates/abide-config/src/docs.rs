//! The page that lists every knob: docs/policy.md.

use std::fmt::Write as _;

use crate::knob::Knob;
use crate::table::KNOBS;
use crate::table_gateway::GATEWAY;

const HEAD: &str = "\
# Policy: every knob, its default, and why

This page is generated from the table in `crates/abide-config/src/table.rs`:
`cargo run -p abide-config --example policy_docs > docs/policy.md`.

A value is looked for in this order: a flag, an environment variable (`ABIDE_` and the key in
capitals, dots as underscores: `wait.max` is `ABIDE_WAIT_MAX`), the provider's section
`[providers.NAME]`, `[fetch]` in a bulk run, `[defaults]`, the default below. `abide config show`
prints what is in force and where each value comes from.

Durations need a unit (`250ms`, `30s`, `2m 13s`, `31d`), sizes too (`64KiB`, `10MB`); rates are
written `50/s`, `1/10s`, `100/2s`. In variables and flags, lists are separated by commas. Beside
the knobs, a provider's section has `hosts`: the hosts by which it is recognised
(`\"api.example.org\"`, `\"*.example.org\"`, `\"localhost:8080\"`), and `upstream`: where the gateway
asks it (`\"https://api.example.org/v1\"`).

[parameters.md](parameters.md) says which key stands for a parameter of a program that kept to
limits by itself so far.
";

const NOT_OFFERED: &str = "
## Not offered

| what others offer | why it is not here |
|---|---|
| letting all waiters go when a hold ends | one probe goes first: a herd is what got us refused |
| shortening a hold, or clearing it on the first success | an answer to a request sent before the hold says nothing about it; a person may lift one |
| jitter that shortens what the provider asked for | a wait never ends early; jitter is only ever added |
| counting refusals as failures of a breaker | a provider that says 429 is well, and the hold already stops the traffic |
| repeating every method | a write may have been carried out; `retry.write` is the one way out |
| rotating credentials around a limit | the limit is the provider's wish |
";

/// The text of docs/policy.md.
pub fn docs() -> String {
    let mut out = HEAD.to_owned();
    let everywhere = KNOBS.iter().filter(|k| !k.fetch_only);
    table(&mut out, "Everywhere", everywhere);
    table(
        &mut out,
        "Only in `[fetch]`",
        KNOBS.iter().filter(|k| k.fetch_only),
    );
    table(&mut out, "Only in `[gateway]`", GATEWAY.iter());
    out.push_str(NOT_OFFERED);
    out
}

fn table(out: &mut String, title: &str, knobs: impl Iterator<Item = &'static Knob>) {
    // Writing to a string cannot fail.
    let _ = writeln!(
        out,
        "\n## {title}\n\n| key | takes | default | why |\n|---|---|---|---|"
    );
    for k in knobs {
        let mut default = format!("`{}`", k.default_value(false));
        if k.fetch_default.is_some() {
            let _ = write!(default, ", in a run `{}`", k.default_value(true));
        }
        let takes = k.kind.expected();
        let _ = writeln!(out, "| `{}` | {takes} | {default} | {} |", k.shown(), k.why);
    }
}
