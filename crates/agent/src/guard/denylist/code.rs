//! Code that stands between the words of a page: expressions, statements, and tags that act by an attribute.

use regex::{Match, Regex};

use super::runs::Running;
use super::tags;
use crate::pattern::pattern;

/// Expressions, statements and tags that act by one of their attributes, to where they may end: for an expression that
/// is its paragraph at least if it has strings, since a brace in a string is none.
pub(super) fn expressions(text: &str) -> impl Iterator<Item = (usize, &str)> {
    let mut at = 0;
    std::iter::from_fn(move || {
        loop {
            let open = opening()?.find_at(text, at)?;
            let start = open.start();
            let end = end(text, &open);
            at = end.unwrap_or(0).max(open.end());
            if end.is_some() {
                return Some((start, &text[start..at]));
            }
        }
    })
}

/// `None` for words that only look like code.
fn end(text: &str, open: &Match<'_>) -> Option<usize> {
    let (start, rest) = (open.start(), &text[open.start()..]);
    match open.as_str().as_bytes().first() {
        Some(b'{') if is_prose(rest) => None,
        Some(b'{') => Some(start + simple(rest).unwrap_or_else(|| paragraphs(rest))),
        Some(b'<') => Some(start + tags::tag(rest).len()),
        Some(b'e' | b'i') if is_statement(rest) => Some(start + paragraphs(rest)),
        Some(b'e') => Some(start + paragraph()?.find(rest)?.len()),
        Some(b'i') => None,
        _ => Some(open.end() + tags::value(&text[open.end() - 1..])?.len().saturating_sub(1)),
    }
}

/// Two words in a row are no expression, unless the first is one of the language.
pub(super) fn is_prose(rest: &str) -> bool {
    const WORDS: &[&str] =
        &["new", "await", "typeof", "void", "async", "delete", "function", "class", "yield"];
    if !rest[1..].starts_with(' ') {
        return false;
    }
    let mut words = rest[1..].split_ascii_whitespace().take(2);
    let is_word = |word: Option<&str>| {
        word.is_some_and(|word| word.len() <= 20 && word.bytes().all(|byte| byte.is_ascii_lowercase()))
    };
    let first = words.next();
    let second = words.next().map(|word| word.trim_end_matches(['.', ',']));
    is_word(first)
        && is_word(second)
        && !WORDS.iter().any(|word| first == Some(word))
        && !["in", "instanceof", "of"].iter().any(|word| second == Some(word))
}

/// The length of an expression without anything that a brace might stand in.
fn simple(rest: &str) -> Option<usize> {
    let mut depth = 0_usize;
    for (at, byte) in rest.bytes().enumerate() {
        match byte {
            b'{' => depth += 1,
            b'}' if depth <= 1 => return Some(at + 1),
            b'}' => depth -= 1,
            b'"' | b'\'' | b'`' | b'/' | b'\\' => return None,
            _ => {}
        }
    }
    None
}

/// To the end of a paragraph at which no brace is open.
fn paragraphs(rest: &str) -> usize {
    let (mut depth, mut has_words) = (0_usize, true);
    for (at, byte) in rest.bytes().enumerate() {
        match byte {
            b'{' => depth += 1,
            b'}' => depth = depth.saturating_sub(1),
            b'\n' if !has_words && depth == 0 => return at,
            _ => {}
        }
        has_words = byte != b'\n' && (has_words || !byte.is_ascii_whitespace());
    }
    rest.len()
}

/// Prose begins a line with these words as well.
fn is_statement(rest: &str) -> bool {
    statement().is_some_and(|pattern| pattern.is_match(rest))
}

/// What calls for something, reads what is not the page's, or reaches into it.
pub(super) fn calls(text: &str) -> Vec<Running> {
    let mut all = Vec::new();
    for (start, code) in expressions(text) {
        all.extend(found(call(), code).map(|call| {
            let (kind, at) = (super::runs::kind(call.as_str()), start + call.start());
            Running { kind, at, what: String::new(), loads: None }
        }));
        for (at, piece) in pieces(code) {
            // A word alone is a name that is to be filled in.
            let reaches = !is_name(piece) && found(reach(), piece).next().is_some();
            if reaches || found(call(), piece).next().is_some() {
                let (kind, what) = ("expression".to_owned(), piece.trim().to_owned());
                all.push(Running { kind, at: start + at, what, loads: None });
            }
        }
    }
    all
}

/// The code by itself, without the words around it, which may change.
fn pieces(code: &str) -> impl Iterator<Item = (usize, &str)> {
    let mut at = 0;
    std::iter::from_fn(move || {
        if at == 0 && !code.starts_with('{') {
            at = code.len();
            return Some((0, code));
        }
        let start = at + code.get(at..)?.find('{')?;
        at = start + tags::balanced(&code[start..]);
        Some((start, &code[start..at]))
    })
}

/// A name, or several to choose from, as types are written.
fn is_name(piece: &str) -> bool {
    let inner = piece.trim_matches(['{', '}']).replace("[]", "");
    inner.bytes().all(|byte| byte.is_ascii_alphanumeric() || b"_-| ".contains(&byte))
}

fn found<'t>(pattern: Option<&'static Regex>, text: &'t str) -> impl Iterator<Item = Match<'t>> {
    pattern.into_iter().flat_map(move |pattern| pattern.find_iter(text))
}

// Where code begins; the last is an attribute whose value is code to Vue.
pattern!(opening, r"(?i)\{|(?m:^(?:export|import)\b)|<meta[\s/]|\s(?:v-bind)?:[a-z][\w.-]*\s*=\s*[\x22']");

pattern!(paragraph, r"^[^\n]*(?:\n[^\n]+)*");

pattern!(
    statement,
    r"^(?:export\s+(?:const|let|var|function|default|async|class|\{|\*)|import\b[^\n]*(?:[\x22'{]|\bfrom\s))",
);

pattern!(
    call,
    r"(?i)\bprocess\s*(?:\?\.|\.[a-z_$]|\.\s+(?:env|argv|mainModule)\b|\[)|import\.meta|\brequire\s*\(|\bfetch\s*\(|\beval\s*\(|child_process|globalThis",
    r"|http-?equiv|\b(?:exec|spawn)(?:File)?(?:Sync)?\s*\(|\breadFile(?:Sync)?\s*\(|sendBeacon|XMLHttpRequest",
    r"|\bconstructor\s*[.(\[`]|\bnew\s+(?:Function|WebSocket|EventSource)\b",
    r"|\b(?:window|document|location|navigator)\s*(?:\?\.|\.[a-z_$]|\[|=[^=])|__(?:init|class|globals|import)__",
);

// Names that lead anywhere, where an expression can have them and prose has not; and ways to spell them otherwise.
pattern!(
    reach,
    r"(?m)(?:[({\[=,:?!&|+*;~-]|=>|\.\.\.|\b(?:return|typeof|new|await|in|of))\s*",
    r"(?:process|globalThis|global|window|document|self|top|parent|eval|Function|require|fetch|localStorage",
    r"|sessionStorage|indexedDB|Reflect|location|navigator|setTimeout|setInterval)",
    r"\s*(?:/\*[^*]*\*/\s*)?(?:[.,;)\]}\[(?+&|`]|$)",
    r"|\bimport\s*\(|\b(?:localStorage|sessionStorage)\s*[.\[]|\[\s*[\x22'`][^\x22'`\n]*[\x22'`]\s*\+",
    r"|createElement\s*\(\s*[\x22'`]script|[a-z]\\u[0-9a-f{]|\\u[0-9a-f{]{4,7}\}?[a-z]+[.(\[]|\.\s*constructor\b",
);
