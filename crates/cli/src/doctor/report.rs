//! Collects and prints the results of checks, with advice for each problem.

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
    /// What to do about a problem.
    advice: Option<String>,
}

pub(crate) struct Report {
    checks: Vec<Check>,
    /// Flags for every suggested command, so that it uses the same data.
    pub(crate) repeat_flags: String,
}

impl Report {
    pub(crate) fn new(repeat_flags: String) -> Self {
        Self { checks: Vec::new(), repeat_flags }
    }

    pub(crate) fn ok(&mut self, name: &'static str, message: impl Into<String>) {
        self.checks.push(Check { name, status: Status::Ok, message: message.into(), advice: None });
    }

    pub(crate) fn warn(&mut self, name: &'static str, message: impl Into<String>, advice: impl Into<String>) {
        let advice = Some(advice.into());
        self.checks.push(Check { name, status: Status::Warn, message: message.into(), advice });
    }

    pub(crate) fn fail(&mut self, name: &'static str, message: impl Into<String>, advice: impl Into<String>) {
        let advice = Some(advice.into());
        self.checks.push(Check { name, status: Status::Fail, message: message.into(), advice });
    }

    pub(crate) fn has_failures(&self) -> bool {
        self.checks.iter().any(|check| check.status == Status::Fail)
    }

    /// The checks, for the JSON of a command.
    pub(crate) fn checks(&self) -> &impl Serialize {
        &self.checks
    }

    pub(crate) fn print(&self) -> anyhow::Result<()> {
        let in_color = output::supports_color(&std::io::stdout());
        for check in &self.checks {
            let (word, code) = match check.status {
                Status::Ok => ("ok  ", "32"),
                Status::Warn => ("warn", "33"),
                Status::Fail => ("fail", "31"),
            };
            let word = output::colorize(word, code, in_color);
            output::print_colored(format!(
                "{word}  {:<15} {}",
                check.name,
                output::sanitize(&check.message.replace('\n', "\u{fffd}"))
            ))?;
            if let Some(advice) = &check.advice {
                output::print_line(format!("      {:<15} -> {advice}", ""))?;
            }
        }
        Ok(())
    }
}
