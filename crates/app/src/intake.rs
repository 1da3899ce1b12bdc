//! Takes page views in: acknowledges them only while this server is the one that stores them, and counts them in the
//! metrics.

use std::sync::Arc;

use async_trait::async_trait;
use traffic::{
    Counts, Event, Failure, FilePart, IngestError, Lag, ListQuery, Progress, Range, Receipt, Views, Visitors,
};

use crate::metrics::{Counter, Labels, Metrics};
use crate::views_owner::ViewsOwner;

pub(crate) struct Intake {
    pub(crate) views: Arc<dyn Views>,
    pub(crate) owner: ViewsOwner,
    pub(crate) metrics: Arc<Metrics>,
}

impl Intake {
    /// Asks before the write, so that nothing is stored while the database doesn't answer. And after it, because a write
    /// can take longer than a confirmation holds.
    async fn take(
        &self,
        write: impl Future<Output = Result<Receipt, IngestError>>,
    ) -> Result<Receipt, IngestError> {
        self.confirm().await?;
        let mut result = write.await;
        if result.is_ok() && !self.owner.is_confirmed() {
            result = self.confirm().await.and(result);
        }
        self.count_result(&result);
        result
    }

    async fn confirm(&self) -> Result<(), IngestError> {
        match self.owner.confirm().await {
            Ok(true) => Ok(()),
            Ok(false) => Err(IngestError::Elsewhere),
            Err(error) => Err(IngestError::Unavailable(Failure::new(error))),
        }
    }

    fn count_result(&self, result: &Result<Receipt, IngestError>) {
        let count = |counter, n| self.metrics.add(counter, Labels::default(), n);
        match result {
            Ok(receipt) => {
                count(Counter::ViewsAccepted, receipt.accepted);
                count(Counter::ViewsDuplicate, receipt.duplicates);
            }
            Err(IngestError::Busy) => count(Counter::IntakeRefused, 1),
            Err(_) => {}
        }
    }
}

#[async_trait]
impl Views for Intake {
    async fn ingest(&self, project: &str, events: Vec<Event>) -> Result<Receipt, IngestError> {
        self.take(self.views.ingest(project, events)).await
    }

    async fn ingest_part(
        &self,
        project: &str,
        part: FilePart,
        events: Vec<Event>,
    ) -> Result<Receipt, IngestError> {
        self.take(self.views.ingest_part(project, part, events)).await
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

    async fn epoch(&self) -> Result<Option<i64>, Failure> {
        self.views.epoch().await
    }

    async fn set_epoch(&self, epoch: i64) -> Result<(), Failure> {
        self.views.set_epoch(epoch).await
    }

    async fn health(&self) -> Result<Lag, Failure> {
        self.views.health().await
    }

    async fn close(&self) {
        self.views.close().await;
    }

    async fn probe_write(&self) -> Result<(), Failure> {
        self.views.probe_write().await
    }
}
