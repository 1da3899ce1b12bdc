//! Runs `docwright`: the server, its admin commands, and a client of its API, in one binary.
//! Data goes to standard output, messages to standard error.

mod admin;
mod args;
mod backup;
mod check;
mod client;
#[cfg(test)]
mod contract;
mod demo;
mod doctor;
mod eval;
mod log;
mod manual;
mod model;
mod move_installation;
mod output;
mod ranges;
mod serve;
mod settings;
mod upgrade;
mod worker;

use std::process::ExitCode;
use std::time::Duration;

use args::{Args, Command};
use clap::Parser;
use settings::Sources;

/// Under load, one thread allocates what another one frees, for every request of a group commit. The system's allocator
/// needed a third of the CPU time for that.
#[global_allocator]
static ALLOCATOR: mimalloc::MiMalloc = mimalloc::MiMalloc;

fn main() -> ExitCode {
    let args = Args::parse();
    start(args).unwrap_or_else(|error| {
        if is_broken_pipe(&error) {
            return ExitCode::FAILURE;
        }
        output::print_message(format!("error: {}", output::error_sentence(&error)));
        ExitCode::from(client::exit_code(&error))
    })
}

fn start(args: Args) -> anyhow::Result<ExitCode> {
    // The TLS provider must be chosen before the first client is created.
    let _ = rustls::crypto::ring::default_provider().install_default();
    let runtime = tokio::runtime::Builder::new_multi_thread().enable_all().build()?;
    let code = runtime.block_on(run(args));
    // A blocking task, such as an edit of a page, must not keep a stopped server alive.
    runtime.shutdown_timeout(Duration::from_secs(1));
    code
}

/// `docwright key list | head -1` closes the pipe, which is not worth a message.
fn is_broken_pipe(error: &anyhow::Error) -> bool {
    let is_broken = |error: &std::io::Error| error.kind() == std::io::ErrorKind::BrokenPipe;
    error.downcast_ref::<std::io::Error>().is_some_and(is_broken)
}

async fn run(args: Args) -> anyhow::Result<ExitCode> {
    let sources = Sources::load(args.config.as_deref())?;
    let code = run_command(&sources, args.command).await;
    admin::close_all().await;
    code
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
        Command::Eval(args) => return eval::run(sources, args).await,
        Command::Job { command } => return client::job::run(sources, command).await,
        Command::Finding { command } => return client::finding::run(sources, command).await,
        Command::Views(args) => client::views::views(sources, args).await?,
        Command::Visitors(args) => client::views::visitors(sources, args).await?,
        Command::Report { command } => client::views::report(sources, command).await?,
        Command::Reclassify(args) => client::views::reclassify(sources, args).await?,
        Command::Forget(args) => client::forget::run(sources, args).await?,
        Command::Import(args) => return client::import::run(sources, args).await,
        Command::Openapi(args) => manual::openapi(sources, &args)?,
        Command::Check(args) => return check::run(&args),
        Command::Ranges(args) => return ranges::run(sources, args),
        Command::Health => client::health::run(sources).await?,
        Command::Doctor(args) => return doctor::run(sources, args).await,
        Command::Upgrade(args) => return upgrade::run(sources, args).await,
        Command::Backup(args) => backup::run(sources, args).await?,
        Command::Restore(args) => backup::restore::run(sources, args).await?,
        Command::Move(args) => move_installation::run(sources, args).await?,
        Command::Completions(args) => manual::completions(&args)?,
        Command::Man(args) => manual::man(&args)?,
    }
    Ok(ExitCode::SUCCESS)
}
