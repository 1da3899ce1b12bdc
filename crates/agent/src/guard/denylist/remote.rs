//! What a page would load from elsewhere, and what its addresses carry.
//!
//! A picture from a host of the attacker's, with something in its address, is how text gets out of a
//! review without anybody's click. So nothing is loaded from a host that the docs do not load such things
//! from already, unless a person named it.

use std::collections::{BTreeMap, BTreeSet};

use pages::{Kind as FileKind, MAX_TEXT_BYTES};

use super::added::{Added, Text};
use super::markup::{Embed, Kind, Markup, Shown, may_load};
use super::unescape::unescape;
use super::url::{self, Load};
use super::{Change, Finding, MAX_TREE_BYTES, Rule};
use crate::guard::allowlist::names_host;
use crate::pattern::pattern;

/// So many of a kind are told of one file; nobody reads more.
const MAX_TOLD: usize = 20;

pub(super) fn judge<'a>(
    change: &Change<'a>,
    shown: &Shown<'_, 'a>,
    added: &Added<'a>,
    found: &mut Vec<Finding<'a>>,
) {
    let loaded = shown.before.values().flat_map(|markup| &markup.embeds);
    let loaded: BTreeSet<(Kind, &str)> = loaded.map(|embed| (embed.kind, embed.address.as_str())).collect();
    let asked = change.asked.as_str().to_lowercase();
    let mut hosts = Hosts { change, used: BTreeMap::new() };
    for (_, text, markup) in &shown.after {
        let new = markup.embeds.iter().filter(|e| !loaded.contains(&(e.kind, e.address.as_str())));
        found.extend(new.filter_map(|embed| judge_embed(text, embed, &asked, &mut hosts)).take(MAX_TOLD));
        judge_links(text, markup, added, &asked, found);
    }
}

fn judge_embed<'a>(
    text: &Text<'a>,
    embed: &Embed,
    asked: &str,
    hosts: &mut Hosts<'_, '_>,
) -> Option<Finding<'a>> {
    let host = url::host(&embed.address)?;
    let what = if asked.contains(&embed.address.to_lowercase()) {
        return None;
    } else if url::load(&embed.address).is_some() {
        format!("loads {} from {} with data in its address", embed.kind.as_str(), url::shown(&host))
    } else if names_host(asked, &host) || hosts.uses(embed.kind, &host) {
        return None;
    } else {
        let from = url::shown(&host);
        format!(
            "loads {} from {from}, which the docs do not do yet and nobody asked for",
            embed.kind.as_str()
        )
    };
    let line = Some(text.line_of(embed.at));
    Some(Finding { rule: Rule::Remote, place: text.place, line, what, fatal: true })
}

/// The hosts that the tree loads from; it is read at most once, and only when something new is loaded.
struct Hosts<'c, 'a> {
    change: &'c Change<'a>,
    used: BTreeMap<(Kind, String), bool>,
}

impl Hosts<'_, '_> {
    fn uses(&mut self, kind: Kind, host: &str) -> bool {
        if self.used.is_empty() {
            self.read();
        }
        self.used.contains_key(&(kind, host.to_owned()))
    }

    fn read(&mut self) {
        self.used.insert((Kind::Frame, String::new()), true);
        let mut room = MAX_TREE_BYTES;
        for entry in self.change.base.list().unwrap_or_default() {
            if entry.kind != FileKind::File || !may_load(&entry.path) {
                continue;
            }
            let bytes = self.change.base.read(&entry.path, MAX_TEXT_BYTES.min(room)).unwrap_or_default();
            room -= bytes.len();
            let Ok(text) = std::str::from_utf8(&bytes) else { continue };
            for embed in Markup::of(&entry.path, text).embeds {
                self.used.extend(url::host(&embed.address).map(|host| ((embed.kind, host), true)));
            }
        }
    }
}

fn judge_links<'a>(
    text: &Text<'a>,
    markup: &Markup,
    added: &Added<'a>,
    asked: &str,
    found: &mut Vec<Finding<'a>>,
) {
    let Some(pattern) = link() else { return };
    let start = found.len();
    for link in pattern.find_iter(&markup.visible) {
        let address = link.as_str().trim_start_matches(['(', '"', '\'', '<', '=']);
        let address = unescape(address).text;
        let Some(line) = text.added_line(link.start()) else { continue };
        let (Some(host), false) = (url::host(&address), asked.contains(&address.to_lowercase())) else {
            continue;
        };
        let wrong = if url::is_lookalike(&host) && !names_host(asked, &host) {
            Some(("links to a host whose name mixes scripts to look like another", true))
        } else {
            url::load(&address).map(carried)
        };
        let Some((what, fatal)) = wrong.filter(|_| !added.was_there(text, link.as_str())) else { continue };
        let line = text.shown_line(line);
        // A note must not use up the room of what is fatal.
        if fatal || found.len() - start < MAX_TOLD {
            found.push(Finding { rule: Rule::Link, place: text.place, line, what: what.to_owned(), fatal });
        }
        if found.len() - start >= 2 * MAX_TOLD {
            return;
        }
    }
}

fn carried(load: Load) -> (&'static str, bool) {
    match load {
        Load::Readable => ("links to an address with encoded text in it", true),
        Load::Opaque => ("links to an address with data in it that nobody wrote by hand", true),
        Load::Id => ("links to an address with a long id in its path", false),
        Load::Long => ("links to an address with a very long query", false),
    }
}

pattern!(link, r"(?i)(?:\b(?:https?|ftp|wss?):|\(|\x22|'|<|=)(?:\\|/|&#?\w{1,8};){2}[^\s<>\x22'`)\]}]{2,}",);
