//! Redirects in `_redirects` of Netlify and Cloudflare: one per line, `from to status`.

use super::line_ending;
use crate::constructs::lines;
use crate::redirects::existing::Redirect;
use crate::redirects::rules::{Effect, Rule, effect_of_status, is_redirect_status, redirects};
use crate::redirects::served::{covers, is_pattern};
use crate::splice::splice;

/// Never fails: a line that is no redirect is skipped by the servers, too.
pub(crate) fn read(text: &str) -> Vec<Redirect> {
    redirects(rules(text))
}

pub(crate) fn rules(text: &str) -> Vec<Rule> {
    rules_with_positions(text).map(|(_, rule)| rule).collect()
}

fn rules_with_positions(text: &str) -> impl Iterator<Item = (usize, Rule)> {
    let start = text.len() - text.trim_start_matches('\u{feff}').len();
    let is_rule = |line: &str| !line.trim().is_empty() && !line.trim_start().starts_with('#');
    lines(text, start).filter(move |(_, line)| is_rule(line)).map(|(at, line)| (at, rule(line)))
}

/// A line that is no redirect is a rule without a target and without an effect.
fn rule(line: &str) -> Rule {
    let words: Vec<&str> = line.split_whitespace().collect();
    let is_address = |word: &&str| word.starts_with('/') || word.contains("://");
    let to = words.iter().skip(1).find(|word| is_address(word));
    let (Some(to), true) = (to, is_address(&words[0])) else {
        let redirect = Redirect::new(line.trim(), "");
        return Rule { redirect, effect: Effect::Rewrite, is_plain: false };
    };
    let status = words.iter().skip(2).find_map(|word| word.trim_end_matches('!').parse().ok());
    let is_conditional = words.iter().any(|word| word != to && word.contains('='));
    let is_plain = words.len() == 2 || words.len() == 3 && words[2].parse().is_ok_and(is_redirect_status);
    let effect = effect_of_status(status, is_conditional);
    Rule { redirect: Redirect::new(words[0], *to), effect, is_plain }
}

/// Whether a rule decides for all readers of an address, so that a later rule has no effect.
fn decides(rule: &Rule, address: &str) -> bool {
    rule.effect != Effect::Conditional && !rule.redirect.to.is_empty() && covers(&rule.redirect.from, address)
}

/// The first rule that covers an address counts, so a new rule is in front of such a pattern.
pub(crate) fn add(text: &str, new: &[Redirect]) -> Option<String> {
    let end = line_ending(text);
    let style = Style::of(text);
    let mut insertions = Vec::new();
    for redirect in new {
        let pattern = rules_with_positions(text).find(|(_, rule)| decides(rule, &redirect.from));
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
        let plain = rules_with_positions(text).filter(|(_, rule)| !is_pattern(&rule.redirect.from));
        let Some((at, Rule { redirect: rule, .. })) = plain.last() else { return default };
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
