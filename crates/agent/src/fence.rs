//! Fences between what people ask for and what others wrote. Tags tell a model which is which, and no text
//! of others can hold one that works.

use std::borrow::Cow;
use std::sync::LazyLock;

use regex::Regex;

/// Characters without width: controls, format characters, marks and fillers.
const UNSEEN: &str = r"\p{Cc}\p{Cf}\p{M}\u{115f}\u{1160}\u{3164}\u{ffa0}";

/// What people ask for. They may have pasted anything into it, but nothing that ends it.
pub(crate) fn task(prompt: &str) -> String {
    static END: LazyLock<Option<Regex>> = LazyLock::new(|| tags("/", &["task"]));
    format!("<task>\n{}\n</task>\n", powerless(prompt.trim(), END.as_ref()))
}

/// Text of others, in which tags of ours are tags no more.
pub(crate) fn fenced(text: &str) -> Cow<'_, str> {
    static ANY: LazyLock<Option<Regex>> =
        LazyLock::new(|| tags("/?", &["task", "instructions", "map", "quoted"]));
    powerless(text, ANY.as_ref())
}

/// Text of others with its source, such as page views, which anybody can make up. It cannot end the quotation.
pub(crate) fn quotation(source: &str, text: &str) -> String {
    let source =
        source.replace(char::is_control, " ").replace('"', "'").replace('<', "&lt;").replace('>', "&gt;");
    let seen: String = text.chars().filter(|c| matches!(c, '\n' | '\t') || !c.is_control()).collect();
    format!("<quoted source=\"{source}\">\n{}\n</quoted>\n", fenced(seen.trim()))
}

/// A person's own words: without what they quote, be it between tags or line by line with `>`.
pub(crate) fn unquoted(words: &str) -> String {
    static BEGIN: LazyLock<Option<Regex>> = LazyLock::new(|| Regex::new(r"(?i)<\s*quoted(?:\s[^>]*)?>").ok());
    static END: LazyLock<Option<Regex>> = LazyLock::new(|| Regex::new(r"(?i)<\s*/\s*quoted\s*>").ok());
    // In a list, too, and behind characters that nobody sees, such as the mark that some editors begin a file with.
    static QUOTED: LazyLock<Option<Regex>> = LazyLock::new(|| {
        let space = format!(r"[\s{UNSEEN}]");
        Regex::new(&format!(r"^{space}*(?:(?:[-*+]|\d{{1,9}}[.)]|\[[ xX]\]){space}+)*>")).ok()
    });
    // Without the expressions nothing can be told apart, so nothing counts as a person's own.
    let (Some(begin), Some(end), Some(quoted)) = (&*BEGIN, &*END, &*QUOTED) else { return String::new() };
    let (mut own, mut rest) = (String::new(), words);
    while let Some(tag) = begin.find(rest) {
        own += &rest[..tag.start()];
        let quotation = &rest[tag.end()..];
        rest = end.find(quotation).map_or("", |tag| &quotation[tag.end()..]);
    }
    own += rest;
    let lines = own.split(is_line_end).filter(|line| !quoted.is_match(line));
    lines.collect::<Vec<_>>().join("\n")
}

/// Whatever a reader takes for the end of a line.
fn is_line_end(c: char) -> bool {
    matches!(c, '\n' | '\r' | '\u{b}' | '\u{c}' | '\u{85}' | '\u{2028}' | '\u{2029}')
}

/// Tags by these names, whatever their case, with characters between the letters that nobody sees.
fn tags(slash: &str, names: &[&str]) -> Option<Regex> {
    let unseen = format!("[{UNSEEN}]*");
    let spelled = |name: &&str| name.chars().map(String::from).collect::<Vec<_>>().join(&unseen);
    let names: Vec<_> = names.iter().map(spelled).collect();
    let names = names.join("|");
    Regex::new(&format!(r"(?i)<([\s{UNSEEN}]*{slash}[\s{UNSEEN}]*(?:{names}){unseen}\b)")).ok()
}

fn powerless<'a>(text: &'a str, tags: Option<&Regex>) -> Cow<'a, str> {
    match tags {
        Some(tags) => tags.replace_all(text, "&lt;$1"),
        None => Cow::Owned(text.replace('<', "&lt;")),
    }
}
