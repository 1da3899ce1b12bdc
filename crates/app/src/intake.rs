//! Takes page views in: acknowledges them only while this server is the one that stores them, and counts them in the
//! metrics.

use std::sync::Arc;

use async_trait::async_trait;
use traffic::{
    Counts, Event, Failure, FilePart, IngestError, ListQuery, Progress, Range, Receipt, Views, Visitors,
};

use crate::metrics::{Counter, Labels, Metrics};
use crate::views_owner::ViewsOwner;

pub(crate) struct Intake<V> {
    pub(crate) views: V,
    pub(crate) owner: ViewsOwner,
    pub(crate) metrics: Arc<Metrics>,
}

impl<V> Intake<V> {
    /// Asks after the write: what was acknowledged before another server took over is in the file that it took over.
    async fn acknowledge(&self, result: Result<Receipt, IngestError>) -> Result<Receipt, IngestError> {
        let result = match result {
            Ok(receipt) => match self.owner.confirm().await {
                Ok(true) => Ok(receipt),
                Ok(false) => Err(IngestError::Elsewhere),
                Err(error) => Err(IngestError::Failed(Failure::new(error))),
            },
            refused => refused,
        };
        let count = |counter, n| self.metrics.add(counter, Labels::default(), n);
        match &result {
            Ok(receipt) => {
                count(Counter::ViewsAccepted, receipt.accepted);
                count(Counter::ViewsDuplicate, receipt.duplicates);
            }
            Err(IngestError::Busy) => count(Counter::IntakeRefused, 1),
            Err(IngestError::UnexpectedPart(_) | IngestError::Elsewhere | IngestError::Failed(_)) => {}
        }
        result
    }
}

#[async_trait]
impl<V: Views> Views for Intake<V> {
    async fn ingest(&self, project: &str, events: Vec<Event>) -> Result<Receipt, IngestError> {
        self.acknowledge(self.views.ingest(project, events).await).await
    }

    async fn ingest_part(
        &self,
        project: &str,
        part: FilePart,
        events: Vec<Event>,
    ) -> Result<Receipt, IngestError> {
        self.acknowledge(self.views.ingest_part(project, part, events).await).await
    }

    async fn progress(&self, project: &str, file: &str) -> Result<Option<Progress>, Failure> {
        self.views.progress(project, file).await
    }

    async fn count(&self, project: &str, range: &Range, portion: &ListQuery) -> Result<Counts, Failure> {
        self.views.count(project, range, portion).await
    }

    async fn visitors(&self, project: &str, range: &Range, portion: &ListQuery) -> Result<Visitors, Failure> {
        self.views.visitors(project, range, portion).await
    }

    async fn forget(&self, project: &str) -> Result<(), Failure> {
        self.views.forget(project).await
    }

    async fn checkpoint(&self) -> Result<bool, Failure> {
        self.views.checkpoint().await
    }

    async fn close(&self) {
        self.views.close().await;
    }

    async fn probe_write(&self) -> Result<(), Failure> {
        self.views.probe_write().await
    }
}
