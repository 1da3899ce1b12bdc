//! Judges changes of scripts that list pages, such as `sidebars.js`.
//!
//! A script is split into data and code: plain entries of lists and objects are data, and the code must not change. So
//! the position of an entry and the number of entries on a line don't matter.

use std::collections::HashSet;

/// No navigation is deeper than this.
const MAX_DEPTH: usize = 48;
/// The code that a new script can have around its data.
const NEW_SCRIPTS: &[&str] = &["[]", "module.exports = []", "export default []"];

/// Whether `after` differs from `before` only in data, and new addresses of pages are unused. `false` if the script is
/// too complex to be parsed.
pub(super) fn changes_only_data(before: &str, after: &str, is_unused: &dyn Fn(&str) -> bool) -> bool {
    let Some(new) = Script::parse(after) else { return false };
    let old = Script::parse(before).unwrap_or_default();
    let is_same = match before.trim().is_empty() {
        true => NEW_SCRIPTS
            .iter()
            .filter_map(|text| Script::parse(text))
            .any(|plain| plain.code == new.code_without_ends()),
        false => old.code == new.code,
    };
    let is_known = |value: &&str| old.values.contains(*value) || is_plain(value);
    let is_allowed = |(key, value): &(&str, &str)| match key.trim_matches(['\'', '"']) {
        "slug" => is_unused(value.trim_matches(['\'', '"'])),
        "image" => false,
        _ => true,
    };
    let mut pairs = new.pairs.difference(&old.pairs);
    is_same && !runs_data(&new.code) && new.values.iter().all(is_known) && pairs.all(is_allowed)
}

#[derive(Default)]
struct Script<'a> {
    tokens: Vec<&'a str>,
    /// The tokens without the data.
    code: Vec<&'a str>,
    /// The strings of the data.
    values: HashSet<&'a str>,
    /// The strings with a key, and their keys.
    pairs: HashSet<(&'a str, &'a str)>,
}

impl<'a> Script<'a> {
    fn parse(text: &'a str) -> Option<Self> {
        let mut script = Self { tokens: tokens(text)?, ..Self::default() };
        let mut at = 0;
        while let Some(token) = script.token(at) {
            let before = at.checked_sub(1).and_then(|at| script.token(at));
            let may_be_data = is_open(token) && before.is_none_or(|token| token == "=" || token == "default");
            let list = if may_be_data { Some(script.list(at, MAX_DEPTH)?) } else { None };
            match list.filter(|(end, _)| script.token(*end).is_none_or(|next| next == ";" || is_word(next))) {
                Some((end, code)) => {
                    script.code.extend(["["].into_iter().chain(code).chain(["]"]));
                    at = end;
                }
                None => {
                    script.code.push(token);
                    at += 1;
                }
            }
        }
        Some(script)
    }

    /// The code without semicolons.
    fn code_without_ends(&self) -> Vec<&'a str> {
        self.code.iter().copied().filter(|token| *token != ";").collect()
    }

    fn token(&self, at: usize) -> Option<&'a str> {
        self.tokens.get(at).copied()
    }

    /// Reads the list or object that begins at `at`. Returns its end, and its tokens without the data.
    fn list(&mut self, at: usize, depth: usize) -> Option<(usize, Vec<&'a str>)> {
        let depth = depth.checked_sub(1)?;
        let is_object = self.token(at)? == "{";
        let close = if is_object { "}" } else { "]" };
        let (mut at, mut code) = (at + 1, Vec::new());
        loop {
            match self.token(at)? {
                token if token == close => return Some((at + 1, code)),
                "," => at += 1,
                _ => {
                    let (end, rest) = self.entry(at, is_object, depth)?;
                    let comma = (!rest.is_empty()).then_some(",");
                    code.extend(rest.into_iter().chain(comma));
                    at = end;
                }
            }
        }
    }

    /// Reads an entry. Returns its end, and its tokens without the data.
    fn entry(&mut self, at: usize, in_object: bool, depth: usize) -> Option<(usize, Vec<&'a str>)> {
        let first = self.token(at)?;
        let has_key = in_object && (is_word(first) || is_string(first)) && self.token(at + 1)? == ":";
        let start = if has_key { at + 2 } else { at };
        let value = self.token(start)?;
        let may_be_data = has_key == in_object;
        if may_be_data && is_simple(value) && self.ends(start + 1) {
            self.values.extend([first, value].into_iter().filter(|token| is_string(token)));
            self.pairs.extend(has_key.then_some((first, value)));
            return Some((start + 1, Vec::new()));
        }
        if may_be_data && is_open(value) {
            let (end, code) = self.list(start, depth)?;
            if self.ends(end) {
                self.values.extend(is_string(first).then_some(first));
                let before = if code.is_empty() { &[][..] } else { &self.tokens[at..=start] };
                let close = (!code.is_empty()).then_some("]");
                return Some((end, before.iter().copied().chain(code).chain(close).collect()));
            }
        }
        // An entry without tokens is a bracket that doesn't match.
        let end = self.end_of_code(at).filter(|end| *end > at)?;
        Some((end, self.tokens[at..end].to_vec()))
    }

    fn ends(&self, at: usize) -> bool {
        self.token(at).is_some_and(|token| [",", "]", "}"].contains(&token))
    }

    /// The end of an entry that is code.
    fn end_of_code(&self, at: usize) -> Option<usize> {
        let mut open = 0_usize;
        for (index, token) in self.tokens.iter().enumerate().skip(at) {
            match *token {
                "(" | "[" | "{" => open += 1,
                "," | "]" | "}" if open == 0 => return Some(index),
                ")" | "]" | "}" => open = open.checked_sub(1)?,
                _ => {}
            }
        }
        None
    }
}

/// Whether the code can run what the data names.
fn runs_data(code: &[&str]) -> bool {
    let at = |index: usize| code.get(index).copied().unwrap_or_default();
    (0..code.len()).any(|index| match code[index] {
        "require" => at(index + 1) != "(" || !is_string(at(index + 2)) || at(index + 3) != ")",
        "import" => at(index + 1) == "(",
        "eval" | "Function" | "createRequire" => true,
        token => is_string(token) && token.contains("child_process"),
    })
}

/// Splits a script into words, strings and single characters, without comments. `None` if that needs a full parser.
fn tokens(text: &str) -> Option<Vec<&str>> {
    let mut tokens = Vec::new();
    let mut rest = text;
    while let Some(first) = rest.chars().next() {
        let length = match first {
            '\'' | '"' => string_length(rest, first)?,
            '`' => string_length(rest, first).filter(|length| !rest[..*length].contains(['\\', '$']))?,
            '/' if rest.starts_with("//") => {
                rest.find(['\n', '\r', '\u{2028}', '\u{2029}']).unwrap_or(rest.len())
            }
            '/' if rest.starts_with("/*") => rest[2..].find("*/")? + 4,
            '/' | '\\' => return None,
            _ if is_part(first) => rest.find(|c| !is_part(c)).unwrap_or(rest.len()),
            _ => first.len_utf8(),
        };
        let (token, behind) = rest.split_at(length);
        if !token.starts_with('/') && !token.trim().is_empty() {
            tokens.push(token);
        }
        rest = behind;
    }
    Some(tokens)
}

/// The length of the string at the start of `text`.
fn string_length(text: &str, quote: char) -> Option<usize> {
    let mut is_escaped = false;
    for (at, c) in text.char_indices().skip(1) {
        match c {
            '\n' | '\r' => return None,
            _ if is_escaped => is_escaped = false,
            '\\' => is_escaped = true,
            _ if c == quote => return Some(at + 1),
            _ => {}
        }
    }
    None
}

fn is_part(c: char) -> bool {
    c.is_alphanumeric() || c == '_' || c == '$'
}

fn is_word(token: &str) -> bool {
    token.starts_with(is_part)
}

fn is_string(token: &str) -> bool {
    token.starts_with(['\'', '"'])
}

fn is_open(token: &str) -> bool {
    token == "[" || token == "{"
}

fn is_simple(token: &str) -> bool {
    let is_number = || token.bytes().all(|b| b.is_ascii_digit());
    is_string(token) || ["true", "false", "null"].contains(&token) || is_number()
}

/// Whether a string has no escapes except quotes, and no markup or code.
fn is_plain(value: &str) -> bool {
    !value.replace("\\'", "").replace("\\\"", "").contains('\\') && is_harmless(value)
}

/// Whether a text has no markup and no address that is code. Sites show titles and addresses unescaped.
fn is_harmless(text: &str) -> bool {
    let visible = text.chars().filter(|c| !c.is_whitespace() && !c.is_control());
    let visible: String = visible.flat_map(char::to_lowercase).collect();
    !visible.contains('<') && !visible.contains("script:") && !visible.contains("data:")
}

#[cfg(test)]
mod tests {
    use super::*;

    const BASE: &str = "// @ts-check\nconst more = require('./more');\n\n/** @type {import('x').Y} */\n\
        const sidebars = {\n  docs: ['a', ...more, { type: 'category', label: 'B', items: ['b'] }],\n};\n\
        module.exports = sidebars;\n";

    #[test]
    fn entries_are_data() {
        for (old, new) in [
            ("'a',", "'a', 'get-started', \"set/new\","),
            ("'a', ", ""),
            ("items: ['b']", "items: [\n  'b',\n  'guides/import',\n]"),
            ("label: 'B'", "label: 'API (v2): it\\'s new', collapsed: false, x: 1"),
            ("['b'] }", "['b'] }, {type: 'link', href: 'https://acme.dev/?a=b#c', \"label\": 'S'}"),
            ("docs:", "api: [{ type: 'autogenerated', dirName: '.' }], // All of it\n  docs:"),
        ] {
            assert!(
                BASE.contains(old) && changes_only_data(BASE, &BASE.replacen(old, new, 1), &|_| true),
                "{new}"
            );
        }
        for text in ["export default {\n  a: 'A',\n};\n", "module.exports = ['a']", "{\"docs\": [\"a\"]}"] {
            assert!(changes_only_data("", text, &|_| true), "{text}");
        }
    }

    #[test]
    fn code_is_not_data() {
        for (old, new) in [
            ("'a',", "process.env.TOKEN,"),
            ("label: 'B'", "label: process.env.TOKEN"),
            ("label: 'B'", "label: `${1}`"),
            ("label: 'B'", "get label() { return 1 }"),
            ("label: 'B'", "label: 'B', ['x']: 'y'"),
            ("label: 'B'", "label: '<img src=x>'"),
            ("label: 'B'", "label: '\\x3cimg src=x>'"),
            ("label: 'B'", "href: 'java\tscript:go()'"),
            ("'a',", "'a'.constructor,"),
            ("'a',", "['a'].map(go),"),
            ("...more", "...more['b']"),
            ("...more", "...other"),
            ("'./more'", "'./other'"),
            ("'a',", "/a/,"),
            ("'a',", "\\u0061,"),
            ("};\n", "}['b'];\n"),
            ("/** ", "*/ go() /** "),
            ("// @ts-check\n", "// @ts-check\u{2028}go()\n"),
        ] {
            assert!(
                BASE.contains(old) && !changes_only_data(BASE, &BASE.replacen(old, new, 1), &|_| true),
                "{new}"
            );
        }
        for text in [
            "x: y\n",
            "export default [require('a')]",
            "export default [a]",
            "go(['a'])",
            "{",
            "'",
            "[}",
            "{]",
            "{a:]}",
        ] {
            assert!(!changes_only_data("", text, &|_| true), "{text}");
        }
        let runs = "const pages = ['a'];\nmodule.exports = pages.map((page) => require(page));\n";
        assert!(!changes_only_data(runs, &runs.replace("'a'", "'./b'"), &|_| true));
        assert!(!changes_only_data("", &"[".repeat(100_000), &|_| true));
    }
}
