//! Sends webhooks in the imitated host's format, with its signature.

use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::time::Duration;

use axum::body::Body;
use axum::http::{Request, Uri};
use hyper_util::rt::TokioIo;
use ring::hmac;
use serde_json::Value;
use tokio::net::TcpStream;
use tokio::sync::{mpsc, oneshot};

use crate::pulls::Pull;
use crate::state::{Host, Repository};
use crate::{Kind, git, gitea, github, gitlab};

const DELIVERY_TIMEOUT: Duration = Duration::from_secs(10);

/// What happened to a pull request.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Action {
    Opened,
    Edited,
    /// A push moved its head.
    Moved,
    Closed,
    Reopened,
    Merged,
}

/// A moved branch: the old tip (`None` for a new branch) and the new tip (`None` for a deleted branch).
pub(crate) struct Push<'a> {
    pub(crate) branch: &'a str,
    pub(crate) before: Option<&'a str>,
    pub(crate) after: Option<&'a str>,
}

/// A webhook that was sent.
#[derive(Clone, Debug)]
pub struct Delivery {
    pub url: String,
    /// The value of the host's event header.
    pub event: String,
    pub body: Value,
    /// `None` when the receiver did not respond.
    pub status: Option<u16>,
}

#[derive(Clone)]
struct Receiver {
    url: String,
    secret: String,
}

enum QueueItem {
    Send {
        receiver: Receiver,
        event: &'static str,
        body: Value,
    },
    /// Acknowledged when all earlier items are sent.
    Flush(oneshot::Sender<()>),
}

pub(crate) struct Webhooks {
    receivers: Mutex<Vec<Receiver>>,
    queue: mpsc::UnboundedSender<QueueItem>,
    deliveries: Arc<Mutex<Vec<Delivery>>>,
}

impl Webhooks {
    /// Returns the queue and the task that sends its items in order.
    pub(crate) fn new(kind: Kind) -> (Self, impl Future<Output = ()> + Send + 'static) {
        let (queue, mut items) = mpsc::unbounded_channel();
        let deliveries = Arc::new(Mutex::new(Vec::new()));
        let log = deliveries.clone();
        let sending = async move {
            while let Some(item) = items.recv().await {
                match item {
                    QueueItem::Flush(done) => drop(done.send(())),
                    QueueItem::Send { receiver, event, body } => {
                        let count = log.lock().unwrap_or_else(PoisonError::into_inner).len();
                        let request = send(kind, &receiver, event, &body, count);
                        let response = tokio::time::timeout(DELIVERY_TIMEOUT, request);
                        let status = response.await.ok().and_then(Result::ok);
                        let delivery = Delivery { url: receiver.url, event: event.to_owned(), body, status };
                        log.lock().unwrap_or_else(PoisonError::into_inner).push(delivery);
                    }
                }
            }
        };
        (Self { receivers: Mutex::default(), queue, deliveries }, sending)
    }

    pub(crate) fn add(&self, url: &str, secret: &str) {
        self.receivers().push(Receiver { url: url.to_owned(), secret: secret.to_owned() });
    }

    /// Waits until the queue is empty, and returns everything that was sent.
    pub(crate) async fn flush(&self) -> Vec<Delivery> {
        let (done, wait) = oneshot::channel();
        let _ = self.queue.send(QueueItem::Flush(done));
        let _ = wait.await;
        self.deliveries.lock().unwrap_or_else(PoisonError::into_inner).clone()
    }

    fn enqueue(&self, event: &'static str, body: impl FnOnce() -> Value) {
        let receivers = self.receivers().clone();
        if receivers.is_empty() {
            return;
        }
        let body = body();
        for receiver in receivers {
            let _ = self.queue.send(QueueItem::Send { receiver, event, body: body.clone() });
        }
    }

    fn receivers(&self) -> MutexGuard<'_, Vec<Receiver>> {
        self.receivers.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

impl Host {
    pub(crate) fn send_pull_event(&self, repository: &Repository, pull: &Pull, action: Action) {
        match self.kind {
            Kind::GitHub => {
                self.hooks
                    .enqueue("pull_request", || github::json::pull_event(self, repository, pull, action));
            }
            Kind::GitLab => {
                self.hooks.enqueue("Merge Request Hook", || {
                    gitlab::json::pull_event(self, repository, pull, action)
                });
            }
            Kind::Gitea | Kind::Forgejo => {
                self.hooks
                    .enqueue("pull_request", || gitea::json::pull_event(self, repository, pull, action));
            }
        }
    }

    pub(crate) fn send_push_event(
        &self,
        repository: &Repository,
        branch: &str,
        before: Option<&str>,
        after: Option<&str>,
    ) {
        let push = Push { branch, before, after };
        match self.kind {
            Kind::GitHub => self.hooks.enqueue("push", || github::json::push_event(self, repository, &push)),
            Kind::GitLab => {
                self.hooks.enqueue("Push Hook", || gitlab::json::push_event(self, repository, &push))
            }
            Kind::Gitea | Kind::Forgejo => {
                self.hooks.enqueue("push", || gitea::json::push_event(self, repository, &push));
            }
        }
    }

    /// Sends events for all moved branches and their pull requests. `before` are the old tips.
    pub(crate) async fn send_ref_update_events(&self, repository: &Repository, before: &[(String, String)]) {
        let Ok(after) = git::tips(&repository.git_dir).await else { return };
        let find = |all: &[(String, String)], branch: &str| {
            all.iter().find(|(name, _)| name == branch).map(|(_, sha)| sha.clone())
        };
        let mut branches: Vec<_> = before.iter().chain(&after).map(|(name, _)| name.clone()).collect();
        branches.sort_unstable();
        branches.dedup();
        for branch in branches {
            let (old, new) = (find(before, &branch), find(&after, &branch));
            if old != new {
                self.send_push_event(repository, &branch, old.as_deref(), new.as_deref());
                self.send_head_events(repository, &branch, new.is_some());
            }
        }
    }

    fn send_head_events(&self, repository: &Repository, branch: &str, exists: bool) {
        let mut data = self.data();
        let (now, mut moved) = (data.now(), Vec::new());
        for pull in data.pulls.entry(repository.id).or_default() {
            if pull.head == branch && pull.refresh(self.kind, repository, now) {
                moved.push(pull.clone());
            }
        }
        drop(data);
        let action = if exists { Action::Moved } else { Action::Closed };
        moved.iter().for_each(|pull| self.send_pull_event(repository, pull, action));
    }
}

async fn send(
    kind: Kind,
    receiver: &Receiver,
    event: &str,
    body: &Value,
    count: usize,
) -> anyhow::Result<u16> {
    let uri: Uri = receiver.url.parse()?;
    let authority = uri.authority().map_or("", |authority| authority.as_str());
    let stream = TcpStream::connect((uri.host().unwrap_or_default(), uri.port_u16().unwrap_or(80))).await?;
    let (mut sender, connection) = hyper::client::conn::http1::handshake(TokioIo::new(stream)).await?;
    let path = uri.path_and_query().map_or("/", |path| path.as_str());
    let text = body.to_string();
    let mut request =
        Request::post(path).header("host", authority).header("content-type", "application/json");
    for (name, value) in headers(kind, &receiver.secret, event, &text, count) {
        request = request.header(name, value);
    }
    // The connection task ends when the sender is dropped.
    tokio::spawn(connection);
    Ok(sender.send_request(request.body(Body::from(text))?).await?.status().as_u16())
}

fn headers(kind: Kind, secret: &str, event: &str, text: &str, count: usize) -> Vec<(&'static str, String)> {
    let signature = signature(secret, text);
    // A unique id in the format of a UUID.
    let delivery = format!("00000000-0000-4000-8000-{count:012}");
    let event = event.to_owned();
    match kind {
        Kind::GitHub => vec![
            ("user-agent", "GitHub-Hookshot/0000000".to_owned()),
            ("x-github-event", event),
            ("x-github-delivery", delivery),
            ("x-hub-signature-256", format!("sha256={signature}")),
        ],
        Kind::GitLab => vec![
            ("x-gitlab-event", event),
            ("x-gitlab-event-uuid", delivery),
            ("x-gitlab-token", secret.to_owned()),
        ],
        Kind::Gitea => gitea_headers("gitea", &event, &delivery, &signature),
        Kind::Forgejo => {
            let mut all = gitea_headers("gitea", &event, &delivery, &signature);
            all.extend(gitea_headers("forgejo", &event, &delivery, &signature));
            all
        }
    }
}

fn gitea_headers(name: &str, event: &str, delivery: &str, signature: &str) -> Vec<(&'static str, String)> {
    let [event_name, delivery_name, signature_name] = match name {
        "forgejo" => ["x-forgejo-event", "x-forgejo-delivery", "x-forgejo-signature"],
        _ => ["x-gitea-event", "x-gitea-delivery", "x-gitea-signature"],
    };
    vec![
        (event_name, event.to_owned()),
        (delivery_name, delivery.to_owned()),
        (signature_name, signature.to_owned()),
    ]
}

/// HMAC-SHA256 in hexadecimal.
fn signature(secret: &str, text: &str) -> String {
    let key = hmac::Key::new(hmac::HMAC_SHA256, secret.as_bytes());
    hmac::sign(&key, text.as_bytes()).as_ref().iter().map(|byte| format!("{byte:02x}")).collect()
}
