//! `docwright`: the server, its admin commands, and a client of its API, in one binary.
//! Data goes to standard output, words to standard error.

mod admin;
mod args;
mod backup;
mod check;
mod client;
#[cfg(test)]
mod contract;
mod demo;
mod doctor;
mod log;
mod manual;
mod model;
mod output;
mod serve;
mod settings;
mod worker;

use std::process::ExitCode;
use std::time::Duration;

use args::{Args, Command};
use clap::Parser;
use settings::Sources;

/// A thousand requests that wait for one write are a thousand blocks that one thread takes and another gives back: the
/// system's own allocator needed a third of the processor for that.
#[global_allocator]
static MEMORY: mimalloc::MiMalloc = mimalloc::MiMalloc;

fn main() -> ExitCode {
    let args = Args::parse();
    let done = start(args);
    done.unwrap_or_else(|error| {
        if nobody_reads(&error) {
            return ExitCode::FAILURE;
        }
        output::say(format!("error: {}", output::sentence(&error)));
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
    let done = run_command(&sources, args.command).await;
    admin::close_all().await;
    done
}

async fn run_command(sources: &Sources, command: Command) -> anyhow::Result<ExitCode> {
    match command {
        Command::Demo(args) => demo::run(sources, args).await?,
        Command::Serve(args) => serve::run(sources, args).await?,
        Command::Worker(args) => worker::run(sources, &args).await?,
        Command::Login(args) => admin::login(sources, args).await?,
        Command::Org { command } => admin::org::run(sources, command).await?,
        Command::Project { command } => admin::project::run(sources, command).await?,
        Command::Key { command } => admin::key::run(sources, command).await?,
        Command::User { command } => admin::user::run(sources, command).await?,
        Command::Audit(args) => admin::user::audit(sources, args).await?,
        Command::Pull { command } => admin::pull::run(sources, command).await?,
        Command::Model { command } => return model::run(sources, command).await,
        Command::Job { command } => return client::job::run(sources, command).await,
        Command::Views(args) => client::views::views(sources, args).await?,
        Command::Visitors(args) => client::views::visitors(sources, args).await?,
        Command::Report { command } => client::views::report(sources, command).await?,
        Command::Reclassify(args) => client::views::reclassify(sources, args).await?,
        Command::Forget(args) => client::forget::run(sources, args).await?,
        Command::Import(args) => return client::import::run(sources, args).await,
        Command::Openapi(args) => manual::openapi(sources, &args)?,
        Command::Check(args) => return check::run(&args),
        Command::Doctor(args) => return doctor::run(sources, args).await,
        Command::Backup(args) => backup::run(sources, args).await?,
        Command::Restore(args) => backup::restore::run(sources, args).await?,
        Command::Completions(args) => manual::completions(&args)?,
        Command::Man(args) => manual::man(&args)?,
    }
    Ok(ExitCode::SUCCESS)
}
