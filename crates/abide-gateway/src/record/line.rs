//! One line of the access log.

use std::fmt::Write as _;
use std::time::Duration;

use super::Record;
use super::log::Format;

/// Writes it. Writing to a string cannot fail.
pub(super) fn write(out: &mut String, format: Format, record: &Record, took: Duration) {
    let at = record.books.clock.wall();
    let provider = record.provider.as_ref().map_or("-", |p| p.name());
    let (status, outcome) = (
        record.status.map_or(0, |s| s.as_u16()),
        record.outcome.as_str(),
    );
    let (took, waited) = (took.as_micros(), record.waited.as_micros());
    let Record {
        method,
        path,
        bytes,
        attempts,
        broke,
        ..
    } = record;
    match format {
        Format::Json => {
            let _ = write!(out, "{{\"at\":\"{at}\",\"client\":\"");
            client(out, record);
            let _ = write!(out, "\",\"method\":\"{method}\",\"provider\":\"");
            escape(out, provider);
            out.push_str("\",\"path\":\"");
            escape(out, path);
            let _ = writeln!(
                out,
                "\",\"status\":{status},\"outcome\":\"{outcome}\",\"bytes\":{bytes},\
                 \"attempts\":{attempts},\"waited_us\":{waited},\"took_us\":{took},\"broke\":{broke}}}"
            );
        }
        Format::Text => {
            let _ = write!(out, "{at} ");
            client(out, record);
            let _ = write!(out, " {method} {provider} ");
            escape(out, path);
            let _ = writeln!(
                out,
                " {status} {outcome} {bytes}B attempts={attempts} waited={waited}us took={took}us{}",
                if *broke { " broke" } else { "" }
            );
        }
    }
}

fn client(out: &mut String, record: &Record) {
    let _ = match record.client {
        Some(ip) => write!(out, "{ip}"),
        None => write!(out, "local"),
    };
}

/// Text of strangers, made harmless in a line and in JSON.
fn escape(out: &mut String, text: &str) {
    let is_plain = |b: u8| matches!(b, b' '..=b'~') && b != b'"' && b != b'\\';
    if text.bytes().all(is_plain) {
        out.push_str(text);
        return;
    }
    for c in text.chars() {
        match c {
            '"' => out.push_str("\\\""),
            '\\' => out.push_str("\\\\"),
            c if c.is_control() => {
                let _ = write!(out, "\\u{:04x}", c as u32);
            }
            c => out.push(c),
        }
    }
}
