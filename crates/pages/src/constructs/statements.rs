//! Finds statements of MDX, and the components that they create from elements that run.

use std::collections::HashSet;

use super::lines;

/// How much of a statement is searched for the elements of a component.
const MAX_STATEMENT_BYTES: usize = 2 * 1024;

/// The components that a page creates from elements that run, load or hide something, before or after it uses them.
pub(super) fn raw_components(file: &str, body: usize) -> HashSet<String> {
    let statements = lines(file, body).filter(|(_, line)| line.trim_start().starts_with("export"));
    let components = statements.filter_map(|(at, _)| {
        let near = &file[at..file.floor_char_boundary(at + MAX_STATEMENT_BYTES)];
        raw_component(near.split("\n\n").next().unwrap_or(near))
    });
    components.collect()
}

/// The component that a statement creates from an element that runs, loads or hides something.
fn raw_component(statement: &str) -> Option<String> {
    let (name, value) = statement.split_once('=')?;
    let name = name.split_whitespace().last().filter(|name| name.starts_with(char::is_uppercase))?;
    let value = value.to_ascii_lowercase();
    let is_active = value.trim_start().starts_with(['"', '\'', '`'])
        || ["<iframe", "<script", "<style", "<object", "<embed", "innerhtml", "createelement"]
            .iter()
            .any(|part| value.contains(part));
    is_active.then(|| name.to_owned())
}

/// Whether a line is a statement in MDX. Sentences can begin with the same words.
pub fn is_statement(line: &str) -> bool {
    let second = |rest: &str| rest.trim_start().to_owned();
    if let Some(rest) =
        line.strip_prefix("import").filter(|rest| rest.starts_with([' ', '\t', '"', '\'', '{', '*', '(']))
    {
        let rest = second(rest);
        return rest.starts_with(['"', '\'', '{', '*', '('])
            || rest.contains(" from ")
            || rest.contains("from\"")
            || rest.trim_end().ends_with("from")
            || rest.trim_end().ends_with(',');
    }
    if let Some(rest) = line.strip_prefix("export").filter(|rest| rest.starts_with([' ', '\t', '{', '*'])) {
        let rest = second(rest);
        let words = ["const", "let", "var", "function", "default", "class", "async", "type", "interface"];
        let is_whole = |rest: &str| !rest.starts_with(|c: char| c.is_alphanumeric() || c == '_' || c == '-');
        return rest.starts_with(['{', '*'])
            || words.iter().any(|word| rest.strip_prefix(word).is_some_and(is_whole));
    }
    false
}
