//! The fake host as a program, for tests that are no Rust: prints its address and runs until it is
//! ended.

use std::fs::OpenOptions;
use std::io::Write as _;
use std::net::SocketAddr;
use std::path::Path;

use clap::Parser;
use fakehost::{Access, FakeHost, Kind};
use tokio::signal::unix::{SignalKind, signal};

/// A repository host for tests, on this machine, over real git.
#[derive(Parser)]
struct Flags {
    #[arg(long, value_enum)]
    kind: Kind,
    #[arg(long, default_value = "127.0.0.1:0")]
    listen: SocketAddr,
    /// A token that may do everything, or `TOKEN=full|read-only|no-pulls|expired`; may be repeated.
    #[arg(long, value_parser = token)]
    token: Vec<(String, Access)>,
    /// `NAME`, with one page in it, or `NAME=PATH` of a repository to copy; may be repeated.
    #[arg(long)]
    repository: Vec<String>,
    /// A GitHub App: `ID:INSTALLATION:KEY`, the last a file of PEM.
    #[arg(long, value_parser = app)]
    app: Option<(u64, u64, String)>,
    /// `URL=SECRET` that is told what happens; may be repeated.
    #[arg(long, value_parser = pair)]
    hook: Vec<(String, String)>,
    /// How many requests GitHub takes; it grants 5,000 an hour, and this host's hour does not end.
    #[arg(long)]
    rate_limit: Option<u32>,
    /// Somebody who can review; may be repeated.
    #[arg(long)]
    user: Vec<String>,
    /// Sync what git writes to the disk, as for a round that cuts the power; without it nothing is synced.
    #[arg(long)]
    durable: bool,
}

#[tokio::main]
async fn main() -> anyhow::Result<()> {
    let flags = Flags::parse();
    let host = FakeHost::start_at(flags.kind, flags.listen).await;
    for (token, access) in flags.token {
        host.token(&token, access);
    }
    for repository in flags.repository {
        let made = match repository.split_once('=') {
            Some((name, path)) => host.mirror(name, Path::new(path)).await,
            None => host.repository(&repository, &[("index.md", "# Docs\n")]).await,
        };
        if flags.durable {
            sync_writes(&made.git_dir)?;
        }
    }
    if let Some((id, installation, key)) = flags.app {
        host.app(id, installation, &key);
    }
    if let Some(left) = flags.rate_limit {
        host.set_rate_limit(left);
    }
    flags.hook.iter().for_each(|(url, secret)| host.hook(url, secret));
    flags.user.iter().for_each(|login| drop(host.user(login)));
    println!("{}", host.url());
    // Not killed but asked to end, it takes its repositories with it.
    let mut asked = signal(SignalKind::terminate())?;
    tokio::select! {
        _ = asked.recv() => Ok(()),
        interrupted = tokio::signal::ctrl_c() => Ok(interrupted?),
    }
}

/// git takes the last value that the file has.
fn sync_writes(git_dir: &Path) -> std::io::Result<()> {
    let mut config = OpenOptions::new().append(true).open(git_dir.join("config"))?;
    config.write_all(b"[core]\n\tfsync = all\n\tfsyncMethod = fsync\n")
}

fn token(text: &str) -> Result<(String, Access), String> {
    match text.rsplit_once('=') {
        Some((token, access)) => Ok((token.to_owned(), clap::ValueEnum::from_str(access, true)?)),
        None => Ok((text.to_owned(), Access::Full)),
    }
}

fn pair(text: &str) -> Result<(String, String), String> {
    let (url, secret) = text.rsplit_once('=').ok_or("say URL=SECRET")?;
    Ok((url.to_owned(), secret.to_owned()))
}

fn app(text: &str) -> Result<(u64, u64, String), String> {
    let mut parts = text.splitn(3, ':');
    let mut number = || parts.next().and_then(|part| part.parse().ok()).ok_or("say ID:INSTALLATION:KEY");
    let (id, installation) = (number()?, number()?);
    let file = parts.next().ok_or("say ID:INSTALLATION:KEY")?;
    let key = std::fs::read_to_string(file).map_err(|error| format!("`{file}` cannot be read: {error}"))?;
    Ok((id, installation, key))
}
