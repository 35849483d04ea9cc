//! The process itself: which it is, what is in force, and how it ends.

use std::sync::Arc;

use axum::{Extension, Json};
use http::StatusCode;
use serde::Serialize;
use utoipa::ToSchema;

use super::asked::Told;
use super::providers::Nothing;
use crate::gateway::Gateway;

/// Which abide this is.
#[derive(Debug, Serialize, ToSchema)]
pub(super) struct Version {
    /// Its name, as in `Via`.
    name: String,
    /// Its version.
    version: &'static str,
    /// The version of this API.
    api: &'static str,
}

/// Which abide this is
#[utoipa::path(get, path = "/-/api/v1/version",
    responses((status = 200, description = "The version", body = Version)))]
pub(super) async fn version(Extension(gateway): Extension<Arc<Gateway>>) -> Json<Version> {
    Json(Version {
        name: gateway.settings().name.clone(),
        version: env!("CARGO_PKG_VERSION"),
        api: "v1",
    })
}

/// What is in force, and who said so
///
/// A section an object, in it a knob an object with its `value` and `origin`. Tokens are not shown.
#[utoipa::path(get, path = "/-/api/v1/config",
    responses((status = 200, description = "The configuration", body = Object)))]
pub(super) async fn config(Extension(gateway): Extension<Arc<Gateway>>) -> Json<serde_json::Value> {
    Json(gateway.settings().shown.clone())
}

/// What becomes of the process.
#[derive(Debug, Serialize, ToSchema)]
pub(super) struct Draining {
    draining: bool,
}

/// End in good order
///
/// As a signal to end does: it says that it is not ready, accepts nothing new, finishes what is on
/// the wire and saves its holds.
#[utoipa::path(post, path = "/-/api/v1/drain", security(("admin" = [])),
    request_body = Nothing,
    responses((status = 202, description = "It has begun", body = Draining)))]
pub(super) async fn drain(
    Extension(gateway): Extension<Arc<Gateway>>,
    Told(Nothing {}): Told<Nothing>,
) -> (StatusCode, Json<Draining>) {
    tracing::info!("asked to drain");
    gateway.life().ask_to_end();
    (StatusCode::ACCEPTED, Json(Draining { draining: true }))
}
