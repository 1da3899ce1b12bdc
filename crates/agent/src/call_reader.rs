//! Reads tool calls as models write them, which is often not as the API defines them.
//!
//! This is the only reader of calls: [`json`] repairs JSON, [`text`] finds calls that a model wrote as text, and
//! [`arguments`] converts the fields. What can't be read is explained to the model with the exact shape of the call.

mod arguments;
mod json;
mod text;

use serde::de::DeserializeOwned;
use serde_json::Value;

use crate::model::{Arguments, Tool, ToolCall, Turn, sanitize_name};

use text::Accepted;

pub(crate) use arguments::{Change, Delete, Finish, List, Move, Plan, Read, Search, Write};
pub(crate) use json::parse_object;

/// The beginning of the id of a call that the model wrote as text.
pub(crate) const TEXT_CALL_ID: &str = "text_";
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

/// Turns calls that the model wrote as text into calls of the turn. `is_complete` is false if the answer was cut off. A
/// model that made calls as the API defines them (`has_native_calls`) rarely writes one as text, and can quote one: so it
/// must stand alone, or in the tags of a call.
pub(crate) fn read_calls_in_text(
    turn: &mut Turn,
    is_complete: bool,
    has_native_calls: bool,
    tools: &[Tool],
    turn_number: usize,
) {
    let accepted = match (turn.calls.is_empty(), has_native_calls) {
        (true, false) => Accepted::All,
        (true, true) => Accepted::Alone,
        (false, _) => Accepted::Tagged,
    };
    let found = text::find_calls(&turn.text, is_complete, tools, accepted);
    if found.calls.is_empty() {
        return;
    }
    turn.text = found.prose;
    let read = |(at, (name, arguments)): (usize, (String, Arguments))| {
        let id = format!("{TEXT_CALL_ID}{turn_number}_{at}");
        ToolCall { id, name: sanitize_name(&name), arguments }
    };
    let calls: Vec<_> = found.calls.into_iter().enumerate().map(read).collect();
    // The model wrote them before the others, which can end the work.
    turn.calls.splice(0..0, calls);
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
