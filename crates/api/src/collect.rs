//! A page view as the reader's browser tells it, one at a time and without a key.

use std::net::{IpAddr, Ipv4Addr};

use axum::extract::{Request, State};
use axum::http::header::{
    ACCESS_CONTROL_ALLOW_HEADERS, ACCESS_CONTROL_ALLOW_METHODS, ACCESS_CONTROL_MAX_AGE, USER_AGENT,
};
use axum::http::{HeaderMap, StatusCode};
use axum::response::Response;
use store::HumanReads;
use traffic::{Event, RawEvent};
use wire::BrowserView;

use super::body::{is_json, media_type, object, read};
use super::error::ApiError;
use super::site::Site;
use app::App;
use app::address::ClientAddress;

const MAX_BYTES: usize = 8 * 1024;

/// `POST /v1/collect/{projectId}`: answers 204 once the view is on disk.
pub(super) async fn take(
    State(app): State<App>,
    site: Site,
    ClientAddress(address): ClientAddress,
    request: Request,
) -> Response {
    let taken = keep(&app, &site, address, request).await;
    site.may_see(taken.map(|()| StatusCode::NO_CONTENT))
}

/// `OPTIONS /v1/collect/{projectId}`: what a browser asks before it sends JSON.
pub(super) async fn preflight(site: Site) -> Response {
    let leave = [
        (ACCESS_CONTROL_ALLOW_METHODS, "POST"),
        (ACCESS_CONTROL_ALLOW_HEADERS, "content-type"),
        (ACCESS_CONTROL_MAX_AGE, "86400"),
    ];
    site.may_see((StatusCode::NO_CONTENT, leave))
}

async fn keep(app: &App, site: &Site, address: Option<IpAddr>, request: Request) -> Result<(), ApiError> {
    app.beacons.count(address).map_err(ApiError::TooManyBeacons)?;
    // `sendBeacon` calls a text what is JSON, so that no preflight is needed.
    if media_type(request.headers()).is_some_and(|kind| kind != "text/plain" && !is_json(&kind)) {
        return Err(ApiError::UnsupportedMediaType("text/plain or application/json"));
    }
    let (parts, body) = request.into_parts();
    let body = read(app, &parts, body, MAX_BYTES).await?;
    let headers = parts.headers;
    let view =
        event(app, &headers, address, &body).map_err(|message| ApiError::invalid("invalid_body", message))?;
    let view = match site.project.human_reads {
        HumanReads::Server => view.without_human_read(),
        HumanReads::Beacon | HumanReads::Both => view,
    };
    if !is_prefetch(&headers) {
        app.views.ingest(&site.project.id.0, vec![view]).await?;
    }
    Ok(())
}

/// Who read it and when is the request's to say, and not the page's.
fn event(app: &App, headers: &HeaderMap, address: Option<IpAddr>, body: &[u8]) -> Result<Event, String> {
    let view: BrowserView = object(body)?;
    let user_agent = headers.get(USER_AGENT).map(|value| String::from_utf8_lossy(value.as_bytes()));
    let raw = RawEvent {
        path: view.path,
        url: view.url,
        referrer: view.referrer,
        event_id: view.event_id,
        user_agent: user_agent.map(|text| text.into_owned()),
        // Those whose address a proxy does not tell are one sender.
        ip: Some(address.unwrap_or(Ipv4Addr::UNSPECIFIED.into()).to_string()),
        from_page_script: true,
        ..RawEvent::default()
    };
    traffic::parse_event(raw, app.clock.now()).map_err(|rejection| rejection.to_string())
}

/// The browser fetched the page ahead, and nobody has looked at it yet.
fn is_prefetch(headers: &HeaderMap) -> bool {
    let purposes = ["sec-purpose", "purpose"].into_iter().flat_map(|name| headers.get_all(name));
    purposes.filter_map(|value| value.to_str().ok()).any(|value| {
        let purpose = value.split(';').next().unwrap_or_default(); // `prefetch;prerender`
        purpose.trim().eq_ignore_ascii_case("prefetch")
    })
}
