//! One line of the access log.

use std::fmt::Write as _;
use std::net::IpAddr;
use std::time::Duration;

use super::Record;
use super::log::Format;

/// Writes it. Writing to a string cannot fail.
pub(super) fn write(
    out: &mut String,
    format: Format,
    record: &Record,
    (at, took): (&str, Duration),
) {
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
            // Piece by piece: the machinery of formatting costs more than the line.
            put(out, &["{\"at\":\"", at, "\",\"client\":\""]);
            client(out, record);
            put(
                out,
                &["\",\"method\":\"", method.as_str(), "\",\"provider\":\""],
            );
            escape(out, provider);
            out.push_str("\",\"path\":\"");
            escape(out, path);
            out.push_str("\",\"status\":");
            number(out, u128::from(status));
            put(out, &[",\"outcome\":\"", outcome, "\",\"bytes\":"]);
            number(out, u128::from(*bytes));
            out.push_str(",\"attempts\":");
            number(out, u128::from(*attempts));
            out.push_str(",\"waited_us\":");
            number(out, waited);
            out.push_str(",\"took_us\":");
            number(out, took);
            out.push_str(match broke {
                true => ",\"broke\":true}\n",
                false => ",\"broke\":false}\n",
            });
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
    match record.client {
        Some(IpAddr::V4(v4)) => {
            for (n, part) in v4.octets().into_iter().enumerate() {
                if n > 0 {
                    out.push('.');
                }
                number(out, u128::from(part));
            }
        }
        Some(ip) => {
            let _ = write!(out, "{ip}");
        }
        None => out.push_str("local"),
    }
}

fn put(out: &mut String, pieces: &[&str]) {
    for piece in pieces {
        out.push_str(piece);
    }
}

fn number(out: &mut String, number: u128) {
    let Ok(mut left) = u64::try_from(number) else {
        let _ = write!(out, "{number}");
        return;
    };
    // The longest has 20 digits.
    let (mut digits, mut at) = ([b'0'; 20], 20);
    loop {
        at -= 1;
        // A digit fits.
        digits[at] = b'0' + (left % 10) as u8;
        left /= 10;
        if left == 0 {
            break;
        }
    }
    out.push_str(std::str::from_utf8(&digits[at..]).unwrap_or("0"));
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
