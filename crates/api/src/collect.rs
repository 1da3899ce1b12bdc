//! Receives page views from the browsers of readers, one per request and without an API key.

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

use super::body::{is_json, media_type, parse_object, read_body};
use super::error::ApiError;
use super::site::Site;
use app::App;
use app::address::ClientAddress;

const MAX_BYTES: usize = 8 * 1024;

/// `POST /v1/collect/{projectId}`: answers 204 once the view is on disk.
pub(super) async fn collect(
    State(app): State<App>,
    site: Site,
    ClientAddress(address): ClientAddress,
    request: Request,
) -> Response {
    let result = store_view(&app, &site, address, request).await;
    site.with_cors(result.map(|()| StatusCode::NO_CONTENT))
}

/// `OPTIONS /v1/collect/{projectId}`: the preflight request of a browser, before it sends JSON.
pub(super) async fn preflight(site: Site) -> Response {
    let cors_headers = [
        (ACCESS_CONTROL_ALLOW_METHODS, "POST"),
        (ACCESS_CONTROL_ALLOW_HEADERS, "content-type"),
        (ACCESS_CONTROL_MAX_AGE, "86400"),
    ];
    site.with_cors((StatusCode::NO_CONTENT, cors_headers))
}

async fn store_view(
    app: &App,
    site: &Site,
    address: Option<IpAddr>,
    request: Request,
) -> Result<(), ApiError> {
    app.beacon_limit.count(address).map_err(ApiError::TooManyBeacons)?;
    // `sendBeacon` sends JSON as text/plain, which needs no preflight request.
    if media_type(request.headers()).is_some_and(|kind| kind != "text/plain" && !is_json(&kind)) {
        return Err(ApiError::UnsupportedMediaType("text/plain or application/json"));
    }
    let (parts, body) = request.into_parts();
    let body = read_body(app, &parts, body, MAX_BYTES).await?;
    let headers = parts.headers;
    let view = parse_event(app, &headers, address, &body)
        .map_err(|message| ApiError::invalid("invalid_body", message))?;
    let view = match site.project.human_reads {
        HumanReads::Server => view.without_human_read(),
        HumanReads::Beacon | HumanReads::Both => view,
    };
    if !is_prefetch(&headers) {
        app.views.ingest(&site.project.id.0, vec![view]).await?;
    }
    Ok(())
}

/// Takes the reader and the time from the request, not from the body.
fn parse_event(
    app: &App,
    headers: &HeaderMap,
    address: Option<IpAddr>,
    body: &[u8],
) -> Result<Event, String> {
    let view: BrowserView = parse_object(body)?;
    let user_agent = headers.get(USER_AGENT).map(|value| String::from_utf8_lossy(value.as_bytes()));
    let raw = RawEvent {
        path: view.path,
        url: view.url,
        referrer: view.referrer,
        event_id: view.event_id,
        user_agent: user_agent.map(|text| text.into_owned()),
        // Readers whose address the proxy does not forward count as one sender.
        ip: Some(address.unwrap_or(Ipv4Addr::UNSPECIFIED.into()).to_string()),
        from_page_script: true,
        ..RawEvent::default()
    };
    traffic::parse_event(raw, app.clock.now()).map_err(|rejection| rejection.to_string())
}

/// Whether the browser prefetched the page, so that nobody has read it yet.
fn is_prefetch(headers: &HeaderMap) -> bool {
    let purposes = ["sec-purpose", "purpose"].into_iter().flat_map(|name| headers.get_all(name));
    purposes.filter_map(|value| value.to_str().ok()).any(|value| {
        let purpose = value.split(';').next().unwrap_or_default(); // `prefetch;prerender`
        purpose.trim().eq_ignore_ascii_case("prefetch")
    })
}
