//! Redirects in `netlify.toml`: tables `[[redirects]]`.

use toml::{Table, Value};

use super::line_ending;
use crate::constructs::lines;
use crate::redirects::existing::Redirect;
use crate::redirects::rules::{Effect, Rule, effect_of_status, is_redirect_status, redirects};
use crate::redirects::served::covers;
use crate::splice::splice;

const KEY: &str = "redirects";
const HEADER: &str = "[[redirects]]";

pub(crate) fn read(text: &str) -> Option<Vec<Redirect>> {
    rules(text).map(redirects)
}

pub(crate) fn rules(text: &str) -> Option<Vec<Rule>> {
    let table: Table = text.parse().ok()?;
    if table.keys().any(|key| key.starts_with("redirects.")) {
        return None;
    }
    tables(&table)?.iter().map(rule).collect()
}

/// The tables of the redirects. `None` if the key has another value.
fn tables(table: &Table) -> Option<&[Value]> {
    table.get(KEY).map_or(Some(&[][..]), |redirects| redirects.as_array().map(Vec::as_slice))
}

fn rule(entry: &Value) -> Option<Rule> {
    let entry = entry.as_table()?;
    let status = entry.get("status").and_then(Value::as_integer).and_then(|status| status.try_into().ok());
    let text = |key: &str| entry.get(key).and_then(Value::as_str);
    let is_own = |(key, _): (&String, &Value)| match key.as_str() {
        "from" | "to" => true,
        "status" => status.is_some_and(is_redirect_status),
        _ => false,
    };
    let is_conditional = ["conditions", "query", "signed"].iter().any(|key| entry.contains_key(*key));
    Some(Rule {
        redirect: Redirect::new(text("from")?, text("to").unwrap_or_default()),
        effect: effect_of_status(status, is_conditional),
        is_plain: entry.contains_key("to") && entry.iter().all(is_own),
    })
}

/// The first table that covers an address counts, so new ones are in front of such a pattern.
pub(crate) fn add(text: &str, new: &[Redirect]) -> Option<String> {
    let end = line_ending(text);
    let (index, at) = start_of_pattern(text, new)?;
    let indent = indent(text);
    let table = |redirect: &Redirect| {
        let (from, to) = (Value::from(redirect.from.as_str()), Value::from(redirect.to.as_str()));
        format!("{HEADER}{end}{indent}from = {from}{end}{indent}to = {to}{end}{indent}status = 301{end}")
    };
    let tables: Vec<String> = new.iter().map(table).collect();
    let tables = tables.join(end);
    let insertion = match (at == text.len(), text.is_empty(), text.ends_with('\n')) {
        (false, ..) => format!("{tables}{end}"),
        (true, true, _) => tables,
        (true, false, true) => format!("{end}{tables}"),
        (true, false, false) => format!("{end}{end}{tables}"),
    };
    let after = splice(text, vec![(at..at, insertion)]);
    adds_only(text, &after, index, new).then_some(after)
}

/// Whether the tables at `index` are the new redirects, and everything else is as before.
fn adds_only(before: &str, after: &str, index: usize, new: &[Redirect]) -> bool {
    let (Ok(mut before), Ok(mut after)) = (before.parse::<Table>(), after.parse::<Table>()) else {
        return false;
    };
    let take = |table: &mut Table| match table.remove(KEY) {
        Some(Value::Array(tables)) => Some(tables),
        other => other.is_none().then(Vec::new),
    };
    let (Some(old), Some(mut tables)) = (take(&mut before), take(&mut after)) else { return false };
    let end = index + new.len();
    if tables.len() < end {
        return false;
    }
    let added: Option<Vec<Rule>> = tables.drain(index..end).map(|table| rule(&table)).collect();
    added.is_some_and(|added| redirects(added) == new) && tables == old && after == before
}

/// The first table that decides for all readers of one of the addresses: its index and its start. Otherwise, the end.
fn start_of_pattern(text: &str, new: &[Redirect]) -> Option<(usize, usize)> {
    let rules = rules(text)?;
    let decides = |rule: &Rule| {
        rule.effect != Effect::Conditional
            && new.iter().any(|redirect| covers(&rule.redirect.from, &redirect.from))
    };
    let Some(index) = rules.iter().position(decides) else { return Some((rules.len(), text.len())) };
    let headers: Vec<usize> =
        lines(text, 0).filter(|(_, line)| line.trim().starts_with(HEADER)).map(|(at, _)| at).collect();
    (headers.len() == rules.len()).then(|| (index, headers[index]))
}

/// The indentation of the keys of the tables.
fn indent(text: &str) -> &str {
    let key = text.lines().find(|line| line.trim_start().starts_with("from"));
    key.map_or("  ", |line| &line[..line.len() - line.trim_start().len()])
}
