//! What runs in the reader's browser, or when the docs are built.
//!
//! It is new when the touched pages together did not have it, or had fewer: a script may go from one page to another,
//! but nothing else becomes a script. A tag that loads what one of them loads already may be in every page.

use std::collections::{BTreeMap, BTreeSet};

use super::added::Text;
use super::markup::Shown;
use super::runs::{Running, running};
use super::{Finding, Rule};
use crate::pattern::pattern;

pub(super) fn judge<'a>(asked: &str, shown: &Shown<'_, 'a>, found: &mut Vec<Finding<'a>>) {
    let before = shown.before.iter().map(|(path, markup)| (*path, running(path, markup)));
    let mut before: BTreeMap<&str, Vec<Running>> = before.collect();
    let after = shown.after.iter().map(|(path, text, markup)| (*path, *text, running(path, markup)));
    let mut after: Vec<(&str, &Text<'a>, Vec<Running>)> = after.collect();
    leave_out_common(before.values_mut().collect(), after.iter_mut().map(|(.., all)| all).collect());
    let everywhere = more(before.values().flatten(), after.iter().flat_map(|(.., all)| all));
    for (path, text, all) in &after {
        let here = more(before.get(path).into_iter().flatten(), all);
        let is_new = |running: &&Running| {
            let what = (running.kind.as_str(), running.what.as_str());
            everywhere.get(&what) > Some(&0) && here.get(&what) > Some(&0) && !is_asked_for(asked, running)
        };
        found.extend(first_line(text, all.iter().filter(is_new)).map(|line| Finding {
            rule: Rule::Remote,
            place: text.place,
            line: Some(line),
            what: "adds something that runs in the reader's browser or when the docs are built".to_owned(),
            fatal: true,
        }));
    }
}

/// Whether a person named the very address that a tag loads.
fn is_asked_for(asked: &str, running: &Running) -> bool {
    let Some((tag, _)) = &running.loads else { return false };
    let mut addresses = address().into_iter().flat_map(|pattern| pattern.find_iter(tag));
    let (Some(one), None) = (addresses.next(), addresses.next()) else { return false };
    let does_more = ["srcdoc", "{", "data:"].iter().any(|sign| tag.to_ascii_lowercase().contains(sign));
    let mut words =
        asked.split_ascii_whitespace().map(|word| word.trim_matches(|c: char| "<>()[]\"'`,.;!?".contains(c)));
    !does_more && words.any(|word| word == one.as_str())
}

pattern!(address, r"(?i)https?://[^\s\x22'<>]+");

/// Takes away what is loaded by the same tag before and after, however often.
fn leave_out_common(before: Vec<&mut Vec<Running>>, after: Vec<&mut Vec<Running>>) {
    let tags = |pages: &[&mut Vec<Running>]| -> BTreeSet<(String, String)> {
        pages.iter().flat_map(|all| all.iter()).filter_map(|running| running.loads.clone()).collect()
    };
    let common: BTreeSet<_> = tags(&before).intersection(&tags(&after)).cloned().collect();
    for all in before.into_iter().chain(after) {
        all.retain(|running| running.loads.as_ref().is_none_or(|tag| !common.contains(tag)));
    }
}

/// How many more there are of each.
fn more<'r>(
    before: impl IntoIterator<Item = &'r Running>,
    after: impl IntoIterator<Item = &'r Running>,
) -> BTreeMap<(&'r str, &'r str), isize> {
    fn what(running: &Running) -> (&str, &str) {
        (running.kind.as_str(), running.what.as_str())
    }
    let mut more = BTreeMap::new();
    after.into_iter().for_each(|running| *more.entry(what(running)).or_default() += 1);
    before.into_iter().for_each(|running| *more.entry(what(running)).or_default() -= 1);
    more
}

/// Where it stands. A line may be as it was, and run now because the fence around it is gone.
fn first_line<'r>(text: &Text<'_>, mut new: impl Iterator<Item = &'r Running> + Clone) -> Option<usize> {
    let added = new.clone().filter_map(|running| text.added_line(running.at)).min();
    added.or_else(|| new.next().map(|running| text.line_of(running.at)))
}
