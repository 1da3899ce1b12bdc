//! Distinguishes prose from marks that can have a meaning to a generator.
//!
//! Letters and single signs are prose. Several signs in a row are a mark. The marks of Markdown and of everyday writing
//! are listed here. A line with another mark is unknown.

use super::myst::is_directive;
use super::{Construct, ConstructKind};
use crate::WordList;

/// Signs that form marks.
const SIGNS: &str = "!@%<>{}^~$:;+=#|&";
/// Marks inside a line that have no meaning to a generator, or only change how a word looks.
const MARKS: WordList = WordList(
    "!! >& &> #+ {} {{}} !!! ~~ == === != !== >= <= => <- -> <-> <=> >> >>> || && ++ += $$ :: := |: :| ^^ ~= \
     ## ### @@ >>= =~ !~ << &= >| |> ^= $= >; ;; <> +- #! %= #: :# !| |! |+ +| $| |$ ||= ?? $: :$ |# #| |% %| \
     |@ @| |^ ^| |~ ~| &| |& >: :> !: :! %: =: =| |= +: :+ |; ;| %; !; =; &; $; +; #; ~: :~ ^: :^ @: ~! $! \
     ~~~ +! %! >! &# <<< <| >=< $# $@ $% $& $^ $~ :@ :% %> >% =+ ||| ~> <~ =< <$ $> +% %+ &: =@ @= ~|~ ^! ^~ \
     *| |:|",
);
/// The marks of admonitions and containers.
const CONTAINERS: WordList = WordList("!!! ??? ???+ ::: :::: ::::: :::::: /// ////");

/// Reads a line of the masked text, without indentation and without the markers of lists and quotes.
pub(super) fn read_line(line: &str, at: usize) -> Option<Construct> {
    let content = line.trim();
    let lead = &content[..content.find(|c: char| !is_sign(c)).unwrap_or(content.len())];
    let span = at..at + line.trim_end().len();
    if let Some(mark) = CONTAINERS.iter().filter(|mark| lead.starts_with(mark)).last() {
        let rest = content.trim_start_matches(|c| mark.contains(c)).trim();
        let end = match is_directive(rest) {
            true => rest.find('}').map(|end| end + 1),
            false => rest.find([' ', '\t', '{', '[', '"']),
        };
        let (name, arguments) = rest.split_at(end.unwrap_or(rest.len()));
        let kind = ConstructKind::Directive { name: name.to_owned(), arguments: arguments.trim().to_owned() };
        return Some(Construct::conservative(kind, span));
    }
    if let Some(title) = content.strip_prefix("=== \"").and_then(|rest| rest.strip_suffix('"')) {
        let kind = ConstructKind::Directive { name: "===".to_owned(), arguments: title.to_owned() };
        return Some(Construct::conservative(kind, span));
    }
    let unknown = |text: &str| Construct::conservative(ConstructKind::Unknown(text.to_owned()), span.clone());
    if begins_with_mark(content) || has_embedding_mark(content) {
        return Some(unknown(content));
    }
    marked_words(content).map(|words| unknown(&words))
}

fn is_sign(c: char) -> bool {
    SIGNS.contains(c) || matches!(c, '/' | '?' | '-')
}

/// Whether a line begins with a mark of some generator.
fn begins_with_mark(content: &str) -> bool {
    let letter = |rest: &str| rest.starts_with(|c: char| c.is_alphanumeric());
    ["<<<", "@[", "!include", "%%{", "+++", "@import", "@@@", "@include", "{!"]
        .iter()
        .any(|mark| content.starts_with(mark))
        || content.strip_prefix("::").is_some_and(letter)
}

/// Whether a line has a mark that embeds something, or a role.
fn has_embedding_mark(content: &str) -> bool {
    if is_rule(content) {
        return false;
    }
    let embeds = ["--8<--", "![[", "[[_", "@[", "^[", "!!swagger", "@import url(", "[OAD("]
        .iter()
        .any(|mark| content.contains(mark));
    embeds || has_bracket_mark(content) || has_role(content)
}

/// The words with a mark that is unknown here. The whole line, if it begins with one. Addresses are read elsewhere.
fn marked_words(content: &str) -> Option<String> {
    if is_rule(content) {
        return None;
    }
    let plain = without_addresses(&without_entities(content));
    let is_marked =
        |word: &str| runs(word).any(|run| run.len() > 1 && !MARKS.contains(run) && !is_repeated(run));
    let begins = is_marked(plain.split_whitespace().next().unwrap_or_default());
    let words: Vec<&str> = plain.split_whitespace().filter(|word| is_marked(word)).collect();
    match (begins, words.is_empty()) {
        (true, _) => Some(content.to_owned()),
        (_, true) => None,
        (_, false) => Some(words.join(" ")),
    }
}

/// A line without addresses after `](`.
fn without_addresses(content: &str) -> String {
    let mut plain = String::with_capacity(content.len());
    let mut rest = content;
    while let Some(at) = rest.find("](") {
        plain.push_str(&rest[..at]);
        let end = rest[at..].find(|c: char| c == ')' || c.is_whitespace()).unwrap_or(rest.len() - at);
        plain.push(']');
        rest = &rest[at + end..];
    }
    plain + rest
}

/// `[!INCLUDE …]`, but not `[!NOTE]`.
fn has_bracket_mark(content: &str) -> bool {
    content.match_indices("[!").any(|(at, _)| {
        let rest = &content[at + 2..];
        let word = rest.find(|c: char| !c.is_ascii_alphabetic()).unwrap_or(rest.len());
        let is_alert = word > 0 && rest[word..].starts_with(']');
        !is_alert && !rest.starts_with('[')
    })
}

/// A line without entities such as `&nbsp;`, which are read elsewhere.
fn without_entities(content: &str) -> String {
    let mut plain = String::with_capacity(content.len());
    let mut rest = content;
    while let Some(at) = rest.find('&') {
        plain.push_str(&rest[..at]);
        let name = rest[at + 1..].find(|c: char| !c.is_ascii_alphanumeric() && c != '#').unwrap_or(0);
        let is_entity = name > 1 && rest[at + 1 + name..].starts_with(';');
        plain.push(if is_entity { ' ' } else { '&' });
        rest = &rest[at + 1 + if is_entity { name + 1 } else { 0 }..];
    }
    plain + rest
}

/// The delimiter row of a table, the underline of a heading, or a thematic break.
fn is_rule(content: &str) -> bool {
    content.chars().all(|c| matches!(c, '-' | '=' | '|' | ':' | '+' | ' ' | '#' | '*' | '_' | '~' | '>'))
}

/// `:name[…]`, `:name{…}`: a text directive or a role.
fn has_role(content: &str) -> bool {
    content.match_indices(':').any(|(at, _)| {
        let rest = &content[at + 1..];
        let length =
            rest.find(|c: char| !c.is_ascii_alphanumeric() && c != '-' && c != '_').unwrap_or(rest.len());
        let begins =
            !content[..at].ends_with(|c: char| c.is_alphanumeric() || c == ':' || c == ')' || c == ']');
        begins && length > 0 && rest[length..].starts_with(['[', '{'])
    })
}

/// A sign that is repeated, such as `#######` or `>>>>`.
fn is_repeated(run: &str) -> bool {
    let first = run.chars().next();
    run.len() > 3
        && matches!(
            first,
            Some('=' | '#' | '+' | '~' | '>' | '<' | '^' | '|' | '&' | '$' | '%' | '@' | '!' | ';')
        )
        && run.chars().all(|c| Some(c) == first)
}

/// The runs of signs in a line.
fn runs(content: &str) -> impl Iterator<Item = &str> {
    content.split(|c: char| !SIGNS.contains(c)).filter(|run| !run.is_empty())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn prose_has_no_marks() {
        for line in [
            "Write to us: we answer (mostly)!",
            "a => b, c -> d, x >= 3 && y != 4",
            "C++ and C# and std::fs and 50% of $5",
            "| a | b |",
            "|---|:--:|",
            "**bold** ~~gone~~ ==marked==",
            "Use @scope/package and user@host.",
            "Is it 10:30? Yes...",
            "=====",
        ] {
            assert_eq!(read_line(line, 0), None, "{line}");
        }
    }

    #[test]
    fn marks_are_reported() {
        for line in [
            "<<< @/a.js",
            "--8<-- \"a.md\"",
            "![[a.png]]",
            "a :icon[x]{onclick=y}",
            "::youtube",
            "%%{init}%%",
            "!include a",
        ] {
            let found = read_line(line, 0).map(|construct| construct.kind);
            assert!(matches!(found, Some(ConstructKind::Unknown(_))), "{line} {found:?}");
        }
        for (line, name, arguments) in [
            ("!!! note \"Title\"", "note", "\"Title\""),
            (":::tip[Hi]", "tip", "[Hi]"),
            (":::", "", ""),
            ("=== \"Tab\"", "===", "Tab"),
        ] {
            let kind = ConstructKind::Directive { name: name.to_owned(), arguments: arguments.to_owned() };
            assert_eq!(read_line(line, 0).map(|construct| construct.kind), Some(kind), "{line}");
        }
    }
}
