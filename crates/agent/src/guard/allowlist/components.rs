//! Judges added components: those that the docs already use pass, with props that the docs use.
//!
//! An attribute without a name is one of these:
//! - a positional argument of a shortcode: a text, or an expression if it has special characters
//! - a spread such as `{...props}`: an expression in braces
//! - the content of an element that runs or loads something: an expression without braces

use pages::{Attribute, AttributeValue as Value, Element, WordList};

use super::context::Judge;
use super::literals::{POWERFUL_PROPS, strings};
use super::plain_text::{is_plain_style, is_plain_words};
use super::verdict::{Verdict, refuse_remote, short_name, strictest};

/// Parts of names of components that include something, or redirect readers.
const POWERFUL_COMPONENTS: WordList =
    WordList("redirect navigate include readfile rawhtml iframe script embed snippet import");

pub(super) fn judge(judge: &Judge<'_, '_>, element: &Element) -> Verdict {
    let name = element.name.as_str();
    if name.is_empty() && element.attributes.is_empty() {
        return Verdict::Passes;
    }
    let Some(docs) = judge.vocabulary() else {
        return refuse_remote("adds a component, and the docs can't be read to check whether they use it");
    };
    if !docs.has_component(name) {
        return refuse_remote(format!(
            "adds the component `{}`, which the docs don't use yet",
            short_name(name)
        ));
    }
    let lower = name.to_lowercase();
    // Also an argument with special characters.
    let may_be_content = |prop: &Attribute| {
        prop.name.is_empty() && matches!(&prop.value, Value::Expression(code) if !code.starts_with('{'))
    };
    // Quarto's `{{< env NAME >}}` shows an environment variable of the build.
    let is_powerful = lower == "<env"
        || POWERFUL_COMPONENTS.iter().any(|part| lower.contains(part))
        || element.attributes.iter().any(may_be_content);
    if is_powerful && element.attributes.iter().any(|prop| !docs.has_prop_value(name, prop)) {
        return refuse_remote(format!(
            "gives the component `{}` a value that the docs don't use",
            short_name(name)
        ));
    }
    strictest(element.attributes.iter().map(|prop| judge_prop(judge, name, prop)))
}

fn judge_prop(judge: &Judge<'_, '_>, component: &str, attribute: &Attribute) -> Verdict {
    let name = attribute.name.as_str();
    let Some(docs) = judge.vocabulary() else { return refuse_remote("adds a component") };
    if docs.has_prop_value(component, attribute) {
        return Verdict::Passes;
    }
    let lower = name.to_ascii_lowercase();
    // Such as `v-html`, `:src`, `@click` and `#slot`.
    let is_vue_directive = lower.starts_with(['v', ':', '@', '#']) && name.contains(['-', ':', '@', '#']);
    let is_powerful = POWERFUL_PROPS.contains(&lower) || lower.starts_with("on") || is_vue_directive;
    let is_unnamed_expression = name.is_empty() && matches!(attribute.value, Value::Expression(_));
    if is_unnamed_expression || is_powerful || !docs.has_prop(component, name) {
        return refuse_remote(format!(
            "gives the component `{}` the prop `{}` in a way that the docs don't",
            short_name(component),
            short_name(name)
        ));
    }
    match &attribute.value {
        Value::None => Verdict::Passes,
        Value::Text(text) => judge_text_prop(judge, &lower, text),
        Value::Expression(code) => match strings(code) {
            Some(all) => strictest(
                all.into_iter().map(|(key, text)| judge_text_prop(judge, key.unwrap_or(&lower), text)),
            ),
            None => refuse_remote(format!(
                "gives the component `{}` an expression that the docs don't use",
                short_name(component)
            )),
        },
    }
}

fn judge_text_prop(judge: &Judge<'_, '_>, name: &str, value: &str) -> Verdict {
    if matches!(name, "href" | "to" | "link") {
        return judge.judge_link(value);
    }
    if name == "style" {
        return match is_plain_style(value) {
            true => Verdict::Passes,
            false => refuse_remote("gives a component a style that could hide text or load something"),
        };
    }
    // Browsers read a backslash in an address as a slash.
    let slashed = value.replace('\\', "/");
    if slashed != value && (slashed.contains("//") || slashed.starts_with('/')) {
        return judge.judge_image(value);
    }
    let is_address = ["https://", "http://", "/", "."].iter().any(|start| value.starts_with(start));
    // In text that a component shows, backticks are code spans.
    match is_plain_words(&value.replace('`', "")) {
        true if may_be_private_path(value) => {
            refuse_remote("gives a component the path of a file outside the docs")
        }
        true => Verdict::Passes,
        false if is_address && !value.contains([' ', ',', '"', '<']) => judge.judge_image(value),
        false => refuse_remote("gives a component an address or code among other words"),
    }
}

/// Whether a value can be the path of a hidden file or a system file.
fn may_be_private_path(value: &str) -> bool {
    value.starts_with("/etc/")
        || value.split('/').any(|part| part.len() > 2 && part.starts_with('.') && value.contains('/'))
}
