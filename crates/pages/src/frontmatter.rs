//! The block of YAML or TOML at the head of a page.
//!
//! It is read line by line and only as far as an editor of prose needs: which value stands where, under which key.

use std::ops::Range;

/// Keys whose values say something to a reader; all others name things for the site generator.
const PROSE_KEYS: &[&str] = &[
    "title",
    "subtitle",
    "description",
    "summary",
    "excerpt",
    "label",
    "sidebar_label",
    "sidebartitle",
    "text",
    "tagline",
    "tags",
    "keywords",
];

/// The head of a page.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct FrontMatter {
    /// Where the text behind the block begins; past a byte-order mark when there is no block.
    pub body: usize,
    pub values: Vec<Value>,
}

/// One value, without its quotes.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Value {
    pub key: String,
    /// The key at the margin that it stands below, or its own.
    pub top: String,
    pub range: Range<usize>,
    pub quote: Option<char>,
}

impl FrontMatter {
    pub fn parse(text: &str) -> Self {
        let start = if text.starts_with('\u{feff}') { '\u{feff}'.len_utf8() } else { 0 };
        block(text, start).unwrap_or(Self { body: start, values: Vec::new() })
    }

    /// The value of a key as it is written.
    pub fn get<'a>(&self, text: &'a str, key: &str) -> Option<&'a str> {
        let value = self.values.iter().find(|value| value.key == key)?;
        text.get(value.range.clone())
    }
}

impl Value {
    /// Whether the value is written for readers: one of the few keys that are, and no path or address.
    pub fn is_prose(&self, text: &str) -> bool {
        let key = self.key.to_ascii_lowercase();
        let value = text.get(self.range.clone()).unwrap_or_default();
        let address = value.contains('/') && !value.contains(' ');
        !address && (PROSE_KEYS.contains(&key.as_str()) || (key == "name" && self.top == "hero"))
    }

    /// Whether `new` can be put into this value without it becoming something else than text.
    pub fn can_hold(&self, new: &str) -> bool {
        match self.quote {
            _ if new.contains(['\n', '\r']) => false,
            Some('"') => !new.contains(['"', '\\']),
            Some(quote) => !new.contains(quote),
            None => {
                let special = |c| "[]{}&*!|>'\"%@`#,?:-".contains(c);
                !new.contains(": ") && !new.contains(" #") && !new.starts_with(special) && !new.ends_with(':')
            }
        }
    }
}

fn block(text: &str, start: usize) -> Option<FrontMatter> {
    let mut lines = lines_from(text, start);
    let (_, first) = lines.next()?;
    let (ends, separator): (&[&str], char) = match first.trim_end() {
        "---" => (&["---", "..."], ':'),
        "+++" => (&["+++"], '='),
        _ => return None,
    };
    let mut reader = Reader { separator, key: String::new(), top: String::new(), values: Vec::new() };
    for (at, line) in lines {
        if ends.contains(&line.trim_end()) {
            return Some(FrontMatter { body: at + line.len(), values: reader.values });
        }
        reader.line(at, line.trim_end_matches(['\n', '\r']));
    }
    None
}

fn lines_from(text: &str, start: usize) -> impl Iterator<Item = (usize, &str)> {
    text[start..].split_inclusive('\n').scan(start, |at, line| {
        let here = *at;
        *at += line.len();
        Some((here, line))
    })
}

struct Reader {
    separator: char,
    /// The key that list items and folded lines belong to.
    key: String,
    top: String,
    values: Vec<Value>,
}

impl Reader {
    fn line(&mut self, at: usize, line: &str) {
        let content = line.trim_start();
        let indent = line.len() - content.len();
        if content.starts_with('#') {
            return;
        }
        let item = content.strip_prefix("- ").map(str::trim_start);
        let rest = item.unwrap_or(content);
        let rest_at = at + line.len() - rest.len();
        match self.key_of(rest) {
            Some((key, value)) => {
                self.key = key.to_owned();
                if indent == 0 && item.is_none() {
                    self.top = key.to_owned();
                }
                self.value(at + line.len() - value.len(), value);
            }
            None if indent > 0 || item.is_some() => self.value(rest_at, rest),
            None => {}
        }
    }

    fn key_of<'a>(&self, line: &'a str) -> Option<(&'a str, &'a str)> {
        let (key, value) = line.split_once(self.separator)?;
        let name = key.trim().trim_matches(['"', '\'']);
        let is_key = !name.is_empty() && name.chars().all(|c| c.is_alphanumeric() || "_-.".contains(c));
        let ends = self.separator == '=' || value.is_empty() || value.starts_with([' ', '\t']);
        (is_key && ends).then_some((name, value))
    }

    fn value(&mut self, at: usize, raw: &str) {
        let start = at + raw.len() - raw.trim_start().len();
        let value = raw.trim();
        let quote = value.chars().next().filter(|c| matches!(c, '"' | '\''));
        let range = match quote {
            Some(quote) => match value[1..].find(quote) {
                Some(end) => start + 1..start + 1 + end,
                None => return,
            },
            None => start..start + value.find(" #").unwrap_or(value.len()),
        };
        // A list or map in brackets, an anchor, the mark of a block of lines: none is a text of its own.
        let structural = quote.is_none() && value.starts_with(['[', '{', '|', '>', '&', '*', '!']);
        if !range.is_empty() && !structural {
            self.values.push(Value { key: self.key.clone(), top: self.top.clone(), range, quote });
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[track_caller]
    fn check(text: &str, body: &str, values: &[(&str, &str)]) {
        let front = FrontMatter::parse(text);
        assert_eq!(&text[front.body..], body);
        let found: Vec<_> = front.values.iter().map(|v| (v.key.as_str(), &text[v.range.clone()])).collect();
        assert_eq!(found, values);
    }

    #[test]
    fn blocks() {
        check("# A\n", "# A\n", &[]);
        check("\u{feff}# A\n", "# A\n", &[]);
        check("---\ntitle: Use it # now\n---\n# A\n", "# A\n", &[("title", "Use it")]);
        check("\u{feff}---\r\ntitle: \"A: b\"\r\nid: x\r\n---\r\nB", "B", &[("title", "A: b"), ("id", "x")]);
        check("+++\ntitle = 'A'\n+++\nB", "B", &[("title", "A")]);
        check("---\ntags:\n  - one\n  - two\n---\n", "", &[("tags", "one"), ("tags", "two")]);
        check(
            "---\ndescription: >\n  one\n  two\ntags: [a, b]\n---\n",
            "",
            &[("description", "one"), ("description", "two")],
        );
        check("---\ntitle: A\n", "---\ntitle: A\n", &[]);
        check("---\n---\nB", "B", &[]);
    }

    #[test]
    fn only_some_values_are_prose() {
        let text = "---\ntitle: a\nauthor: b\nhero:\n  name: c\n  actions:\n    - theme: d\n      text: e\n      link: /f\nhead:\n  - name: g\nscript: |\n  npm run h\ntags:\n  - i\nsidebarTitle: j\ntext: /k\n---\n";
        let prose = FrontMatter::parse(text).values.into_iter().filter(|value| value.is_prose(text));
        assert_eq!(prose.map(|value| &text[value.range]).collect::<Vec<_>>(), ["a", "c", "e", "i", "j"]);
    }

    #[test]
    fn what_a_value_can_hold() {
        #[track_caller]
        fn check(line: &str, new: &str, expected: bool) {
            let front = FrontMatter::parse(&format!("---\n{line}\n---\n"));
            assert_eq!(front.values[0].can_hold(new), expected, "{line} {new}");
        }
        check("title: A", "b", true);
        check("title: A", "b: c", false);
        check("title: A", "[b", false);
        check("title: \"A\"", "b: c", true);
        check("title: \"A\"", "say \"b\"", false);
        check("title: 'A'", "it's", false);
        check("title: A", "b\nc: d", false);
    }
}
