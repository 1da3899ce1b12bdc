//! Limits the disk space of the repository caches, and repacks them.

use std::collections::HashMap;
use std::fs;
use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::time::SystemTime;

use store::ProjectId;

use super::history::HISTORY_SUFFIX;
use super::{Hosts, lock};

/// A cache with more files is repacked. Every fetch adds a pack, and every job adds loose objects.
const MAX_FILES: usize = 1_000;

/// A cache on the disk.
struct CacheDir {
    project: ProjectId,
    /// Whether it is the cache of the project's history, which is never repacked.
    is_history: bool,
    path: PathBuf,
    size: Size,
}

#[derive(Default)]
struct Size {
    bytes: u64,
    files: usize,
    /// The time of the last fetch or commit.
    last_used: Option<SystemTime>,
}

impl Hosts {
    /// Removes the least recently used caches until the rest takes at most `max_bytes`. Caches in use stay. A
    /// removed cache costs the project's next job a fetch. The remaining caches are repacked if the clock can
    /// be trusted, because repacking deletes objects that weren't used for two weeks.
    pub async fn shrink_caches(&self, max_bytes: u64, is_clock_trusted: bool) -> std::io::Result<()> {
        let repositories = self.repositories.clone();
        let listed = tokio::task::spawn_blocking(move || list_caches(&repositories)).await;
        let mut caches = listed.map_err(std::io::Error::other)??;
        caches.sort_by_key(|cache| cache.size.last_used);
        let mut bytes: u64 = caches.iter().map(|cache| cache.size.bytes).sum();
        for cache in caches {
            if bytes <= max_bytes {
                if is_clock_trusted {
                    self.repack(&cache).await;
                }
            } else if let Some(renamed) = self.detach(&cache)? {
                tracing::info!("removing the cache {} to free up space", cache.path.display());
                tokio::fs::remove_dir_all(renamed).await?;
                bytes -= cache.size.bytes;
            }
        }
        Ok(())
    }

    /// New operations on the cache wait meanwhile; running jobs continue.
    async fn repack(&self, CacheDir { project, is_history, size, .. }: &CacheDir) {
        if *is_history || size.files < MAX_FILES {
            return;
        }
        let repacked = async { self.cache(project).await?.collect_garbage().await };
        if let Err(error) = repacked.await {
            tracing::warn!("cannot repack the cache of project {project}: {error}");
        }
    }

    /// Renames the cache, so that the next job creates a new one. `None` if a job uses it.
    fn detach(&self, cache: &CacheDir) -> std::io::Result<Option<PathBuf>> {
        match cache.is_history {
            true => detach_from(&mut lock(&self.histories), cache),
            false => detach_from(&mut lock(&self.caches), cache),
        }
    }
}

fn detach_from<T>(
    open: &mut HashMap<ProjectId, Arc<T>>,
    cache: &CacheDir,
) -> std::io::Result<Option<PathBuf>> {
    if open.get(&cache.project).is_some_and(|cache| Arc::strong_count(cache) > 1) {
        return Ok(None);
    }
    open.remove(&cache.project);
    let renamed = cache.path.with_extension("gone");
    fs::rename(&cache.path, &renamed)?;
    Ok(Some(renamed))
}

/// The project with a cache of this name, and whether it is the cache of its history.
pub(super) fn project_of(name: &str) -> Option<(ProjectId, bool)> {
    let history = name.strip_suffix(HISTORY_SUFFIX).and_then(|name| name.strip_suffix('.'));
    let project = history.or_else(|| name.strip_suffix(".git"))?;
    Some((ProjectId(project.to_owned()), history.is_some()))
}

fn list_caches(repositories: &Path) -> std::io::Result<Vec<CacheDir>> {
    let mut caches = Vec::new();
    let entries = match fs::read_dir(repositories) {
        Err(error) if error.kind() == std::io::ErrorKind::NotFound => return Ok(caches),
        entries => entries?,
    };
    for entry in entries {
        let path = entry?.path();
        let name = path.file_name().and_then(|name| name.to_str());
        let Some((project, is_history)) = name.and_then(project_of) else { continue };
        let mut size = Size::default();
        measure(&path, &mut size);
        caches.push(CacheDir { project, is_history, path, size });
    }
    Ok(caches)
}

/// Files that disappear meanwhile aren't counted.
fn measure(dir: &Path, size: &mut Size) {
    for entry in fs::read_dir(dir).into_iter().flatten().flatten() {
        let Ok(meta) = entry.metadata() else { continue };
        if meta.is_dir() {
            measure(&entry.path(), size);
        } else {
            size.bytes += meta.len();
            size.files += 1;
            size.last_used = size.last_used.max(meta.modified().ok());
        }
    }
}
