//! HTTP and git clients for the tests.

use std::path::Path;
use std::process::{Command, Output};

use fakehost::{Access, FakeHost, Kind};
use reqwest::Method;
use reqwest::header::HeaderMap;
use serde_json::Value;

pub(crate) const TOKEN: &str = "canary-token";

pub(crate) struct ApiResponse {
    pub(crate) status: u16,
    pub(crate) headers: HeaderMap,
    pub(crate) body: Value,
}

/// A host with `acme/docs`, a branch `edit` that is one commit ahead, and a token with full access.
pub(crate) async fn host(kind: Kind) -> FakeHost {
    let host = FakeHost::start(kind).await;
    host.repository("acme/docs", &[("a.md", "one\n"), ("b/c.md", "two\n")]).await;
    host.push("acme/docs", "edit", &[("a.md", "uno\n")]).await;
    host.token(TOKEN, Access::Full);
    host
}

pub(crate) fn http() -> reqwest::Client {
    let _ = rustls::crypto::ring::default_provider().install_default();
    let client = reqwest::Client::builder().user_agent("test").redirect(reqwest::redirect::Policy::none());
    client.build().unwrap()
}

pub(crate) async fn request(host: &FakeHost, method: Method, path: &str, body: Value) -> ApiResponse {
    request_as(host, TOKEN, method, path, body).await
}

pub(crate) async fn get(host: &FakeHost, path: &str) -> ApiResponse {
    request(host, Method::GET, path, Value::Null).await
}

pub(crate) async fn request_as(
    host: &FakeHost,
    token: &str,
    method: Method,
    path: &str,
    body: Value,
) -> ApiResponse {
    let mut builder = http().request(method, format!("{}{path}", host.api_url())).bearer_auth(token);
    if !body.is_null() {
        builder = builder.json(&body);
    }
    let answer = builder.send().await.unwrap();
    let (status, headers) = (answer.status().as_u16(), answer.headers().clone());
    let text = answer.text().await.unwrap();
    ApiResponse { status, headers, body: serde_json::from_str(&text).unwrap_or(Value::String(text)) }
}

/// Runs git in a folder without password prompts.
pub(crate) async fn git(folder: &Path, args: &[&str]) -> Output {
    let mut command = Command::new("git");
    command
        .args(["-c", "user.name=Ada", "-c", "user.email=ada@example.com", "-c", "credential.helper="])
        .args(args)
        .current_dir(folder)
        .env("GIT_TERMINAL_PROMPT", "0")
        .env("GIT_CONFIG_GLOBAL", "/dev/null");
    tokio::task::spawn_blocking(move || command.output().unwrap()).await.unwrap()
}

/// Adds a token to a URL.
pub(crate) fn with_token(url: &str, token: &str) -> String {
    url.replace("http://", &format!("http://x-access-token:{token}@"))
}
