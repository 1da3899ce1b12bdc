//! gzip and zstd, both ways: bodies that come compressed, and answers that go out so.
//!
//! An answer is compressed whole, off the threads that serve, and not while it is sent: a slow
//! reader keeps no encoder alive, and the length is known.

use std::io::{self, Read, Write};

use axum::body::{Body, Bytes, to_bytes};
use axum::extract::Request;
use axum::http::header::{ACCEPT_ENCODING, CONTENT_ENCODING, CONTENT_LENGTH, VARY};
use axum::http::{HeaderMap, HeaderName, HeaderValue};
use axum::middleware::Next;
use axum::response::{IntoResponse, Response};
use flate2::Compression;
use flate2::read::MultiGzDecoder;
use flate2::write::GzEncoder;
use hyper::body::Body as _;

use super::error::ApiError;
use app::App;
use app::bodies::{Held, Unread};

/// What zstd may look back by, as a power of two: the 8 MiB that every decoder should take.
const MAX_WINDOW_LOG: u32 = 23;
const ZSTD_LEVEL: i32 = 3;
/// Below this, headers cost more than compression saves.
const WORTH_IT: u64 = 1024;
const CHUNK: usize = 32 * 1024;

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Coding {
    Gzip,
    Zstd,
}

pub(super) enum DecodeError {
    Unread(Unread),
    Damaged(&'static str),
}

impl From<Unread> for DecodeError {
    fn from(why: Unread) -> Self {
        Self::Unread(why)
    }
}

/// How the body was compressed, if it was. One layer of it is enough for anybody but a bomb.
pub(super) fn of_body(headers: &HeaderMap) -> Result<Option<Coding>, ApiError> {
    let mut named = listed(headers, &CONTENT_ENCODING);
    match (named.next(), named.next()) {
        (None, _) => Ok(None),
        (Some(one), None) if one.eq_ignore_ascii_case("identity") => Ok(None),
        (Some(one), None) => Coding::parse(one).map(Some).ok_or(ApiError::UnsupportedCoding),
        _ => Err(ApiError::UnsupportedCoding),
    }
}

/// The members of a header that is a list; what is no text counts as a strange member.
fn listed<'a>(headers: &'a HeaderMap, name: &HeaderName) -> impl Iterator<Item = &'a str> {
    let values = headers.get_all(name).iter().map(|value| value.to_str().unwrap_or("?"));
    values.flat_map(|value| value.split(',')).map(str::trim).filter(|member| !member.is_empty())
}

impl Coding {
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

    /// Fills `plain` from `sent`, and stops one byte after the limit, however much there would be.
    pub(super) fn decode(self, sent: &[u8], mut plain: Held, limit: usize) -> Result<Held, DecodeError> {
        let damaged = match self {
            Self::Gzip => "the body is not gzip, is damaged, or has something after its end",
            Self::Zstd => "the body is not zstd, is damaged, or looks back by more than 8 MiB",
        };
        let damaged = |_: io::Error| DecodeError::Damaged(damaged);
        let mut decoder = self.decoder(sent).map_err(damaged)?.take(limit as u64 + 1);
        let mut chunk = vec![0; CHUNK];
        loop {
            match decoder.read(&mut chunk).map_err(damaged)? {
                0 => return Ok(plain),
                some => plain.push(&chunk[..some], limit)?,
            }
        }
    }

    fn decoder<'a>(self, sent: &'a [u8]) -> io::Result<Box<dyn Read + 'a>> {
        Ok(match self {
            Self::Gzip => Box::new(MultiGzDecoder::new(sent)),
            Self::Zstd => {
                let mut decoder = zstd::Decoder::with_buffer(sent)?;
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

/// Around whatever may be compressed on its way out. Streams have no length, and stay as they are.
pub(super) async fn around(app: &App, request: Request, next: Next) -> Response {
    let coding = accepted(request.headers());
    let mut response = next.run(request).await;
    if response.body().size_hint().exact().is_none_or(|length| length < WORTH_IT) {
        return response;
    }
    response.headers_mut().append(VARY, HeaderValue::from_static("accept-encoding"));
    match coding {
        Some(coding) => compressed(app, response, coding).await,
        None => response,
    }
}

/// What the client likes best of what there is, and zstd of what it likes the same.
fn accepted(headers: &HeaderMap) -> Option<Coding> {
    let ranked = [Coding::Gzip, Coding::Zstd].map(|coding| (liking(headers, coding), coding));
    let best = ranked.into_iter().max_by(|(one, _), (other, _)| one.total_cmp(other))?;
    (best.0 > 0.0).then_some(best.1)
}

fn liking(headers: &HeaderMap, coding: Coding) -> f32 {
    let mut of_any = 0.0;
    for member in listed(headers, &ACCEPT_ENCODING) {
        let mut parts = member.split(';').map(str::trim);
        let name = parts.next().unwrap_or_default();
        let weight = parts.find_map(|part| part.strip_prefix("q=").or_else(|| part.strip_prefix("Q=")));
        let weight = weight.map_or(1.0, |weight| weight.parse().unwrap_or(0.0));
        let weight = if (0.0..=1.0).contains(&weight) { weight } else { 0.0 };
        if Coding::parse(name) == Some(coding) {
            return weight;
        }
        if name == "*" {
            of_any = weight;
        }
    }
    of_any
}

async fn compressed(app: &App, response: Response, coding: Coding) -> Response {
    let (mut parts, body) = response.into_parts();
    let plain = match to_bytes(body, usize::MAX).await {
        Ok(plain) => plain,
        Err(error) => return ApiError::Internal(error.into()).into_response(),
    };
    let source = plain.clone();
    let packed = app.bodies.work(move || coding.encode(&source)).await.and_then(|done| Ok(done?));
    let sent = match packed {
        Ok(packed) if packed.len() < plain.len() => {
            parts.headers.insert(CONTENT_ENCODING, HeaderValue::from_static(coding.name()));
            parts.headers.remove(CONTENT_LENGTH);
            Bytes::from(packed)
        }
        _ => plain,
    };
    Response::from_parts(parts, Body::from(sent))
}

#[cfg(test)]
mod tests {
    #![allow(clippy::unwrap_used)]

    use super::*;
    use app::bodies::Owner;

    #[test]
    fn what_a_client_accepts() {
        #[track_caller]
        fn check(header: &'static str, expected: Option<Coding>) {
            let headers = HeaderMap::from_iter([(ACCEPT_ENCODING, HeaderValue::from_static(header))]);
            assert_eq!(accepted(&headers), expected, "{header}");
        }
        let (gzip, zstd) = (Some(Coding::Gzip), Some(Coding::Zstd));
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
    fn no_more_is_decoded_than_may_be() {
        let limit = 100_000;
        for coding in [Coding::Gzip, Coding::Zstd] {
            let decode = |sent: &[u8]| {
                let plain = app::bodies::Bodies::new(1 << 20).nothing(Owner::Address(None));
                coding.decode(sent, plain, limit)
            };
            let fits = coding.encode(&vec![b' '; limit]).unwrap();
            assert_eq!(decode(&fits).ok().unwrap().len(), limit);
            let twice = [fits.clone(), coding.encode(b"x").unwrap()].concat();
            assert!(matches!(decode(&twice), Err(DecodeError::Unread(Unread::TooLarge))));
            let damaged = |sent: &[u8]| matches!(decode(sent), Err(DecodeError::Damaged(_)));
            assert!(damaged(&fits[..fits.len() - 1]) && damaged(b"plain") && damaged(b"{}"));
            assert!(damaged(&[&coding.encode(b"{}").unwrap()[..], b"{}"].concat()));
        }
    }
}
