//! Redirects of the plugin mkdocs-redirects in `mkdocs.yml`: a map from file to file.

use std::borrow::Cow;

use super::line_ending;
use crate::constructs::{Construct, ConstructKind, constructs, lines};
use crate::kind::FileKind;
use crate::navigation::{Value, yaml_values};
use crate::redirects::existing::Redirect;
use crate::redirects::rules::{Effect, Rule};
use crate::route;
use crate::splice::splice;

const MAP: &str = "plugins.redirects.redirect_maps.";

/// Whether the file has the plugin.
pub(crate) fn has_plugin(text: &str) -> bool {
    let is_plugin = |value: &Value<'_>| {
        value.key.starts_with("plugins.redirects") || value.key == "plugins" && value.text == "redirects"
    };
    yaml_values(text).iter().any(is_plugin)
        || lines(text, 0).any(|(_, line)| matches!(line.trim(), "- redirects:" | "redirect_maps:"))
}

/// The folder with the pages, as the file names it.
pub(crate) fn docs_dir(text: &str) -> String {
    let values = yaml_values(text);
    let named = values.iter().find(|value| value.key == "docs_dir");
    named.map_or("docs", |value| value.text).trim_matches('/').to_owned()
}

/// The redirects as addresses of the site.
pub(crate) fn read(text: &str) -> Option<Vec<Redirect>> {
    let values = yaml_values(text);
    let redirect = |(from, value): (&str, &Value<'_>)| Redirect::new(address(from), address(value.text));
    (!values.is_empty()).then(|| entries(&values).map(redirect).collect())
}

/// The entries of the map, with the names of files.
pub(crate) fn rules(text: &str) -> Vec<Rule> {
    let rule = |construct: Construct| {
        let ConstructKind::Setting(entry) = construct.kind else { return None };
        let redirect = Redirect::new(entry.key.strip_prefix(MAP)?, entry.value);
        Some(Rule { redirect, effect: Effect::Redirect, is_plain: true })
    };
    constructs(FileKind::MkDocs, text).into_iter().filter_map(rule).collect()
}

fn entries<'v>(values: &'v [Value<'_>]) -> impl Iterator<Item = (&'v str, &'v Value<'v>)> {
    values.iter().filter_map(|value| Some((value.key.strip_prefix(MAP)?, value)))
}

fn address(file: &str) -> String {
    let file = file.split('#').next().unwrap_or_default();
    match route::page_path(file) {
        Some(page) => format!("/{page}"),
        None => file.to_owned(),
    }
}

/// `new` has the names of files, relative to the docs folder.
pub(crate) fn add(text: &str, new: &[Redirect]) -> Option<String> {
    let before = read(text)?;
    let text = &as_block(text);
    let values = yaml_values(text);
    let Insertion { at, indent, start } = match entries(&values).last() {
        Some((_, last)) => behind(text, last)?,
        None => empty_map(text)?,
    };
    let end = line_ending(text);
    let entry =
        |redirect: &Redirect| format!("{end}{indent}{}: {}", quoted(&redirect.from), quoted(&redirect.to));
    let entries: String = new.iter().map(entry).collect();
    let after = splice(text, vec![(at..at, start + &entries)]);
    let added = new.iter().map(|new| Redirect::new(address(&new.from), address(&new.to)));
    (read(&after)? == before.into_iter().chain(added).collect::<Vec<_>>()).then_some(after)
}

/// The text with an empty map in the form that takes entries, one on each line.
fn as_block(text: &str) -> Cow<'_, str> {
    let empty = lines(text, 0).find(|(_, line)| line.trim() == "redirect_maps: {}");
    match empty.and_then(|(start, line)| Some(start + line.find(" {}")?)) {
        Some(at) => splice(text, vec![(at..at + " {}".len(), String::new())]).into(),
        None => text.into(),
    }
}

/// The end of the line that entries come behind, their indentation, and the text in front of them.
struct Insertion {
    at: usize,
    indent: String,
    start: String,
}

/// The place behind an entry of the map. `None` if the map is on one line.
fn behind(text: &str, last: &Value<'_>) -> Option<Insertion> {
    let start = text[..last.range.start].rfind('\n').map_or(0, |at| at + 1);
    let line = text[start..].lines().next()?;
    let indent = line[..line.len() - line.trim_start().len()].to_owned();
    let at = start + line.trim_end().len();
    (!line.contains(['{', '}'])).then(|| Insertion { at, indent, start: String::new() })
}

/// The place of a map without entries, or of the plugin without a map.
fn empty_map(text: &str) -> Option<Insertion> {
    let line_of = |wanted: &str| lines(text, 0).find(|(_, line)| line.trim() == wanted);
    let own = |line: &str| line[..line.len() - line.trim_start().len()].to_owned();
    if let Some((start, line)) = line_of("redirect_maps:") {
        let indent = format!("{}  ", own(line));
        return Some(Insertion { at: start + line.trim_end().len(), indent, start: String::new() });
    }
    let (at, line) = line_of("- redirects")?;
    let own = own(line);
    let start = format!(":{}{own}    redirect_maps:", line_ending(text));
    Some(Insertion { at: at + line.trim_end().len(), indent: format!("{own}      "), start })
}

/// A file name, quoted unless it's plain.
fn quoted(file: &str) -> String {
    let is_plain = file.starts_with(|c: char| c.is_ascii_alphabetic())
        && file.chars().all(|c| c.is_alphanumeric() || matches!(c, '/' | '.' | '-' | '_'));
    if is_plain { file.to_owned() } else { format!("'{}'", file.replace('\'', "''")) }
}
