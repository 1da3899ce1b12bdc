//! Reads Jupyter notebooks: Markdown cells as Markdown, and everything else as unknown text.

use serde_json::Value;

use super::{Construct, ConstructKind, markdown};
use crate::kind::FileKind;

pub(super) fn read(text: &str) -> Vec<Construct> {
    let whole = || vec![Construct::standard(ConstructKind::Unknown(text.to_owned()), 0..text.len())];
    let Ok(mut value) = serde_json::from_str::<Value>(text) else { return whole() };
    let Some(cells) = value.get_mut("cells").and_then(Value::as_array_mut) else { return whole() };
    let mut found = Vec::new();
    for cell in cells {
        let is_markdown = cell.get("cell_type").and_then(Value::as_str) == Some("markdown");
        let source = cell.get_mut("source").filter(|_| is_markdown).map(Value::take);
        if let Some(source) = source {
            found.extend(markdown::read(FileKind::Markdown, &join_lines(&source)));
        }
        found.push(Construct::standard(ConstructKind::Unknown(cell.take().to_string()), 0..0));
    }
    found.push(Construct::standard(ConstructKind::Unknown(value.to_string()), 0..0));
    // A span in a cell is not a span in the file.
    found.iter_mut().for_each(|construct| construct.span = 0..0);
    found
}

fn join_lines(source: &Value) -> String {
    match source {
        Value::Array(lines) => lines.iter().filter_map(Value::as_str).collect(),
        other => other.as_str().unwrap_or_default().to_owned(),
    }
}
