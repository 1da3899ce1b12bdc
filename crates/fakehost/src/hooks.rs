//! Word of what happened, to whoever asked for it: signed and shaped as the host's own.

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

/// For one receiver to answer.
const PATIENCE: Duration = Duration::from_secs(10);

/// What happened to a pull request.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Action {
    Opened,
    Edited,
    /// Its head was pushed to.
    Moved,
    Closed,
    Reopened,
    Merged,
}

/// A branch that moved: from where (`None`: it is new) to where (`None`: it is gone).
pub(crate) struct Push<'a> {
    pub(crate) branch: &'a str,
    pub(crate) before: Option<&'a str>,
    pub(crate) after: Option<&'a str>,
}

/// An event that was sent.
#[derive(Clone, Debug)]
pub struct Delivery {
    pub url: String,
    /// As the host's header names it.
    pub event: String,
    pub body: Value,
    /// `None` when nobody answered.
    pub status: Option<u16>,
}

#[derive(Clone)]
struct Target {
    url: String,
    secret: String,
}

enum Order {
    Send {
        target: Target,
        event: &'static str,
        body: Value,
    },
    /// To be answered when all before it was sent.
    Settle(oneshot::Sender<()>),
}

pub(crate) struct Hooks {
    targets: Mutex<Vec<Target>>,
    orders: mpsc::UnboundedSender<Order>,
    delivered: Arc<Mutex<Vec<Delivery>>>,
}

impl Hooks {
    /// With the task that sends, one event after the other, in the order in which they happened.
    pub(crate) fn new(kind: Kind) -> (Self, impl Future<Output = ()> + Send + 'static) {
        let (orders, mut waiting) = mpsc::unbounded_channel();
        let delivered = Arc::new(Mutex::new(Vec::new()));
        let noted = delivered.clone();
        let sending = async move {
            while let Some(order) = waiting.recv().await {
                match order {
                    Order::Settle(done) => drop(done.send(())),
                    Order::Send { target, event, body } => {
                        let count = noted.lock().unwrap_or_else(PoisonError::into_inner).len();
                        let sent = tokio::time::timeout(PATIENCE, send(kind, &target, event, &body, count));
                        let status = sent.await.ok().and_then(Result::ok);
                        let delivery = Delivery { url: target.url, event: event.to_owned(), body, status };
                        noted.lock().unwrap_or_else(PoisonError::into_inner).push(delivery);
                    }
                }
            }
        };
        (Self { targets: Mutex::default(), orders, delivered }, sending)
    }

    pub(crate) fn add(&self, url: &str, secret: &str) {
        self.targets().push(Target { url: url.to_owned(), secret: secret.to_owned() });
    }

    /// What was sent, once everything that happened until now is.
    pub(crate) async fn settled(&self) -> Vec<Delivery> {
        let (done, wait) = oneshot::channel();
        let _ = self.orders.send(Order::Settle(done));
        let _ = wait.await;
        self.delivered.lock().unwrap_or_else(PoisonError::into_inner).clone()
    }

    fn tell(&self, event: &'static str, body: impl FnOnce() -> Value) {
        let targets = self.targets().clone();
        if targets.is_empty() {
            return;
        }
        let body = body();
        for target in targets {
            let _ = self.orders.send(Order::Send { target, event, body: body.clone() });
        }
    }

    fn targets(&self) -> MutexGuard<'_, Vec<Target>> {
        self.targets.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

impl Host {
    pub(crate) fn tell(&self, repository: &Repository, pull: &Pull, action: Action) {
        match self.kind {
            Kind::GitHub => {
                self.hooks.tell("pull_request", || github::json::pull_event(self, repository, pull, action));
            }
            Kind::GitLab => {
                self.hooks
                    .tell("Merge Request Hook", || gitlab::json::pull_event(self, repository, pull, action));
            }
            Kind::Gitea | Kind::Forgejo => {
                self.hooks.tell("pull_request", || gitea::json::pull_event(self, repository, pull, action));
            }
        }
    }

    pub(crate) fn tell_push(
        &self,
        repository: &Repository,
        branch: &str,
        before: Option<&str>,
        after: Option<&str>,
    ) {
        let push = Push { branch, before, after };
        match self.kind {
            Kind::GitHub => self.hooks.tell("push", || github::json::push_event(self, repository, &push)),
            Kind::GitLab => {
                self.hooks.tell("Push Hook", || gitlab::json::push_event(self, repository, &push))
            }
            Kind::Gitea | Kind::Forgejo => {
                self.hooks.tell("push", || gitea::json::push_event(self, repository, &push));
            }
        }
    }

    /// Word of every branch that is not where it was, and of the pull requests that moved with one.
    pub(crate) async fn tell_moves(&self, repository: &Repository, before: &[(String, String)]) {
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
                self.tell_push(repository, &branch, old.as_deref(), new.as_deref());
                self.tell_heads(repository, &branch, new.is_some());
            }
        }
    }

    fn tell_heads(&self, repository: &Repository, branch: &str, is_there: bool) {
        let mut world = self.world();
        let (now, mut moved) = (world.now(), Vec::new());
        for pull in world.pulls.entry(repository.id).or_default() {
            if pull.head == branch && pull.look(self.kind, repository, now) {
                moved.push(pull.clone());
            }
        }
        drop(world);
        let action = if is_there { Action::Moved } else { Action::Closed };
        moved.iter().for_each(|pull| self.tell(repository, pull, action));
    }
}

async fn send(kind: Kind, target: &Target, event: &str, body: &Value, count: usize) -> anyhow::Result<u16> {
    let uri: Uri = target.url.parse()?;
    let authority = uri.authority().map_or("", |authority| authority.as_str());
    let stream = TcpStream::connect((uri.host().unwrap_or_default(), uri.port_u16().unwrap_or(80))).await?;
    let (mut sender, connection) = hyper::client::conn::http1::handshake(TokioIo::new(stream)).await?;
    let path = uri.path_and_query().map_or("/", |path| path.as_str());
    let text = body.to_string();
    let mut request =
        Request::post(path).header("host", authority).header("content-type", "application/json");
    for (name, value) in headers(kind, &target.secret, event, &text, count) {
        request = request.header(name, value);
    }
    // Ends when the sender is dropped.
    tokio::spawn(connection);
    Ok(sender.send_request(request.body(Body::from(text))?).await?.status().as_u16())
}

fn headers(kind: Kind, secret: &str, event: &str, text: &str, count: usize) -> Vec<(&'static str, String)> {
    let signature = signature(secret, text);
    // In the shape of a UUID, and never twice.
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
