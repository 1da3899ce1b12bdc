//! Defines the arguments of each tool. The fields also accept other names and types that models use.

use serde::{Deserialize, Deserializer, de};
use serde_json::Value;

#[derive(Deserialize)]
pub(crate) struct List {
    #[serde(default, alias = "folder", alias = "directory", deserialize_with = "optional_text")]
    pub(crate) path: Option<String>,
}

#[derive(Deserialize)]
pub(crate) struct Read {
    #[serde(alias = "file", alias = "file_path", alias = "filename")]
    pub(crate) path: String,
    #[serde(default, alias = "start", alias = "start_line", deserialize_with = "optional_number")]
    pub(crate) from: Option<usize>,
    #[serde(default, alias = "count", alias = "limit", deserialize_with = "optional_number")]
    pub(crate) lines: Option<usize>,
}

#[derive(Deserialize)]
pub(crate) struct Search {
    #[serde(alias = "query", alias = "pattern", deserialize_with = "text")]
    pub(crate) text: String,
    #[serde(default, alias = "folder", deserialize_with = "optional_text")]
    pub(crate) path: Option<String>,
}

#[derive(Deserialize)]
pub(crate) struct Change {
    #[serde(alias = "file", alias = "file_path", alias = "filename")]
    pub(crate) path: String,
    #[serde(alias = "old_string", alias = "old_str", alias = "old_text", deserialize_with = "text")]
    pub(crate) old: String,
    #[serde(alias = "new_string", alias = "new_str", alias = "new_text", deserialize_with = "text")]
    pub(crate) new: String,
    #[serde(default, alias = "replace_all", deserialize_with = "flag")]
    pub(crate) all: bool,
}

#[derive(Deserialize)]
pub(crate) struct Write {
    #[serde(alias = "file", alias = "file_path", alias = "filename")]
    pub(crate) path: String,
    #[serde(alias = "content", alias = "contents", deserialize_with = "text")]
    pub(crate) text: String,
}

#[derive(Deserialize)]
pub(crate) struct Move {
    #[serde(alias = "source")]
    pub(crate) from: String,
    #[serde(alias = "destination")]
    pub(crate) to: String,
}

#[derive(Deserialize)]
pub(crate) struct Delete {
    #[serde(alias = "file", alias = "file_path", alias = "filename")]
    pub(crate) path: String,
}

#[derive(Deserialize)]
pub(crate) struct Plan {
    #[serde(deserialize_with = "texts")]
    pub(crate) steps: Vec<String>,
}

/// Without a title, the prompt's first line becomes it.
#[derive(Deserialize)]
pub(crate) struct Finish {
    #[serde(default, deserialize_with = "optional_text")]
    pub(crate) title: Option<String>,
    #[serde(default, alias = "description", deserialize_with = "optional_text")]
    pub(crate) summary: Option<String>,
}

fn text<'de, D: Deserializer<'de>>(deserializer: D) -> Result<String, D::Error> {
    optional_text(deserializer)?.ok_or_else(|| de::Error::custom("invalid type: null, expected a string"))
}

/// A whole number counts as its digits, and a list as lines.
fn optional_text<'de, D: Deserializer<'de>>(deserializer: D) -> Result<Option<String>, D::Error> {
    Ok(match Value::deserialize(deserializer)? {
        Value::Null => None,
        Value::String(text) => Some(text),
        Value::Array(lines) => Some(join_lines(lines).map_err(de::Error::custom)?),
        Value::Bool(flag) => Some(flag.to_string()),
        // A fraction loses its zeros: 1.10 would become 1.1.
        Value::Number(number) if !number.is_f64() => Some(number.to_string()),
        value => return Err(de::Error::custom(format!("invalid type: {value}, expected a string"))),
    })
}

fn join_lines(lines: Vec<Value>) -> Result<String, &'static str> {
    let line = |line: &Value| line.as_str().map(str::to_owned);
    let lines: Option<Vec<_>> = lines.iter().map(line).collect();
    lines.map(|lines| lines.join("\n")).ok_or("invalid type: a list, expected a string")
}

fn texts<'de, D: Deserializer<'de>>(deserializer: D) -> Result<Vec<String>, D::Error> {
    match Value::deserialize(deserializer)? {
        Value::String(text) => Ok(text.lines().map(str::to_owned).collect()),
        list => Vec::<String>::deserialize(list).map_err(de::Error::custom),
    }
}

/// `"20"` and `20.0` are numbers. A negative one counts as none.
fn optional_number<'de, D: Deserializer<'de>>(deserializer: D) -> Result<Option<usize>, D::Error> {
    let value = Value::deserialize(deserializer)?;
    let number = match &value {
        Value::Null => return Ok(None),
        Value::String(text) if text.trim().is_empty() => return Ok(None),
        Value::String(text) => text.trim().parse().ok(),
        Value::Number(number) => number.as_f64(),
        _ => None,
    };
    let number = number.filter(|number: &f64| number.is_finite());
    let number =
        number.ok_or_else(|| de::Error::custom(format!("invalid type: {value}, expected an integer")))?;
    Ok((number >= 0.0).then_some(number as usize))
}

fn flag<'de, D: Deserializer<'de>>(deserializer: D) -> Result<bool, D::Error> {
    match Value::deserialize(deserializer)? {
        Value::Null => Ok(false),
        Value::Bool(flag) => Ok(flag),
        Value::String(text) if text.eq_ignore_ascii_case("true") => Ok(true),
        Value::String(text) if text.eq_ignore_ascii_case("false") || text.is_empty() => Ok(false),
        other => Err(de::Error::custom(format!("invalid type: {other}, expected a boolean"))),
    }
}

#[cfg(test)]
mod tests {
    use serde_json::{from_value, json};

    use super::*;

    #[test]
    fn fields_with_other_types_are_understood() {
        let read: Read = from_value(json!({ "file_path": "a.md", "from": "20", "lines": 5.0 })).unwrap();
        assert_eq!((read.path.as_str(), read.from, read.lines), ("a.md", Some(20), Some(5)));
        let change = json!({ "path": "a.md", "old_string": ["a", "b"], "new": 404, "all": null });
        let change: Change = from_value(change).unwrap();
        assert_eq!((change.old.as_str(), change.new.as_str(), change.all), ("a\nb", "404", false));
        let plan: Plan = from_value(json!({ "steps": "one\ntwo" })).unwrap();
        assert_eq!(plan.steps, ["one", "two"]);
        let finish: Finish = from_value(json!({ "title": "Done" })).unwrap();
        assert_eq!((finish.title.as_deref(), finish.summary), (Some("Done"), None));
        assert_eq!(from_value::<Read>(json!({ "path": "a.md", "from": -1 })).unwrap().from, None);
    }

    #[test]
    fn other_types_are_refused() {
        for wrong in [json!({ "path": "a.md", "lines": [] }), json!({ "path": 7 }), json!({ "lines": 1 })] {
            assert!(from_value::<Read>(wrong.clone()).is_err(), "{wrong}");
        }
        let fraction = json!({ "path": "a", "old": 1.9, "new": 1.1 });
        for wrong in
            [json!({ "path": "a", "old": null, "new": "b" }), json!({ "path": "a", "new": "b" }), fraction]
        {
            assert!(from_value::<Change>(wrong.clone()).is_err(), "{wrong}");
        }
    }
}
