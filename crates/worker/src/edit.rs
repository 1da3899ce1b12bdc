//! Runs the editor of a job on the files of a commit. The result is edits and a report.
//!
//! Each step becomes an event as it happens. Every response of a model is stored before the agent acts on it.

use std::pin::Pin;
use std::sync::Arc;
use std::task::{Context, Poll};
use std::time::Duration;

use agent::model::{Message, Usage};
use agent::{AgentError, Editor, PastMessage, Progress, Prompt, Refusal, Report, StepKind, Task};
use async_trait::async_trait;
use failpoints::with_failpoints;
use forge::FetchObserver;
use futures_util::FutureExt as _;
use futures_util::future::BoxFuture;
use pages::redirects::History;
use pages::{Edits, Files, Overlay};
use serde_json::{Map, Value};
use store::{Activity, Lease, NewEvent, Note, StoreError, Tokens};
use tokio::runtime::{Handle, RuntimeFlavor};
use tokio::task::{JoinSet, block_in_place};
use tokio_util::sync::CancellationToken;
use tracing::Instrument;

use super::backoff::MAX_POSTPONEMENTS;
use super::context;
use super::guard::{self, GuardPolicy};
use super::outcome::{Spent, Stop};
use super::record::{self, NoteSender};
use super::tree::CommitTree;
use crate::job_permit::JobPermit;
use crate::shared::Shared;

/// Steps of one run that become events. A run over thousands of pages has more.
const MAX_STEPS: usize = 500;
/// Fetches of fewer files are too fast to be reported.
const MIN_REPORTED_FILES: usize = 100;
/// If a model asks for a longer wait, the job returns to the queue.
const MAX_INLINE_WAIT: Duration = Duration::from_secs(5);
/// How long a suspect is alone in each call. A stalled model must not keep the other jobs of the process waiting.
const MAX_ALONE_CALL: Duration = Duration::from_secs(5);

/// The result of an editor. Without edits, no changes were needed.
pub(super) struct EditResult {
    pub(super) report: Report,
    /// Why the agent was aborted. Its edits so far must not be published.
    pub(super) abort_reason: Option<String>,
    pub(super) edits: Edits,
    pub(super) spent: Spent,
}

/// The input of an editor.
pub(super) struct EditTask {
    pub(super) editor: Arc<dyn Editor>,
    pub(super) prompt: Prompt,
    pub(super) tree: CommitTree,
    pub(super) docs_path: Option<String>,
    pub(super) policy: GuardPolicy,
    pub(super) instructions: Vec<(String, String)>,
    pub(super) conversation: Vec<PastMessage>,
    /// What happened to the pages of the docs, for a task about redirects.
    pub(super) history: Option<History>,
    /// The number of the last follow-up in the prompt.
    pub(super) read_up_to: u32,
}

/// Runs the editor in its own task, because it may compute for long, and records its steps meanwhile.
pub(super) async fn run(
    app: &Shared,
    lease: &Lease,
    task: EditTask,
    alive: &CancellationToken,
    permit: &Arc<JobPermit>,
) -> Result<EditResult, Stop> {
    let (sender, receiver) = record::channel();
    let cancel = alive.child_token();
    // When this future is dropped, the editor stops at its next step.
    let _cancel_on_drop = cancel.clone().drop_guard();
    let spent = spent_by_earlier_attempts(app, lease, &task);
    task.tree.observe_fetches(FetchEvents { sender: sender.clone(), cancel: cancel.clone() });
    let steps = Steps {
        app: app.clone(),
        lease: lease.clone(),
        policy: task.policy.clone(),
        base: task.tree.clone(),
        sender,
        cancel: cancel.clone(),
        count: 0,
        spent,
        month_tokens: 0,
        permit: permit.clone(),
        sharing: JoinSet::new(),
    };
    let cancelled = cancel.clone();
    let editing = async move {
        // A model may not answer for long. A stopped job doesn't wait for it.
        tokio::select! {
            result = edit(task, steps) => result,
            () = cancelled.cancelled() => Err(AgentError::Cancelled.into()),
        }
    };
    let editing = tokio::spawn(BlockInPlace(editing.in_current_span().boxed()));
    if let Err(stop) = receiver.write_all(app, lease).await {
        // The run must be over before another one gets its permit.
        cancel.cancel();
        let _ = editing.await;
        return Err(stop);
    }
    let failed = "the editor failed because of a bug in Docwright; look for the cause in the server's log";
    editing.await.unwrap_or_else(|_| Err(Stop::failed(failed)))
}

/// A future that may compute for long in each poll. While it waits, such as for a model, it occupies no
/// thread.
struct BlockInPlace<T>(BoxFuture<'static, T>);

impl<T> Future for BlockInPlace<T> {
    type Output = T;

    fn poll(mut self: Pin<&mut Self>, context: &mut Context<'_>) -> Poll<T> {
        match Handle::current().runtime_flavor() {
            RuntimeFlavor::MultiThread => block_in_place(|| self.0.as_mut().poll(context)),
            _ => self.0.as_mut().poll(context),
        }
    }
}

/// Turns the progress of fetches into events of the job.
struct FetchEvents {
    sender: NoteSender,
    cancel: CancellationToken,
}

impl FetchObserver for FetchEvents {
    fn fetched(&self, fetched: usize, of: usize) {
        if of >= MIN_REPORTED_FILES {
            let message = format!("Fetched {fetched} of {of} files from the host");
            self.sender.send_event(NewEvent::new(StepKind::Read.as_str(), message));
        }
    }

    fn is_cancelled(&self) -> bool {
        self.cancel.is_cancelled()
    }
}

/// Responses to earlier attempts at this run aren't requested again, so their tokens belong to this run.
fn spent_by_earlier_attempts(app: &Shared, lease: &Lease, task: &EditTask) -> Spent {
    let mut usage = Usage::default();
    task.conversation.iter().filter(|entry| entry.this_run).for_each(|entry| usage += entry.usage);
    Spent { read_up_to: task.read_up_to, usage, prices: app.models.prices(&lease.job.model) }
}

async fn edit(task: EditTask, mut steps: Steps) -> Result<EditResult, Stop> {
    let (project, docs_path) = (&steps.lease.job.project, task.docs_path.as_deref());
    let index = steps.app.path_indexes.get_or_build(project, docs_path, &task.tree);
    let index = index.map_err(AgentError::from)?.allow(|path| task.policy.allow.permits(path));
    let mut files = Overlay::with_index(task.tree, index);
    let agent_task = Task {
        prompt: task.prompt,
        instructions: &task.instructions,
        conversation: &task.conversation,
        allow: task.policy.allow.clone(),
        docs_path,
        history: task.history.as_ref(),
    };
    let edited = task.editor.edit(&agent_task, &mut files, &mut steps).await;
    // An editor may have taken an unreadable file for a missing one.
    steps.base.check()?;
    let (report, abort_reason) = match edited {
        Ok(report) => (report, None),
        Err(AgentError::Ended(sentence)) => (Report::default(), Some(sentence)),
        Err(error) => return Err(Stop::from(error).with_spent(steps.spent)),
    };
    Ok(EditResult { report, abort_reason, edits: files.edits(), spent: steps.spent })
}

/// Turns the editor's steps into events of the job, at most [`MAX_STEPS`] of them.
struct Steps {
    app: Shared,
    lease: Lease,
    policy: GuardPolicy,
    base: CommitTree,
    sender: NoteSender,
    cancel: CancellationToken,
    count: usize,
    spent: Spent,
    /// The tokens that the project used this month, as of the last write.
    month_tokens: u64,
    permit: Arc<JobPermit>,
    /// The task that shares the call of a suspect. Dropping it aborts the task.
    sharing: JoinSet<()>,
}

impl Steps {
    /// Stores the note before anything else happens. Stops the run if it can't be stored: notes before it may be lost, too.
    async fn store_note(&self, note: Note) {
        store_note(&self.sender, &self.cancel, note).await;
    }

    /// Stores the note, and lets other jobs run again unless the job still must be alone.
    async fn note_and_share(&self, note: Note) {
        self.store_note(note).await;
        if let Err(error) = self.permit.share_after_progress(&self.app, &self.lease).await {
            tracing::warn!("the run is interrupted: {error}");
            self.cancel.cancel();
        }
    }

    /// Lets other jobs run if the call of a suspect takes long. The store learns it first: from then on, other jobs can
    /// be the cause of a death, too.
    fn share_long_call(&mut self) {
        let (sender, cancel, permit) = (self.sender.clone(), self.cancel.clone(), self.permit.clone());
        let sharing = async move {
            tokio::time::sleep(MAX_ALONE_CALL).await;
            store_note(&sender, &cancel, Note::Activity(Activity::Sharing)).await;
            permit.share_call();
        };
        self.sharing.spawn(sharing.in_current_span());
    }

    /// Makes a suspect that shared its call alone again. While it waits for that, it isn't the cause of a death.
    async fn end_shared_call(&self) {
        if self.permit.shares() {
            self.sender.send(Note::Activity(Activity::Waiting));
            self.permit.begin_local_work().await;
            self.store_note(Note::Activity(self.permit.activity_at_work())).await;
        }
    }
}

async fn store_note(sender: &NoteSender, cancel: &CancellationToken, note: Note) {
    match sender.send_and_wait(note).await {
        Some(Ok(_)) => {}
        Some(Err(error)) => {
            tracing::warn!("the run is interrupted: {error}");
            cancel.cancel();
        }
        None => cancel.cancel(),
    }
}

#[async_trait]
impl Progress for Steps {
    fn step_with_details(&mut self, kind: StepKind, message: String, details: Map<String, Value>) {
        self.count += 1;
        let message = self.app.models.without_keys(&message).unwrap_or(message);
        let event = match self.count {
            ..MAX_STEPS => NewEvent::new(kind.as_str(), message),
            MAX_STEPS => NewEvent::new(kind.as_str(), "Further steps are not listed"),
            _ => return,
        };
        let event = details.into_iter().fold(event, |event, (name, value)| event.with(&name, value));
        self.sender.send_event(event);
    }

    fn is_cancelled(&self) -> bool {
        self.cancel.is_cancelled()
    }

    /// During a long wait the worker runs other jobs. A job that was postponed for hours waits here instead:
    /// if the model still fails, the run ends with its edits so far.
    fn may_wait(&self, length: Duration) -> bool {
        length <= MAX_INLINE_WAIT || self.lease.resume.put_off >= MAX_POSTPONEMENTS
    }

    async fn begin_call(&mut self) {
        let Some(calls) = self.app.models.calls(&self.lease.job.model) else { return };
        if self.permit.is_alone() || self.permit.shares() {
            // The last results of tools may have been what it had to be alone for.
            self.note_and_share(Note::Activity(self.permit.activity_in_call())).await;
        }
        let note_waiting = || self.sender.send(Note::Activity(Activity::Waiting));
        let has_waited = self.permit.begin_call(calls, note_waiting).await;
        let calling = Note::Activity(self.permit.activity_in_call());
        match has_waited {
            // A job that counts as waiting isn't blamed for a death.
            true => self.store_note(calling).await,
            false => self.sender.send(calling),
        }
        if self.permit.is_alone() {
            self.share_long_call();
        }
    }

    async fn end_call(&mut self) {
        self.sharing.shutdown().await;
        if self.permit.shares() {
            // An answer would have ended that. Being alone again would make the other jobs end their calls first.
            self.note_and_share(Note::Survived).await;
            self.end_shared_call().await;
        }
        self.permit.begin_local_work().await;
        if self.app.models.calls(&self.lease.job.model).is_some() {
            self.sender.send(Note::Activity(self.permit.activity_at_work()));
        }
    }

    async fn wait(&mut self, delay: Duration) {
        if self.permit.is_alone() {
            self.note_and_share(Note::Survived).await;
        }
        if !self.permit.is_alone() {
            self.permit.release();
            self.sender.send(Note::Activity(Activity::Waiting));
        }
        tokio::time::sleep(delay).await;
        self.permit.begin_local_work().await;
        self.store_note(Note::Activity(Activity::Working)).await;
    }

    async fn store_message(&mut self, message: &Message, usage: Usage) -> Result<u64, AgentError> {
        let entry = serde_json::to_value(message).map_err(|_| AgentError::Cancelled)?;
        let Usage { input, output, cached } = usage;
        let note = Note::Entry(without_keys(&self.app, entry), Tokens { input, output, cached });
        self.spent.usage += usage;
        if let Message::Results(_) = message {
            // If they are lost, the next attempt computes them again from the model's turn.
            self.sender.send(note);
            return Ok(self.month_tokens);
        }
        self.sharing.shutdown().await;
        let written = with_failpoints("said", self.sender.send_and_wait(note)).await;
        self.month_tokens = written.ok_or(AgentError::Cancelled)?.map_err(interrupt)?;
        self.permit.share_after_progress(&self.app, &self.lease).await.map_err(interrupt)?;
        self.end_shared_call().await;
        if !matches!(message, Message::Assistant(_)) {
            self.permit.begin_local_work().await; // otherwise the call still is to end
        }
        Ok(self.month_tokens)
    }

    async fn take_follow_ups(&mut self) -> Result<Vec<Prompt>, AgentError> {
        let waiting = self.app.queue.unread(&self.lease).await.map_err(interrupt)?;
        let new: Vec<_> =
            waiting.into_iter().filter(|message| message.number > self.spent.read_up_to).collect();
        self.spent.read_up_to = new.last().map_or(self.spent.read_up_to, |message| message.number);
        Ok(new.iter().map(|message| context::build_prompt(&message.prompt, &message.context)).collect())
    }

    async fn refusals(&mut self, edits: &Edits, report: &Report) -> Result<Vec<Refusal>, AgentError> {
        let instructions =
            context::instructions_of_people(&self.app, &self.lease).await.map_err(interrupt)?;
        Ok(guard::find_refusals(&self.policy, &self.base, &instructions, edits, report))
    }
}

/// Removes the models' API keys, because people can read what is stored.
pub(super) fn without_keys(app: &Shared, entry: Value) -> Value {
    let clean = app.models.without_keys(&entry.to_string());
    clean.and_then(|clean| serde_json::from_str(&clean).ok()).unwrap_or(entry)
}

/// Interrupts the run after an error of the store, and the job returns to the queue. An entry that can't be
/// stored at all ends the job instead: otherwise the model would be asked, and paid, for it forever.
fn interrupt(error: StoreError) -> AgentError {
    if let StoreError::BadEntry(_) = &error {
        return AgentError::Ended(format!("the model's response cannot be stored: {error}"));
    }
    tracing::warn!("the run is interrupted: {error}");
    match error {
        StoreError::Machine(trouble) => AgentError::Machine(trouble),
        _ => AgentError::Cancelled,
    }
}
