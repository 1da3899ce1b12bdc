//! Redirects of `@docusaurus/plugin-client-redirects` in `docusaurus.config.js`, if they are one literal list.

use std::ops::Range;

use super::{indent_at, line_ending};
use crate::redirects::existing::Redirect;
use crate::script;
use crate::splice::splice;

const PLUGIN: &str = "plugin-client-redirects";
const KEY: &str = "redirects";

/// The redirects of the list, and the text around it. `None` unless the list has only objects with the two literal
/// strings `from` and `to`.
pub fn split(text: &str) -> Option<(Vec<Redirect>, [&str; 2])> {
    let list = find_list(text)?;
    let redirects = objects(text, &list)?.into_iter().map(|(_, redirect)| redirect).collect();
    Some((redirects, [&text[..list.start], &text[list.end..]]))
}

pub(crate) fn read(text: &str) -> Option<Vec<Redirect>> {
    split(text).map(|(redirects, _)| redirects)
}

pub(crate) fn add(text: &str, new: &[Redirect]) -> Option<String> {
    let before = read(text)?;
    let list = find_list(text)?;
    let objects = objects(text, &list)?;
    let end = line_ending(text);
    let outer = indent_at(text, list.start);
    let (at, insertion): (usize, String) = match objects.last() {
        Some((last, _)) => {
            let is_own_line = text[list.start..last.start].contains('\n');
            let between =
                if is_own_line { format!(",{end}{}", indent_at(text, last.start)) } else { ", ".to_owned() };
            let inserted =
                new.iter().map(|redirect| between.clone() + &object(redirect, quote(&text[last.clone()])));
            (last.end, inserted.collect())
        }
        None => {
            let lines = new.iter().map(|redirect| format!("{end}{outer}  {},", object(redirect, '\'')));
            (list.start, lines.chain([format!("{end}{outer}")]).collect())
        }
    };
    let after = splice(text, vec![(at..at, insertion)]);
    (read(&after)? == [before, new.to_vec()].concat()).then_some(after)
}

fn quote(object: &str) -> char {
    if object.contains('"') { '"' } else { '\'' }
}

fn object(redirect: &Redirect, quote: char) -> String {
    format!("{{ from: {quote}{}{quote}, to: {quote}{}{quote} }}", redirect.from, redirect.to)
}

/// What is between the brackets of the only list of redirects.
fn find_list(text: &str) -> Option<Range<usize>> {
    let plugin = text.find(PLUGIN)?;
    let starts: Vec<usize> = keys(text).collect();
    let [start] = starts.as_slice() else { return None };
    let open = start + text[*start..].find('[')?;
    (*start > plugin && text[start + KEY.len()..open].trim() == ":").then_some(())?;
    let (bytes, mut depth, mut here) = (text.as_bytes(), 0_usize, open);
    while let Some(byte) = bytes.get(here) {
        if let Some(end) = script::literal_end(bytes, here) {
            here = end;
            continue;
        }
        match byte {
            b'[' | b'{' | b'(' => depth += 1,
            b']' | b'}' | b')' => depth -= 1,
            _ => {}
        }
        if depth == 0 {
            return Some(open + 1..here);
        }
        here += 1;
    }
    None
}

/// The positions of the word `redirects` as a key, outside of strings and comments.
fn keys(text: &str) -> impl Iterator<Item = usize> {
    let bytes = text.as_bytes();
    let mut here = 0;
    std::iter::from_fn(move || {
        while here < bytes.len() {
            if let Some(end) = script::literal_end(bytes, here) {
                here = end.max(here + 1);
                continue;
            }
            let at = here;
            here += 1;
            let is_word = |byte: &u8| byte.is_ascii_alphanumeric() || matches!(byte, b'_' | b'$' | b'.');
            let is_start = at == 0 || !is_word(&bytes[at - 1]);
            if is_start
                && bytes[at..].starts_with(KEY.as_bytes())
                && !bytes.get(at + KEY.len()).is_some_and(is_word)
            {
                return Some(at);
            }
        }
        None
    })
}

/// The objects of the list, with their positions.
fn objects(text: &str, list: &Range<usize>) -> Option<Vec<(Range<usize>, Redirect)>> {
    let (mut found, mut here) = (Vec::new(), list.start);
    loop {
        here = skip(text, here, list.end, b",");
        if here >= list.end {
            return Some(found);
        }
        let end =
            script::braces_end(text, here).filter(|end| text[here..].starts_with('{') && *end <= list.end)?;
        found.push((here..end, members(&text[here + 1..end - 1])?));
        here = end;
    }
}

/// Skips white space, comments and the bytes in `more`.
fn skip(text: &str, mut here: usize, end: usize, more: &[u8]) -> usize {
    let bytes = text.as_bytes();
    while here < end {
        let is_comment = bytes[here] == b'/';
        match script::literal_end(bytes, here) {
            Some(next) if is_comment => here = next,
            _ if bytes[here].is_ascii_whitespace() || more.contains(&bytes[here]) => here += 1,
            _ => break,
        }
    }
    here
}

/// `from: '/a', to: '/b'`, in any order.
fn members(text: &str) -> Option<Redirect> {
    let (mut from, mut to, mut here) = (None, None, 0);
    loop {
        here = skip(text, here, text.len(), b",");
        let rest = &text[here..];
        if rest.is_empty() {
            return Some(Redirect { from: from?, to: to? });
        }
        let colon = rest.find(':')?;
        let key = rest[..colon].trim().trim_matches(['\'', '"']);
        let start = skip(text, here + colon + 1, text.len(), &[]);
        let quote = text[start..].chars().next().filter(|c| matches!(c, '\'' | '"'))?;
        let end = start + 1 + text[start + 1..].find(quote)?;
        let value = text[start + 1..end].to_owned();
        let is_plain = !value.contains(['\\', '\n', '$', '`']);
        match key {
            "from" if from.is_none() && is_plain => from = Some(value),
            "to" if to.is_none() && is_plain => to = Some(value),
            _ => return None,
        }
        here = end + 1;
    }
}
