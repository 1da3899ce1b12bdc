//! `docwright`: the server, its admin commands, and a client of its API, in one binary.
//! Data goes to standard output, words to standard error.

mod admin;
mod args;
mod client;
mod demo;
mod log;
mod output;
mod serve;
mod settings;

use std::process::ExitCode;
use std::time::Duration;

use args::{Args, Command, JobCommand, KeyCommand, OrgCommand, ProjectCommand};
use clap::Parser;
use settings::Sources;

fn main() -> ExitCode {
    let args = Args::parse();
    let done = start(args);
    done.unwrap_or_else(|error| {
        if nobody_reads(&error) {
            return ExitCode::FAILURE;
        }
        output::say(format!("error: {error:#}"));
        ExitCode::from(client::exit_code(&error))
    })
}

fn start(args: Args) -> anyhow::Result<ExitCode> {
    // One TLS provider, chosen before the first client is made.
    let _ = rustls::crypto::ring::default_provider().install_default();
    let runtime = tokio::runtime::Builder::new_multi_thread().enable_all().build()?;
    let done = runtime.block_on(run(args));
    // An editor in the middle of a page must not keep a stopped server alive.
    runtime.shutdown_timeout(Duration::from_secs(1));
    done
}

/// `docwright key list | head -1` is no error worth a word.
fn nobody_reads(error: &anyhow::Error) -> bool {
    let broken = |error: &std::io::Error| error.kind() == std::io::ErrorKind::BrokenPipe;
    error.downcast_ref::<std::io::Error>().is_some_and(broken)
}

async fn run(args: Args) -> anyhow::Result<ExitCode> {
    let sources = Sources::load(args.config.as_deref())?;
    match args.command {
        Command::Demo(demo) => demo::run(&sources, demo).await?,
        Command::Serve(serve) => serve::run(&sources, serve).await?,
        Command::Login(login) => admin::login(&sources, login).await?,
        Command::Org { command: OrgCommand::Create(new) } => {
            admin::create_organization(&sources, new).await?
        }
        Command::Project { command: ProjectCommand::Create(new) } => {
            admin::project::create(&sources, new).await?;
        }
        Command::Project { command: ProjectCommand::List(list) } => {
            admin::project::list(&sources, list).await?
        }
        Command::Key { command: KeyCommand::Create(new) } => admin::key::create(&sources, new).await?,
        Command::Key { command: KeyCommand::List(list) } => admin::key::list(&sources, list).await?,
        Command::Key { command: KeyCommand::Revoke(key) } => admin::key::revoke(&sources, key).await?,
        Command::Job { command: JobCommand::Create(new) } => return client::job::create(&sources, new).await,
        Command::Job { command: JobCommand::View(job) } => return client::job::view(&sources, job).await,
        Command::Job { command: JobCommand::Message(job) } => {
            return client::job::message(&sources, job).await;
        }
        Command::Job { command: JobCommand::List(list) } => client::job::list(&sources, list).await?,
        Command::Job { command: JobCommand::Archive(job) } => client::job::archive(&sources, job).await?,
        Command::Job { command: JobCommand::Diff(job) } => client::job::diff(&sources, job).await?,
        Command::Views(views) => client::views::run(&sources, views).await?,
    }
    Ok(ExitCode::SUCCESS)
}
