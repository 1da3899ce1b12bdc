//! Prints what other programs read: shell completions, manual pages and the OpenAPI description.

use std::path::Path;

use anyhow::Context;
use clap::{Command, CommandFactory};

use crate::args::{Args, Completions, Man, Openapi};
use crate::output;
use crate::settings::Sources;

pub(crate) fn completions(args: &Completions) -> anyhow::Result<()> {
    let mut script = Vec::new();
    clap_complete::generate(args.shell, &mut Args::command(), "docwright", &mut script);
    output::print_bytes(&script)
}

pub(crate) fn man(args: &Man) -> anyhow::Result<()> {
    let mut program = Args::command().disable_help_subcommand(true);
    program.build();
    match &args.dir {
        Some(dir) => {
            write_pages(&program, dir).with_context(|| format!("{} cannot be written", dir.display()))
        }
        None => output::print_bytes(single_page(&program)?.as_bytes()),
    }
}

pub(crate) fn openapi(sources: &Sources, args: &Openapi) -> anyhow::Result<()> {
    let url = sources.public_url(args.public_url.as_deref())?;
    output::print_json(&server::openapi(url.as_deref().unwrap_or(server::DEFAULT_URL)))
}

/// Writes a page for each command, under the name that `man docwright-job-create` looks for.
fn write_pages(command: &Command, dir: &Path) -> anyhow::Result<()> {
    std::fs::create_dir_all(dir)?;
    let page = clap_mangen::Man::new(command.clone());
    std::fs::write(dir.join(page.get_filename()), render(&page)?)?;
    command.get_subcommands().try_for_each(|each| write_pages(each, dir))
}

/// Renders the page of the program, with a section for each command that has no subcommands.
fn single_page(program: &Command) -> anyhow::Result<String> {
    let mut page = render(&clap_mangen::Man::new(program.clone()))?;
    let mut pending: Vec<_> = program.get_subcommands().collect();
    pending.reverse();
    while let Some(command) = pending.pop() {
        if command.has_subcommands() {
            pending.extend(command.get_subcommands().collect::<Vec<_>>().into_iter().rev());
        } else {
            page += &section(command)?;
        }
    }
    Ok(page)
}

/// Renders the page of a command as a section: headings one level lower, and without the title.
fn section(command: &Command) -> anyhow::Result<String> {
    let man = clap_mangen::Man::new(command.clone());
    let mut text = Vec::new();
    man.render_synopsis_section(&mut text)?;
    man.render_description_section(&mut text)?;
    man.render_options_section(&mut text)?;
    let name = command.get_bin_name().unwrap_or_else(|| command.get_name());
    let mut section = format!(".SH \"{}\"\n", name.to_uppercase());
    for line in String::from_utf8(text)?.lines().filter(|line| !line.contains(".ds Aq")) {
        section += &line.replacen(".SH ", ".SS ", 1);
        section.push('\n');
    }
    Ok(section)
}

fn render(page: &clap_mangen::Man) -> anyhow::Result<String> {
    let mut text = Vec::new();
    page.render(&mut text)?;
    Ok(String::from_utf8(text)?.replace(".SH EXTRA", ".SH \"SETTINGS AND EXIT CODES\""))
}
