//! Declares `docwright eval`.

use std::path::PathBuf;

use clap::{ArgGroup, Args as Arguments};

use super::Data;
use crate::settings::parse_positive;

pub(super) const HELP: &str = "\
Each task starts from a copy of the files. Nothing is committed, pushed or published.

A task file has one table per task:

  [[task]]
  name = \"setup-time\"
  prompt = \"The setup takes two minutes, not one. Correct docs/setup.md.\"
  [task.files]       # the files to start from; without it, HEAD of the repository
  \"docs/setup.md\" = \"# Setup\\n\\nIt takes one minute.\\n\"
  [task.expected]    # required: the files after the right change
  \"docs/setup.md\" = \"# Setup\\n\\nIt takes two minutes.\\n\"

Results are in the folder of --out, with the change of each task as a diff. Run the same command
again to continue after an interruption: finished tasks are not repeated. If the provider of a
model fails, the command continues with the other models.

Exit codes: 0 all tasks ended, 1 the provider of a model failed, or another error.";

#[derive(Arguments)]
#[command(group(ArgGroup::new("source").args(["tasks", "from_history"]).required(true)))]
pub(crate) struct Eval {
    /// A model in the settings, or offline; repeat it to compare models
    #[arg(long = "model", value_name = "NAME", required = true)]
    pub(crate) models: Vec<String>,
    /// Read the tasks from this TOML file
    #[arg(long, value_name = "FILE")]
    pub(crate) tasks: Option<PathBuf>,
    /// Make tasks of the last N docs commits of the repository: the message is the prompt, the parent is the start
    #[arg(long, value_name = "N", value_parser = parse_positive)]
    pub(crate) from_history: Option<u32>,
    /// The git repository of the docs
    #[arg(long, value_name = "DIR", default_value = ".")]
    pub(crate) repo: PathBuf,
    /// The folder of the docs in the repository [default: the whole repository]
    #[arg(long, value_name = "PATH")]
    pub(crate) docs_path: Option<String>,
    /// Write the results and diffs into this folder
    #[arg(long, value_name = "DIR", default_value = "docwright-eval")]
    pub(crate) out: PathBuf,
    /// End a task after this many requests to the model [default: turns of the table [agent] in the settings]
    #[arg(long, value_name = "N", value_parser = parse_positive)]
    pub(crate) max_calls: Option<u32>,
    #[command(flatten)]
    pub(crate) data: Data,
    /// Print {"models", "results"} as JSON
    #[arg(long)]
    pub(crate) json: bool,
}
