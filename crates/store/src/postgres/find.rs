//! Polls. Those that come while one question is out are the next one, so that a crowd asks the database no more
//! often than it answers.

use std::collections::HashMap;

use base::Together;
use futures_util::FutureExt;
use sqlx::PgPool;

use super::jobs::job;
use super::{in_time, text};
use crate::shared::words;
use crate::{Job, JobId, ProjectId, Result};

type Asked = (ProjectId, JobId);
pub(super) type Finds = Together<(), Asked, std::result::Result<Option<Job>, String>>;

pub(super) fn finds(pool: PgPool) -> Finds {
    Together::new(move |(), asked: Vec<Asked>| {
        let pool = pool.clone();
        async move {
            match in_time(all_of(&pool, &asked)).await {
                Ok(found) => asked.iter().map(|asked| Ok(of_project(&found, asked))).collect(),
                Err(error) => vec![Err(words(error)); asked.len()],
            }
        }
        .boxed()
    })
}

async fn all_of(pool: &PgPool, asked: &[Asked]) -> Result<HashMap<JobId, Job>> {
    let ids: Vec<_> = asked.iter().map(|(_, id)| text(&id.0)).collect();
    let rows = sqlx::query("SELECT * FROM jobs WHERE id = ANY($1)").bind(ids).fetch_all(pool).await?;
    let jobs = rows.iter().map(job).collect::<Result<Vec<_>>>()?;
    Ok(jobs.into_iter().map(|job| (job.id.clone(), job)).collect())
}

/// A job of another project is not there.
fn of_project(found: &HashMap<JobId, Job>, (project, id): &Asked) -> Option<Job> {
    found.get(id).filter(|job| job.project == *project).cloned()
}
