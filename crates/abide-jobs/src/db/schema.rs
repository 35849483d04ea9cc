//! The tables, brought forward step by step. Steps that were released are never edited.
//!
//! Every index is partial, so that a job pays only for those that speak of it: one that is ready
//! stands in `jobs_ready`, one that runs in `jobs_running`, one that is over in `jobs_ended`.
//!
//! `jobs_ready` is ordered by queue, lane (a provider, and whose account), urgency and the time from
//! which a job may run. A claim steps from lane to lane, one look each, and passes a closed one by
//! without looking at its jobs: a million of them cost as much as one.

/// Step N brings a database from version N to N + 1.
pub(super) const STEPS: [&str; 1] = [FIRST];

/// The version this program writes.
pub(crate) const KNOWN: i64 = STEPS.len() as i64;

/// The words INT, BYTES and SERIAL stand for what the engine calls them.
const FIRST: &str = "
    CREATE TABLE jobs (
        id SERIAL,
        state TEXT NOT NULL,
        ready INT NOT NULL,
        queue TEXT NOT NULL,
        lane TEXT NOT NULL,
        urgency INT NOT NULL,
        due INT NOT NULL,
        provider TEXT,
        class TEXT NOT NULL,
        kind TEXT NOT NULL,
        title TEXT NOT NULL,
        writes INT NOT NULL,
        unique_key TEXT,
        one_key TEXT,
        attempts INT NOT NULL DEFAULT 0,
        deferrals INT NOT NULL DEFAULT 0,
        in_a_row INT NOT NULL DEFAULT 0,
        kills INT NOT NULL DEFAULT 0,
        created INT NOT NULL,
        since INT NOT NULL,
        started INT,
        ended INT,
        deadline INT,
        token INT NOT NULL DEFAULT 0,
        worker TEXT,
        beat INT,
        intent INT NOT NULL DEFAULT 0,
        reason TEXT,
        hold TEXT,
        history TEXT,
        webhook TEXT,
        keep INT,
        checkpoint BYTES,
        input BYTES
    );
    CREATE INDEX jobs_ready ON jobs (queue, lane, urgency, due, id) WHERE ready = 1;
    CREATE INDEX jobs_behind ON jobs (one_key, queue, lane, urgency, due, id) WHERE ready = 2;
    CREATE INDEX jobs_running ON jobs (id) WHERE state = 'running';
    CREATE UNIQUE INDEX jobs_one ON jobs (one_key)
        WHERE one_key IS NOT NULL AND state = 'running';
    CREATE UNIQUE INDEX jobs_unique ON jobs (unique_key) WHERE unique_key IS NOT NULL;
    CREATE INDEX jobs_ended ON jobs (ended) WHERE ended IS NOT NULL;

    CREATE TABLE queues (
        name TEXT NOT NULL PRIMARY KEY,
        paused_until INT,
        reason TEXT
    );

    CREATE TABLE results (
        job INT NOT NULL PRIMARY KEY,
        status INT,
        headers TEXT,
        body BYTES,
        file TEXT,
        size INT NOT NULL,
        expires INT NOT NULL
    );
    CREATE INDEX results_expire ON results (expires);
";

/// A step in the words of an engine.
pub(super) fn in_words(step: &str, number: &str, bytes: &str, serial: &str) -> String {
    let word = |word: &str| match word {
        "INT" => number.to_owned(),
        "BYTES" => bytes.to_owned(),
        "SERIAL" => serial.to_owned(),
        other => other.to_owned(),
    };
    let mut text = String::with_capacity(step.len() + 256);
    let mut name = String::new();
    for c in step.chars() {
        if c.is_ascii_alphanumeric() || c == '_' {
            name.push(c);
            continue;
        }
        text.push_str(&word(&std::mem::take(&mut name)));
        text.push(c);
    }
    text.push_str(&word(&name));
    text
}
