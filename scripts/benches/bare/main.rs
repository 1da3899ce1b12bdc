//! A route that reads the body of a beacon and keeps nothing, to hold ours against. Takes a port.

use axum::Router;
use axum::body::Bytes;
use axum::http::StatusCode;
use axum::routing::post;

async fn take(body: Bytes) -> StatusCode {
    std::hint::black_box(body);
    StatusCode::NO_CONTENT
}

#[tokio::main]
async fn main() -> std::io::Result<()> {
    let port: u16 = std::env::args().nth(1).and_then(|port| port.parse().ok()).unwrap_or(4748);
    let listener = tokio::net::TcpListener::bind(("127.0.0.1", port)).await?;
    axum::serve(listener, Router::new().route("/{*path}", post(take))).await
}
