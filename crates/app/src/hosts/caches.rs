//! Caches of repositories on this machine's disk: how much they take, and which of them go.

use std::fs;
use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::time::SystemTime;

use store::ProjectId;

use super::{Hosts, locked};

/// Every fetch leaves a pack and every job some loose objects; one with more files than this is packed anew.
const MANY: usize = 1_000;

/// A cache as it lies on the disk.
struct Found {
    project: ProjectId,
    path: PathBuf,
    size: Size,
}

#[derive(Default)]
struct Size {
    bytes: u64,
    files: usize,
    /// When something was last fetched or committed.
    used: Option<SystemTime>,
}

impl Hosts {
    /// Removes caches until the rest takes no more than `most` bytes, those that were used longest ago
    /// first. One that a job is using stays. A cache costs its next job a fetch, and nothing else. The others are
    /// packed if the clock is right: that drops what was not used for two weeks.
    pub async fn make_room(&self, most: u64, is_clock_right: bool) -> std::io::Result<()> {
        let repositories = self.repositories.clone();
        let looking = tokio::task::spawn_blocking(move || look(&repositories)).await;
        let mut found = looking.map_err(std::io::Error::other)??;
        found.sort_by_key(|cache| cache.size.used);
        let mut bytes: u64 = found.iter().map(|cache| cache.size.bytes).sum();
        for cache in found {
            if bytes <= most {
                if is_clock_right {
                    self.tidy(&cache).await;
                }
            } else if let Some(gone) = self.put_aside(&cache)? {
                tracing::info!("the cache {} is removed to make room", cache.path.display());
                tokio::fs::remove_dir_all(gone).await?;
                bytes -= cache.size.bytes;
            }
        }
        Ok(())
    }

    /// Jobs of the project wait meanwhile; one that runs goes on.
    async fn tidy(&self, Found { project, size, .. }: &Found) {
        if size.files < MANY {
            return;
        }
        let tidied = async { self.cache(project).await?.collect_garbage().await };
        if let Err(error) = tidied.await {
            tracing::warn!("the cache of {project} cannot be packed: {error}");
        }
    }

    /// Out of the way of whoever opens it next, unless somebody holds it.
    fn put_aside(&self, cache: &Found) -> std::io::Result<Option<PathBuf>> {
        let mut caches = locked(&self.caches);
        if caches.get(&cache.project).is_some_and(|cache| Arc::strong_count(cache) > 1) {
            return Ok(None);
        }
        caches.remove(&cache.project);
        let aside = cache.path.with_extension("gone");
        fs::rename(&cache.path, &aside)?;
        Ok(Some(aside))
    }
}

fn look(repositories: &Path) -> std::io::Result<Vec<Found>> {
    let mut found = Vec::new();
    let entries = match fs::read_dir(repositories) {
        Err(error) if error.kind() == std::io::ErrorKind::NotFound => return Ok(found),
        entries => entries?,
    };
    for entry in entries {
        let path = entry?.path();
        let name = path.file_name().and_then(|name| name.to_str()).and_then(|name| name.strip_suffix(".git"));
        let Some(name) = name else { continue };
        let mut size = Size::default();
        measure(&path, &mut size);
        found.push(Found { project: ProjectId(name.to_owned()), path, size });
    }
    Ok(found)
}

/// What vanishes while it is looked at is not counted.
fn measure(dir: &Path, size: &mut Size) {
    for entry in fs::read_dir(dir).into_iter().flatten().flatten() {
        let Ok(meta) = entry.metadata() else { continue };
        if meta.is_dir() {
            measure(&entry.path(), size);
        } else {
            size.bytes += meta.len();
            size.files += 1;
            size.used = size.used.max(meta.modified().ok());
        }
    }
}
