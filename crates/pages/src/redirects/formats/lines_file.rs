//! Redirects in `_redirects` of Netlify and Cloudflare: one per line, `from to status`.

use super::{covers, line_ending};
use crate::constructs::lines;
use crate::redirects::existing::Redirect;
use crate::splice::splice;

/// Never fails: a line that is no redirect is skipped by the servers, too.
pub(crate) fn read(text: &str) -> Vec<Redirect> {
    rules(text).filter(|(at, _)| !is_rewrite(&text[*at..])).map(|(_, rule)| rule).collect()
}

/// Whether a rule shows another page at the same address: `/* /index.html 200`.
fn is_rewrite(rule: &str) -> bool {
    let mut words = rule.lines().next().unwrap_or_default().split_whitespace().skip(2);
    words.any(|word| matches!(word.trim_end_matches('!'), "200" | "404" | "410"))
}

fn rules(text: &str) -> impl Iterator<Item = (usize, Redirect)> {
    lines(text, 0).filter_map(|(at, line)| {
        let mut words = line.split_whitespace();
        let from = words.next().filter(|from| from.starts_with('/'))?;
        Some((at, Redirect::new(from, words.find(|word| !word.contains('='))?)))
    })
}

/// The first rule that covers an address counts, so a new rule is in front of such a pattern.
pub(crate) fn add(text: &str, new: &[Redirect]) -> Option<String> {
    let end = line_ending(text);
    let style = Style::of(text);
    let mut insertions = Vec::new();
    for redirect in new {
        let pattern = rules(text).find(|(_, rule)| covers(&rule.from, &redirect.from));
        let at = pattern.map_or(text.len(), |(at, _)| at);
        let is_cut_off = at == text.len()
            && !text.is_empty()
            && !text.ends_with('\n')
            && insertions.iter().all(|(other, _)| *other != at);
        let start = if is_cut_off { end } else { "" };
        insertions.push((
            at,
            format!("{start}{}{}{}{}{end}", redirect.from, style.space, redirect.to, style.status),
        ));
    }
    Some(splice(text, insertions.into_iter().map(|(at, line)| (at..at, line)).collect()))
}

/// What is between the addresses of the last plain rule, and after them.
struct Style<'a> {
    space: &'a str,
    status: &'a str,
}

impl<'a> Style<'a> {
    fn of(text: &'a str) -> Self {
        let default = Self { space: " ", status: " 301" };
        let Some((at, rule)) = rules(text).filter(|(_, rule)| !rule.from.contains(['*', ':'])).last() else {
            return default;
        };
        let line = text[at..].lines().next().unwrap_or_default();
        let rest = line.trim_start().strip_prefix(rule.from.as_str()).unwrap_or_default();
        let (space, status) = rest.split_at(rest.len() - rest.trim_start().len());
        let status = status.strip_prefix(rule.to.as_str()).map(str::trim_end);
        let is_plain = |status: &&str| matches!(status.trim(), "" | "301" | "302" | "308");
        match status.filter(is_plain) {
            Some(status) if !space.is_empty() => Self { space, status },
            _ => default,
        }
    }
}
