//! OpenAPI schemas of fields that need more than their Rust type: patterns, lengths and allowed values.

use utoipa::openapi::schema::{Object, ObjectBuilder, SchemaType, Type};

const MAX_PROMPT_CHARS: usize = 100_000;
/// Requires a visible character.
const HAS_VISIBLE_CHARACTER: &str = r"[^\s\x00-\x1f\x7f-\x9f\u200b-\u200f\u2060\ufeff]";
/// The rules of `git check-ref-format --branch`, as far as a regular expression can express them.
const BRANCH: &str = concat!(
    r"^(?!-|refs/|@$|HEAD$)(?!.*(?:\.\.|@\{|\.lock(?:/|$)|\.(?:/|$)))",
    r"[^\s\x00-\x1f\x7f-\x9f\ufeff~^:?*\[\\/.][^\s\x00-\x1f\x7f-\x9f\ufeff~^:?*\[\\/]*",
    r"(?:/[^\s\x00-\x1f\x7f-\x9f\ufeff~^:?*\[\\/.][^\s\x00-\x1f\x7f-\x9f\ufeff~^:?*\[\\/]*)*$",
);

pub(crate) fn prompt() -> Object {
    text("What the agent should do, in plain words. Leading and trailing white space is ignored.")
        .min_length(Some(1))
        .max_length(Some(MAX_PROMPT_CHARS))
        .pattern(Some(HAS_VISIBLE_CHARACTER))
        .build()
}

/// `label` of a quotation
pub(crate) fn label() -> Object {
    text("The source of the text.").min_length(Some(1)).max_length(Some(100)).build()
}

/// `text` of a quotation
pub(crate) fn quotation_text() -> Object {
    text("The text itself.").max_length(Some(MAX_PROMPT_CHARS)).build()
}

/// `ref`
pub(crate) fn base() -> Object {
    branch("The branch to start from and merge into. By default, the project's branch.")
}

/// `branch`
pub(crate) fn head() -> Object {
    branch("Work on this existing branch and its open pull request, instead of new ones.")
}

pub(crate) fn status() -> Object {
    let known = ["active", "completed", "archived", "failed"];
    text("Poll until it is no longer `active`.").enum_values(Some(known)).build()
}

/// `state` of a pull request
pub(crate) fn pull_state() -> Object {
    text("The state of the pull request.").enum_values(Some(["open", "merged", "closed"])).build()
}

/// `createdBy.type`
pub(crate) fn creator() -> Object {
    text("The kind of creator.").enum_values(Some(["member", "loginLink", "apiKey"])).build()
}

pub(crate) fn class() -> Object {
    let known = ["human", "assistant", "ai-search", "ai-training", "ai-other", "search-engine", "bot"];
    text("The class of reader.").enum_values(Some(known)).build()
}

fn branch(description: &str) -> Object {
    let or_null = SchemaType::from_iter([Type::String, Type::Null]);
    text(description).schema_type(or_null).max_length(Some(200)).pattern(Some(BRANCH)).build()
}

fn text(description: &str) -> ObjectBuilder {
    ObjectBuilder::new().schema_type(Type::String).description(Some(description))
}
