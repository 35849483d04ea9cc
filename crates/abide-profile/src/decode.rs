//! A bounded look into a coded body.
//!
//! Rules read text; a caller that takes bodies as they come (a proxy, a recording) has them coded.
//! Here a copy of the beginning is decoded, as far as it came and never beyond a number of bytes,
//! so that a few bytes which stand for gigabytes cost what any other body costs.

use std::borrow::Cow;
use std::io::Read;

use flate2::read::{DeflateDecoder, MultiGzDecoder, ZlibDecoder};
use http::{HeaderMap, header};
use ruzstd::decoding::errors::{FrameDecoderError, ReadFrameHeaderError};
use ruzstd::decoding::{BlockDecodingStrategy, FrameDecoder};

/// More codings upon each other are nobody's.
const MOST_CODINGS: usize = 4;
/// The largest window that `zstd` may ask for over HTTP (RFC 9659).
const ZSTD_WINDOW: u64 = 8 * 1024 * 1024;
/// Room is made in steps of this size: what is announced is not believed.
const STEP: usize = 8 * 1024;

/// What a coded body says.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Decoded<'a> {
    /// Its beginning.
    pub bytes: Cow<'a, [u8]>,
    /// That is all of it: nothing was cut off, by the network, by damage or by our bound.
    pub whole: bool,
}

/// Decodes the beginning of a body by its `Content-Encoding`, giving at most `most` bytes. A body
/// that is cut gives what came; one that is not coded is lent, not copied.
///
/// `None` when a coding is unknown, when there are too many, or when nothing can be made of it.
pub fn decode<'a>(headers: &HeaderMap, body: &'a [u8], most: usize) -> Option<Decoded<'a>> {
    let mut codings = codings(headers)?;
    let mut decoded = Decoded {
        bytes: Cow::Borrowed(body),
        whole: true,
    };
    // The last one was applied last.
    while let Some(coding) = codings.pop() {
        if decoded.bytes.is_empty() {
            break;
        }
        let (bytes, whole) = match coding {
            Coding::Gzip => read(MultiGzDecoder::new(&*decoded.bytes), most),
            Coding::Deflate if is_zlib(&decoded.bytes) => {
                read(ZlibDecoder::new(&*decoded.bytes), most)
            }
            // What the name stands for, against the letter of the specification.
            Coding::Deflate => read(DeflateDecoder::new(&*decoded.bytes), most),
            Coding::Brotli => read(
                brotli_decompressor::Decompressor::new(&*decoded.bytes, STEP),
                most,
            ),
            Coding::Zstd => zstd(&decoded.bytes, most),
        };
        if bytes.is_empty() && !whole {
            return None;
        }
        decoded.whole &= whole;
        decoded.bytes = Cow::Owned(bytes);
    }
    if decoded.bytes.len() > most {
        decoded.whole = false;
        match &mut decoded.bytes {
            Cow::Borrowed(bytes) => *bytes = &bytes[..most],
            Cow::Owned(bytes) => bytes.truncate(most),
        }
    }
    Some(decoded)
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Coding {
    Gzip,
    Deflate,
    Brotli,
    Zstd,
}

/// The codings in the order in which they were applied.
fn codings(headers: &HeaderMap) -> Option<Vec<Coding>> {
    let mut all = Vec::new();
    for line in headers.get_all(header::CONTENT_ENCODING) {
        for word in line.as_bytes().split(|b| *b == b',') {
            let word = word.trim_ascii();
            let is = |name: &str| word.eq_ignore_ascii_case(name.as_bytes());
            let coding = match () {
                () if word.is_empty() || is("identity") => continue,
                () if is("gzip") || is("x-gzip") => Coding::Gzip,
                () if is("deflate") => Coding::Deflate,
                () if is("br") => Coding::Brotli,
                () if is("zstd") => Coding::Zstd,
                () => return None,
            };
            if all.len() == MOST_CODINGS {
                return None;
            }
            all.push(coding);
        }
    }
    Some(all)
}

/// Whether it begins as zlib does.
fn is_zlib(body: &[u8]) -> bool {
    match body {
        [method, flags, ..] => {
            method & 0x0f == 8 && u16::from_be_bytes([*method, *flags]).is_multiple_of(31)
        }
        _ => false,
    }
}

/// Reads at most `most` bytes, and whether they are all there are.
fn read(mut from: impl Read, most: usize) -> (Vec<u8>, bool) {
    let mut out = Vec::new();
    loop {
        let have = out.len();
        // One more shows whether there is more.
        let room = most.saturating_add(1).saturating_sub(have).min(STEP);
        if room == 0 {
            out.truncate(most);
            return (out, false);
        }
        out.resize(have + room, 0);
        let got = from.read(&mut out[have..]);
        out.truncate(have + got.as_ref().copied().unwrap_or(0).min(room));
        match got {
            Ok(0) => return (out, true),
            Ok(_) => {}
            Err(_) => {
                out.truncate(most);
                return (out, false);
            }
        }
    }
}

/// As [`read`]. The decoder lends out nothing that its window may still need, which is all there
/// is of a short or a cut frame, so each frame is brought to an end of our own making.
fn zstd(mut body: &[u8], most: usize) -> (Vec<u8>, bool) {
    // An empty last block, and as much as a checksum takes.
    const END: [u8; 7] = [1, 0, 0, 0, 0, 0, 0];
    let mut out = Vec::new();
    let mut decoder = FrameDecoder::new();
    decoder.set_max_window_size(ZSTD_WINDOW);
    while !body.is_empty() {
        match decoder.reset(&mut body) {
            Ok(()) => {}
            Err(FrameDecoderError::ReadFrameHeaderError(ReadFrameHeaderError::SkipFrame {
                length,
                ..
            })) => {
                body = body.get(length as usize..).unwrap_or_default();
                continue;
            }
            Err(_) => return (out, false),
        }
        let room = most.saturating_add(1).saturating_sub(out.len());
        let upto = BlockDecodingStrategy::UptoBytes(room);
        let ends = decoder.decode_blocks(&mut body, upto).unwrap_or(false);
        if !ends {
            let _ = decoder.decode_blocks(&END[..], BlockDecodingStrategy::All);
        }
        out.extend(decoder.collect().unwrap_or_default());
        if out.len() > most {
            out.truncate(most);
            return (out, false);
        }
        if !ends {
            return (out, false);
        }
    }
    (out, true)
}

#[cfg(test)]
mod tests {
    use std::io::Write;

    use flate2::Compression;
    use flate2::write::{DeflateEncoder, GzEncoder, ZlibEncoder};
    use http::HeaderValue;

    use super::*;

    const TEXT: &[u8] = br#"{"error":{"code":"rate_limit_exceeded","retry_after":17}}"#;
    /// The text above, as `brotli` writes it.
    const BROTLI: &[u8] = &[
        19, 56, 0, 0, 4, 106, 110, 169, 95, 166, 152, 220, 104, 133, 32, 31, 10, 51, 232, 24, 176,
        1, 39, 0, 97, 184, 13, 184, 16, 13, 19, 57, 145, 150, 52, 63, 220, 198, 43, 222, 192, 224,
        204, 66, 136, 218, 67, 232, 29, 41, 149, 24, 165, 91, 63, 126, 211, 15, 190, 246, 12,
    ];

    fn gzip(text: &[u8]) -> Vec<u8> {
        let mut e = GzEncoder::new(Vec::new(), Compression::best());
        e.write_all(text).unwrap();
        e.finish().unwrap()
    }

    fn zstd(text: &[u8]) -> Vec<u8> {
        use ruzstd::encoding::{CompressionLevel, compress_to_vec};
        compress_to_vec(text, CompressionLevel::Fastest)
    }

    fn headers(codings: &[&'static str]) -> HeaderMap {
        let mut all = HeaderMap::new();
        for coding in codings {
            all.append(header::CONTENT_ENCODING, HeaderValue::from_static(coding));
        }
        all
    }

    fn decoded(codings: &[&'static str], body: &[u8], most: usize) -> Option<(Vec<u8>, bool)> {
        let d = decode(&headers(codings), body, most)?;
        Some((d.bytes.into_owned(), d.whole))
    }

    fn all_of(codings: &[&'static str], body: &[u8]) -> Option<Vec<u8>> {
        decoded(codings, body, 1 << 20).map(|(bytes, whole)| {
            assert!(whole, "{codings:?}");
            bytes
        })
    }

    #[test]
    fn every_coding_is_read() {
        let mut zlib = ZlibEncoder::new(Vec::new(), Compression::best());
        zlib.write_all(TEXT).unwrap();
        let mut raw = DeflateEncoder::new(Vec::new(), Compression::best());
        raw.write_all(TEXT).unwrap();
        let text = Some(TEXT.to_vec());
        assert_eq!(all_of(&[], TEXT), text);
        assert_eq!(all_of(&["identity"], TEXT), text);
        assert_eq!(all_of(&["gzip"], &gzip(TEXT)), text);
        assert_eq!(all_of(&["X-GZip"], &gzip(TEXT)), text);
        assert_eq!(all_of(&["deflate"], &zlib.finish().unwrap()), text);
        assert_eq!(all_of(&["deflate"], &raw.finish().unwrap()), text);
        assert_eq!(all_of(&["br"], BROTLI), text);
        assert_eq!(all_of(&["zstd"], &zstd(TEXT)), text);
    }

    #[test]
    fn chains_are_undone_from_their_end() {
        let twice = zstd(&gzip(TEXT));
        assert_eq!(all_of(&["gzip, zstd"], &twice), Some(TEXT.to_vec()));
        assert_eq!(all_of(&["gzip", "zstd"], &twice), Some(TEXT.to_vec()));
        assert_eq!(decoded(&["zstd, gzip"], &twice, 100), None);
    }

    #[test]
    fn members_and_frames_follow_one_another() {
        let parts = [gzip(b"one "), gzip(b"two")].concat();
        assert_eq!(all_of(&["gzip"], &parts), Some(b"one two".to_vec()));
        let skipped = [&[0x50, 0x2a, 0x4d, 0x18, 2, 0, 0, 0][..], b"xx"].concat();
        let parts = [zstd(b"one "), skipped, zstd(b"two")].concat();
        assert_eq!(all_of(&["zstd"], &parts), Some(b"one two".to_vec()));
    }

    #[test]
    fn what_is_unknown_or_not_so_coded_is_none() {
        assert_eq!(decoded(&["compress"], TEXT, 100), None);
        assert_eq!(decoded(&["gzip, sdch"], TEXT, 100), None);
        assert_eq!(decoded(&["gzip,gzip,gzip,gzip,gzip"], TEXT, 100), None);
        for coding in ["gzip", "deflate", "br", "zstd"] {
            assert_eq!(decoded(&[coding], b"<html>", 100), None, "{coding}");
            let nothing = Some((Vec::new(), true));
            assert_eq!(decoded(&[coding], b"", 100), nothing, "{coding}");
        }
    }

    #[test]
    fn a_cut_body_gives_what_came() {
        let text: Vec<u8> = (0..200_000u32)
            .flat_map(|n| n.wrapping_mul(7919).to_string().into_bytes())
            .collect();
        for (coding, body) in [("gzip", gzip(&text)), ("zstd", zstd(&text))] {
            let half = &body[..body.len() / 2];
            let (bytes, whole) = decoded(&[coding], half, 1 << 20).unwrap();
            assert!(!whole, "{coding}");
            assert!(bytes.len() > 1000 && text.starts_with(&bytes), "{coding}");
        }
        let half = &BROTLI[..BROTLI.len() - 8];
        let (bytes, whole) = decoded(&["br"], half, 100).unwrap();
        assert!(!whole && bytes.len() > 8 && TEXT.starts_with(&bytes));
    }

    #[test]
    fn a_bomb_goes_no_further_than_its_bound() {
        let zeros = vec![0; 32 << 20];
        for (coding, body) in [("gzip", gzip(&zeros)), ("zstd", zstd(&zeros))] {
            assert!(body.len() < 64 << 10, "{coding}");
            let (bytes, whole) = decoded(&[coding], &body, 1000).unwrap();
            assert_eq!((bytes.len(), whole), (1000, false), "{coding}");
        }
        let bomb = gzip(&gzip(&zeros));
        let (bytes, whole) = decoded(&["gzip, gzip"], &bomb, 1000).unwrap();
        assert!(bytes.len() <= 1000 && !whole);
    }

    #[test]
    fn a_bound_that_is_just_enough_is_the_whole() {
        let n = TEXT.len();
        for (coding, body) in [
            ("gzip", gzip(TEXT)),
            ("zstd", zstd(TEXT)),
            ("identity", TEXT.to_vec()),
        ] {
            let all = decoded(&[coding], &body, n);
            assert_eq!(all, Some((TEXT.to_vec(), true)), "{coding}");
            let less = decoded(&[coding], &body, n - 1);
            assert_eq!(less, Some((TEXT[..n - 1].to_vec(), false)), "{coding}");
        }
    }
}
