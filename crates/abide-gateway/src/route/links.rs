//! `Location`, `Content-Location` and `Link` of a provider, turned to lead through the gateway: page
//! 2 would pass it by. URLs in bodies stay as they are, and so does whatever leads elsewhere.

use http::header::{CONTENT_LOCATION, HeaderMap, HeaderValue, LINK, LOCATION};

use super::Route;

const NAMES: [http::HeaderName; 3] = [LOCATION, CONTENT_LOCATION, LINK];

/// How a caller named a provider, and names it in the next request.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Front {
    /// By its name in front of the path.
    Name,
    /// By a host of its own.
    Host,
}

impl Front {
    /// What is in front of the provider's own paths here. `host` is how the caller names the gateway.
    pub(crate) fn of(self, scheme: &str, host: &str, route: &Route) -> String {
        match self {
            Self::Name => format!("{scheme}://{host}/{}", route.name),
            Self::Host => format!("{scheme}://{host}"),
        }
    }
}

/// Turns the fields of an answer. `to` is what stands for the provider's base where the caller asked.
pub(crate) fn rewrite(headers: &mut HeaderMap, route: &Route, to: impl FnOnce() -> String) {
    if !NAMES.iter().any(|name| headers.contains_key(name)) {
        return;
    }
    let to = &to();
    for name in [LOCATION, CONTENT_LOCATION] {
        if let Some(value) = headers.get_mut(&name)
            && let Some(turned) = value.to_str().ok().and_then(|v| one(v, route, to))
            && let Ok(turned) = HeaderValue::try_from(turned)
        {
            *value = turned;
        }
    }
    if let http::header::Entry::Occupied(mut links) = headers.entry(LINK) {
        for value in links.iter_mut() {
            if let Some(turned) = value.to_str().ok().and_then(|v| list(v, route, to))
                && let Ok(turned) = HeaderValue::try_from(turned)
            {
                *value = turned;
            }
        }
    }
}

/// An address, turned; `None` where it stays.
fn one(address: &str, route: &Route, to: &str) -> Option<String> {
    let rest = match address.as_bytes() {
        // Of the same host, whatever is in front of its paths.
        [b'/', b'/', ..] => {
            let whole = format!("{}:{address}", route.base.scheme);
            return one(&whole, route, to);
        }
        [b'/', ..] => address.strip_prefix(&*route.base.prefix)?,
        _ => route.base.rest(address)?,
    };
    Some(format!("{to}{rest}"))
}

/// The targets of a `Link` (RFC 8288), turned: whatever stands in `<>` outside of quotes.
fn list(value: &str, route: &Route, to: &str) -> Option<String> {
    let mut out = String::with_capacity(value.len());
    let (mut left, mut turned, mut quoted) = (value, false, false);
    while let Some(at) = left.find(['<', '"', '\\']) {
        let (before, mark) = left.split_at(at);
        let (mark, rest) = mark.split_at(1);
        out.push_str(before);
        out.push_str(mark);
        left = rest;
        match mark {
            "\"" => quoted = !quoted,
            // Whatever it is, what follows means nothing.
            "\\" if quoted => {
                let next = left.chars().next()?;
                out.push(next);
                left = &left[next.len_utf8()..];
            }
            "<" if !quoted => {
                let (target, after) = left.split_at(left.find('>')?);
                match one(target, route, to) {
                    Some(target) => {
                        turned = true;
                        out.push_str(&target);
                    }
                    None => out.push_str(target),
                }
                left = after;
            }
            _ => {}
        }
    }
    out.push_str(left);
    turned.then_some(out)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::route::{Base, Way};

    fn route(base: &str) -> Route {
        let base = Base::of(&base.parse().unwrap()).unwrap();
        Route::new("shop".into(), base, Way::Named, None)
    }

    const TO: &str = "http://127.0.0.1:4180/shop";

    #[test]
    fn gw_fields_that_lead_to_the_provider_lead_through_the_gateway() {
        let route = route("https://api.shop.example/v1");
        let of = |address| one(address, &route, TO);
        let through = |rest: &str| Some(format!("{TO}{rest}"));
        assert_eq!(of("https://api.shop.example/v1/x?p=2"), through("/x?p=2"));
        assert_eq!(of("HTTPS://API.shop.example/v1/x"), through("/x"));
        assert_eq!(of("https://api.shop.example/v1"), through(""));
        assert_eq!(of("/v1/x"), through("/x"));
        assert_eq!(of("//api.shop.example/v1/x"), through("/x"));
    }

    #[test]
    fn gw_what_leads_elsewhere_stays() {
        let route = route("https://api.shop.example/v1");
        for elsewhere in [
            "https://api.shop.example.evil/v1/x",
            "https://api.shop.example/v2/x",
            "http://api.shop.example/v1/x",
            "https://login.example/x",
            "/v2/x",
            "x/y",
            "?p=2",
        ] {
            assert_eq!(one(elsewhere, &route, TO), None, "{elsewhere}");
        }
    }

    #[test]
    fn gw_every_target_of_a_link_is_turned() {
        let route = route("https://api.github.com");
        let value = "<https://api.github.com/r?page=2>; rel=\"next\", <https://x.example/>; rel=\"a<b\", \
                     <https://api.github.com/r?page=9>; rel=\"last\"";
        assert_eq!(
            list(value, &route, TO).unwrap(),
            format!(
                "<{TO}/r?page=2>; rel=\"next\", <https://x.example/>; rel=\"a<b\", \
                 <{TO}/r?page=9>; rel=\"last\""
            )
        );
        // Nothing half-turned is handed on.
        assert_eq!(
            list("<https://api.github.com/r>, <https://api", &route, TO),
            None
        );
    }
}
