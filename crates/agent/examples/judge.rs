//! Prints the verdicts of the guard on changes, one line of JSON each: `{"name", "base": {path: text}, "edits": {path:
//! text or null}, "asked"}` in, `{"name", "refusals": [{"path", "line", "message", "fatal"}]}` out. `scripts/renderers`
//! runs it.

use std::collections::BTreeMap;
use std::io::{self, BufRead, Write};

use agent::{Change, Policy, Prompt, judge};
use pages::MemoryTree;
use serde_json::{Value, json};

fn main() -> io::Result<()> {
    let mut out = io::stdout().lock();
    for line in io::stdin().lock().lines() {
        let case: Value = serde_json::from_str(&line?)?;
        let empty = serde_json::Map::new();
        let files = |key: &str| case[key].as_object().unwrap_or(&empty).clone();
        let text = |value: &Value| value.as_str().map(|text| text.as_bytes().to_vec());
        let base = files("base").into_iter().map(|(path, value)| (path, text(&value).unwrap_or_default()));
        let base = MemoryTree::new(base);
        let edits: BTreeMap<_, _> =
            files("edits").into_iter().map(|(path, value)| (path, text(&value))).collect();
        let instructions = Prompt::instruction(case["asked"].as_str().unwrap_or_default()).instructions();
        let change = Change {
            base: &base,
            vocabulary: &agent::Vocabulary::default(),
            edits: &edits,
            instructions: &instructions,
            title: "",
            summary: "",
        };
        let refusals = judge(&change, &Policy::default()).into_iter().map(|refusal| {
            json!({ "path": refusal.path, "line": refusal.line, "message": refusal.message, "fatal": refusal.fatal })
        });
        let refusals: Vec<_> = refusals.collect();
        writeln!(out, "{}", json!({ "name": case["name"], "refusals": refusals }))?;
    }
    Ok(())
}
