//! Judges added HTML: tags and attributes that only format text pass.

use pages::{Attribute, AttributeValue as Value, Element, WordList};

use super::context::Judge;
use super::literals;
use super::plain_text::{is_plain_style, is_plain_words};
use super::verdict::{Verdict, refuse_remote, short_name, strictest};

const TAGS: WordList = WordList(
    "a abbr address article aside b bdi blockquote br caption center cite code col colgroup dd del details \
     dfn div dl dt em figcaption figure footer h1 h2 h3 h4 h5 h6 header hr i img ins kbd li main mark nav ol \
     p picture pre q s samp section small source span strike strong sub summary sup table tbody td tfoot th \
     thead time tr tt u ul var wbr",
);
/// Attributes with plain words as values.
const TEXT_ATTRIBUTES: WordList = WordList(
    "align alt aria-label border cellpadding cellspacing class classname colspan datetime dir frameborder \
     height id lang loading media name open rel role rowspan scope sizes span start tabindex target title \
     type valign value width data-preview decoding cite summary axis abbr headers reversed download key",
);
/// Parts of names of classes that hide an element.
const HIDING_CLASSES: WordList = WordList(
    "hidden sr-only sronly screen-reader invisible d-none opacity-0 text-transparent visually offscreen \
     collapse noscreen print-only display-none hide",
);
/// Prefixes of attributes for scripts, frames and addresses.
const POWERFUL_PREFIXES: WordList = WordList(
    "on hx- x- v- : @ # data-hx src href action form xlink style is slot hidden aria-hidden data-src background poster ping content http",
);
/// Elements that run or load something.
const ACTIVE: WordList = WordList("script style iframe frame object embed applet form link meta base portal");

pub(super) fn judge(judge: &Judge<'_, '_>, element: &Element) -> Verdict {
    let name = element.name.as_str();
    if !name.is_empty() && !TAGS.contains(name) {
        return refuse_remote(format!("adds the tag `{}`, which is not a tag for text", short_name(name)));
    }
    strictest(element.attributes.iter().map(|attribute| judge_attribute(judge, name, attribute)))
}

fn judge_attribute(judge: &Judge<'_, '_>, tag: &str, attribute: &Attribute) -> Verdict {
    let name = attribute.name.to_ascii_lowercase();
    let refusal = || {
        refuse_remote(format!("gives a tag the attribute `{}`, which is not one for text", short_name(&name)))
    };
    let value = match &attribute.value {
        Value::None => "",
        Value::Text(text) => text.as_str(),
        Value::Expression(code)
            if !matches!(name.as_str(), "style" | "class" | "classname") || code.starts_with("{\"") =>
        {
            match literals::literal(code) {
                Some(text) => text,
                None => return refusal(),
            }
        }
        Value::Expression(_) => return refusal(),
    };
    match name.as_str() {
        "href" if tag == "a" => judge.judge_link(value),
        "src" if matches!(tag, "img" | "source") => judge.judge_image(value),
        "srcset" if matches!(tag, "img" | "source") => judge_srcset(judge, value),
        "class" | "classname" if has_hiding_class(value) => {
            refuse_remote("adds text that a class hides from readers")
        }
        "class" | "classname" if value.split_whitespace().all(|class| is_known_class(judge, class)) => {
            Verdict::Passes
        }
        "class" | "classname" => {
            refuse_remote("adds a class that no page of the docs has, and that can hide the text")
        }
        "style" if is_plain_style(value) => Verdict::Passes,
        "style" => refuse_remote("adds a style that could hide text or load something"),
        "type" if tag == "img" => refusal(),
        // Scripts of themes find their settings by such names.
        "id" | "name" if value.starts_with("__") => refusal(),
        _ if TEXT_ATTRIBUTES.contains(&name) && is_plain_words(value) => Verdict::Passes,
        _ if is_text_attribute(&name)
            && is_plain_words(value)
            && judge.vocabulary().is_some_and(|docs| docs.has_attribute(&name)) =>
        {
            Verdict::Passes
        }
        _ => refusal(),
    }
}

/// Whether the docs use a class, or it is one of a code block.
fn is_known_class(judge: &Judge<'_, '_>, class: &str) -> bool {
    class.starts_with("language-") || judge.vocabulary().is_some_and(|docs| docs.has_class(class))
}

/// Whether an element runs or loads something. It can be moved to another page, but not be copied.
pub(super) fn is_active(element: &Element) -> bool {
    ACTIVE.contains(&element.name)
}

/// Whether an attribute that the docs use can have another value: it belongs to no script, frame or address.
fn is_text_attribute(name: &str) -> bool {
    !POWERFUL_PREFIXES.iter().any(|start| name.starts_with(start))
}

fn judge_srcset(judge: &Judge<'_, '_>, value: &str) -> Verdict {
    let words = value.split(|c: char| c == ',' || c.is_whitespace()).filter(|word| !word.is_empty());
    strictest(words.map(|word| judge.judge_image(word)))
}

fn has_hiding_class(class: &str) -> bool {
    let class = class.to_lowercase();
    HIDING_CLASSES.iter().any(|part| class.contains(part))
}
