//! The tags and attributes of HTML that only say how text looks.

use pages::{Attribute, AttributeValue as Value, Element, WordList};

use super::{Judge, Verdict, refused, short, strictest};

const TAGS: WordList = WordList(
    "a abbr address article aside b bdi blockquote br caption center cite code col colgroup dd del details \
     dfn div dl dt em figcaption figure footer h1 h2 h3 h4 h5 h6 header hr i img ins kbd li main mark nav ol \
     p picture pre q s samp section small source span strike strong sub summary sup table tbody td tfoot th \
     thead time tr tt u ul var wbr",
);
/// Attributes with words for a value.
const WORDS: WordList = WordList(
    "align alt aria-label border cellpadding cellspacing class classname colspan datetime dir frameborder \
     height id lang loading media name open rel role rowspan scope sizes span start tabindex target title \
     type valign value width data-preview decoding cite summary axis abbr headers reversed download key",
);
/// Parts of a class's name that hide what has it.
const HIDES: WordList = WordList(
    "hidden sr-only sronly screen-reader invisible d-none opacity-0 text-transparent visually offscreen \
     collapse noscreen print-only display-none hide",
);
/// How names of attributes begin that scripts, frames and addresses are made of.
const STRONG: WordList = WordList(
    "on hx- x- v- : @ # data-hx src href action form xlink style is slot hidden aria-hidden data-src background poster ping content http",
);
/// Elements that run or load something.
const ACTIVE: WordList = WordList("script style iframe frame object embed applet form link meta base portal");
/// What a style may set.
const STYLES: WordList = WordList(
    "text-align width max-width min-width height max-height min-height vertical-align float font-weight \
     font-style white-space word-break border-collapse list-style-type padding padding-left padding-right \
     padding-top padding-bottom border-radius margin-top margin-bottom margin-left margin-right margin",
);

pub(super) fn judge(judge: &Judge<'_, '_>, element: &Element) -> Verdict {
    let name = element.name.as_str();
    if !name.is_empty() && !TAGS.contains(name) {
        return refused(format!("adds the tag `{}`, which is not one of those for text", short(name)));
    }
    strictest(element.attributes.iter().map(|attribute| self::attribute(judge, name, attribute)))
}

fn attribute(judge: &Judge<'_, '_>, tag: &str, attribute: &Attribute) -> Verdict {
    let name = attribute.name.to_ascii_lowercase();
    let no = || {
        refused(format!("gives a tag the attribute `{}`, which is not one of those for text", short(&name)))
    };
    let value = match &attribute.value {
        Value::None => "",
        Value::Text(text) => text.as_str(),
        Value::Expression(code)
            if !matches!(name.as_str(), "style" | "class" | "classname") || code.starts_with("{\"") =>
        {
            match super::components::literal(code) {
                Some(text) => text,
                None => return no(),
            }
        }
        Value::Expression(_) => return no(),
    };
    match name.as_str() {
        "href" if tag == "a" => judge.link(value),
        "src" if matches!(tag, "img" | "source") => judge.image(value),
        "srcset" if matches!(tag, "img" | "source") => sources(judge, value),
        "class" | "classname" if hides(value) => {
            refused("adds text that a class of its tag hides from readers")
        }
        "class" | "classname" if value.split_whitespace().all(|class| is_known_class(judge, class)) => {
            Verdict::Passes
        }
        "class" | "classname" => refused("adds a class that no page of the docs has: it may hide the text"),
        "style" if is_plain_style(value) => Verdict::Passes,
        "style" => refused("adds a style that could hide text or load something"),
        "type" if tag == "img" => no(),
        // Scripts of themes find their settings by such names.
        "id" | "name" if value.starts_with("__") => no(),
        _ if WORDS.contains(&name) && is_words(value) => Verdict::Passes,
        _ if is_harmless(&name)
            && is_words(value)
            && judge.vocabulary().is_some_and(|docs| docs.has_attribute(&name)) =>
        {
            Verdict::Passes
        }
        _ => no(),
    }
}

/// Classes of the docs, and those of code blocks.
fn is_known_class(judge: &Judge<'_, '_>, class: &str) -> bool {
    class.starts_with("language-") || judge.vocabulary().is_some_and(|docs| docs.has_class(class))
}

/// Whether an element runs or loads something: it may be moved to another page, and not be copied to one.
pub(super) fn is_active(element: &Element) -> bool {
    ACTIVE.contains(&element.name)
}

/// Whether an attribute that the docs use may have another value: none that a script or a frame is made of.
fn is_harmless(name: &str) -> bool {
    !STRONG.iter().any(|start| name.starts_with(start))
}

fn sources(judge: &Judge<'_, '_>, value: &str) -> Verdict {
    let words = value.split(|c: char| c == ',' || c.is_whitespace()).filter(|word| !word.is_empty());
    strictest(words.map(|word| judge.image(word)))
}

/// Whether a value is words, and no address or code.
pub(super) fn is_words(value: &str) -> bool {
    let lower = value.to_lowercase();
    !lower.contains("//")
        && !lower.contains("](")
        && !lower.contains("![")
        && !lower.contains("script:")
        && !lower.contains("data:")
        && !lower.contains("url(")
        && !lower.contains("%2f%2f")
        && !lower.contains("@import")
        // Some themes copy a title into an attribute of HTML without escaping it.
        && !(value.contains('"') && value.contains('='))
        && !value.contains(['<', '`', '{', '}'])
}

fn hides(class: &str) -> bool {
    let class = class.to_lowercase();
    HIDES.iter().any(|part| class.contains(part))
}

pub(super) fn is_plain_style(style: &str) -> bool {
    style.split(';').filter(|part| !part.trim().is_empty()).all(|part| {
        let Some((name, value)) = part.split_once(':') else { return false };
        let (name, value) = (name.trim().to_ascii_lowercase(), value.trim());
        let plain = value.chars().all(|c| c.is_ascii_alphanumeric() || matches!(c, '.' | '%' | ' '));
        let is_huge = value.split(|c: char| !c.is_ascii_digit()).any(|number| number.len() > 3);
        let is_nothing = (name.ends_with("width") || name.ends_with("height"))
            && value.trim_start_matches('0').starts_with(|c: char| !c.is_ascii_digit() && c != '.')
            && value.starts_with('0')
            || value == "0" && (name.ends_with("width") || name.ends_with("height"));
        let is_moved_away = name.starts_with("margin") && value.contains('%');
        STYLES.contains(&name) && plain && !is_nothing && !is_huge && !is_moved_away
    })
}
