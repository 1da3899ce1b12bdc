//! Redirects in `docs.json`, `mint.json` and `vercel.json`: `"redirects": [{"source": …, "destination": …}]`.

use std::ops::Range;

use serde_json::Value;

use super::{indent_at, json, line_ending};
use crate::redirects::existing::Redirect;
use crate::redirects::rules::{Rule, effect_of_status, is_redirect_status, redirects};
use crate::splice::splice;

const KEY: &str = "redirects";
/// Keys that a new redirect takes from the last one.
const COPIED: [&str; 2] = ["permanent", "statusCode"];

pub(crate) fn read(text: &str) -> Option<Vec<Redirect>> {
    rules(text).map(redirects)
}

pub(crate) fn rules(text: &str) -> Option<Vec<Rule>> {
    let value: Value = serde_json::from_str(without_mark(text)).ok()?;
    let object = value.as_object()?;
    if object.keys().any(|key| key.starts_with("redirects.")) {
        return None;
    }
    let Some(redirects) = object.get(KEY) else { return Some(Vec::new()) };
    redirects.as_array()?.iter().map(rule).collect()
}

fn rule(entry: &Value) -> Option<Rule> {
    let entry = entry.as_object()?;
    let text = |key: &str| entry.get(key).and_then(Value::as_str);
    let is_own = |(key, value): (&String, &Value)| match key.as_str() {
        "source" | "destination" => true,
        "permanent" => value.is_boolean(),
        "statusCode" => value.as_u64().is_some_and(is_redirect_status),
        _ => false,
    };
    let is_conditional = ["has", "missing"].iter().any(|key| entry.contains_key(*key));
    Some(Rule {
        redirect: Redirect::new(text("source")?, text("destination")?),
        effect: effect_of_status(entry.get("statusCode").and_then(Value::as_u64), is_conditional),
        is_plain: entry.iter().all(is_own),
    })
}

/// Whether Vercel would reject the file with redirects: it accepts them or the older `routes`, but not both.
pub(crate) fn has_routes(text: &str) -> bool {
    let value: Option<Value> = serde_json::from_str(without_mark(text)).ok();
    value.is_some_and(|value| value.get("routes").is_some())
}

/// `is_permanent` is written as `"permanent": true`, which Vercel needs for a 308.
pub(crate) fn add(text: &str, new: &[Redirect], is_permanent: bool) -> Option<String> {
    let before = read(text)?;
    let mark = text.len() - without_mark(text).len();
    let object = json::skip_space(text, mark);
    let members = json::members(text, object);
    let mut lists = members.iter().filter(|(_, key, _)| key == KEY).map(|(_, _, range)| range.clone());
    let (at, insertion) = match (lists.next(), lists.next()) {
        (Some(list), None) => insert_in_list(text, list, new, is_permanent),
        (None, _) => insert_list(text, object, &members, new, is_permanent),
        // It's not clear which list counts.
        _ => return None,
    };
    let after = splice(text, vec![(at, insertion)]);
    (read(&after)? == [before, new.to_vec()].concat()).then_some(after)
}

fn without_mark(text: &str) -> &str {
    text.trim_start_matches('\u{feff}')
}

fn insert_in_list(
    text: &str,
    list: Range<usize>,
    new: &[Redirect],
    is_permanent: bool,
) -> (Range<usize>, String) {
    let items = json::items(text, list.start);
    let Some(last) = items.last() else {
        let outer = indent_at(text, list.start);
        return (list, new_list(text, outer, new, is_permanent));
    };
    let between = match items.len() {
        1 if text[list.start..last.start].contains('\n') => {
            format!(",{}{}", line_ending(text), indent_at(text, last.start))
        }
        1 => ", ".to_owned(),
        count => text[items[count - 2].end..last.start].to_owned(),
    };
    let insertion = new.iter().map(|redirect| between.clone() + &like(text, last, redirect)).collect();
    (last.end..last.end, insertion)
}

/// A redirect in the style of the object at `last`.
fn like(text: &str, last: &Range<usize>, redirect: &Redirect) -> String {
    let object = &text[last.clone()];
    let members = if object.starts_with('{') { json::members(text, last.start) } else { Vec::new() };
    let Some((first, _, first_value)) = members.first() else { return object_text(redirect, &[]) };
    let is_copied = |key: &str, value: &str| {
        COPIED.contains(&key)
            && (value.parse().is_ok_and(is_redirect_status) || value.parse::<bool>().is_ok())
    };
    let copied = members.iter().filter(|(_, key, value)| is_copied(key, &text[value.clone()]));
    let copied: Vec<(&str, &str)> =
        copied.map(|(_, key, value)| (key.as_str(), &text[value.clone()])).collect();
    let open = &text[last.start + 1..*first];
    let close = &text[members.last().map_or(first_value.end, |member| member.2.end)..last.end - 1];
    let separator =
        members.get(1).map_or(", ", |second| text[first_value.end..second.0].trim_end_matches('"'));
    let colon = &text[*first..first_value.start];
    let colon = &colon[colon.rfind('"').map_or(0, |at| at + 1)..];
    let pairs = pairs(redirect, &copied);
    let pairs: Vec<String> = pairs.iter().map(|(key, value)| format!("\"{key}\"{colon}{value}")).collect();
    format!("{{{open}{}{close}}}", pairs.join(separator))
}

fn pairs<'a>(redirect: &Redirect, more: &[(&'a str, &str)]) -> Vec<(&'a str, String)> {
    let own = [("source", &redirect.from), ("destination", &redirect.to)];
    let own = own.map(|(key, value)| (key, Value::from(value.as_str()).to_string()));
    own.into_iter().chain(more.iter().map(|(key, value)| (*key, (*value).to_owned()))).collect()
}

fn object_text(redirect: &Redirect, more: &[(&str, &str)]) -> String {
    let pairs = pairs(redirect, more);
    let pairs: Vec<String> = pairs.iter().map(|(key, value)| format!("\"{key}\": {value}")).collect();
    format!("{{ {} }}", pairs.join(", "))
}

/// A list on several lines, for a key that is indented by `outer`.
fn new_list(text: &str, outer: &str, new: &[Redirect], is_permanent: bool) -> String {
    let (end, unit) = (line_ending(text), indent_unit(text));
    let more: &[(&str, &str)] = if is_permanent { &[("permanent", "true")] } else { &[] };
    let object = |redirect: &Redirect| format!("{outer}{unit}{}", object_text(redirect, more));
    let objects: Vec<String> = new.iter().map(object).collect();
    format!("[{end}{}{end}{outer}]", objects.join(&format!(",{end}")))
}

/// Inserts the key with its list behind the last member of the file.
fn insert_list(
    text: &str,
    object: usize,
    members: &[(usize, String, Range<usize>)],
    new: &[Redirect],
    is_permanent: bool,
) -> (Range<usize>, String) {
    let (end, unit) = (line_ending(text), indent_unit(text));
    let Some((key, _, value)) = members.last() else {
        let list = new_list(text, &unit, new, is_permanent);
        let close = object + text[object..].find('}').unwrap_or(1);
        return (object + 1..close, format!("{end}{unit}\"{KEY}\": {list}{end}"));
    };
    let is_on_own_line = text[..*key].trim_end_matches([' ', '\t']).ends_with('\n');
    let indent = if is_on_own_line { indent_at(text, *key) } else { "" };
    let list = new_list(text, indent, new, is_permanent);
    let between = if is_on_own_line { format!(",{end}{indent}") } else { ", ".to_owned() };
    (value.end..value.end, format!("{between}\"{KEY}\": {list}"))
}

/// The indentation of the first indented line.
fn indent_unit(text: &str) -> String {
    let indented = text.lines().find(|line| line.starts_with([' ', '\t']) && !line.trim().is_empty());
    indented.map_or("  ", |line| &line[..line.len() - line.trim_start().len()]).to_owned()
}
