//! Serves the stylesheet, the script and the logo, which are compiled into the program.

use axum::http::header::{CACHE_CONTROL, CONTENT_TYPE};
use axum::response::{IntoResponse, Response};

pub(crate) fn find(name: &str) -> Option<Response> {
    let (kind, text) = match name {
        "docwright.css" => ("text/css; charset=utf-8", include_str!("../assets/docwright.css")),
        "docwright.js" => ("text/javascript; charset=utf-8", include_str!("../assets/docwright.js")),
        "mark.svg" => ("image/svg+xml", include_str!("../assets/mark.svg")),
        _ => return None,
    };
    // Short, so that browsers notice an upgrade soon. Pages are not cached at all.
    Some(([(CONTENT_TYPE, kind), (CACHE_CONTROL, "public, max-age=300")], text).into_response())
}
