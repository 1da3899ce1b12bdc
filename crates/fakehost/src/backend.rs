//! git over HTTP: requests go to git's own `http-backend` as CGI, both ways as streams.

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
use crate::door::not_found;
use crate::git;
use crate::state::{Host, Repository};

const SERVICES: [&str; 3] = ["/info/refs", "/git-upload-pack", "/git-receive-pack"];
/// A backend that takes longer is ended.
const PATIENCE: Duration = Duration::from_secs(120);
/// Of its answer that may wait for the client.
const BUFFER: usize = 64 * 1024;

/// Everything that no API route takes.
pub(crate) async fn handle(State(host): State<Arc<Host>>, request: Request) -> Response<Body> {
    let (parts, body) = request.into_parts();
    let Some((name, service)) = split(parts.uri.path()) else {
        return not_found(&host, "Not Found").into_response();
    };
    let is_push = service == "/git-receive-pack"
        || parts.uri.query().is_some_and(|query| query.contains("service=git-receive-pack"));
    let repository = match enter(&host, &name, is_push, &parts.headers) {
        Ok(repository) => repository,
        Err(shut) => return shut.into_response(),
    };
    let cgi = cgi(&host, &repository, &parts, service);
    let answer = match service == "/git-receive-pack" {
        true => push(host, repository, cgi, body).await,
        false => run(host, cgi, body, std::future::ready(())).await,
    };
    answer.unwrap_or_else(|error| {
        (StatusCode::INTERNAL_SERVER_ERROR, format!("git http-backend: {error:#}")).into_response()
    })
}

/// The repository's name and what is asked of it. `.git` may be left out, as with the hosts.
fn split(path: &str) -> Option<(String, &'static str)> {
    let service = SERVICES.into_iter().find(|service| path.ends_with(service))?;
    let name = path.strip_suffix(service)?.trim_matches('/');
    let name = percent_encoding::percent_decode_str(name).decode_utf8().ok()?;
    Some((name.strip_suffix(".git").unwrap_or(&name).to_owned(), service))
}

/// Why somebody may not in.
struct Shut(StatusCode, String);

impl IntoResponse for Shut {
    fn into_response(self) -> Response<Body> {
        let mut answer = (self.0, [("content-type", "text/plain")], self.1).into_response();
        if self.0 == StatusCode::UNAUTHORIZED {
            answer.headers_mut().insert("www-authenticate", HeaderValue::from_static(r#"Basic realm="git""#));
        }
        answer
    }
}

fn enter(host: &Host, name: &str, is_push: bool, headers: &HeaderMap) -> Result<Repository, Shut> {
    let who = || Shut(StatusCode::UNAUTHORIZED, "Invalid username or token.".to_owned());
    let no = |sentence: &str| Shut(StatusCode::FORBIDDEN, sentence.to_owned());
    let caller = match basic_password(headers) {
        Some(token) => host.holder(&token).map_err(|_| who())?,
        None => Caller(None),
    };
    match host.repository(name).filter(|repository| caller.sees(repository)) {
        // A host does not tell a stranger what there is.
        None if caller.0.is_none() => Err(who()),
        None => Err(Shut(StatusCode::NOT_FOUND, "Repository not found.".to_owned())),
        Some(_) if is_push && caller.0.is_none() => Err(who()),
        Some(_) if is_push && !caller.may_push() => {
            Err(no(&format!("Permission to {name}.git denied to docs-bot.")))
        }
        Some(repository) if is_push && repository.settings.archived => {
            Err(no("This repository was archived so it is read-only."))
        }
        Some(repository) => Ok(repository),
    }
}

/// A push, and then word of the branches that it moved.
async fn push(
    host: Arc<Host>,
    repository: Repository,
    cgi: Command,
    body: Body,
) -> anyhow::Result<Response<Body>> {
    let before = git::tips(&repository.git_dir).await?;
    let teller = host.clone();
    run(host, cgi, body, async move { teller.tell_moves(&repository, &before).await }).await
}

/// Runs the backend; `after` is done before the answer ends.
async fn run(
    host: Arc<Host>,
    mut cgi: Command,
    body: Body,
    after: impl Future<Output = ()> + Send + 'static,
) -> anyhow::Result<Response<Body>> {
    let mut child = cgi.spawn()?;
    let (Some(input), Some(output)) = (child.stdin.take(), child.stdout.take()) else {
        anyhow::bail!("it cannot be talked to");
    };
    let feeding = tokio::spawn(feed(body, input));
    let mut output = BufReader::new(output);
    let mut answer = Response::builder();
    for (name, value) in cgi_headers(&mut output).await? {
        answer = match name.eq_ignore_ascii_case("status") {
            true => answer.status(value.split(' ').next().unwrap_or_default()),
            false => answer.header(name, value),
        };
    }
    let (near, mut far) = tokio::io::duplex(BUFFER);
    let rest = Instant::now();
    tokio::spawn(async move {
        // Over time, the child is dropped and with that killed.
        let _ = tokio::time::timeout(PATIENCE, hand_on(child, output, &mut far)).await;
        feeding.abort();
        after.await;
        host.log.worked(rest);
        drop(far);
    });
    Ok(answer.body(Body::from_stream(ReaderStream::new(near)))?)
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

async fn feed(body: Body, mut input: ChildStdin) {
    let mut chunks = body.into_data_stream();
    while let Some(Ok(chunk)) = chunks.next().await {
        // The backend may know enough before it has read all.
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
            None => anyhow::bail!("no answer, but `{}`", line.trim_end()),
        }
    }
}

/// To the end, with or without the client: one that leaves does not end a host's work.
async fn hand_on(mut child: Child, mut output: BufReader<ChildStdout>, far: &mut DuplexStream) {
    if tokio::io::copy_buf(&mut output, far).await.is_err() {
        let _ = tokio::io::copy_buf(&mut output, &mut tokio::io::sink()).await;
    }
    let _ = child.wait().await;
}
