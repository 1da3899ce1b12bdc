//! Reads braces: attribute lists, expressions of MDX, and marks of template languages.

use super::{Attribute, ConstructKind, Element, Value, role_argument};
use crate::WordList;
use crate::script::braces_end;

/// A longer word is not a placeholder.
const MAX_WORD_BYTES: usize = 60;
/// The end of a longer mark is not found, so that a file full of open braces stays cheap to read.
const MAX_MARK_BYTES: usize = 4 * 1024;
/// A longer text is not an attribute list.
const MAX_LIST_BYTES: usize = 512;
/// Statements of template languages.
const STATEMENTS: WordList = WordList(
    "%if %for %assign %set %capture %raw %endraw %verbatim %endverbatim %unless %else %elsif %case %when \
     %macro %import %from %extends %block %call %do %with",
);
/// Attribute values without quotes that are not the name of a variable in a browser or in Node.
const LAYOUT_WORDS: WordList = WordList(
    "left right center middle bottom start end justify none auto lazy eager async both true false _blank \
     nofollow noopener noreferrer numeric",
);
/// Reads what begins with the `{` at `at`. Returns the construct, unless it is plain text, and its end.
pub(super) fn read_at(text: &str, at: usize, is_mdx: bool) -> (Option<ConstructKind>, usize) {
    let rest = &text[at..];
    for (open, close) in [("{{", "}}"), ("{%", "%}"), ("{!", "!}")] {
        if rest.starts_with(open) && !(is_mdx && open == "{{") {
            let near = &rest[..rest.floor_char_boundary(MAX_MARK_BYTES)];
            let end = near.find(close).map_or_else(|| line_end(near), |end| end + close.len());
            let mark = &rest[..end];
            let kind = shortcode(mark)
                .map_or_else(|| ConstructKind::Template(mark.to_owned()), ConstructKind::Component);
            return (Some(kind), at + end);
        }
    }
    let line = &rest[..line_end(&rest[..rest.floor_char_boundary(MAX_MARK_BYTES)])];
    if let Some(end) = line.strip_prefix("{*").and_then(|inside| inside.find("*}")) {
        return (Some(ConstructKind::Include(line[..end + 4].to_owned())), at + end + 4);
    }
    if let Some(end) = line.find('}') {
        let inside = &line[1..end];
        if let Some(role) = role(inside, &line[end + 1..]) {
            return (Some(role), at + end + 1);
        }
        if is_word(inside) {
            return (None, at + end + 1);
        }
        // In MDX `{width=100}` is code.
        let may_be_list = !is_mdx || inside.trim_start().starts_with(['#', '.', ':']);
        if let Some(element) = attributes(inside).filter(|_| may_be_list) {
            return (Some(ConstructKind::Attributes(element)), at + end + 1);
        }
    }
    let Some(end) = braces_end(text, at) else {
        let line = &rest[..line_end(rest)];
        return (Some(ConstructKind::Unknown(line.to_owned())), at + line.len());
    };
    let code = &text[at..end];
    let comment = code.strip_prefix("{/*").and_then(|code| code.strip_suffix("*/}"));
    let kind = match comment.filter(|words| !words.contains("*/")) {
        Some(words) => ConstructKind::Comment(words.trim().to_owned()),
        None => ConstructKind::Expression(code.to_owned()),
    };
    (Some(kind), end)
}

/// A template mark with the text around it, if its value can join that text into other markup. The value can be empty:
/// `<{{ a }}script>`.
pub(super) fn joined_token(text: &str, at: usize, end: usize) -> Option<String> {
    let mark = &text[at..end];
    let is_mark = ["{{", "{%", "{!", "{#"].iter().any(|open| mark.starts_with(open));
    let (before, after) = (&text[..at], &text[end..]);
    let last = before.chars().next_back().filter(|c| !c.is_whitespace());
    let next = after.chars().next().filter(|c| !c.is_whitespace());
    let is_empty = mark.starts_with("{#") && mark.ends_with("#}") || first_word(mark) == "comment";
    let is_split = last.zip(next).is_some_and(|pair| match pair {
        ('/', '/' | '\\') | (']', '(' | '[' | ':') => true,
        (last, '<') => (last.is_alphanumeric() || last == '-') && !after.starts_with("</"),
        (last, next) => last.is_alphanumeric() && next.is_alphanumeric(),
    });
    let begins_address =
        ["](", "](<", "=\"", "='", "]: ", "]: <"].iter().any(|start| before.ends_with(start))
            && !after.starts_with(['/', ')', '>', '"', '\'', '#', '?', '{', ' ', '\n']);
    // An address can be in angle brackets.
    let last = last.filter(|_| !["](<", "]: <"].iter().any(|start| before.ends_with(start)));
    let joins = is_empty && (last.is_some() || next.is_some())
        || last.is_some_and(|last| "<!\\/".contains(last)) && !before.ends_with("](/")
        || ["//", "\\", "@", "script"].iter().any(|start| after.starts_with(start))
        || is_split
        || begins_address;
    (is_mark && joins).then(|| {
        let start = before[before.floor_char_boundary(before.len().saturating_sub(MAX_WORD_BYTES))..]
            .rsplit(char::is_whitespace)
            .next()
            .unwrap_or_default();
        let rest = after[..after.floor_char_boundary(MAX_WORD_BYTES)].split(char::is_whitespace).next();
        format!("{start}{mark}{}", rest.unwrap_or_default())
    })
}

/// A role of MyST: a name in braces, followed by code.
fn role(name: &str, after: &str) -> Option<ConstructKind> {
    let ticks = after.len() - after.trim_start_matches('`').len();
    if ticks == 0 || name.is_empty() || name.contains(' ') {
        return None;
    }
    let closed = after[ticks..].split_once(&after[..ticks]).map(|(content, _)| content);
    let arguments = match closed {
        Some(content) => role_argument(name, content).to_owned(),
        None if !is_word(name) => return None,
        // It can continue on the next line.
        None => format!("{}\n", role_argument(name, after[ticks..].trim())),
    };
    Some(ConstructKind::Directive { name: format!("{{{name}}}`"), arguments })
}

/// The first word of a mark such as `{% raw %}`.
pub(super) fn first_word(mark: &str) -> &str {
    mark.trim_matches(['{', '}', '%', '-', ' ']).split_whitespace().next().unwrap_or_default()
}

/// `{{< name key="value" >}}` of Hugo and `{% name key="value" %}` of Jekyll and Markdoc, as a component.
fn shortcode(mark: &str) -> Option<Element> {
    let hugo = mark.strip_prefix("{{<").and_then(|rest| rest.strip_suffix(">}}"));
    let hugo = hugo.or_else(|| mark.strip_prefix("{{%").and_then(|rest| rest.strip_suffix("%}}")));
    let liquid = || mark.strip_prefix("{%").and_then(|rest| rest.strip_suffix("%}"));
    let (sign, inside) = hugo.map(|inside| ("<", inside)).or_else(|| liquid().map(|inside| ("%", inside)))?;
    let inside = inside.trim_matches(['-', ' ', '\t', '\n']);
    let (is_closing, inside) = inside.strip_prefix('/').map_or((false, inside), |rest| (true, rest.trim()));
    let inside = inside.strip_suffix('/').unwrap_or(inside);
    let mut words = words(inside)?.into_iter();
    let name =
        words.next().filter(|name| name.chars().all(|c| c.is_ascii_alphanumeric() || "-_./".contains(c)))?;
    let mut name = format!("{sign}{name}");
    let mut attributes = Vec::new();
    for word in words {
        let (key, value) = word.split_once('=').unwrap_or(("", word));
        // The included file is part of the name.
        if key.is_empty() && name == "%include" {
            name = format!("{name} {value}");
            continue;
        }
        attributes.push(Attribute { name: key.to_owned(), value: plain_text(value) });
    }
    // Statements of the language are no components.
    let is_statement = STATEMENTS.contains(&name);
    (!is_statement).then_some(Element { name, is_closing, attributes })
}

fn plain_text(value: &str) -> Value {
    let quoted = ['"', '\'', '`'].iter().find_map(|quote| value.strip_prefix(*quote)?.strip_suffix(*quote));
    let is_plain = |text: &str| !text.contains(['"', '`', '|', '{', '}', '$', '\\']);
    match quoted {
        Some(text) if is_plain(text) => Value::Text(text.to_owned()),
        None if is_plain(value) && !value.contains('\'') => Value::Text(value.to_owned()),
        _ => Value::Expression(value.to_owned()),
    }
}

fn line_end(text: &str) -> usize {
    text.find('\n').unwrap_or(text.len())
}

/// A placeholder such as `{id}`, or empty braces. All renderers show it as text.
fn is_word(inside: &str) -> bool {
    let plain = |c: char| c.is_alphanumeric() || matches!(c, '_' | '-' | ',' | ' ' | '|' | '…');
    let is_short = inside.len() <= MAX_WORD_BYTES && inside.chars().all(plain);
    let is_name = !inside.contains(' ') || inside.split(',').all(|word| !word.trim().contains(' '));
    let is_range = inside.contains("..") && inside.chars().all(|c| c.is_ascii_alphanumeric() || c == '.');
    let is_ellipsis = inside.chars().all(|c| matches!(c, '.' | ' ' | '…'));
    let is_attribute = inside.trim().eq_ignore_ascii_case("hidden") || inside.trim().starts_with("eval");
    is_ellipsis || is_range || is_short && is_name && !is_attribute
}

/// The attribute list at the beginning of a text.
pub(super) fn attributes_at(text: &str) -> Option<Element> {
    let near = &text[..text.floor_char_boundary(MAX_LIST_BYTES)];
    attributes(near.strip_prefix('{')?.split_once('}').filter(|(inside, _)| !inside.contains('\n'))?.0)
}

/// `#id .class key=value`, with or without a colon in front.
fn attributes(inside: &str) -> Option<Element> {
    let list = inside.strip_prefix(':').unwrap_or(inside).trim();
    let mut attributes = Vec::new();
    for word in words(list)? {
        attributes.push(match word.split_at_checked(1)? {
            ("#", id) => Attribute { name: "id".to_owned(), value: Value::Text(id.to_owned()) },
            (".", class) => Attribute { name: "class".to_owned(), value: Value::Text(class.to_owned()) },
            _ => {
                let (name, value) =
                    word.split_once('=').map_or((word, None), |(name, value)| (name, Some(value)));
                let plain = |c: char| c.is_alphanumeric() || c == '-' || c == '_';
                if name.is_empty() || !name.chars().all(plain) {
                    return None;
                }
                Attribute { name: name.to_owned(), value: value.map_or(Some(Value::None), plain_value)? }
            }
        });
    }
    (!attributes.is_empty()).then(|| Element { attributes, ..Element::default() })
}

/// A string or a word. In MDX the braces contain an assignment, so the value must not be an expression.
fn plain_value(value: &str) -> Option<Value> {
    let quoted = ['"', '\''].iter().find_map(|quote| value.strip_prefix(*quote)?.strip_suffix(*quote));
    let is_word = value.chars().all(|c| c.is_ascii_alphanumeric() || matches!(c, '%' | '-' | '_'));
    match quoted.filter(|inside| !inside.contains(['"', '\'', '\\'])) {
        Some(inside) => Some(Value::Text(inside.to_owned())),
        // In MDX a word is the name of a variable.
        None if value.starts_with(|c: char| c.is_ascii_alphabetic() || c == '_')
            && !LAYOUT_WORDS.contains(value) =>
        {
            is_word.then(|| Value::Expression(format!("{{{value}}}")))
        }
        None => is_word.then(|| Value::Text(value.to_owned())),
    }
}

/// Splits at blanks that are not in quotes.
fn words(list: &str) -> Option<Vec<&str>> {
    let (mut words, mut start, mut quote) = (Vec::new(), None, None);
    for (at, c) in list.char_indices() {
        match (c, quote) {
            ('"' | '\'', None) => quote = Some(c),
            (c, Some(open)) if c == open => quote = None,
            (c, None) if c.is_whitespace() => {
                words.extend(start.take().map(|start| &list[start..at]));
                continue;
            }
            _ => {}
        }
        start.get_or_insert(at);
    }
    words.extend(start.map(|start| &list[start..]));
    quote.is_none().then_some(words)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn braces_of_each_kind() {
        let read = |text: &str, is_mdx| {
            let (kind, end) = read_at(text, 0, is_mdx);
            format!("{} {}", kind.map_or("text".to_owned(), |kind| format!("{kind:?}")), &text[end..])
        };
        for (text, expected) in [
            ("{id} x", "text  x"),
            ("{1,3}", "text "),
            ("{/* a */} b", "Comment(\"a\")  b"),
            ("{a.b}", "Expression(\"{a.b}\") "),
            ("{a", "Unknown(\"{a\") "),
            ("{%if a%} b", "Template(\"{%if a%}\")  b"),
        ] {
            assert_eq!(read(text, true), expected, "{text}");
        }
        assert_eq!(read("{{ a }} b", false), "Template(\"{{ a }}\")  b");
        assert!(read("{hidden}", false).starts_with("Attributes"));
        assert!(read("{: #a .b width=\"3 4\" }", false).starts_with("Attributes"));
        assert!(read("{#a .b}", true).starts_with("Attributes"));
        assert!(read("{onclick=\"x()\"}", true).starts_with("Expression"));
        assert!(read("{width=100}", true).starts_with("Expression"));
        assert!(read("{x => {a}} b", true).starts_with("Expression(\"{x => {a}}\")"));
    }
}
