//! `docwright model …`

use clap::{Args as Arguments, Subcommand};

#[derive(Subcommand)]
pub(crate) enum ModelCommand {
    /// Lists the models that the settings name
    List(ListModels),
    /// Asks a model for one small thing and says what is wrong, if something is
    Test(TestModel),
}

#[derive(Arguments)]
pub(crate) struct ListModels {
    /// Print a JSON array
    #[arg(long)]
    pub(crate) json: bool,
}

#[derive(Arguments)]
pub(crate) struct TestModel {
    /// The name that the settings give it
    #[arg(value_name = "NAME")]
    pub(crate) name: String,
    /// Print {"ok", "sentence", "milliseconds", "usage", "cost"} as JSON
    #[arg(long)]
    pub(crate) json: bool,
}
