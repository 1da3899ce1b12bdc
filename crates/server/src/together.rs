//! Projects that many ask for at once. Whoever asks while one is read shares the next read, so
//! that a thousand beacons cost a few reads and each of them sees the project as it is by then.

use std::collections::HashMap;
use std::sync::Arc;

use store::{Accounts, Project, ProjectId, StoreError};
use tokio::sync::{mpsc, oneshot};

/// Who may wait in line; the next one waits to be let in.
const QUEUE: usize = 4096;

type Found = Result<Option<Arc<Project>>, String>;
type Ask = (ProjectId, oneshot::Sender<Found>);

#[derive(Clone)]
pub(crate) struct Together(mpsc::Sender<Ask>);

impl Together {
    pub(crate) fn start(accounts: Arc<dyn Accounts>) -> Self {
        let (asks, mut queue) = mpsc::channel::<Ask>(QUEUE);
        tokio::spawn(async move {
            let mut group = Vec::new();
            while queue.recv_many(&mut group, QUEUE).await > 0 {
                answer(&*accounts, group.drain(..)).await;
            }
        });
        Self(asks)
    }

    pub(crate) async fn project(&self, id: &ProjectId) -> Result<Option<Arc<Project>>, StoreError> {
        let gone = || StoreError::Database("nobody reads projects any more".into());
        let (answer, answered) = oneshot::channel();
        self.0.send((id.clone(), answer)).await.map_err(|_| gone())?;
        answered.await.map_err(|_| gone())?.map_err(StoreError::Database)
    }
}

async fn answer(accounts: &dyn Accounts, group: impl Iterator<Item = Ask>) {
    let mut projects = HashMap::<ProjectId, Vec<oneshot::Sender<Found>>>::new();
    for (id, answer) in group {
        projects.entry(id).or_default().push(answer);
    }
    for (id, answers) in projects {
        let found = accounts.project(&id).await.map(|found| found.map(Arc::new));
        let found = found.map_err(|error| error.to_string());
        for answer in answers {
            // One that has left meanwhile does not need its answer.
            let _ = answer.send(found.clone());
        }
    }
}
