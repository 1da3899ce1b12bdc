//! Reads tool calls as models write them, which is often not as the API defines them.
//!
//! This is the only reader of calls: [`json`] repairs JSON, [`text`] finds calls that a model wrote as text, and
//! [`arguments`] converts the fields. What can't be read is explained to the model with the exact shape of the call.

mod arguments;
mod json;
mod text;

use serde::de::DeserializeOwned;
use serde_json::Value;

use crate::model::{Arguments, StopReason, Tool, ToolCall, Turn, sanitize_name};

pub(crate) use arguments::{Change, Delete, Finish, List, Move, Plan, Read, Search, Write};
pub(crate) use json::parse_object;

/// Calls of one text. As many as in any other answer.
const MAX_TEXT_CALLS: usize = 128;
/// Words around the name of a tool: `functions.edit`, `edit_file`, `edit:0`.
const AFFIXES: &[&str] =
    &["functions", "function", "tools", "tool", "default", "api", "file", "files", "page"];

/// The tool that the model means, if there is one.
pub(crate) fn find_tool<'a>(tools: &'a [Tool], name: &str) -> Option<&'a Tool> {
    let name = name.to_ascii_lowercase();
    let is_word = |word: &&str| {
        !word.is_empty() && !AFFIXES.contains(word) && !word.bytes().all(|b| b.is_ascii_digit())
    };
    let mut words = name.split(|c: char| !c.is_ascii_alphanumeric()).filter(is_word);
    let (word, more) = (words.next()?, words.next());
    tools.iter().find(|tool| tool.name == word).filter(|_| more.is_none())
}

/// Turns calls that the model wrote as text into calls of the turn.
pub(crate) fn read_calls_in_text(turn: &mut Turn, stop: StopReason, tools: &[Tool], turn_number: usize) {
    if !turn.calls.is_empty() {
        return;
    }
    let found = text::find_calls(&turn.text, stop != StopReason::TooLong, tools);
    if found.calls.is_empty() {
        return;
    }
    turn.text = found.prose;
    for (at, (name, arguments)) in found.calls.into_iter().take(MAX_TEXT_CALLS).enumerate() {
        let id = format!("text_{turn_number}_{at}");
        turn.calls.push(ToolCall { id, name: sanitize_name(&name), arguments });
    }
    turn.forget_parts_without_calls();
}

/// Converts the arguments of a call. The error tells the model the exact shape of the call.
pub(crate) fn read_arguments<T: DeserializeOwned>(tool: &Tool, arguments: &Arguments) -> Result<T, String> {
    let problem = match arguments {
        Arguments::Broken(_) => "the arguments are not valid JSON".to_owned(),
        Arguments::Json(object) => match serde_json::from_value(object.clone()) {
            Ok(arguments) => return Ok(arguments),
            Err(error) => format!("the arguments don't fit the tool: {error}"),
        },
    };
    Err(format!("{problem}; {} expects {}", tool.name, shape(tool)))
}

/// The arguments of a tool as the model should write them.
pub(crate) fn shape(tool: &Tool) -> String {
    let properties = tool.parameters["properties"].as_object().into_iter().flatten();
    let required = tool.parameters["required"].as_array();
    let is_required = |name: &str| required.is_some_and(|names| names.iter().any(|other| other == name));
    let field = |(name, schema): (&String, &Value)| {
        let optional = if is_required(name) { "" } else { " (optional)" };
        format!("{name:?}: {}{optional}", schema["type"].as_str().unwrap_or("string"))
    };
    format!("{{{}}}", properties.map(field).collect::<Vec<_>>().join(", "))
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::tools::tools;

    #[test]
    fn names_with_affixes_are_understood() {
        let tools = tools();
        let find = |name: &str| find_tool(&tools, name).map(|tool| tool.name);
        for name in
            ["edit", "functions.edit", "functions_edit_0", "Edit", "edit_file", "default_api.edit", "edit:3"]
        {
            assert_eq!(find(name), Some("edit"), "{name}");
        }
        for name in ["", "bash", "edit_delete", "functions", "editor", "é"] {
            assert_eq!(find(name), None, "{name}");
        }
    }

    #[test]
    fn the_shape_of_a_call() {
        let tools = tools();
        let edit = find_tool(&tools, "edit").unwrap();
        assert_eq!(
            read_arguments::<Change>(edit, &Arguments::Broken("{".into())).err().unwrap(),
            r#"the arguments are not valid JSON; edit expects {"path": string, "old": string, "new": string, "all": boolean (optional)}"#
        );
    }
}
