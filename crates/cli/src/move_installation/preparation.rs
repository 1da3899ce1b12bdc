//! Opens the installation that is to be moved, and checks everything that can be checked before anything is copied.

use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::time::Duration;

use anyhow::{Context, bail};
use base::sqlite::{OpenError, Schema, inspect};
use base::{ClockGuard, SystemClock};
use jiff::Timestamp;
use server::Settings;
use store::{
    DataDir, DataDirLock, DatabaseUrl, MasterKey, MoveMarker, SqliteStore, StoreError, Transfer,
    TransferState, Upkeep,
};
use traffic::{AddressRanges, SqliteViews, VIEWS_SCHEMA, Views, ViewsUrl};

use super::urls;
use crate::args::Move;
use crate::settings::{CommandKind, Flags, Sources};

pub(super) struct Preparation {
    pub(super) settings: Settings,
    pub(super) dir: DataDir,
    pub(super) lock: DataDirLock,
    pub(super) key_file: PathBuf,
    pub(super) url: DatabaseUrl,
    pub(super) views_url: Option<ViewsUrl>,
    pub(super) views_cluster: Option<String>,
    /// Of this move, or of the interrupted one that it continues.
    pub(super) marker: MoveMarker,
    /// `None`: the directory has no page views.
    pub(super) views: Option<SqliteViews>,
    store: SqliteStore,
    master: MasterKey,
}

impl Preparation {
    pub(super) async fn new(sources: &Sources, args: &Move) -> anyhow::Result<Self> {
        let url = urls::database_url(sources, args)?;
        let views_url = urls::views_url(sources, args)?;
        let mut settings = sources.merge(CommandKind::Admin, &args.data(), &Flags::default())?.server;
        // The installation that is moved is on SQLite, whatever the settings say about the next one.
        (settings.database_url, settings.views_url) = (None, None);
        let views_cluster = settings.views_cluster.take();
        let dir = DataDir::find_installation(&settings.data)?;
        let lock = dir.lock()?;
        let marker = marker(&dir, &url, views_url.as_ref())?;
        let key_file = settings.master_key_file.clone().unwrap_or_else(|| dir.master_key());
        let master = MasterKey::load(&key_file)?;
        let store = open_store(&dir, master.clone()).await?;
        let views = open_views(&dir, &settings).await?;
        Ok(Self {
            settings,
            dir,
            lock,
            key_file,
            url,
            views_url,
            views_cluster,
            marker,
            views,
            store,
            master,
        })
    }

    pub(super) async fn connect(&self) -> anyhow::Result<(Transfer, TransferState)> {
        let plan = self.marker.plan(self.dir.id(&self.lock)?);
        let (master, clock) = (self.master.clone(), Arc::new(SystemClock));
        Ok(Transfer::open(&self.store, &self.url, master, clock, plan).await?)
    }

    pub(super) async fn close(&self) {
        if let Some(views) = &self.views {
            views.close().await;
        }
        self.store.close().await;
    }
}

/// The marker of an interrupted move to the same databases, or a new one.
fn marker(dir: &DataDir, url: &DatabaseUrl, views_url: Option<&ViewsUrl>) -> anyhow::Result<MoveMarker> {
    let (to, views) = (url.to_string(), views_url.map(ToString::to_string));
    match dir.move_marker()? {
        Some(known) if known.to == to && known.views == views => Ok(known),
        Some(known) if known.finished_at.is_some() => {
            dir.refuse_moved()?;
            Ok(known)
        }
        Some(known) => bail!(
            "an interrupted move of this installation goes to PostgreSQL ({}), and its page views {}: run that command again, with the same URLs. To begin anew, delete {}, and move to empty databases",
            known.to,
            known.views.map_or_else(
                || "stay in this directory".into(),
                |views| format!("go to ClickHouse ({views})")
            ),
            dir.move_marker_path().display()
        ),
        None => Ok(MoveMarker::new(to, views, Timestamp::now().to_string())),
    }
}

async fn open_store(dir: &DataDir, master: MasterKey) -> anyhow::Result<SqliteStore> {
    let opened = SqliteStore::open(&dir.database(), Schema::MustMatch, master, Arc::new(SystemClock)).await;
    match opened {
        Err(StoreError::Open(OpenError::Older { path, .. })) => bail!(too_old(dir, Path::new(&path))?),
        opened => Ok(opened?),
    }
}

/// Nothing in it is deleted by age: the guard watches no clock.
async fn open_views(dir: &DataDir, settings: &Settings) -> anyhow::Result<Option<SqliteViews>> {
    if !dir.has_views() {
        return Ok(None);
    }
    let path = dir.views();
    let found = inspect(&path, Duration::ZERO).await.with_context(|| path.display().to_string())?;
    if found.schema < VIEWS_SCHEMA {
        bail!(too_old(dir, &path)?);
    }
    let clock = Arc::new(SystemClock);
    let guard = ClockGuard::new(clock.clone());
    let views =
        SqliteViews::open_guarded(&path, clock, settings.views, guard, AddressRanges::shipped()).await?;
    Ok(Some(views))
}

/// While there is a marker, no server starts on the directory.
fn too_old(dir: &DataDir, path: &Path) -> anyhow::Result<String> {
    let what = format!("{} has the schema of an older version", path.display());
    let Some(MoveMarker { finished_at: None, .. }) = dir.move_marker()? else {
        dir.refuse_moved()?;
        return Ok(format!("{what}: start the server of this version on it once, stop it, and move then"));
    };
    Ok(format!(
        "{what}, and that version began to move it: continue with that version. To begin anew with this version, delete {}, start its server once, stop it, and move to empty databases",
        dir.move_marker_path().display()
    ))
}
