//! The agent's turn: a commit's files in, edits and a report out. Each step is told as it happens, and
//! what the model said is kept before anything is done about it.

use std::pin::Pin;
use std::sync::Arc;
use std::task::{Context, Poll};
use std::time::Duration;

use agent::model::{Message, Usage};
use agent::{AgentError, Editor, Objection, Progress, Prompt, Report, Said, StepKind, Task};
use async_trait::async_trait;
use failpoints::with_failpoints;
use futures_util::FutureExt as _;
use futures_util::future::BoxFuture;
use pages::{Edits, Files, Overlay};
use serde_json::{Map, Value};
use store::{Lease, NewEvent, Note, StoreError, Tokens};
use tokio::runtime::{Handle, RuntimeFlavor};
use tokio::task::block_in_place;
use tokio_util::sync::CancellationToken;
use tracing::Instrument;

use super::guard::{self, Law};
use super::later;
use super::outcome::{Spent, Stop};
use super::record::{self, Tell};
use super::said;
use super::tree::Committed;
use crate::shared::Shared;

/// Steps of one run that are kept; a run over thousands of pages is summed up after that.
const MAX_STEPS: usize = 500;
/// A model that wants to be left alone for longer is not waited for: the job is put off.
const SHORT: Duration = Duration::from_secs(5);

/// What the agent made. No edits: nothing had to be changed.
pub(super) struct Made {
    pub(super) report: Report,
    /// Why the agent was ended before it was done; what it had made by then is not to be published.
    pub(super) ended: Option<String>,
    pub(super) edits: Edits,
    pub(super) spent: Spent,
}

/// What the agent is given.
pub(super) struct Job {
    pub(super) editor: Arc<dyn Editor>,
    pub(super) prompt: Prompt,
    pub(super) tree: Committed,
    pub(super) docs_path: Option<String>,
    pub(super) law: Law,
    pub(super) instructions: Vec<(String, String)>,
    pub(super) before: Vec<Said>,
    /// The last follow-up that the prompt holds.
    pub(super) read: u32,
}

/// Runs the editor beside us, since it may compute for long, and records its steps meanwhile.
pub(super) async fn run(
    app: &Shared,
    lease: &Lease,
    job: Job,
    alive: &CancellationToken,
) -> Result<Made, Stop> {
    let (tell, notes) = record::channel();
    let halt = alive.child_token();
    // When this future is dropped, the thread is told at its next step.
    let _halt_on_drop = halt.clone().drop_guard();
    let spent = spent_before(app, lease, &job);
    let (law, base, halted) = (job.law.clone(), job.tree.clone(), halt.clone());
    let steps = Steps {
        app: app.clone(),
        lease: lease.clone(),
        law,
        base,
        tell,
        halt: halted,
        count: 0,
        spent,
        month: 0,
    };
    let editing = async move {
        // A model may be silent for long; nobody waits for it once the job is stopped.
        tokio::select! {
            made = edit(job, steps) => made,
            () = halt.cancelled() => Err(AgentError::Cancelled.into()),
        }
    };
    let editing = tokio::spawn(AtLength(editing.in_current_span().boxed()));
    notes.keep(app, lease).await?;
    editing.await.unwrap_or_else(|_| Err(Stop::failed("the editor broke off; the server's log has more")))
}

/// A future that may compute for long whenever it goes on. While it waits, for a model perhaps, it holds no thread:
/// a thousand of them can.
struct AtLength<T>(BoxFuture<'static, T>);

impl<T> Future for AtLength<T> {
    type Output = T;

    fn poll(mut self: Pin<&mut Self>, context: &mut Context<'_>) -> Poll<T> {
        match Handle::current().runtime_flavor() {
            RuntimeFlavor::MultiThread => block_in_place(|| self.0.as_mut().poll(context)),
            _ => self.0.as_mut().poll(context),
        }
    }
}

/// What a cut-off attempt at this run was answered is not asked again, and is part of what the run took.
fn spent_before(app: &Shared, lease: &Lease, job: &Job) -> Spent {
    let mut usage = Usage::default();
    job.before.iter().filter(|said| said.this_run).for_each(|said| usage += said.usage);
    Spent { read: job.read, usage, prices: app.models.prices(&lease.job.model) }
}

async fn edit(job: Job, mut steps: Steps) -> Result<Made, Stop> {
    let (project, docs_path) = (&steps.lease.job.project, job.docs_path.as_deref());
    let ground = steps.app.grounds.of(project, docs_path, &job.tree).map_err(AgentError::from)?;
    let mut files = Overlay::over(job.tree, ground);
    let task = Task {
        prompt: job.prompt,
        instructions: &job.instructions,
        before: &job.before,
        allow: job.law.allow.clone(),
        docs_path: job.docs_path.as_deref(),
    };
    let edited = job.editor.edit(&task, &mut files, &mut steps).await;
    // An editor that could not read a file may have gone on as if it were not there.
    steps.base.check()?;
    let (report, ended) = match edited {
        Ok(report) => (report, None),
        Err(AgentError::Ended(sentence)) => (Report::default(), Some(sentence)),
        Err(error) => return Err(Stop::from(error).after(steps.spent)),
    };
    Ok(Made { report, ended, edits: files.edits(), spent: steps.spent })
}

/// Turns the editor's steps into events of the job, at most [`MAX_STEPS`] of them.
struct Steps {
    app: Shared,
    lease: Lease,
    law: Law,
    base: Committed,
    tell: Tell,
    halt: CancellationToken,
    count: usize,
    spent: Spent,
    /// The tokens that the project has used this month, as it was last told.
    month: u64,
}

#[async_trait]
impl Progress for Steps {
    fn detailed(&mut self, kind: StepKind, message: String, details: Map<String, Value>) {
        self.count += 1;
        let message = self.app.models.without_keys(&message).unwrap_or(message);
        let event = match self.count {
            ..MAX_STEPS => NewEvent::new(kind.as_str(), message),
            MAX_STEPS => NewEvent::new(kind.as_str(), "Further steps are not listed one by one"),
            _ => return,
        };
        let event = details.into_iter().fold(event, |event, (name, value)| event.with(&name, value));
        self.tell.event(event);
    }

    fn cancelled(&self) -> bool {
        self.halt.is_cancelled()
    }

    /// Others have use for the worker meanwhile. What was put off for hours is ended here, with what it made.
    fn waits(&self, long: Duration) -> bool {
        long <= SHORT || self.lease.resume.put_off >= later::MOST
    }

    async fn keep(&mut self, message: &Message, usage: Usage) -> Result<u64, AgentError> {
        let entry = serde_json::to_value(message).map_err(|_| AgentError::Cancelled)?;
        let Usage { input, output, cached } = usage;
        let said = Note::Entry(without_keys(&self.app, entry), Tokens { input, output, cached });
        self.spent.usage += usage;
        if let Message::Results(_) = message {
            // Whoever takes the job up makes them again, of the turn that they answer.
            self.tell.soon(said);
            return Ok(self.month);
        }
        let kept = with_failpoints("said", self.tell.now(said)).await.ok_or(AgentError::Cancelled)?;
        self.month = kept.map_err(interrupted)?;
        Ok(self.month)
    }

    async fn asked(&mut self) -> Result<Vec<Prompt>, AgentError> {
        let waiting = self.app.queue.unread(&self.lease).await.map_err(interrupted)?;
        let new: Vec<_> = waiting.into_iter().filter(|message| message.number > self.spent.read).collect();
        self.spent.read = new.last().map_or(self.spent.read, |message| message.number);
        Ok(new.iter().map(|message| said::prompt(&message.prompt, &message.context)).collect())
    }

    async fn objections(&mut self, edits: &Edits, report: &Report) -> Result<Vec<Objection>, AgentError> {
        let asked = said::by_people(&self.app, &self.lease).await.map_err(interrupted)?;
        Ok(guard::objections(&self.law, &self.base, &asked, edits, report))
    }
}

/// What is kept is shown to people, so a key that a model has come by is not kept.
pub(super) fn without_keys(app: &Shared, entry: Value) -> Value {
    let clean = app.models.without_keys(&entry.to_string());
    clean.and_then(|clean| serde_json::from_str(&clean).ok()).unwrap_or(entry)
}

/// The job is not ours any more, or the store does not answer: it goes back as it was. What cannot be
/// kept at all is the end of it, or the model would be asked, and paid, for the same for ever.
fn interrupted(error: StoreError) -> AgentError {
    if let StoreError::BadEntry(_) = &error {
        return AgentError::Ended(format!("the model's answer cannot be kept: {error}"));
    }
    tracing::warn!("the run is broken off: {error}");
    match error {
        StoreError::Machine(trouble) => AgentError::Machine(trouble),
        _ => AgentError::Cancelled,
    }
}
