//! Following a redirect: what the next hop looks like.
//!
//! Each hop is a request of its own and passes its own gates. A POST becomes a GET after 301, 302
//! and 303, as every client does; credentials do not cross an origin.

use abide_profile::Profile;
use http::header::{CONTENT_ENCODING, CONTENT_LENGTH, CONTENT_TYPE, LOCATION, TRANSFER_ENCODING};
use http::{HeaderMap, Method, StatusCode};
use url::Url;

/// Whether a status asks the client to go elsewhere.
pub(super) const fn is_redirect(status: StatusCode) -> bool {
    matches!(status.as_u16(), 301 | 302 | 303 | 307 | 308)
}

/// Where an answer leads, or why it leads nowhere.
pub(super) fn location(from: &Url, headers: &HeaderMap) -> Result<Option<Url>, String> {
    let Some(value) = headers.get(LOCATION) else {
        return Ok(None);
    };
    let text = value
        .to_str()
        .map_err(|_| "to something that is no text".to_owned())?;
    let url = from
        .join(text)
        .map_err(|e| format!("to something that is no URL ({e})"))?;
    match url.scheme() {
        "http" | "https" if url.has_host() => Ok(Some(url)),
        other => Err(format!("to the scheme {other}, which is not followed")),
    }
}

/// Whether the next hop asks with the same method, and so with the same body.
pub(super) fn keeps_method(method: &Method, status: StatusCode) -> bool {
    matches!(status.as_u16(), 307 | 308) || *method == Method::GET || *method == Method::HEAD
}

/// Turns a request to a provider with this profile into that of the next hop.
pub(super) fn follow(
    request: &mut reqwest::Request,
    status: StatusCode,
    to: Url,
    profile: &Profile,
) {
    if !keeps_method(request.method(), status) {
        *request.method_mut() = Method::GET;
        *request.body_mut() = None;
        for name in [
            CONTENT_TYPE,
            CONTENT_LENGTH,
            CONTENT_ENCODING,
            TRANSFER_ENCODING,
        ] {
            request.headers_mut().remove(name);
        }
    }
    if to.origin() != request.url().origin() {
        crate::secrets::drop_credentials(request.headers_mut(), profile);
    }
    *request.url_mut() = to;
}

#[cfg(test)]
mod tests {
    use http::header::AUTHORIZATION;

    use super::*;

    fn profile(name: &str) -> std::sync::Arc<Profile> {
        abide_profile::Catalogue::built_in().get(name).unwrap()
    }

    fn request(method: Method) -> reqwest::Request {
        let mut r = reqwest::Request::new(method, Url::parse("https://a.example/x").unwrap());
        r.headers_mut()
            .insert(AUTHORIZATION, "Bearer s".parse().unwrap());
        r.headers_mut()
            .insert("x-goog-api-key", "s".parse().unwrap());
        *r.body_mut() = Some("body".into());
        r
    }

    #[test]
    fn credentials_do_not_cross_an_origin() {
        let mut r = request(Method::GET);
        follow(
            &mut r,
            StatusCode::FOUND,
            Url::parse("https://b.example/").unwrap(),
            &profile("generic"),
        );
        assert!(r.headers().is_empty());
        let mut r = request(Method::GET);
        follow(
            &mut r,
            StatusCode::FOUND,
            Url::parse("https://a.example/y").unwrap(),
            &profile("generic"),
        );
        assert_eq!(r.headers().len(), 2);
    }

    #[test]
    fn inv11_what_only_a_profile_calls_a_credential_does_not_cross_an_origin() {
        let mut all = abide_profile::Catalogue::built_in();
        let text = "name = \"own\"\nhosts = [\"a.example\"]\n[credential]\nheaders = [\"X-Pass\"]";
        all.add("own.toml", text.to_owned()).unwrap();
        let mut r = request(Method::GET);
        r.headers_mut().insert("x-pass", "s".parse().unwrap());
        let to = Url::parse("https://b.example/").unwrap();
        follow(&mut r, StatusCode::FOUND, to, &all.get("own").unwrap());
        assert!(r.headers().is_empty());
    }

    #[test]
    fn a_post_becomes_a_get_unless_the_status_keeps_it() {
        let to = Url::parse("https://a.example/y").unwrap();
        let mut r = request(Method::POST);
        follow(
            &mut r,
            StatusCode::SEE_OTHER,
            to.clone(),
            &profile("generic"),
        );
        assert!(r.method() == Method::GET && r.body().is_none());
        let mut r = request(Method::POST);
        follow(
            &mut r,
            StatusCode::TEMPORARY_REDIRECT,
            to,
            &profile("generic"),
        );
        assert!(r.method() == Method::POST && r.body().is_some());
    }

    #[test]
    fn other_schemes_are_not_followed() {
        let from = Url::parse("https://a.example/x").unwrap();
        let mut h = HeaderMap::new();
        h.insert(LOCATION, "file:///etc/passwd".parse().unwrap());
        assert!(location(&from, &h).is_err());
        h.insert(LOCATION, "/y?z".parse().unwrap());
        assert_eq!(
            location(&from, &h).unwrap().unwrap().as_str(),
            "https://a.example/y?z"
        );
    }
}
