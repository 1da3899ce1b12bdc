//! Receives page views from servers and log shippers, in batches.

use axum::Json;
use axum::extract::{Request, State};
use axum::http::StatusCode;
use failpoints::with_failpoints;
use serde::de::{Deserialize, Deserializer, SeqAccess, Visitor};
use serde_json::value::RawValue;
use store::HumanReads;
use traffic::{Event, RawEvent};
use wire::{IngestResult, RejectedEvent, ViewEvent};

use super::body::{is_json, media_type, parse_object, parser_message, read_body};
use super::caller::Caller;
use super::error::ApiError;
use super::imports::parse_part;
use app::App;
use app::metrics::{Counter, Labels};

const MAX_BODY_BYTES: usize = 8 * 1024 * 1024;
const MAX_EVENTS: usize = 10_000;

/// `POST /v1/analytics/{projectId}/events`: responds with 202 when the events are on disk.
pub(super) async fn ingest(
    State(app): State<App>,
    caller: Caller,
    request: Request,
) -> Result<(StatusCode, Json<IngestResult>), ApiError> {
    let (parts, body) = request.into_parts();
    let kind = media_type(&parts.headers);
    let format = kind.as_deref().and_then(BatchFormat::of).ok_or(WRONG_TYPE)?;
    let body = read_body(&app, &parts, body, MAX_BODY_BYTES).await.inspect_err(|error| {
        if matches!(error, ApiError::Busy) {
            app.metrics.add(Counter::IntakeRefused, Labels::default(), 1);
        }
    })?;
    let now = app.clock.now();
    // The memory of the body stays reserved until the events are stored.
    let (parsed, _memory) =
        app.bodies.run_blocking(move || (parse_batch(&body, format, now), body.into_reservation())).await?;
    let (mut events, rejected) = parsed?;
    if caller.project.human_reads == HumanReads::Beacon {
        events = events.into_iter().map(Event::without_human_read).collect();
    }
    let part = parse_part(&parts.uri)?;
    app.metrics.add(Counter::ViewsRejected, Labels::default(), rejected.len() as u64);
    let project = &caller.project.id.0;
    let receipt = with_failpoints("views", async {
        match part {
            Some(part) => app.views.ingest_part(project, part, events).await,
            None => app.views.ingest(project, events).await,
        }
    });
    let receipt = receipt.await?;
    let result = IngestResult { accepted: receipt.accepted, duplicates: receipt.duplicates, rejected };
    Ok((StatusCode::ACCEPTED, Json(result)))
}

const WRONG_TYPE: ApiError = ApiError::UnsupportedMediaType(
    "application/json (an array) or application/x-ndjson (one event per line)",
);

/// The format of a batch.
#[derive(Clone, Copy)]
enum BatchFormat {
    Array,
    Ndjson,
}

impl BatchFormat {
    fn of(media_type: &str) -> Option<Self> {
        match media_type {
            "application/x-ndjson" | "application/ndjson" | "application/jsonl" => Some(Self::Ndjson),
            json if is_json(json) => Some(Self::Array),
            _ => None,
        }
    }
}

/// Rejects invalid events with their line numbers, and keeps the valid ones.
fn parse_batch(
    body: &[u8],
    format: BatchFormat,
    now: jiff::Timestamp,
) -> Result<(Vec<Event>, Vec<RejectedEvent>), ApiError> {
    let texts = match format {
        BatchFormat::Array => split_array(body)?,
        BatchFormat::Ndjson => split_lines(body),
    };
    if texts.len() > MAX_EVENTS {
        return Err(ApiError::TooLarge("send at most 10,000 events per request".into()));
    }
    let mut events = Vec::with_capacity(texts.len());
    let mut rejected = Vec::new();
    for (line, text) in texts {
        match parse_event(text, now) {
            Ok(event) => events.push(event),
            Err(message) => rejected.push(RejectedEvent { line, message }),
        }
    }
    Ok((events, rejected))
}

fn split_array(body: &[u8]) -> Result<Vec<(u64, &[u8])>, ApiError> {
    let items: FirstItems = serde_json::from_slice(body).map_err(|error| {
        ApiError::invalid(
            "invalid_body",
            format!("the body must be a JSON array of events: {}", parser_message(&error)),
        )
    })?;
    Ok((1..).zip(items.0.into_iter().map(|item| item.get().as_bytes())).collect())
}

/// The items of an array, and only one more than allowed: 8 MiB of `0,0,0` must not become 100 MiB of
/// pointers.
struct FirstItems<'a>(Vec<&'a RawValue>);

impl<'de> Deserialize<'de> for FirstItems<'de> {
    fn deserialize<D: Deserializer<'de>>(from: D) -> Result<Self, D::Error> {
        struct Items;
        impl<'de> Visitor<'de> for Items {
            type Value = FirstItems<'de>;

            fn expecting(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
                f.write_str("an array")
            }

            fn visit_seq<A: SeqAccess<'de>>(self, mut items: A) -> Result<Self::Value, A::Error> {
                let mut first = Vec::new();
                while let Some(item) = items.next_element()? {
                    if first.len() <= MAX_EVENTS {
                        first.push(item);
                    }
                }
                Ok(FirstItems(first))
            }
        }
        from.deserialize_seq(Items)
    }
}

fn split_lines(body: &[u8]) -> Vec<(u64, &[u8])> {
    let body = body.strip_prefix(b"\xef\xbb\xbf").unwrap_or(body); // a byte-order mark
    let lines = body.split(|byte| *byte == b'\n').map(<[u8]>::trim_ascii);
    (1..).zip(lines).filter(|(_, line)| !line.is_empty()).take(MAX_EVENTS + 1).collect()
}

fn parse_event(text: &[u8], now: jiff::Timestamp) -> Result<Event, String> {
    let event: ViewEvent = parse_object(text)?;
    let timestamp = event.timestamp.as_deref().map(traffic::parse_timestamp).transpose();
    let raw = RawEvent {
        path: event.path,
        url: event.url,
        timestamp: timestamp.map_err(|error| format!("timestamp: {error}"))?,
        method: event.method,
        status: event.status,
        user_agent: event.user_agent,
        ip: event.ip,
        referrer: event.referrer,
        accept: event.accept,
        event_id: event.event_id,
        from_page_script: false,
    };
    traffic::parse_event(raw, now).map_err(|rejection| rejection.to_string())
}
