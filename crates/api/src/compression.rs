//! Decompresses request bodies and compresses responses, with gzip and zstd.
//!
//! A response is compressed as a whole before it is sent, outside of the threads that serve requests. So its
//! length is known, and a slow client keeps no encoder in memory.

use std::io::{self, Read, Write};

use axum::body::{Body, Bytes, to_bytes};
use axum::extract::Request;
use axum::http::header::{ACCEPT_ENCODING, CONTENT_ENCODING, CONTENT_LENGTH, VARY};
use axum::http::{HeaderMap, HeaderValue};
use axum::middleware::Next;
use axum::response::{IntoResponse, Response};
use flate2::Compression;
use flate2::read::MultiGzDecoder;
use flate2::write::GzEncoder;
use hyper::body::Body as _;
use traffic::weighted_items;

use super::error::ApiError;
use app::App;
use app::bodies::{BodyError, BufferedBody};

/// The maximum zstd window, as a power of two: 8 MiB, which RFC 8878 recommends that decoders support.
const MAX_WINDOW_LOG: u32 = 23;
const ZSTD_LEVEL: i32 = 3;
/// Below this, headers cost more than compression saves.
const MIN_COMPRESSED_BYTES: u64 = 1024;
const CHUNK_BYTES: usize = 32 * 1024;

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum ContentCoding {
    Gzip,
    Zstd,
}

pub(super) enum DecodeError {
    BodyError(BodyError),
    Damaged(&'static str),
}

impl From<BodyError> for DecodeError {
    fn from(why: BodyError) -> Self {
        Self::BodyError(why)
    }
}

/// The content coding of a request body. Only one layer is allowed: several layers are typical for a
/// decompression bomb.
pub(super) fn body_coding(headers: &HeaderMap) -> Result<Option<ContentCoding>, ApiError> {
    // A value that isn't text counts as an unknown coding.
    let values = headers.get_all(CONTENT_ENCODING).iter().map(|value| value.to_str().unwrap_or("?"));
    let mut names = values.flat_map(|value| value.split(',')).map(str::trim).filter(|name| !name.is_empty());
    match (names.next(), names.next()) {
        (None, _) => Ok(None),
        (Some(name), None) if name.eq_ignore_ascii_case("identity") => Ok(None),
        (Some(name), None) => ContentCoding::parse(name).map(Some).ok_or(ApiError::UnsupportedCoding),
        _ => Err(ApiError::UnsupportedCoding),
    }
}

impl ContentCoding {
    fn parse(name: &str) -> Option<Self> {
        match name.to_ascii_lowercase().as_str() {
            "gzip" | "x-gzip" => Some(Self::Gzip),
            "zstd" => Some(Self::Zstd),
            _ => None,
        }
    }

    fn name(self) -> &'static str {
        match self {
            Self::Gzip => "gzip",
            Self::Zstd => "zstd",
        }
    }

    /// Decompresses `encoded` into `plain`. Stops one byte after the limit, so a bomb costs no more than
    /// that.
    pub(super) fn decode(
        self,
        encoded: &[u8],
        mut plain: BufferedBody,
        limit: usize,
    ) -> Result<BufferedBody, DecodeError> {
        let damaged = match self {
            Self::Gzip => "the body isn't gzip, is damaged, or has data after its end",
            Self::Zstd => "the body isn't zstd, is damaged, or needs a window of more than 8 MiB",
        };
        let damaged = |_: io::Error| DecodeError::Damaged(damaged);
        let mut decoder = self.decoder(encoded).map_err(damaged)?.take(limit as u64 + 1);
        let mut chunk = vec![0; CHUNK_BYTES];
        loop {
            match decoder.read(&mut chunk).map_err(damaged)? {
                0 => return Ok(plain),
                read => plain.push(&chunk[..read], limit)?,
            }
        }
    }

    fn decoder<'a>(self, encoded: &'a [u8]) -> io::Result<Box<dyn Read + 'a>> {
        Ok(match self {
            Self::Gzip => Box::new(MultiGzDecoder::new(encoded)),
            Self::Zstd => {
                let mut decoder = zstd::Decoder::with_buffer(encoded)?;
                decoder.window_log_max(MAX_WINDOW_LOG)?;
                Box::new(decoder)
            }
        })
    }

    fn encode(self, plain: &[u8]) -> io::Result<Vec<u8>> {
        match self {
            Self::Zstd => zstd::bulk::compress(plain, ZSTD_LEVEL),
            Self::Gzip => {
                let mut encoder = GzEncoder::new(Vec::new(), Compression::default());
                encoder.write_all(plain)?;
                encoder.finish()
            }
        }
    }
}

/// Compresses the response as the client accepts it. Streams have no length, and are not compressed.
pub(super) async fn compress_response(app: &App, request: Request, next: Next) -> Response {
    let coding = accepted_coding(request.headers());
    let mut response = next.run(request).await;
    if response.body().size_hint().exact().is_none_or(|length| length < MIN_COMPRESSED_BYTES) {
        return response;
    }
    response.headers_mut().append(VARY, HeaderValue::from_static("accept-encoding"));
    match coding {
        Some(coding) => compress(app, response, coding).await,
        None => response,
    }
}

/// The coding with the highest weight. At equal weights, zstd is preferred.
fn accepted_coding(headers: &HeaderMap) -> Option<ContentCoding> {
    let codings = [ContentCoding::Gzip, ContentCoding::Zstd];
    let best = codings.into_iter().max_by_key(|coding| accepted_weight(headers, *coding))?;
    (accepted_weight(headers, best) > 0).then_some(best)
}

/// The weight of a coding in `Accept-Encoding`, or else that of the wildcard. 0 means not accepted.
fn accepted_weight(headers: &HeaderMap, coding: ContentCoding) -> u16 {
    let mut wildcard = 0;
    let values = headers.get_all(ACCEPT_ENCODING).iter().filter_map(|value| value.to_str().ok());
    for item in values.flat_map(weighted_items) {
        let weight = item.weight.unwrap_or(0);
        if ContentCoding::parse(item.name) == Some(coding) {
            return weight;
        }
        if item.name == "*" {
            wildcard = weight;
        }
    }
    wildcard
}

async fn compress(app: &App, response: Response, coding: ContentCoding) -> Response {
    let (mut parts, body) = response.into_parts();
    let plain = match to_bytes(body, usize::MAX).await {
        Ok(plain) => plain,
        Err(error) => return ApiError::Internal(error.into()).into_response(),
    };
    let source = plain.clone();
    let encoded =
        app.bodies.run_blocking(move || coding.encode(&source)).await.and_then(|encoded| Ok(encoded?));
    let body = match encoded {
        Ok(encoded) if encoded.len() < plain.len() => {
            parts.headers.insert(CONTENT_ENCODING, HeaderValue::from_static(coding.name()));
            parts.headers.remove(CONTENT_LENGTH);
            Bytes::from(encoded)
        }
        _ => plain,
    };
    Response::from_parts(parts, Body::from(body))
}

#[cfg(test)]
mod tests {
    #![allow(clippy::unwrap_used)]

    use super::*;
    use app::bodies::Owner;

    #[test]
    fn the_accepted_coding_with_the_highest_weight_is_used() {
        #[track_caller]
        fn check(header: &'static str, expected: Option<ContentCoding>) {
            let headers = HeaderMap::from_iter([(ACCEPT_ENCODING, HeaderValue::from_static(header))]);
            assert_eq!(accepted_coding(&headers), expected, "{header}");
        }
        let (gzip, zstd) = (Some(ContentCoding::Gzip), Some(ContentCoding::Zstd));
        check("", None);
        check("gzip", gzip);
        check("x-gzip", gzip);
        check("GZIP, deflate, br, zstd", zstd);
        check("gzip;q=1, zstd;q=0.5", gzip);
        check("gzip; q=0.2 , zstd ; Q=0.3", zstd);
        check("gzip;q=0, zstd;q=0.0", None);
        check("*", zstd);
        check("*, zstd;q=0", gzip);
        check("*;q=0", None);
        check("br, identity;q=0", None);
        check("gzip;q=junk", None);
        check("gzip;q=NaN, zstd;q=0.1", zstd);
        check("gzip;level=9;q=0.5", gzip);
    }

    #[test]
    fn decoding_stops_at_the_limit_and_refuses_damaged_input() {
        let limit = 100_000;
        for coding in [ContentCoding::Gzip, ContentCoding::Zstd] {
            let decode = |encoded: &[u8]| {
                let plain = app::bodies::Bodies::new(1 << 20).empty_body(Owner::Address(None));
                coding.decode(encoded, plain, limit)
            };
            let fits = coding.encode(&vec![b' '; limit]).unwrap();
            assert_eq!(decode(&fits).ok().unwrap().len(), limit);
            let twice = [fits.clone(), coding.encode(b"x").unwrap()].concat();
            assert!(matches!(decode(&twice), Err(DecodeError::BodyError(BodyError::TooLarge))));
            let is_damaged = |encoded: &[u8]| matches!(decode(encoded), Err(DecodeError::Damaged(_)));
            assert!(is_damaged(&fits[..fits.len() - 1]) && is_damaged(b"plain") && is_damaged(b"{}"));
            assert!(is_damaged(&[&coding.encode(b"{}").unwrap()[..], b"{}"].concat()));
        }
    }
}
