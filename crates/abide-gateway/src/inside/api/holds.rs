//! Holds: what stands, what a person places, lengthens and lifts.
//!
//! A hold only lengthens. Asking for less than it has is no fault: it has what it has, and the answer
//! says so.

use std::sync::Arc;

use abide::HoldState;
use abide::core::hold::HoldId;
use axum::{Extension, Json};
use http::StatusCode;
use serde::Deserialize;
use utoipa::ToSchema;

use super::asked::{Named, Told, Wrong, length, reason};
use super::providers::known;
use super::shapes::{Hold, Holds};
use super::words::hold_id;
use crate::gateway::Gateway;

/// Every hold that stands
#[utoipa::path(get, operation_id = "list_holds", path = "/-/api/v1/holds",
    responses((status = 200, description = "The holds", body = Holds)))]
pub(super) async fn list(Extension(gateway): Extension<Arc<Gateway>>) -> Json<Holds> {
    let holds = gateway.governor().holds();
    Json(Holds {
        holds: holds.iter().map(Into::into).collect(),
    })
}

/// A hold to be placed: `for` or `until`, one of the two.
#[derive(Debug, Deserialize, ToSchema)]
#[serde(deny_unknown_fields)]
pub(super) struct NewHold {
    /// The provider.
    #[schema(example = "github")]
    provider: String,
    /// How long, as `10m` or `1h 30m`.
    #[schema(example = "10m", pattern = r"^\s*(\d+(\.\d+)?(d|h|m|s|ms)\s*)+$")]
    r#for: Option<String>,
    /// Until when.
    #[schema(format = DateTime)]
    until: Option<String>,
    /// Why, for whoever finds it later; one line.
    #[schema(max_length = 200)]
    reason: Option<String>,
}

/// Place a hold
///
/// Nothing is sent to the provider until it ends; then one probe goes first. It holds everybody who
/// shares the gateway's state, and outlives a restart.
#[utoipa::path(post, operation_id = "place_hold", path = "/-/api/v1/holds", security(("admin" = [])),
    request_body = NewHold,
    responses((status = 201, description = "The hold", body = Hold, links(
        ("change" = (operation_id = "change_hold", parameters(("id" = "$response.body#/id")))),
        ("extend" = (operation_id = "extend_hold", parameters(("id" = "$response.body#/id")))),
        ("lift" = (operation_id = "lift_hold", parameters(("id" = "$response.body#/id"))))
    ))))]
pub(super) async fn place(
    Extension(gateway): Extension<Arc<Gateway>>,
    Told(told): Told<NewHold>,
) -> Result<(StatusCode, Json<Hold>), Wrong> {
    known(&gateway, &told.provider)?;
    let now = gateway.governor().clock().wall();
    let length = length(told.r#for.as_deref(), told.until.as_deref(), now)?;
    let reason = reason(told.reason)?;
    let provider = told.provider;
    let place = move || {
        let governor = gateway.governor();
        governor.place_hold(&provider, length, reason.as_deref())
    };
    let hold = waiting_for(place).await?;
    let hold = hold.ok_or_else(|| Wrong::senseless("hold.max allows no hold at all"))?;
    log(&hold, "held by a person");
    Ok((StatusCode::CREATED, Json((&hold).into())))
}

/// How a hold is changed: `for` or `until`, one of the two.
#[derive(Debug, Deserialize, ToSchema)]
#[serde(deny_unknown_fields)]
pub(super) struct Longer {
    /// How long from now, as `10m` or `1h 30m`.
    #[schema(example = "10m", pattern = r"^\s*(\d+(\.\d+)?(d|h|m|s|ms)\s*)+$")]
    r#for: Option<String>,
    /// Until when.
    #[schema(format = DateTime)]
    until: Option<String>,
    /// Why; what was said before stays where this is absent.
    #[schema(max_length = 200)]
    reason: Option<String>,
}

/// Make a hold longer
///
/// It only lengthens: one that lasts longer already stays as it is.
#[utoipa::path(patch, operation_id = "change_hold", path = "/-/api/v1/holds/{id}", security(("admin" = [])),
    params(("id" = String, Path, description = "The hold")),
    request_body = Longer,
    responses((status = 200, description = "The hold", body = Hold)))]
pub(super) async fn change(
    gateway: Extension<Arc<Gateway>>,
    id: Named,
    told: Told<Longer>,
) -> Result<Json<Hold>, Wrong> {
    lengthen(gateway, id, told).await
}

/// Make a hold longer
///
/// As PATCH does, for clients that have none.
#[utoipa::path(post, operation_id = "extend_hold", path = "/-/api/v1/holds/{id}/extend", security(("admin" = [])),
    params(("id" = String, Path, description = "The hold")),
    request_body = Longer,
    responses((status = 200, description = "The hold", body = Hold)))]
pub(super) async fn extend(
    gateway: Extension<Arc<Gateway>>,
    id: Named,
    told: Told<Longer>,
) -> Result<Json<Hold>, Wrong> {
    lengthen(gateway, id, told).await
}

async fn lengthen(
    Extension(gateway): Extension<Arc<Gateway>>,
    Named(id): Named,
    Told(told): Told<Longer>,
) -> Result<Json<Hold>, Wrong> {
    let id = named(&id)?;
    let now = gateway.governor().clock().wall();
    let length = length(told.r#for.as_deref(), told.until.as_deref(), now)?;
    let reason = reason(told.reason)?;
    let extend = move || {
        let governor = gateway.governor();
        governor.extend_hold(id, now.after(length), reason.as_deref())
    };
    let hold = waiting_for(extend).await?.ok_or_else(gone)?;
    log(&hold, "lengthened by a person");
    Ok(Json((&hold).into()))
}

/// Lift a hold
///
/// One probe goes first; the others follow when it is answered well.
#[utoipa::path(delete, operation_id = "lift_hold", path = "/-/api/v1/holds/{id}", security(("admin" = [])),
    params(("id" = String, Path, description = "The hold")),
    responses((status = 204, description = "It is lifted")))]
pub(super) async fn lift(
    Extension(gateway): Extension<Arc<Gateway>>,
    Named(id): Named,
) -> Result<StatusCode, Wrong> {
    let provider = gateway.governor().lift_hold(named(&id)?).ok_or_else(gone)?;
    tracing::info!(provider = &*provider, hold = id, "lifted by a person");
    Ok(StatusCode::NO_CONTENT)
}

fn named(id: &str) -> Result<HoldId, Wrong> {
    hold_id(id).ok_or_else(gone)
}

fn gone() -> Wrong {
    Wrong::missing("no such hold stands; it may be over, or lifted")
}

/// What waits for a disk does not hold up those whom this thread serves.
async fn waiting_for<T: Send + 'static>(
    what: impl FnOnce() -> T + Send + 'static,
) -> Result<T, Wrong> {
    let broken = |_| Wrong::new(StatusCode::INTERNAL_SERVER_ERROR, "it came to nothing");
    tokio::task::spawn_blocking(what).await.map_err(broken)
}

fn log(hold: &HoldState, what: &'static str) {
    tracing::info!(
        provider = &*hold.provider,
        until = %hold.until,
        reason = hold.reason.as_deref().unwrap_or_default(),
        "{what}"
    );
}
