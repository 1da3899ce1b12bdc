//! Runs the fake host as a program, for tests in other languages. Prints its address and runs until it is
//! stopped.

use std::fs::OpenOptions;
use std::io::Write as _;
use std::net::SocketAddr;
use std::path::Path;

use clap::Parser;
use fakehost::{Access, FakeHost, Kind};
use tokio::signal::unix::{SignalKind, signal};

/// A fake repository host for tests, with real git repositories.
#[derive(Parser)]
struct Flags {
    #[arg(long, value_enum)]
    kind: Kind,
    #[arg(long, default_value = "127.0.0.1:0")]
    listen: SocketAddr,
    /// A token with full access, or `TOKEN=full|read-only|no-pulls|expired`; may be repeated.
    #[arg(long, value_parser = token)]
    token: Vec<(String, Access)>,
    /// `NAME` for a repository with one page, or `NAME=PATH` to copy a repository; may be repeated.
    #[arg(long)]
    repository: Vec<String>,
    /// A GitHub App: `ID:INSTALLATION:KEY`, where `KEY` is a PEM file.
    #[arg(long, value_parser = app)]
    app: Option<(u64, u64, String)>,
    /// A webhook: `URL=SECRET`; may be repeated.
    #[arg(long, value_parser = url_and_secret)]
    hook: Vec<(String, String)>,
    /// GitHub's rate limit in requests; 5,000 by default. It is never reset.
    #[arg(long)]
    rate_limit: Option<u32>,
    /// A user who can review; may be repeated.
    #[arg(long)]
    user: Vec<String>,
    /// Call fsync for git's writes, for tests with power cuts. Without it, nothing is synced.
    #[arg(long)]
    durable: bool,
    /// Send every file of a commit: the host can't omit files (git's `uploadpack.allowFilter` is off).
    #[arg(long)]
    no_filter: bool,
}

#[tokio::main]
async fn main() -> anyhow::Result<()> {
    let flags = Flags::parse();
    let host = FakeHost::start_at(flags.kind, flags.listen).await;
    for (token, access) in flags.token {
        host.token(&token, access);
    }
    for repository in flags.repository {
        let (name, path) = repository.split_once('=').unzip();
        let name = name.unwrap_or(&repository);
        let created = match path {
            Some(path) => host.mirror(name, Path::new(path)).await,
            None => host.repository(name, &[("index.md", "# Docs\n")]).await,
        };
        if flags.no_filter {
            host.set(name, |settings| settings.has_filter = false);
        }
        if flags.durable {
            sync_writes(&created.git_dir)?;
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
    // On SIGTERM, the host deletes its repositories.
    let mut terminate = signal(SignalKind::terminate())?;
    tokio::select! {
        _ = terminate.recv() => Ok(()),
        interrupted = tokio::signal::ctrl_c() => Ok(interrupted?),
    }
}

/// Turns fsync on. git uses the last value in the file.
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

fn url_and_secret(text: &str) -> Result<(String, String), String> {
    let (url, secret) = text.rsplit_once('=').ok_or("expected URL=SECRET")?;
    Ok((url.to_owned(), secret.to_owned()))
}

fn app(text: &str) -> Result<(u64, u64, String), String> {
    let mut parts = text.splitn(3, ':');
    let mut number = || parts.next().and_then(|part| part.parse().ok()).ok_or("expected ID:INSTALLATION:KEY");
    let (id, installation) = (number()?, number()?);
    let file = parts.next().ok_or("expected ID:INSTALLATION:KEY")?;
    let key = std::fs::read_to_string(file).map_err(|error| format!("`{file}` cannot be read: {error}"))?;
    Ok((id, installation, key))
}
