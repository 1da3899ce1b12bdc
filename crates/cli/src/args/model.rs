//! `docwright model …`

use std::path::PathBuf;

use clap::{Args as Arguments, Subcommand};

use super::Data;

#[derive(Subcommand)]
pub(crate) enum ModelCommand {
    /// Lists the models that the settings name
    List(ListModels),
    /// Asks a model for one small thing and says what is wrong, if something is
    Test(TestModel),
    /// Keeps the key of a model, encrypted, for settings that name neither a variable nor a file
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
    /// The name that the settings give it
    #[arg(value_name = "NAME")]
    pub(crate) name: String,
    #[command(flatten)]
    pub(crate) data: Data,
    /// Print {"ok", "sentence", "milliseconds", "usage", "cost"} as JSON
    #[arg(long)]
    pub(crate) json: bool,
}

#[derive(Arguments)]
pub(crate) struct ModelKey {
    /// The name that the settings give it
    #[arg(value_name = "NAME")]
    pub(crate) name: String,
    /// The file that holds the key; - is standard input
    #[arg(long, value_name = "FILE", required_unless_present = "remove", conflicts_with = "remove")]
    pub(crate) key_file: Option<PathBuf>,
    /// Keep it no longer
    #[arg(long)]
    pub(crate) remove: bool,
    #[command(flatten)]
    pub(crate) data: Data,
}
