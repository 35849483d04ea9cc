//! A change of protocol (WebSocket and others): asked for by a caller, agreed to by a provider, and
//! bytes from then on.

use std::sync::Arc;

use http::header::{CONNECTION, HeaderMap, HeaderValue, UPGRADE};
use http::{Request, StatusCode, response};
use hyper::upgrade::OnUpgrade;

use crate::gateway::Gateway;
use crate::tunnel;

const SAID: HeaderValue = HeaderValue::from_static("upgrade");

/// A caller's wish to leave HTTP.
pub(super) struct Upgrade {
    to: HeaderValue,
    caller: OnUpgrade,
}

impl Upgrade {
    /// Reads it, before the fields of one connection are taken out.
    pub(super) fn of<B>(request: &mut Request<B>) -> Option<Self> {
        let headers = request.headers();
        let to = headers.get(UPGRADE)?.clone();
        let values = headers.get_all(CONNECTION).iter();
        let asks = values
            .filter_map(|v| v.to_str().ok())
            .flat_map(|v| v.split(','))
            .any(|option| option.trim().eq_ignore_ascii_case("upgrade"));
        asks.then(|| Self {
            to,
            caller: hyper::upgrade::on(request),
        })
    }

    /// Asks the provider for it.
    pub(super) fn ask(&self, headers: &mut HeaderMap) {
        headers.insert(CONNECTION, SAID);
        headers.insert(UPGRADE, self.to.clone());
    }

    /// Joins both sides where the provider agreed. `to` is what it agreed to.
    pub(super) fn answer(
        self,
        gateway: &Arc<Gateway>,
        parts: &mut response::Parts,
        to: Option<HeaderValue>,
    ) {
        if parts.status != StatusCode::SWITCHING_PROTOCOLS {
            return;
        }
        parts.headers.insert(CONNECTION, SAID);
        parts.headers.insert(UPGRADE, to.unwrap_or(self.to));
        if let Some(provider) = parts.extensions.remove::<OnUpgrade>() {
            tunnel::join(gateway, self.caller, provider);
        }
    }
}
