//! Providers: how they are, what was learned of them, and what was met of them elsewhere.

use std::sync::Arc;
use std::time::Duration;

use abide::Said;
use abide::core::Verdict;
use axum::{Extension, Json};
use http::{HeaderMap, HeaderName, HeaderValue, StatusCode};
use serde::Deserialize;
use utoipa::{IntoParams, ToSchema};

use super::asked::{Asked, Named, Told, Wrong, instant};
use super::shapes::{AllLearned, Gate, Gates, Learned, Lifted, Provider, Providers};
use super::words::{Word, shown};
use crate::gateway::Gateway;

/// Which providers are listed.
#[derive(Clone, Copy, Debug, Deserialize, ToSchema)]
#[serde(rename_all = "snake_case")]
pub(super) enum View {
    /// Those that nothing holds now.
    Available,
    /// Those that did not fail since their last success.
    Healthy,
}

#[derive(Debug, Deserialize, IntoParams)]
#[serde(deny_unknown_fields)]
#[into_params(parameter_in = Query)]
pub(super) struct Which {
    /// Only those that are so.
    view: Option<View>,
}

/// How each provider is
///
/// Those that were asked since the start, and those that are held.
#[utoipa::path(get, operation_id = "list_providers", path = "/-/api/v1/providers", params(Which),
    responses((status = 200, description = "The providers", body = Providers)))]
pub(super) async fn list(
    Extension(gateway): Extension<Arc<Gateway>>,
    Asked(which): Asked<Which>,
) -> Json<Providers> {
    let governor = gateway.governor();
    // Whoever is held is met by this.
    let holds = governor.holds();
    let mut states = governor.states();
    states.retain(|s| match which.view {
        Some(View::Available) => s.available,
        Some(View::Healthy) => s.healthy,
        None => true,
    });
    states.sort_by(|a, b| a.provider.cmp(&b.provider));
    Json(Providers {
        providers: states.iter().map(|s| Provider::of(s, &holds)).collect(),
        offline: governor.is_offline(),
    })
}

/// How one provider is
#[utoipa::path(get, operation_id = "provider", path = "/-/api/v1/providers/{provider}",
    params(("provider" = String, Path, description = "Its name", example = "github")),
    responses((status = 200, description = "The provider", body = Provider)))]
pub(super) async fn one(
    Extension(gateway): Extension<Arc<Gateway>>,
    Named(name): Named,
) -> Result<Json<Provider>, Wrong> {
    met(&gateway, &name)?;
    Ok(Json(state(&gateway, &name)))
}

/// Lift every hold of a provider
///
/// Its accounts' holds go too. One probe goes first at each gate, and the others follow when it is
/// answered well.
#[utoipa::path(post, operation_id = "lift_provider", path = "/-/api/v1/providers/{provider}/lift", security(("admin" = [])),
    params(("provider" = String, Path, description = "Its name", example = "github")),
    request_body = Nothing,
    responses((status = 200, description = "What was lifted", body = Lifted)))]
pub(super) async fn lift(
    Extension(gateway): Extension<Arc<Gateway>>,
    Named(name): Named,
    Told(Nothing {}): Told<Nothing>,
) -> Result<Json<Lifted>, Wrong> {
    met(&gateway, &name)?;
    let lifted = gateway.governor().lift_all(&name);
    tracing::info!(provider = name, holds = lifted.len(), "lifted by a person");
    Ok(Json(Lifted {
        lifted: lifted.into_iter().map(shown).collect(),
    }))
}

/// Nothing more is to be said: `{}`.
#[derive(Debug, Deserialize, ToSchema)]
#[serde(deny_unknown_fields)]
pub(super) struct Nothing {}

/// What was met elsewhere: an answer (`status`, with what is known of it), or what it meant
/// (`verdict`).
#[derive(Debug, Deserialize, ToSchema)]
#[serde(deny_unknown_fields)]
pub(super) struct Outcome {
    /// The answer's status.
    #[schema(minimum = 100, maximum = 599)]
    status: Option<u16>,
    /// Its headers, by name.
    #[serde(default)]
    headers: std::collections::BTreeMap<String, String>,
    /// The beginning of its body.
    body: Option<String>,
    /// What was asked for, without its query: some rules are about one path only.
    path: Option<String>,
    /// What it meant, where there is no status.
    verdict: Option<Word>,
    /// Seconds from now until which the provider asked to stay away.
    #[schema(minimum = 0)]
    retry_after: Option<f64>,
    /// The same as an instant.
    #[schema(format = DateTime)]
    retry_at: Option<String>,
}

/// Tell what was met elsewhere
///
/// An outcome of another program's own request. It opens and lengthens holds as an answer of the
/// gateway's own would, and ends none: nobody knows when its request was sent.
#[utoipa::path(post, operation_id = "tell_outcome", path = "/-/api/v1/providers/{provider}/outcomes", security(("admin" = [])),
    params(("provider" = String, Path, description = "Its name", example = "github")),
    request_body = Outcome,
    responses((status = 200, description = "How the provider is now", body = Provider)))]
pub(super) async fn outcome(
    Extension(gateway): Extension<Arc<Gateway>>,
    Named(name): Named,
    Told(told): Told<Outcome>,
) -> Result<Json<Provider>, Wrong> {
    known(&gateway, &name)?;
    let said = told.said()?;
    gateway.governor().report(&name, &said);
    Ok(Json(state(&gateway, &name)))
}

impl Outcome {
    fn said(self) -> Result<Said, Wrong> {
        let said = match (self.status, self.verdict) {
            (Some(status), None) => {
                let status = StatusCode::from_u16(status)
                    .ok()
                    .filter(|s| s.as_u16() < 600);
                let status = status.ok_or_else(|| Wrong::senseless("there is no such status"))?;
                let mut headers = HeaderMap::new();
                for (name, value) in &self.headers {
                    let (Ok(name), Ok(value)) =
                        (HeaderName::try_from(name), HeaderValue::try_from(value))
                    else {
                        return Err(Wrong::senseless("a header is none that HTTP has"));
                    };
                    headers.append(name, value);
                }
                let mut said = Said::answer(status, &headers);
                if let Some(body) = self.body {
                    said = said.body(body);
                }
                match self.path {
                    Some(path) => said.path(path),
                    None => said,
                }
            }
            (None, Some(verdict)) => Said::verdict(Verdict::from(verdict)),
            _ => {
                return Err(Wrong::senseless(
                    "say what was met: either `status` with `headers`, or `verdict`",
                ));
            }
        };
        match (self.retry_after, self.retry_at) {
            (None, None) => Ok(said),
            (Some(wait), None) => match Duration::try_from_secs_f64(wait) {
                Ok(wait) => Ok(said.after(wait)),
                Err(_) => Err(Wrong::senseless("retry_after is no number of seconds")),
            },
            (None, Some(at)) => Ok(said.until(instant(&at)?)),
            _ => Err(Wrong::senseless("either `retry_after` or `retry_at`")),
        }
    }
}

/// Every gate in use
#[utoipa::path(get, operation_id = "gates", path = "/-/api/v1/gates",
    responses((status = 200, description = "The gates", body = Gates)))]
pub(super) async fn gates(Extension(gateway): Extension<Arc<Gateway>>) -> Json<Gates> {
    let governor = gateway.governor();
    let at = governor.clock().moment();
    let mut states = governor.states();
    states.sort_by(|a, b| a.provider.cmp(&b.provider));
    let all = states.iter().flat_map(|s| {
        let views = governor.provider(&s.provider).view();
        let gate = |g: &abide::core::provider::GateView| Gate {
            provider: s.provider.to_string(),
            scope: g.scope.as_str(),
            closed_until: g.closed_until.map(|t| at.wall_at(t).to_string()),
            in_episode: g.in_episode,
            in_flight: g.in_flight,
            waiting: g.waiting,
            interval_s: g.interval.map(|d| d.as_secs_f64()),
            failures: g.failures,
            last_success: g.last_success.map(|t| at.wall_at(t).to_string()),
            learned: g.learned.map(|l| Learned::of(&s.provider, &l)),
        };
        views.iter().map(gate).collect::<Vec<_>>()
    });
    Json(Gates {
        gates: all.collect(),
    })
}

/// Every limit that was learned
#[utoipa::path(get, operation_id = "learned", path = "/-/api/v1/learned",
    responses((status = 200, description = "The limits", body = AllLearned)))]
pub(super) async fn learned(Extension(gateway): Extension<Arc<Gateway>>) -> Json<AllLearned> {
    let all = gateway.governor().learned();
    Json(AllLearned {
        learned: all.iter().map(|(p, l)| Learned::of(p, l)).collect(),
    })
}

fn state(gateway: &Gateway, name: &str) -> Provider {
    let governor = gateway.governor();
    let holds = governor.holds();
    Provider::of(&governor.provider(name).state(), &holds)
}

/// Whether something was asked of a provider, or is remembered of it.
fn met(gateway: &Gateway, name: &str) -> Result<(), Wrong> {
    match gateway.governor().knows(name) {
        true => Ok(()),
        false => Err(Wrong::missing(
            "nothing was asked of that provider since the start, and nothing holds it",
        )),
    }
}

/// Whether a name is a provider's: one of the configuration or the catalogue, or an origin. A
/// misspelt one would be held, and the one that was meant would not.
pub(super) fn known(gateway: &Gateway, name: &str) -> Result<(), Wrong> {
    let governor = gateway.governor();
    let (section, service) = name.split_once('+').unwrap_or((name, name));
    let service = service.split('@').next().unwrap_or(service);
    let catalogue = |name| governor.catalogue().get(name).is_some();
    let own = |u: &crate::settings::Upstream| u.provider == name || u.provider == section;
    let named = governor.knows(name)
        || gateway.settings().upstreams.iter().any(own)
        || catalogue(service)
        || is_origin(name);
    match named {
        true => Ok(()),
        false => Err(Wrong::missing(
            "no provider has that name; `abide providers` lists the names, and a host as \
             api.example.org is its own provider",
        )),
    }
}

/// Whether a name is that of a host, as providers are named that nobody configured.
fn is_origin(name: &str) -> bool {
    let fits = |b: u8| b.is_ascii_lowercase() || b.is_ascii_digit() || b"-.:[]".contains(&b);
    let written = name.len() <= 255 && name.bytes().all(fits);
    written
        && (name.contains('.') || name.contains(':'))
        && name.parse::<http::uri::Authority>().is_ok()
}
