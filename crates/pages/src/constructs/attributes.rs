//! Reads a tag of HTML or JSX: its name and its attributes, each with its range.

use std::ops::Range;

use crate::script::braces_end;

/// A tag from its opening to its closing bracket.
#[derive(Debug)]
pub(crate) struct RawTag {
    pub(crate) end: usize,
    pub(crate) name: Range<usize>,
    pub(crate) is_closing: bool,
    pub(crate) is_self_closing: bool,
    pub(crate) attributes: Vec<RawAttribute>,
}

#[derive(Debug)]
pub(crate) struct RawAttribute {
    /// Empty for braces alone, as in `{...rest}`.
    pub(crate) name: Range<usize>,
    pub(crate) value: RawValue,
}

#[derive(Debug)]
pub(crate) enum RawValue {
    None,
    /// Without its quotes.
    Text(Range<usize>),
    /// With its braces.
    Code(Range<usize>),
}

/// Reads the tag that begins with the `<` at `at`. `None` when it does not end, or is no tag.
pub(crate) fn read_tag(text: &str, at: usize) -> Option<RawTag> {
    let mut reader = Reader { text, at: at + 1 };
    let is_closing = reader.take('/');
    let name = reader.take_while(|c| !c.is_whitespace() && !matches!(c, '/' | '>' | '{'));
    let is_plain = |c: char| c.is_ascii_alphanumeric() || matches!(c, '-' | '_' | '.' | ':');
    if !text[name.clone()].chars().all(is_plain) {
        return None;
    }
    let mut attributes = Vec::new();
    loop {
        let space = reader.take_while(|c| c.is_whitespace() || c == '/');
        if reader.take('>') {
            let is_self_closing = text[space].ends_with('/');
            return Some(RawTag { end: reader.at, name, is_closing, is_self_closing, attributes });
        }
        attributes.push(reader.attribute()?);
    }
}

struct Reader<'a> {
    text: &'a str,
    at: usize,
}

impl Reader<'_> {
    fn peek(&self) -> Option<char> {
        self.text[self.at..].chars().next()
    }

    fn take(&mut self, wanted: char) -> bool {
        let is_there = self.peek() == Some(wanted);
        self.at += if is_there { wanted.len_utf8() } else { 0 };
        is_there
    }

    fn take_while(&mut self, keep: impl Fn(char) -> bool) -> Range<usize> {
        let (start, rest) = (self.at, &self.text[self.at..]);
        self.at += rest.find(|c| !keep(c)).unwrap_or(rest.len());
        start..self.at
    }

    fn attribute(&mut self) -> Option<RawAttribute> {
        if self.peek()? == '{' {
            return Some(RawAttribute { name: self.at..self.at, value: self.value()? });
        }
        let name = self.take_while(|c| !c.is_whitespace() && !matches!(c, '/' | '>' | '='));
        if name.is_empty() || self.text[name.clone()].contains(['"', '\'', '<', '`', '{', '}']) {
            return None;
        }
        let name_end = self.at;
        self.take_while(char::is_whitespace);
        if !self.take('=') {
            self.at = name_end;
            return Some(RawAttribute { name, value: RawValue::None });
        }
        self.take_while(char::is_whitespace);
        Some(RawAttribute { name, value: self.value()? })
    }

    fn value(&mut self) -> Option<RawValue> {
        let start = self.at;
        match self.peek()? {
            '{' => {
                self.at = braces_end(self.text, start)?;
                Some(RawValue::Code(start..self.at))
            }
            quote @ ('"' | '\'') => {
                let length = self.text[start + 1..].find(quote)?;
                self.at = start + length + 2;
                Some(RawValue::Text(start + 1..start + 1 + length))
            }
            _ => {
                let value = self.take_while(|c| !c.is_whitespace() && c != '>');
                let is_plain = !self.text[value.clone()].contains(['<', '"', '\'', '`', '=']);
                is_plain.then_some(RawValue::Text(value))
            }
        }
    }
}
