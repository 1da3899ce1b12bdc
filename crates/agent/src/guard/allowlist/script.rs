//! Scripts whose whole purpose is a list of pages, such as `sidebars.js`.
//!
//! A script is read as far as it takes to tell data from code: plain entries of lists and objects are left out, and all
//! that remains must be what it was. So it does not matter where an entry is written, nor how many are on a line.

use std::collections::HashSet;

/// Deeper lists are nobody's navigation.
const MAX_DEPTH: usize = 48;
/// What a script that is new may be around its data.
const PLAIN: &[&str] = &["[]", "module.exports = []", "export default []"];

/// Whether only data was changed between `before` and `after`, and new places of pages are free. A script that takes
/// more to read is refused.
pub(super) fn is_data(before: &str, after: &str, is_free: &dyn Fn(&str) -> bool) -> bool {
    let Some(new) = Script::read(after) else { return false };
    let old = Script::read(before).unwrap_or_default();
    let is_same = match before.trim().is_empty() {
        true => {
            PLAIN.iter().filter_map(|text| Script::read(text)).any(|plain| plain.code == new.code_alone())
        }
        false => old.code == new.code,
    };
    let is_known = |value: &&str| old.values.contains(*value) || is_plain(value);
    let is_fine = |(key, value): &(&str, &str)| match key.trim_matches(['\'', '"']) {
        "slug" => is_free(value.trim_matches(['\'', '"'])),
        "image" => false,
        _ => true,
    };
    let mut pairs = new.pairs.difference(&old.pairs);
    is_same && !runs_data(&new.code) && new.values.iter().all(is_known) && pairs.all(is_fine)
}

/// What a script is made of.
#[derive(Default)]
struct Script<'a> {
    tokens: Vec<&'a str>,
    /// All but the data.
    code: Vec<&'a str>,
    /// The strings of the data.
    values: HashSet<&'a str>,
    /// The strings that have a key, with it.
    pairs: HashSet<(&'a str, &'a str)>,
}

impl<'a> Script<'a> {
    fn read(text: &'a str) -> Option<Self> {
        let mut script = Self { tokens: tokens(text)?, ..Self::default() };
        let mut at = 0;
        while let Some(token) = script.token(at) {
            let before = at.checked_sub(1).and_then(|at| script.token(at));
            let may_be_data = is_open(token) && before.is_none_or(|token| token == "=" || token == "default");
            let list = if may_be_data { Some(script.list(at, MAX_DEPTH)?) } else { None };
            match list.filter(|(end, _)| script.token(*end).is_none_or(|next| next == ";" || is_word(next))) {
                Some((end, left)) => {
                    script.code.extend(["["].into_iter().chain(left).chain(["]"]));
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

    /// The code without what ends a statement.
    fn code_alone(&self) -> Vec<&'a str> {
        self.code.iter().copied().filter(|token| *token != ";").collect()
    }

    fn token(&self, at: usize) -> Option<&'a str> {
        self.tokens.get(at).copied()
    }

    /// Where the list or object that begins at `at` ends, and what is left of it without its data.
    fn list(&mut self, at: usize, depth: usize) -> Option<(usize, Vec<&'a str>)> {
        let depth = depth.checked_sub(1)?;
        let is_object = self.token(at)? == "{";
        let close = if is_object { "}" } else { "]" };
        let (mut at, mut left) = (at + 1, Vec::new());
        loop {
            match self.token(at)? {
                token if token == close => return Some((at + 1, left)),
                "," => at += 1,
                _ => {
                    let (end, rest) = self.entry(at, is_object, depth)?;
                    let comma = (!rest.is_empty()).then_some(",");
                    left.extend(rest.into_iter().chain(comma));
                    at = end;
                }
            }
        }
    }

    /// The same for an entry.
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
            let (end, left) = self.list(start, depth)?;
            if self.ends(end) {
                self.values.extend(is_string(first).then_some(first));
                let around = if left.is_empty() { &[][..] } else { &self.tokens[at..=start] };
                let close = (!left.is_empty()).then_some("]");
                return Some((end, around.iter().copied().chain(left).chain(close).collect()));
            }
        }
        // A bracket that closes another one is none.
        let end = self.end_of_code(at).filter(|end| *end > at)?;
        Some((end, self.tokens[at..end].to_vec()))
    }

    fn ends(&self, at: usize) -> bool {
        self.token(at).is_some_and(|token| [",", "]", "}"].contains(&token))
    }

    /// Where an entry ends that is code.
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

/// Whether the code may come to run what the data names.
fn runs_data(code: &[&str]) -> bool {
    let at = |index: usize| code.get(index).copied().unwrap_or_default();
    (0..code.len()).any(|index| match code[index] {
        "require" => at(index + 1) != "(" || !is_string(at(index + 2)) || at(index + 3) != ")",
        "import" => at(index + 1) == "(",
        "eval" | "Function" | "createRequire" => true,
        token => is_string(token) && token.contains("child_process"),
    })
}

/// Words, strings and single signs; comments are left out. Nothing where it takes a grammar to tell what is what.
fn tokens(text: &str) -> Option<Vec<&str>> {
    let mut tokens = Vec::new();
    let mut rest = text;
    while let Some(first) = rest.chars().next() {
        let length = match first {
            '\'' | '"' => string(rest, first)?,
            '`' => string(rest, first).filter(|length| !rest[..*length].contains(['\\', '$']))?,
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

/// How long the string is that `text` begins with.
fn string(text: &str, quote: char) -> Option<usize> {
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

/// Whether a string says what it seems to say.
fn is_plain(value: &str) -> bool {
    !value.replace("\\'", "").replace("\\\"", "").contains('\\') && is_harmless(value)
}

/// Titles are shown as they are, markup and all, and so are addresses.
fn is_harmless(text: &str) -> bool {
    let solid = text.chars().filter(|c| !c.is_whitespace() && !c.is_control());
    let solid: String = solid.flat_map(char::to_lowercase).collect();
    !solid.contains('<') && !solid.contains("script:") && !solid.contains("data:")
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
            assert!(BASE.contains(old) && is_data(BASE, &BASE.replacen(old, new, 1), &|_| true), "{new}");
        }
        for text in ["export default {\n  a: 'A',\n};\n", "module.exports = ['a']", "{\"docs\": [\"a\"]}"] {
            assert!(is_data("", text, &|_| true), "{text}");
        }
    }

    #[test]
    fn code_is_no_data() {
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
            assert!(BASE.contains(old) && !is_data(BASE, &BASE.replacen(old, new, 1), &|_| true), "{new}");
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
            assert!(!is_data("", text, &|_| true), "{text}");
        }
        let runs = "const pages = ['a'];\nmodule.exports = pages.map((page) => require(page));\n";
        assert!(!is_data(runs, &runs.replace("'a'", "'./b'"), &|_| true));
        assert!(!is_data("", &"[".repeat(100_000), &|_| true));
    }
}
