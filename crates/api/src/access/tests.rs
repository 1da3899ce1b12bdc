//! Tests that every way for a request to end writes one log line.

use std::convert::Infallible;
use std::io::Write;
use std::net::SocketAddr;
use std::sync::Mutex;

use axum::Router;
use axum::extract::ConnectInfo;
use axum::http::StatusCode;
use axum::middleware::from_fn_with_state;
use axum::routing::{get, post};
use base::SystemClock;
use forge::FetchCounts;
use futures_util::future::poll_immediate;
use futures_util::stream;
use serde_json::Value;
use store::DataDir;
use tempfile::TempDir;
use tower_service::Service;
use tracing::subscriber::DefaultGuard;

use super::*;
use crate::{ErrorPages, fallback, middleware};
use app::metrics::{Concurrency, StoredViews};
use app::settings::Settings;

#[derive(Clone, Default)]
struct Log(Arc<Mutex<Vec<u8>>>);

impl Write for Log {
    fn write(&mut self, bytes: &[u8]) -> std::io::Result<usize> {
        self.0.lock().unwrap().write(bytes)
    }

    fn flush(&mut self) -> std::io::Result<()> {
        Ok(())
    }
}

impl Log {
    fn take_lines(&self) -> Vec<Value> {
        let text = std::mem::take(&mut *self.0.lock().unwrap());
        text.split(|byte| *byte == b'\n')
            .filter(|line| !line.is_empty())
            .map(|line| serde_json::from_slice(line).unwrap())
            .collect()
    }
}

struct TestApp {
    app: App,
    router: Router,
    log: Log,
    _subscriber_guard: DefaultGuard,
    _dir: TempDir,
}

impl TestApp {
    async fn open() -> Self {
        let dir = tempfile::tempdir().unwrap();
        let settings = Settings::new(dir.path().join("data"));
        let data = DataDir::open(&settings.data).unwrap();
        let lock = data.lock().unwrap();
        let app =
            App::open(&settings, &data, &lock, "http://127.0.0.1", Arc::new(SystemClock)).await.unwrap();
        let log = Log::default();
        let writer = log.clone();
        let subscriber = tracing_subscriber::fmt().json().flatten_event(true).with_span_list(false);
        let subscriber = subscriber.with_max_level(tracing::Level::DEBUG).with_writer(move || writer.clone());
        let _subscriber_guard = tracing::subscriber::set_default(subscriber.finish());
        Self { router: router(&app), app, log, _subscriber_guard, _dir: dir }
    }

    fn send(&mut self, method: Method, path: &str) -> impl Future<Output = Response> + use<> {
        let mut request = Request::builder().method(method).uri(path).body(Body::empty()).unwrap();
        request.extensions_mut().insert(ConnectInfo(SocketAddr::from(([192, 0, 2, 7], 4000))));
        let response = self.router.call(request);
        async { response.await.unwrap() }
    }

    /// The one access log line of the last request.
    #[track_caller]
    fn take_line(&self) -> Value {
        let mut lines: Vec<_> =
            self.log.take_lines().into_iter().filter(|line| line["target"] == "access").collect();
        assert_eq!(lines.len(), 1, "{lines:?}");
        lines.remove(0)
    }
}

const ERROR_PAGES: ErrorPages = ErrorPages {
    not_found: fallback::no_such_route,
    method_not_allowed: fallback::no_such_route,
    directory_lost: fallback::no_such_route,
};

/// More than the server sends in one frame.
const LONG_BODY_BYTES: usize = 40_000;

fn router(app: &App) -> Router {
    let two_chunks = || stream::iter(["one", "two"].map(Ok::<_, Infallible>));
    Router::new()
        .route("/panic", get(async || -> () { panic!("by design") }))
        .route("/never", get(std::future::pending::<()>))
        .route("/stream", get(async move || Body::from_stream(two_chunks())))
        .route("/long", get(async || "x".repeat(LONG_BODY_BYTES)))
        .route("/healthz", get(async || "ok").post(async || StatusCode::SERVICE_UNAVAILABLE))
        .route("/v1/collect/{projectId}", post(async || ()).put(async || StatusCode::BAD_REQUEST))
        .layer(from_fn_with_state((app.clone(), ERROR_PAGES), middleware::all))
        .with_state(app.clone())
}

#[tokio::test]
async fn a_panic_is_a_500_and_logged_with_the_request_id() {
    let mut test_app = TestApp::open().await;
    let response = test_app.send(Method::GET, "/panic").await;
    assert_eq!(
        (response.status().as_u16(), &response.headers()[ERROR_CODE]),
        (500, &"internal".parse().unwrap())
    );
    let id = response.headers()["x-request-id"].to_str().unwrap().to_owned();
    drop(response);
    let lines = test_app.log.take_lines();
    let levels: Vec<_> = lines.iter().map(|line| line["level"].as_str().unwrap()).collect();
    assert_eq!(levels, ["ERROR", "INFO"], "{lines:?}");
    assert!(lines.iter().all(|line| line["span"]["request.id"] == *id), "{lines:?}");
    assert!(
        test_app
            .app
            .metrics
            .render(None, &Concurrency::default(), &FetchCounts::default(), false, StoredViews::default())
            .contains("route=\"/panic\",status=\"500\"} 1\n")
    );
}

#[tokio::test]
async fn a_client_that_disconnects_is_logged_and_counted() {
    let mut test_app = TestApp::open().await;
    assert!(poll_immediate(Box::pin(test_app.send(Method::GET, "/never"))).await.is_none());
    assert_eq!(test_app.take_line()["status"], 499);
    assert!(
        test_app
            .app
            .metrics
            .render(None, &Concurrency::default(), &FetchCounts::default(), false, StoredViews::default())
            .contains("route=\"/never\",status=\"499\"} 1\n")
    );

    let mut body = test_app.send(Method::GET, "/stream").await.into_body();
    std::future::poll_fn(|cx| Pin::new(&mut body).poll_frame(cx)).await.unwrap().unwrap();
    drop(body);
    let line = test_app.take_line();
    assert_eq!((&line["status"], &line["bytes"], &line["cut"]), (&200.into(), &3.into(), &true.into()));
}

#[tokio::test]
async fn the_bytes_of_a_response_are_counted() {
    let mut test_app = TestApp::open().await;
    let response = test_app.send(Method::GET, "/stream").await;
    axum::body::to_bytes(response.into_body(), 100).await.unwrap();
    let line = test_app.take_line();
    assert_eq!(
        (&line["bytes"], &line["cut"], &line["client"]),
        (&6.into(), &Value::Null, &"192.0.2.7".into())
    );
    // hyper stops polling at `Content-Length` bytes, so it never sees the end of the body.
    let mut body = test_app.send(Method::GET, "/long").await.into_body();
    let mut bytes = 0;
    while bytes < LONG_BODY_BYTES {
        let frame = std::future::poll_fn(|cx| Pin::new(&mut body).poll_frame(cx)).await.unwrap().unwrap();
        bytes += frame.into_data().unwrap().len();
    }
    drop(body);
    let line = test_app.take_line();
    assert_eq!((&line["bytes"], &line["cut"]), (&LONG_BODY_BYTES.into(), &Value::Null));
    drop(test_app.send(Method::HEAD, "/stream").await);
    let line = test_app.take_line();
    assert_eq!((&line["bytes"], &line["cut"]), (&0.into(), &Value::Null));
}

#[tokio::test]
async fn polled_routes_are_logged_at_debug_unless_they_fail() {
    let mut test_app = TestApp::open().await;
    let mut check = async |method: Method, path: &str, level: &str, client: Value| {
        drop(test_app.send(method, path).await);
        let line = test_app.take_line();
        assert_eq!((&line["level"], &line["client"]), (&level.into(), &client), "{line}");
    };
    check(Method::GET, "/healthz", "DEBUG", "192.0.2.7".into()).await;
    check(Method::POST, "/healthz", "INFO", "192.0.2.7".into()).await;
    // The addresses of readers aren't logged.
    check(Method::POST, "/v1/collect/prj_1", "DEBUG", Value::Null).await;
    check(Method::PUT, "/v1/collect/prj_1", "INFO", Value::Null).await;
}
