//! Page views that are counted on their way in, whichever door they come by.

use std::sync::Arc;

use async_trait::async_trait;
use traffic::{Counts, Event, Failure, Part, Portion, Progress, Range, Receipt, TakeError, Views, Visitors};

use super::{Counter, Labels, Metrics};

pub struct Counted<V> {
    pub views: V,
    pub metrics: Arc<Metrics>,
}

impl<V> Counted<V> {
    fn told(&self, taken: Result<Receipt, TakeError>) -> Result<Receipt, TakeError> {
        let count = |counter, n| self.metrics.add(counter, Labels::default(), n);
        match &taken {
            Ok(receipt) => {
                count(Counter::ViewsAccepted, receipt.accepted);
                count(Counter::ViewsDuplicate, receipt.duplicates);
            }
            Err(TakeError::Busy) => count(Counter::IntakeRefused, 1),
            Err(TakeError::NotNext(_) | TakeError::Failed(_)) => {}
        }
        taken
    }
}

#[async_trait]
impl<V: Views> Views for Counted<V> {
    async fn take(&self, project: &str, events: Vec<Event>) -> Result<Receipt, TakeError> {
        self.told(self.views.take(project, events).await)
    }

    async fn take_part(&self, project: &str, part: Part, events: Vec<Event>) -> Result<Receipt, TakeError> {
        self.told(self.views.take_part(project, part, events).await)
    }

    async fn progress(&self, project: &str, file: &str) -> Result<Option<Progress>, Failure> {
        self.views.progress(project, file).await
    }

    async fn count(&self, project: &str, range: &Range, portion: &Portion) -> Result<Counts, Failure> {
        self.views.count(project, range, portion).await
    }

    async fn visitors(&self, project: &str, range: &Range, portion: &Portion) -> Result<Visitors, Failure> {
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

    async fn prove_write(&self) -> Result<(), Failure> {
        self.views.prove_write().await
    }
}
