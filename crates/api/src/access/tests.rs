//! Requests that end in every way there is, and the lines that they leave.

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
use futures_util::future::poll_immediate;
use futures_util::stream;
use serde_json::Value;
use store::DataDir;
use tempfile::TempDir;
use tower_service::Service;
use tracing::subscriber::DefaultGuard;

use super::*;
use crate::{ErrorPages, fallback, middleware};
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
    /// Takes the lines so far.
    fn lines(&self) -> Vec<Value> {
        let text = std::mem::take(&mut *self.0.lock().unwrap());
        text.split(|byte| *byte == b'\n')
            .filter(|line| !line.is_empty())
            .map(|line| serde_json::from_slice(line).unwrap())
            .collect()
    }
}

struct Door {
    app: App,
    router: Router,
    log: Log,
    _listening: DefaultGuard,
    _dir: TempDir,
}

impl Door {
    async fn open() -> Self {
        let dir = tempfile::tempdir().unwrap();
        let settings = Settings::new(dir.path().join("data"));
        let data = DataDir::open(&settings.data).unwrap();
        let held = data.lock().unwrap();
        let app =
            App::open(&settings, &data, &held, "http://127.0.0.1", Arc::new(SystemClock)).await.unwrap();
        let log = Log::default();
        let writer = log.clone();
        let listener = tracing_subscriber::fmt().json().flatten_event(true).with_span_list(false);
        let listener = listener.with_max_level(tracing::Level::DEBUG).with_writer(move || writer.clone());
        let _listening = tracing::subscriber::set_default(listener.finish());
        Self { router: router(&app), app, log, _listening, _dir: dir }
    }

    fn ask(&mut self, method: Method, path: &str) -> impl Future<Output = Response> + use<> {
        let mut request = Request::builder().method(method).uri(path).body(Body::empty()).unwrap();
        request.extensions_mut().insert(ConnectInfo(SocketAddr::from(([192, 0, 2, 7], 4000))));
        let answer = self.router.call(request);
        async { answer.await.unwrap() }
    }

    /// The one line that the request has left.
    #[track_caller]
    fn line(&self) -> Value {
        let mut lines: Vec<_> =
            self.log.lines().into_iter().filter(|line| line["target"] == "access").collect();
        assert_eq!(lines.len(), 1, "{lines:?}");
        lines.remove(0)
    }
}

const ERROR_PAGES: ErrorPages = ErrorPages {
    not_found: fallback::no_such_route,
    method_not_allowed: fallback::no_such_route,
    directory_lost: fallback::no_such_route,
};

/// More than goes out in one piece.
const LONG: usize = 40_000;

fn router(app: &App) -> Router {
    let two = || stream::iter(["one", "two"].map(Ok::<_, Infallible>));
    Router::new()
        .route("/panic", get(async || -> () { panic!("by design") }))
        .route("/never", get(std::future::pending::<()>))
        .route("/stream", get(async move || Body::from_stream(two())))
        .route("/long", get(async || "x".repeat(LONG)))
        .route("/healthz", get(async || "ok").post(async || StatusCode::SERVICE_UNAVAILABLE))
        .route("/v1/collect/{projectId}", post(async || ()).put(async || StatusCode::BAD_REQUEST))
        .layer(from_fn_with_state((app.clone(), ERROR_PAGES), middleware::all))
        .with_state(app.clone())
}

#[tokio::test]
async fn a_panic_is_an_answer_and_told_under_its_id() {
    let mut door = Door::open().await;
    let answer = door.ask(Method::GET, "/panic").await;
    assert_eq!(
        (answer.status().as_u16(), &answer.headers()[ERROR_CODE]),
        (500, &"internal".parse().unwrap())
    );
    let id = answer.headers()["x-request-id"].to_str().unwrap().to_owned();
    drop(answer);
    let lines = door.log.lines();
    let levels: Vec<_> = lines.iter().map(|line| line["level"].as_str().unwrap()).collect();
    assert_eq!(levels, ["ERROR", "INFO"], "{lines:?}");
    assert!(lines.iter().all(|line| line["span"]["request.id"] == *id), "{lines:?}");
    assert!(door.app.metrics.render(None, false).contains("route=\"/panic\",status=\"500\"} 1\n"));
}

#[tokio::test]
async fn a_client_that_leaves_is_told_and_counted() {
    let mut door = Door::open().await;
    assert!(poll_immediate(Box::pin(door.ask(Method::GET, "/never"))).await.is_none());
    assert_eq!(door.line()["status"], 499);
    assert!(door.app.metrics.render(None, false).contains("route=\"/never\",status=\"499\"} 1\n"));

    let mut body = door.ask(Method::GET, "/stream").await.into_body();
    std::future::poll_fn(|cx| Pin::new(&mut body).poll_frame(cx)).await.unwrap().unwrap();
    drop(body);
    let line = door.line();
    assert_eq!((&line["status"], &line["bytes"], &line["cut"]), (&200.into(), &3.into(), &true.into()));
}

#[tokio::test]
async fn an_answer_is_counted_to_its_last_byte() {
    let mut door = Door::open().await;
    let answer = door.ask(Method::GET, "/stream").await;
    axum::body::to_bytes(answer.into_body(), 100).await.unwrap();
    let line = door.line();
    assert_eq!(
        (&line["bytes"], &line["cut"], &line["client"]),
        (&6.into(), &Value::Null, &"192.0.2.7".into())
    );
    // hyper asks for no more than the length that was told, and so never for the end.
    let mut body = door.ask(Method::GET, "/long").await.into_body();
    let mut bytes = 0;
    while bytes < LONG {
        let frame = std::future::poll_fn(|cx| Pin::new(&mut body).poll_frame(cx)).await.unwrap().unwrap();
        bytes += frame.into_data().unwrap().len();
    }
    drop(body);
    let line = door.line();
    assert_eq!((&line["bytes"], &line["cut"]), (&LONG.into(), &Value::Null));
    drop(door.ask(Method::HEAD, "/stream").await);
    let line = door.line();
    assert_eq!((&line["bytes"], &line["cut"]), (&0.into(), &Value::Null));
}

#[tokio::test]
async fn what_is_asked_all_the_time_is_quiet_until_it_fails() {
    let mut door = Door::open().await;
    let mut check = async |method: Method, path: &str, level: &str, client: Value| {
        drop(door.ask(method, path).await);
        let line = door.line();
        assert_eq!((&line["level"], &line["client"]), (&level.into(), &client), "{line}");
    };
    check(Method::GET, "/healthz", "DEBUG", "192.0.2.7".into()).await;
    check(Method::POST, "/healthz", "INFO", "192.0.2.7".into()).await;
    // A reader's address is not ours to keep.
    check(Method::POST, "/v1/collect/prj_1", "DEBUG", Value::Null).await;
    check(Method::PUT, "/v1/collect/prj_1", "INFO", Value::Null).await;
}
