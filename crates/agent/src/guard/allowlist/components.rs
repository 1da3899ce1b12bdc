//! Components: those that the docs use already, with props that are used there.

use pages::{Attribute, AttributeValue as Value, Element, WordList};

use super::{Judge, Verdict, attributes, refused, short, strictest};

/// Props that decide what is run or what a component becomes.
const POWERFUL: WordList = WordList(
    "as is component dangerouslysetinnerhtml innerhtml srcdoc html script code template render element tag \
     set:html for audience only unless when if visible hidden show hide",
);
/// Parts of names of components that take something in, or send readers on.
const STRONG: WordList =
    WordList("redirect navigate include readfile rawhtml iframe script embed snippet import");

pub(super) fn judge(judge: &Judge<'_, '_>, element: &Element) -> Verdict {
    let name = element.name.as_str();
    if name.is_empty() && element.attributes.is_empty() {
        return Verdict::Passes;
    }
    let Some(docs) = judge.vocabulary() else {
        return refused("adds a component, and the docs cannot be read to see whether they use it");
    };
    if !docs.has_component(name) {
        return refused(format!("adds the component `{}`, which the docs do not use yet", short(name)));
    }
    let lower = name.to_lowercase();
    // What holds its content is made of an element that runs or loads something.
    let holds_content = |prop: &Attribute| {
        prop.name.is_empty() && matches!(&prop.value, Value::Expression(code) if !code.starts_with('{'))
    };
    let is_strong = lower == "<env"
        || STRONG.iter().any(|part| lower.contains(part))
        || element.attributes.iter().any(holds_content);
    if is_strong && element.attributes.iter().any(|prop| !docs.has_prop_value(name, prop)) {
        return refused(format!("gives the component `{}` what the docs do not", short(name)));
    }
    strictest(element.attributes.iter().map(|attribute| prop(judge, name, attribute)))
}

fn prop(judge: &Judge<'_, '_>, component: &str, attribute: &Attribute) -> Verdict {
    let name = attribute.name.as_str();
    let Some(docs) = judge.vocabulary() else { return refused("adds a component") };
    if docs.has_prop_value(component, attribute) {
        return Verdict::Passes;
    }
    let lower = name.to_ascii_lowercase();
    let is_powerful = POWERFUL.contains(&lower)
        || lower.starts_with("on")
        || lower.starts_with(['v', ':', '@', '#']) && name.contains(['-', ':', '@', '#']);
    let is_spread = name.is_empty() && matches!(attribute.value, Value::Expression(_));
    if is_spread || is_powerful || !docs.has_prop(component, name) {
        return refused(format!(
            "gives the component `{}` the prop `{}` in a way that the docs do not",
            short(component),
            short(name)
        ));
    }
    match &attribute.value {
        Value::None => Verdict::Passes,
        Value::Text(text) => text_prop(judge, &lower, text),
        Value::Expression(code) => match strings(code) {
            Some(all) => {
                strictest(all.into_iter().map(|(key, text)| text_prop(judge, key.unwrap_or(&lower), text)))
            }
            None => refused(format!(
                "gives the component `{}` an expression that the docs do not",
                short(component)
            )),
        },
    }
}

fn text_prop(judge: &Judge<'_, '_>, name: &str, value: &str) -> Verdict {
    if matches!(name, "href" | "to" | "link") {
        return judge.link(value);
    }
    if name == "style" {
        return match attributes::is_plain_style(value) {
            true => Verdict::Passes,
            false => refused("gives a component a style that could hide text or load something"),
        };
    }
    // Browsers take a backslash in an address for a slash.
    let slashed = value.replace('\\', "/");
    if slashed != value && (slashed.contains("//") || slashed.starts_with('/')) {
        return judge.image(value);
    }
    let is_address = ["https://", "http://", "/", "."].iter().any(|start| value.starts_with(start));
    // Backticks are code in words that a component shows.
    match attributes::is_words(&value.replace('`', "")) {
        true if is_private(value) => {
            refused("gives a component the path of a file that is no part of the docs")
        }
        true => Verdict::Passes,
        false if is_address && !value.contains([' ', ',', '"', '<']) => judge.image(value),
        false => refused("gives a component an address or code among other words"),
    }
}

/// Whether a value may be the path of a file that is hidden, or of the machine's.
fn is_private(value: &str) -> bool {
    value.starts_with("/etc/")
        || value.split('/').any(|part| part.len() > 2 && part.starts_with('.') && value.contains('/'))
}

/// Whether braces hold a plain string, number or truth that is no code to a component around it.
pub(super) fn is_text(code: &str) -> bool {
    literal(code).is_some() && (code.len() <= MAX_SIGNS || !code.contains(['(', '=']))
}

/// The text of a plain value in braces; empty for a list or an object.
pub(super) fn literal(code: &str) -> Option<&str> {
    let all = strings(code)?;
    match all.as_slice() {
        [(None, text)] if !code.trim_start_matches(['{', ' ']).starts_with('[') => Some(text),
        all => all.iter().all(|(_, text)| attributes::is_words(text)).then_some(""),
    }
}

const MAX_DEPTH: usize = 16;
/// So short, signs in braces are there to be shown: `{"("}`.
const MAX_SIGNS: usize = 8;

/// A string, and the key that it is the value of.
type Keyed<'a> = (Option<&'a str>, &'a str);

/// The strings of a plain value in braces: a string, a number, a truth, or lists and objects of such.
fn strings(code: &str) -> Option<Vec<Keyed<'_>>> {
    let inside = code.strip_prefix('{')?.strip_suffix('}')?;
    let mut found = Vec::new();
    value(inside, None, MAX_DEPTH, &mut found)?.trim().is_empty().then_some(found)
}

/// Reads a plain value of JavaScript, and gives what is behind it.
fn value<'a>(
    text: &'a str,
    key: Option<&'a str>,
    depth: usize,
    found: &mut Vec<Keyed<'a>>,
) -> Option<&'a str> {
    let text = text.trim_start();
    match text.chars().next()? {
        quote @ ('"' | '\'' | '`') => {
            let end = text[1..].find(quote)?;
            let inside = &text[1..=end];
            found.push((key, inside));
            (!inside.contains(['\\', '\n', '$'])).then(|| &text[end + 2..])
        }
        '[' => list(&text[1..], "]", key, depth.checked_sub(1)?, found),
        '{' => list(&text[1..], "}", key, depth.checked_sub(1)?, found),
        _ => {
            let end =
                text.find(|c: char| !c.is_ascii_alphanumeric() && c != '.' && c != '-').unwrap_or(text.len());
            let word = &text[..end];
            let is_number =
                word.starts_with(|c: char| c.is_ascii_digit() || c == '-') && word.parse::<f64>().is_ok();
            (is_number || matches!(word, "true" | "false" | "null")).then(|| &text[end..])
        }
    }
}

fn list<'a>(
    mut text: &'a str,
    close: &str,
    mut key: Option<&'a str>,
    depth: usize,
    found: &mut Vec<Keyed<'a>>,
) -> Option<&'a str> {
    loop {
        text = text.trim_start();
        if let Some(rest) = text.strip_prefix(close) {
            return Some(rest);
        }
        if close == "}" {
            let end = text.find(':')?;
            let name = text[..end].trim().trim_matches(['"', '\'']);
            let is_name =
                !name.is_empty() && name.chars().all(|c| c.is_alphanumeric() || c == '_' || c == '-');
            if !is_name || POWERFUL.contains(&name.to_lowercase()) {
                return None;
            }
            (key, text) = (Some(name), &text[end + 1..]);
        }
        text = value(text, key, depth, found)?.trim_start();
        match text.strip_prefix(',') {
            Some(rest) => text = rest,
            None => return text.strip_prefix(close),
        }
    }
}
