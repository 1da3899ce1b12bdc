//! Polls. Those that come while one question is out are the next one, so that a crowd asks the database no more
//! often than it answers.

use std::collections::HashMap;
use std::sync::Arc;

use base::Coalescer;
use futures_util::FutureExt;

use super::jobs::job;
use super::reads::Reads;
use super::text;
use crate::shared::Told;
use crate::{Job, JobId, ProjectId, Result};

type Asked = (ProjectId, JobId);
pub(super) type Finds = Coalescer<(), Asked, Told<Option<Job>>>;

pub(super) fn finds(reads: Reads) -> Finds {
    Coalescer::new(move |(), asked: Vec<Asked>| {
        let reads = reads.clone();
        async move {
            match all_of(&reads, &asked).await {
                Ok(found) => asked.iter().map(|asked| Ok(of_project(&found, asked))).collect(),
                Err(error) => vec![Err(Arc::new(error)); asked.len()],
            }
        }
        .boxed()
    })
}

async fn all_of(reads: &Reads, asked: &[Asked]) -> Result<HashMap<JobId, Job>> {
    let ids: Vec<_> = asked.iter().map(|(_, id)| text(&id.0)).collect();
    let rows = reads.rows(sqlx::query("SELECT * FROM jobs WHERE id = ANY($1)").bind(ids)).await?;
    let jobs = rows.iter().map(job).collect::<Result<Vec<_>>>()?;
    Ok(jobs.into_iter().map(|job| (job.id.clone(), job)).collect())
}

/// A job of another project is not there.
fn of_project(found: &HashMap<JobId, Job>, (project, id): &Asked) -> Option<Job> {
    found.get(id).filter(|job| job.project == *project).cloned()
}
