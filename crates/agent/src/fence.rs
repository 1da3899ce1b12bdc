//! Separates instructions and quotations in the text that a model reads. Tags tell the model which is which, and
//! quoted text can't contain a working tag.

use std::borrow::Cow;
use std::sync::LazyLock;

use regex::Regex;

/// Characters without width, as a character class: controls, format characters, marks and fillers.
const INVISIBLE: &str = r"\p{Cc}\p{Cf}\p{M}\u{115f}\u{1160}\u{3164}\u{ffa0}";

/// Puts instructions between `<task>` tags. People can paste anything into an instruction, so its closing tags are
/// escaped.
pub(crate) fn fence_task(instructions: &str) -> String {
    static END: LazyLock<Option<Regex>> = LazyLock::new(|| tags("/", &["task"]));
    format!("<task>\n{}\n</task>\n", escape(instructions.trim(), END.as_ref()))
}

/// Escapes Docwright's tags in text from other sources.
pub(crate) fn escape_tags(text: &str) -> Cow<'_, str> {
    static ANY: LazyLock<Option<Regex>> =
        LazyLock::new(|| tags("/?", &["task", "instructions", "map", "quoted"]));
    escape(text, ANY.as_ref())
}

/// Puts a quotation between `<quoted>` tags, with its source. Anyone can forge such text, for example in page views, so
/// its tags are escaped.
pub(crate) fn fence_quotation(source: &str, text: &str) -> String {
    let source = escape_attribute(source);
    let visible: String = text.chars().filter(|c| matches!(c, '\n' | '\t') || !c.is_control()).collect();
    format!("<quoted source=\"{source}\">\n{}\n</quoted>\n", escape_tags(visible.trim()))
}

/// Puts the text of a page between `<page>` tags. Anyone can write a page or choose its name, so their tags are escaped.
pub(crate) fn fence_page(path: &str, text: &str) -> String {
    static PAGE: LazyLock<Option<Regex>> = LazyLock::new(|| tags("/?", &["page"]));
    let path = escape_attribute(path);
    let text = escape_tags(text);
    format!("<page path=\"{path}\">\n{}\n</page>\n", escape(&text, PAGE.as_ref()))
}

fn escape_attribute(value: &str) -> String {
    value.replace(char::is_control, " ").replace('"', "'").replace('<', "&lt;").replace('>', "&gt;")
}

/// Returns a person's own words: the text without quotations between tags, and without lines that begin with `>`.
pub(crate) fn remove_quotations(text: &str) -> String {
    static BEGIN: LazyLock<Option<Regex>> = LazyLock::new(|| Regex::new(r"(?i)<\s*quoted(?:\s[^>]*)?>").ok());
    static END: LazyLock<Option<Regex>> = LazyLock::new(|| Regex::new(r"(?i)<\s*/\s*quoted\s*>").ok());
    // `>` can also follow a list marker, or invisible characters such as a byte-order mark.
    static QUOTED_LINE: LazyLock<Option<Regex>> = LazyLock::new(|| {
        let space = format!(r"[\s{INVISIBLE}]");
        Regex::new(&format!(r"^{space}*(?:(?:[-*+]|\d{{1,9}}[.)]|\[[ xX]\]){space}+)*>")).ok()
    });
    // If an expression doesn't compile, nothing counts as a person's own words.
    let (Some(begin), Some(end), Some(quoted_line)) = (&*BEGIN, &*END, &*QUOTED_LINE) else {
        return String::new();
    };
    let (mut own, mut rest) = (String::new(), text);
    while let Some(tag) = begin.find(rest) {
        own += &rest[..tag.start()];
        let quotation = &rest[tag.end()..];
        rest = end.find(quotation).map_or("", |tag| &quotation[tag.end()..]);
    }
    own += rest;
    let lines = own.split(is_line_end).filter(|line| !quoted_line.is_match(line));
    lines.collect::<Vec<_>>().join("\n")
}

/// Whether some reader treats the character as the end of a line.
fn is_line_end(c: char) -> bool {
    matches!(c, '\n' | '\r' | '\u{b}' | '\u{c}' | '\u{85}' | '\u{2028}' | '\u{2029}')
}

/// Matches tags with these names, in any case, also with invisible characters between the letters.
fn tags(slash: &str, names: &[&str]) -> Option<Regex> {
    let invisible = format!("[{INVISIBLE}]*");
    let spelled = |name: &&str| name.chars().map(String::from).collect::<Vec<_>>().join(&invisible);
    let names: Vec<_> = names.iter().map(spelled).collect();
    let names = names.join("|");
    Regex::new(&format!(r"(?i)<([\s{INVISIBLE}]*{slash}[\s{INVISIBLE}]*(?:{names}){invisible}\b)")).ok()
}

fn escape<'a>(text: &'a str, tags: Option<&Regex>) -> Cow<'a, str> {
    match tags {
        Some(tags) => tags.replace_all(text, "&lt;$1"),
        None => Cow::Owned(text.replace('<', "&lt;")),
    }
}
