//! The secrets of one request, to be struck out of whatever is told about it.
//!
//! Providers echo what they were sent, and errors of libraries show URLs. What is told is looked
//! through for the very values this request carried, in every form in which they travel.

use std::borrow::Cow;

use abide_profile::Profile;
use base64::Engine as _;
use base64::prelude::BASE64_STANDARD;
use http::HeaderMap;
use url::Url;

use crate::secrets::{is_secret, is_secret_of, redacted, shown_path};

/// What is shorter is a word of any text: striking it out would hide nothing and spoil all.
const SHORTEST: usize = 3;

/// The secrets of one request.
#[derive(Clone, Default)]
pub(crate) struct Secrets(Vec<String>);

impl Secrets {
    /// What a request to a provider with this profile carries.
    pub(crate) fn of(url: &Url, headers: &HeaderMap, profile: &Profile) -> Self {
        let mut found = Self::default();
        for (name, value) in headers {
            if is_secret_of(profile, name)
                && let Ok(value) = value.to_str()
            {
                // `Bearer TOKEN`, `Basic …`, `a=1; b=2`: each word of it, and all of it.
                found.add(value);
                found.add_basic(value);
                let words = value.split(|c: char| c.is_whitespace() || ";,".contains(c));
                for word in words.filter(|w| w.len() >= 6 && !is_scheme(w)) {
                    found.add(word);
                    if let Some((_, value)) = word.split_once('=') {
                        found.add(value);
                    }
                }
            }
        }
        found.add(url.username());
        for (_, password) in url::form_urlencoded::parse(
            format!(
                "p={}",
                url.password().unwrap_or_default().replace('+', "%2B")
            )
            .as_bytes(),
        ) {
            found.add(&password);
        }
        found.add(url.password().unwrap_or_default());
        for pair in url.query().unwrap_or_default().split('&') {
            let Some((name, value)) = url::form_urlencoded::parse(pair.as_bytes()).next() else {
                continue;
            };
            if is_secret(profile, &name) {
                found.add(&value);
                found.add(pair.split_once('=').map_or("", |(_, raw)| raw));
            }
        }
        if profile.told().credential.segment.is_some()
            && let Cow::Owned(shown) = shown_path(url.path(), profile)
        {
            // Every segment that may not be shown, with and without the word before it.
            for (segment, shown) in url.path().split('/').zip(shown.split('/')) {
                if segment != shown && segment.contains(|c: char| c.is_ascii_digit()) {
                    found.add(segment);
                    found.add(segment.trim_start_matches(|c: char| c.is_ascii_alphabetic()));
                }
            }
        }
        // The longest first: one may be a part of another.
        found.0.sort_by_key(|s| std::cmp::Reverse(s.len()));
        found.0.dedup();
        found
    }

    /// What `Basic` credentials are made of: the client makes them of a URL's userinfo.
    fn add_basic(&mut self, value: &str) {
        let Some((scheme, coded)) = value.split_once(' ') else {
            return;
        };
        let plain = BASE64_STANDARD.decode(coded.trim());
        if scheme.eq_ignore_ascii_case("basic")
            && let Ok(plain) = plain
            && let Ok(plain) = String::from_utf8(plain)
        {
            self.add(&plain);
            self.add(plain.split_once(':').map_or("", |(_, password)| password));
        }
    }

    fn add(&mut self, secret: &str) {
        if secret.len() >= SHORTEST {
            self.0.push(secret.to_owned());
        }
    }

    /// A text without them, and without what the URLs in it carry.
    pub(crate) fn strike<'a>(&self, text: &'a str, profile: &Profile) -> Cow<'a, str> {
        let mut text = without_urls(text, profile);
        for secret in &self.0 {
            if text.contains(secret.as_str()) {
                text = Cow::Owned(text.replace(secret.as_str(), "…"));
            }
        }
        text
    }
}

/// The scheme of a credential is none.
fn is_scheme(word: &str) -> bool {
    ["bearer", "basic", "digest", "token", "apikey", "negotiate"]
        .iter()
        .any(|s| word.eq_ignore_ascii_case(s))
}

fn without_urls<'a>(text: &'a str, profile: &Profile) -> Cow<'a, str> {
    if !text.contains("://") {
        return Cow::Borrowed(text);
    }
    let end = |c: char| c.is_whitespace() || "()<>\"'`".contains(c);
    let mut shown = String::with_capacity(text.len());
    let mut rest = text;
    while let Some(at) = rest.find("http") {
        let (before, url) = rest.split_at(at);
        shown.push_str(before);
        let len = url.find(end).unwrap_or(url.len());
        let (url, after) = url.split_at(len);
        match Url::parse(url) {
            Ok(parsed) if parsed.has_host() => shown.push_str(&redacted(&parsed, profile)),
            _ => shown.push_str(url),
        }
        rest = after;
    }
    shown.push_str(rest);
    Cow::Owned(shown)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn generic() -> std::sync::Arc<Profile> {
        abide_profile::Catalogue::built_in().generic()
    }

    fn secrets(url: &str, headers: &[(&'static str, &'static str)]) -> Secrets {
        let headers = headers.iter().map(|(name, value)| {
            let name = http::HeaderName::from_static(name);
            (name, http::HeaderValue::from_static(value))
        });
        Secrets::of(&Url::parse(url).unwrap(), &headers.collect(), &generic())
    }

    #[test]
    fn inv11_what_was_sent_is_struck_out_in_every_form() {
        let s = secrets(
            "https://me:pa%24s@a.example/?key=s3cr%2Ft&q=rust",
            &[
                ("authorization", "Bearer tok-en-123"),
                ("cookie", "session=abcdefgh; theme=dark-mode"),
            ],
        );
        let text = "tok-en-123 s3cr/t s3cr%2Ft pa%24s abcdefgh rust Bearer";
        assert_eq!(s.strike(text, &generic()), "… … … … … rust Bearer");
    }

    #[test]
    fn inv11_urls_in_a_text_are_redacted() {
        let s = Secrets::default();
        let text = "error sending request for url (https://u:p@a.example/x?token=abc&q=1): oh http";
        assert_eq!(
            s.strike(text, &generic()),
            "error sending request for url (https://a.example/x?token=…&q=1): oh http"
        );
    }
}
