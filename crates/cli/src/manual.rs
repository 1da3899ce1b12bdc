//! `docwright completions`, `man` and `openapi`: what others are made from.

use std::path::Path;

use anyhow::Context;
use clap::{Command, CommandFactory};

use crate::args::{Args, Completions, Man, Openapi};
use crate::output;
use crate::settings::Sources;

pub(crate) fn completions(args: &Completions) -> anyhow::Result<()> {
    let mut script = Vec::new();
    clap_complete::generate(args.shell, &mut Args::command(), "docwright", &mut script);
    output::bytes(&script)
}

pub(crate) fn man(args: &Man) -> anyhow::Result<()> {
    let mut program = Args::command().disable_help_subcommand(true);
    program.build();
    match &args.dir {
        Some(dir) => pages(&program, dir).with_context(|| format!("{} cannot be written", dir.display())),
        None => output::bytes(one_page(&program)?.as_bytes()),
    }
}

pub(crate) fn openapi(sources: &Sources, args: &Openapi) -> anyhow::Result<()> {
    let url = sources.text("public_url", args.public_url.as_deref())?;
    let url = url.as_deref().unwrap_or(server::USUAL_URL);
    let url = server::parse_public_url(url).map_err(anyhow::Error::msg)?;
    output::json(&server::openapi(&url))
}

/// A page for each command, named as `man docwright-job-create` looks for it.
fn pages(command: &Command, dir: &Path) -> anyhow::Result<()> {
    std::fs::create_dir_all(dir)?;
    let page = clap_mangen::Man::new(command.clone());
    std::fs::write(dir.join(page.get_filename()), render(&page)?)?;
    command.get_subcommands().try_for_each(|each| pages(each, dir))
}

/// The program's own page, and then a section for each command that does something.
fn one_page(program: &Command) -> anyhow::Result<String> {
    let mut page = render(&clap_mangen::Man::new(program.clone()))?;
    let mut waiting: Vec<_> = program.get_subcommands().collect();
    waiting.reverse();
    while let Some(command) = waiting.pop() {
        if command.has_subcommands() {
            waiting.extend(command.get_subcommands().collect::<Vec<_>>().into_iter().rev());
        } else {
            page += &section(command)?;
        }
    }
    Ok(page)
}

/// What the page of its own says, a level lower and without its beginning.
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
