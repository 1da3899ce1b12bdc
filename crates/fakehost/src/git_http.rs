//! Serves git's smart HTTP protocol with `git http-backend` as a CGI program. Streams in both directions.

use std::process::Stdio;
use std::sync::Arc;
use std::time::{Duration, Instant};

use axum::body::Body;
use axum::extract::{Request, State};
use axum::http::request::Parts;
use axum::http::{HeaderMap, HeaderValue, Response, StatusCode};
use axum::response::IntoResponse;
use futures_util::StreamExt;
use tokio::io::{AsyncBufRead, AsyncBufReadExt, AsyncWriteExt, BufReader, DuplexStream};
use tokio::process::{Child, ChildStdin, ChildStdout, Command};
use tokio_util::io::ReaderStream;

use crate::access::{Caller, basic_password};
use crate::extractors::not_found;
use crate::git;
use crate::state::{Host, Repository};

const SERVICES: [&str; 3] = ["/info/refs", "/git-upload-pack", "/git-receive-pack"];
/// A slower backend process is killed.
const TIMEOUT: Duration = Duration::from_secs(120);
/// The largest request for objects.
const MAX_REQUEST_BYTES: usize = 16 << 20;
/// How much of the response is buffered for the client.
const BUFFER_BYTES: usize = 64 * 1024;

/// Handles every request that is not for the API.
pub(crate) async fn handle(State(host): State<Arc<Host>>, request: Request) -> Response<Body> {
    let (parts, body) = request.into_parts();
    let Some((name, service)) = parse_path(parts.uri.path()) else {
        return not_found(&host, "Not Found").into_response();
    };
    let is_push = service == "/git-receive-pack"
        || parts.uri.query().is_some_and(|query| query.contains("service=git-receive-pack"));
    let repository = match authorize(&host, &name, is_push, &parts.headers) {
        Ok(repository) => repository,
        Err(refusal) => return refusal.into_response(),
    };
    let cgi = cgi(&host, &repository, &parts, service);
    let response = match service {
        "/git-receive-pack" => push(host, repository, cgi, body).await,
        "/git-upload-pack" if !repository.settings.sends_any_object => {
            fetch_tips(host, &repository, cgi, body).await
        }
        _ => run(host, cgi, body, std::future::ready(())).await,
    };
    response.unwrap_or_else(|error| {
        (StatusCode::INTERNAL_SERVER_ERROR, format!("git http-backend: {error:#}")).into_response()
    })
}

/// The repository's name and the service. The suffix `.git` is optional, like on the real hosts.
fn parse_path(path: &str) -> Option<(String, &'static str)> {
    let service = SERVICES.into_iter().find(|service| path.ends_with(service))?;
    let name = path.strip_suffix(service)?.trim_matches('/');
    let name = percent_encoding::percent_decode_str(name).decode_utf8().ok()?;
    Some((name.strip_suffix(".git").unwrap_or(&name).to_owned(), service))
}

/// A refusal of a git request, as plain text.
struct GitRefusal(StatusCode, String);

impl IntoResponse for GitRefusal {
    fn into_response(self) -> Response<Body> {
        let mut response = (self.0, [("content-type", "text/plain")], self.1).into_response();
        if self.0 == StatusCode::UNAUTHORIZED {
            response
                .headers_mut()
                .insert("www-authenticate", HeaderValue::from_static(r#"Basic realm="git""#));
        }
        response
    }
}

fn authorize(host: &Host, name: &str, is_push: bool, headers: &HeaderMap) -> Result<Repository, GitRefusal> {
    let unauthorized = || GitRefusal(StatusCode::UNAUTHORIZED, "Invalid username or token.".to_owned());
    let forbidden = |sentence: &str| GitRefusal(StatusCode::FORBIDDEN, sentence.to_owned());
    let caller = match basic_password(headers) {
        Some(token) => host.caller_for_token(&token).map_err(|_| unauthorized())?,
        None => Caller(None),
    };
    match host.repository(name).filter(|repository| caller.can_see(repository)) {
        // Anonymous callers must not learn which repositories exist.
        None if caller.0.is_none() => Err(unauthorized()),
        None => Err(GitRefusal(StatusCode::NOT_FOUND, "Repository not found.".to_owned())),
        Some(_) if is_push && caller.0.is_none() => Err(unauthorized()),
        Some(_) if is_push && !caller.may_push() => {
            Err(forbidden(&format!("Permission to {name}.git denied to docs-bot.")))
        }
        Some(repository) if is_push && repository.settings.archived => {
            Err(forbidden("This repository was archived so it is read-only."))
        }
        Some(repository) => Ok(repository),
    }
}

/// Handles a push and sends webhooks for the moved branches.
async fn push(
    host: Arc<Host>,
    repository: Repository,
    cgi: Command,
    body: Body,
) -> anyhow::Result<Response<Body>> {
    let before = git::tips(&repository.git_dir).await?;
    let notifier = host.clone();
    run(host, cgi, body, async move { notifier.send_ref_update_events(&repository, &before).await }).await
}

/// Refuses requests for objects that are not tips. git does that only with older versions of its protocol.
async fn fetch_tips(
    host: Arc<Host>,
    repository: &Repository,
    cgi: Command,
    body: Body,
) -> anyhow::Result<Response<Body>> {
    let body = axum::body::to_bytes(body, MAX_REQUEST_BYTES).await?;
    let tips = git::tips(&repository.git_dir).await?;
    let text = String::from_utf8_lossy(&body);
    let mut wanted = text.lines().filter_map(|line| Some(line.split_once("want ")?.1));
    let Some(other) = wanted.find(|wanted| tips.iter().all(|(_, tip)| tip != wanted)) else {
        return run(host, cgi, Body::from(body.clone()), std::future::ready(())).await;
    };
    let sentence = format!("ERR upload-pack: not our ref {other}");
    let response = Response::builder().header("content-type", "application/x-git-upload-pack-result");
    Ok(response.body(Body::from(format!("{:04x}{sentence}", sentence.len() + 4)))?)
}

/// Runs the backend. Completes `after` before the response ends.
async fn run(
    host: Arc<Host>,
    mut cgi: Command,
    body: Body,
    after: impl Future<Output = ()> + Send + 'static,
) -> anyhow::Result<Response<Body>> {
    let mut child = cgi.spawn()?;
    let (Some(input), Some(output)) = (child.stdin.take(), child.stdout.take()) else {
        anyhow::bail!("the process has no pipes");
    };
    let stdin_task = tokio::spawn(write_stdin(body, input));
    let mut output = BufReader::new(output);
    let mut response = Response::builder();
    for (name, value) in cgi_headers(&mut output).await? {
        response = match name.eq_ignore_ascii_case("status") {
            true => response.status(value.split(' ').next().unwrap_or_default()),
            false => response.header(name, value),
        };
    }
    let (reader, mut writer) = tokio::io::duplex(BUFFER_BYTES);
    let rest = Instant::now();
    tokio::spawn(async move {
        // On a timeout, the child is dropped, which kills it.
        let _ = tokio::time::timeout(TIMEOUT, copy_response(child, output, &mut writer)).await;
        stdin_task.abort();
        after.await;
        host.log.add_busy_time(rest);
        drop(writer);
    });
    Ok(response.body(Body::from_stream(ReaderStream::new(reader)))?)
}

fn cgi(host: &Host, repository: &Repository, parts: &Parts, service: &str) -> Command {
    let header = |name: &str| parts.headers.get(name).and_then(|value| value.to_str().ok());
    let mut command = git::command(&host.root);
    command
        .arg("http-backend")
        .env("GIT_PROJECT_ROOT", &host.root)
        .env("GIT_HTTP_EXPORT_ALL", "1")
        .env("PATH_INFO", format!("/{}.git{service}", repository.name))
        .env("REQUEST_METHOD", parts.method.as_str())
        .env("QUERY_STRING", parts.uri.query().unwrap_or_default())
        .env("REMOTE_USER", "docs-bot")
        .env("REMOTE_ADDR", "127.0.0.1")
        .envs(header("content-type").map(|value| ("CONTENT_TYPE", value)))
        .envs(header("content-length").map(|value| ("CONTENT_LENGTH", value)))
        .envs(header("content-encoding").map(|value| ("HTTP_CONTENT_ENCODING", value)))
        .envs(header("git-protocol").map(|value| ("GIT_PROTOCOL", value)))
        .stdin(Stdio::piped())
        .stdout(Stdio::piped())
        .stderr(Stdio::null());
    command
}

async fn write_stdin(body: Body, mut input: ChildStdin) {
    let mut chunks = body.into_data_stream();
    while let Some(Ok(chunk)) = chunks.next().await {
        // The backend may exit before it has read everything.
        if input.write_all(&chunk).await.is_err() {
            break;
        }
    }
}

async fn cgi_headers(output: &mut (impl AsyncBufRead + Unpin)) -> anyhow::Result<Vec<(String, String)>> {
    let mut headers = Vec::new();
    loop {
        let mut line = String::new();
        output.read_line(&mut line).await?;
        match line.trim_end().split_once(": ") {
            Some((name, value)) => headers.push((name.to_owned(), value.to_owned())),
            None if line.trim_end().is_empty() && !line.is_empty() => return Ok(headers),
            None => anyhow::bail!("invalid CGI header: `{}`", line.trim_end()),
        }
    }
}

/// Copies the response to its end, even if the client disconnects: the host must complete its work.
async fn copy_response(mut child: Child, mut output: BufReader<ChildStdout>, writer: &mut DuplexStream) {
    if tokio::io::copy_buf(&mut output, writer).await.is_err() {
        let _ = tokio::io::copy_buf(&mut output, &mut tokio::io::sink()).await;
    }
    let _ = child.wait().await;
}
