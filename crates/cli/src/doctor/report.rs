//! What was found, a line each, with what to do about it.

use serde::Serialize;

use crate::output;

#[derive(Clone, Copy, PartialEq, Eq, Serialize)]
#[serde(rename_all = "lowercase")]
enum Status {
    Ok,
    Warn,
    Fail,
}

#[derive(Serialize)]
struct Check {
    name: &'static str,
    status: Status,
    message: String,
    /// What to do; nothing when all is well.
    advice: Option<String>,
}

pub(super) struct Report {
    checks: Vec<Check>,
    /// What every command that is advised must be given, too.
    pub(super) again: String,
}

impl Report {
    pub(super) fn new(again: String) -> Self {
        Self { checks: Vec::new(), again }
    }

    pub(super) fn ok(&mut self, name: &'static str, message: impl Into<String>) {
        self.checks.push(Check { name, status: Status::Ok, message: message.into(), advice: None });
    }

    pub(super) fn warn(&mut self, name: &'static str, message: impl Into<String>, advice: impl Into<String>) {
        let advice = Some(advice.into());
        self.checks.push(Check { name, status: Status::Warn, message: message.into(), advice });
    }

    pub(super) fn fail(&mut self, name: &'static str, message: impl Into<String>, advice: impl Into<String>) {
        let advice = Some(advice.into());
        self.checks.push(Check { name, status: Status::Fail, message: message.into(), advice });
    }

    pub(super) fn failed(&self) -> bool {
        self.checks.iter().any(|check| check.status == Status::Fail)
    }

    pub(super) fn show(&self, json: bool) -> anyhow::Result<()> {
        if json {
            return output::json(&serde_json::json!({ "ok": !self.failed(), "checks": self.checks }));
        }
        let in_colour = output::colour(&std::io::stdout());
        for check in &self.checks {
            let (word, code) = match check.status {
                Status::Ok => ("ok  ", "32"),
                Status::Warn => ("warn", "33"),
                Status::Fail => ("fail", "31"),
            };
            let word = output::paint(word, code, in_colour);
            output::painted(format!("{word}  {:<15} {}", check.name, output::plain(&check.message)))?;
            if let Some(advice) = &check.advice {
                output::line(format!("      {:<15} -> {advice}", ""))?;
            }
        }
        Ok(())
    }
}
