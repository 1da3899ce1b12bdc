//! Declares `docwright model`.

use std::path::PathBuf;

use clap::{Args as Arguments, Subcommand};

use super::Data;

#[derive(Subcommand)]
pub(crate) enum ModelCommand {
    /// List the models in the settings
    List(ListModels),
    /// Test a model with a request like that of a job, and say what it can do or what is wrong
    Test(TestModel),
    /// Store the key of a model, encrypted, if its settings name neither a variable nor a file
    Key(ModelKey),
}

#[derive(Arguments)]
pub(crate) struct ListModels {
    #[command(flatten)]
    pub(crate) data: Data,
    /// Print a JSON array
    #[arg(long)]
    pub(crate) json: bool,
}

#[derive(Arguments)]
pub(crate) struct TestModel {
    /// The model's name in the settings
    #[arg(value_name = "NAME")]
    pub(crate) name: String,
    #[command(flatten)]
    pub(crate) data: Data,
    /// Print {"ok", "sentence", "milliseconds", "usage", "cost", "findings"} as JSON
    #[arg(long)]
    pub(crate) json: bool,
}

#[derive(Arguments)]
pub(crate) struct ModelKey {
    /// The model's name in the settings
    #[arg(value_name = "NAME")]
    pub(crate) name: String,
    /// Read the key from this file; - is standard input
    #[arg(long, value_name = "FILE", required_unless_present = "remove", conflicts_with = "remove")]
    pub(crate) key_file: Option<PathBuf>,
    /// Delete the stored key
    #[arg(long)]
    pub(crate) remove: bool,
    #[command(flatten)]
    pub(crate) data: Data,
}
