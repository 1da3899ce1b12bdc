//! Describes the tools to the model, in few words, because every request contains them.

use serde_json::{Map, Value, json};

use crate::model::{Arguments, Profile, Tool};

/// The tools that a small model uses reliably.
const SMALL: &[&str] = &["search", "read", "edit", "finish"];

pub(crate) fn tools_for(profile: Profile) -> Vec<Tool> {
    let mut tools = tools();
    if profile == Profile::Small {
        tools.retain(|tool| SMALL.contains(&tool.name));
    }
    tools
}

pub(crate) fn tools() -> Vec<Tool> {
    vec![
        tool(
            "list",
            "Lists files, or folders with counts when there are many.",
            &[("path", TEXT, "a folder", false)],
        ),
        tool(
            "read",
            "Shows a file with line numbers, which are not part of it.",
            &[
                PATH,
                ("from", INTEGER, "first line", false),
                ("lines", INTEGER, "how many, 200 by default", false),
            ],
        ),
        tool(
            "search",
            "Finds lines that contain a text, ignoring case.",
            &[("text", TEXT, "", true), ("path", TEXT, "only under this folder or file", false)],
        ),
        tool(
            "edit",
            "Replaces old with new where old occurs once. Copy old from the file, with enough lines that it occurs only once.",
            &[
                PATH,
                ("old", TEXT, "", true),
                ("new", TEXT, "", true),
                ("all", BOOLEAN, "every occurrence", false),
            ],
        ),
        tool("write", "Creates a file, or rewrites one that you read.", &[PATH, ("text", TEXT, "", true)]),
        tool(
            "move",
            "Moves a file and updates the links to it.",
            &[("from", TEXT, "", true), ("to", TEXT, "", true)],
        ),
        tool("delete", "Deletes a file.", &[PATH]),
        tool(
            "check",
            "Lists the problems that the change so far causes: links, anchors, images, front matter, navigation.",
            &[],
        ),
        tool("plan", "Announces the steps that you will take.", &[("steps", TEXTS, "", true)]),
        tool(
            "finish",
            "Ends the work. The checks run again.",
            &[("title", TEXT, "", true), ("summary", TEXT, "", true)],
        ),
    ]
}

/// Whether the tool with this name changes files.
pub(super) fn is_edit(name: &str) -> bool {
    matches!(name, "edit" | "write" | "move" | "delete")
}

/// Whether a call of an unknown tool may have been meant to change a file: unless all its arguments are ones that a tool
/// takes to read.
pub(super) fn looks_like_edit(arguments: &Arguments) -> bool {
    let Arguments::Json(Value::Object(fields)) = arguments else { return true };
    !fields.keys().all(|name| READING_FIELDS.contains(&name.to_ascii_lowercase().as_str()))
}

const READING_FIELDS: &[&str] = &[
    "path",
    "paths",
    "file",
    "file_path",
    "filename",
    "folder",
    "directory",
    "dir",
    "query",
    "pattern",
    "glob",
    "from",
    "start",
    "start_line",
    "end",
    "end_line",
    "offset",
    "lines",
    "count",
    "limit",
    "depth",
    "recursive",
    "steps",
    "thought",
];

const TEXT: &str = "string";
const INTEGER: &str = "integer";
const BOOLEAN: &str = "boolean";
const TEXTS: &str = "array";
const PATH: (&str, &str, &str, bool) = ("path", TEXT, "", true);

fn tool(name: &'static str, description: &'static str, fields: &[(&str, &str, &str, bool)]) -> Tool {
    let mut properties = Map::new();
    for (field, kind, what, _) in fields {
        let mut schema = json!({ "type": kind });
        if *kind == TEXTS {
            schema["items"] = json!({ "type": "string" });
        }
        if !what.is_empty() {
            schema["description"] = json!(what);
        }
        properties.insert((*field).to_owned(), schema);
    }
    let required: Vec<_> = fields.iter().filter(|field| field.3).map(|field| field.0).collect();
    let parameters =
        json!({ "type": "object", "properties": Value::Object(properties), "required": required });
    Tool { name, description, parameters }
}
