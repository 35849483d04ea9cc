//! Addresses as they may be shown: a name and password in one is nobody's business who reads a log.

use std::fmt;

use url::Url;

/// A text that may hold an address, without whatever secret the address may hold: a name, a password,
/// a query. Also where the text is no address: it may be a mistyped one.
pub fn without_secrets(text: &str) -> String {
    let scheme = text.find("://").map(|at| at + 3);
    let user = text.rfind('@').filter(|at| scheme.is_none_or(|s| s <= *at));
    let (front, rest) = match (user, scheme) {
        (Some(at), Some(scheme)) => (format!("{}…", &text[..scheme]), &text[at..]),
        (Some(at), None) => ("…".to_owned(), &text[at..]),
        (None, _) => (String::new(), text),
    };
    match rest.find(['?', '#']) {
        Some(at) if scheme.is_some() || user.is_some() => {
            let (path, query) = rest.split_at(at);
            format!("{front}{path}{}…", &query[..1])
        }
        _ => format!("{front}{rest}"),
    }
}

/// The address of a proxy. What is shown of it has no name and no password.
#[derive(Clone, PartialEq, Eq)]
pub struct Proxy(Url);

impl Proxy {
    pub(crate) const fn new(url: Url) -> Self {
        Self(url)
    }

    /// The address, with the name and password it may have.
    pub const fn url(&self) -> &Url {
        &self.0
    }
}

impl fmt::Display for Proxy {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(without_secrets(self.0.as_str()).trim_end_matches('/'))
    }
}

impl fmt::Debug for Proxy {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        fmt::Display::fmt(self, f)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn inv11_no_address_shows_a_name_or_password() {
        for (told, shown) in [
            ("https://me:pw@host/v1", "https://…@host/v1"),
            ("https://me:p/w@host", "https://…@host"),
            ("https://me:p@w@host?key=pw#x", "https://…@host?…"),
            ("shop=http://me:pw@host", "shop=http://…@host"),
            ("me:pw@host:3128", "…@host:3128"),
            ("https:me:pw@host", "…@host"),
            ("https://host/v1?token=pw", "https://host/v1?…"),
            ("https://host/v1", "https://host/v1"),
            ("50/s", "50/s"),
        ] {
            assert_eq!(without_secrets(told), shown, "{told}");
        }
        let proxy = Proxy::new(Url::parse("http://me:pw@proxy.example:3128").unwrap());
        assert_eq!(proxy.to_string(), "http://…@proxy.example:3128");
        assert!(!format!("{proxy:?}").contains("pw"));
    }
}
