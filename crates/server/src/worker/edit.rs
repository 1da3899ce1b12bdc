//! The agent's turn: a commit's files in, edits and a report out, each step told as it happens.

use std::collections::BTreeMap;
use std::sync::Arc;

use agent::{AgentError, Editor, Progress, Report, StepKind, Task};
use forge::Snapshot;
use pages::Overlay;
use store::{Lease, NewEvent};
use tokio::sync::mpsc;
use tokio_util::sync::CancellationToken;
use tracing::Instrument;

use super::outcome::Stop;
use super::tree::Committed;
use crate::app::App;

/// Steps of one run that are kept; a run over thousands of pages is summed up after that.
const MAX_STEPS: usize = 500;

pub(super) type Edits = BTreeMap<String, Option<Vec<u8>>>;

/// What the agent made. No edits: nothing had to be changed.
pub(super) struct Made {
    pub(super) report: Report,
    pub(super) edits: Edits,
}

/// What the agent is given.
pub(super) struct Job {
    pub(super) editor: Arc<dyn Editor>,
    pub(super) prompt: String,
    pub(super) snapshot: Snapshot,
    pub(super) docs_path: Option<String>,
}

/// Runs the editor on a thread of its own, since it may compute for long, and records its
/// steps meanwhile.
pub(super) async fn run(app: &App, lease: &Lease, job: Job, alive: &CancellationToken) -> Result<Made, Stop> {
    let (tell, mut told) = mpsc::unbounded_channel();
    let halt = alive.child_token();
    // When this future is dropped, the thread is told at its next step.
    let _halt_on_drop = halt.clone().drop_guard();
    let steps = Steps { tell, halt, count: 0 };
    let runtime = tokio::runtime::Handle::current();
    let editing = edit(job, steps).in_current_span();
    let editing = tokio::task::spawn_blocking(move || runtime.block_on(editing));
    let mut events = Vec::new();
    while told.recv_many(&mut events, 64).await > 0 {
        app.queue.record(lease, std::mem::take(&mut events)).await?;
    }
    editing.await.unwrap_or_else(|_| Err(Stop::failed("the editor broke off; the server's log has more")))
}

async fn edit(job: Job, mut steps: Steps) -> Result<Made, Stop> {
    let tree = Committed(job.snapshot);
    let mut files = Overlay::new(tree, job.docs_path.as_deref()).map_err(AgentError::from)?;
    let report = job.editor.edit(&Task { prompt: &job.prompt }, &mut files, &mut steps).await?;
    Ok(Made { report, edits: files.edits().0 })
}

/// Turns the editor's steps into events of the job. The channel has no bound of its own:
/// [`MAX_STEPS`] is its bound.
struct Steps {
    tell: mpsc::UnboundedSender<NewEvent>,
    halt: CancellationToken,
    count: usize,
}

impl Progress for Steps {
    fn step(&mut self, kind: StepKind, message: String) {
        self.count += 1;
        let event = match self.count {
            ..MAX_STEPS => NewEvent::new(kind.as_str(), message),
            MAX_STEPS => NewEvent::new(kind.as_str(), "Further steps are not listed one by one"),
            _ => return,
        };
        // A receiver that is gone has stopped the run; `cancelled` says so, too.
        let _ = self.tell.send(event);
    }

    fn cancelled(&self) -> bool {
        self.halt.is_cancelled()
    }
}

impl From<AgentError> for Stop {
    fn from(error: AgentError) -> Self {
        match error {
            AgentError::Cancelled => Self::GiveBack("the server is stopping".into()),
            other => Self::failed(other.to_string()),
        }
    }
}
