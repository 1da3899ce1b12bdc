//! Reads the URLs of both databases. A password in a flag could be read by every user of the machine.

use anyhow::{Context, bail, ensure};
use store::DatabaseUrl;
use traffic::ViewsUrl;

use crate::args::Move;
use crate::settings::Sources;

pub(super) fn database_url(sources: &Sources, args: &Move) -> anyhow::Result<DatabaseUrl> {
    let flag = Some(args.to_postgres.as_str()).filter(|url| !url.is_empty());
    ensure!(
        !flag.is_some_and(DatabaseUrl::has_password),
        "every user of this machine can read a password on a command line: set DOCWRIGHT_DATABASE_URL or DOCWRIGHT_DATABASE_URL_FILE, and leave out the URL behind --to-postgres"
    );
    let Some(url) = sources.text("database_url", flag)? else {
        bail!("--to-postgres needs a URL: write it behind the flag, or set DOCWRIGHT_DATABASE_URL");
    };
    url.parse().map_err(anyhow::Error::msg).context("database_url")
}

/// `None`: the page views stay in the data directory.
pub(super) fn views_url(sources: &Sources, args: &Move) -> anyhow::Result<Option<ViewsUrl>> {
    let Some(flag) = args.views_url.as_deref() else { return Ok(None) };
    let flag = Some(flag).filter(|url| !url.is_empty());
    let Some(text) = sources.text("views_url", flag)? else {
        bail!("--views-url needs a URL: write it behind the flag, or set DOCWRIGHT_VIEWS_URL");
    };
    let url: ViewsUrl = text.parse().map_err(anyhow::Error::msg).context("views_url")?;
    ensure!(
        flag.is_none() || !url.has_password(),
        "every user of this machine can read a password on a command line: set DOCWRIGHT_VIEWS_URL or DOCWRIGHT_VIEWS_URL_FILE, and leave out the URL behind --views-url"
    );
    Ok(Some(url))
}
