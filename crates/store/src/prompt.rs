//! Parses a prompt: an instruction, and quotations that come with it.

use serde::{Deserialize, Serialize};

use crate::Result;

/// The limit of the prompt, and of the prompt with its context.
pub const MAX_PROMPT_CHARS: usize = 100_000;
pub const MAX_QUOTATIONS: usize = 20;
pub const MAX_LABEL_CHARS: usize = 100;

/// A text by others with a label that names its source. It is not an instruction.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct Quotation {
    pub label: String,
    pub text: String,
}

/// An instruction with quotations.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Prompt {
    pub(crate) text: String,
    pub(crate) context: Vec<Quotation>,
}

#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub enum PromptError {
    #[error("prompt must not be empty")]
    Empty,
    #[error("prompt must be at most 100,000 characters, got {0}")]
    TooLong(usize),
    #[error("context must have at most 20 entries, got {0}; send the most important ones")]
    TooManyQuotations(usize),
    #[error("context[{index}].label must have 1 to 100 characters, got {chars}")]
    BadLabel { index: usize, chars: usize },
    #[error(
        "prompt and context together must be at most 100,000 characters, got {0}; shorten the texts of context"
    )]
    TooLongTogether(usize),
}

impl PromptError {
    pub fn is_about_context(&self) -> bool {
        !matches!(self, Self::Empty | Self::TooLong(_))
    }
}

impl Prompt {
    pub fn parse(text: &str) -> Result<Self, PromptError> {
        match text.trim() {
            blank if blank.chars().all(is_blank) => Err(PromptError::Empty),
            // Before the trim, as the API's schema counts. A text of fewer bytes need not be counted.
            _ if text.len() > MAX_PROMPT_CHARS && text.chars().count() > MAX_PROMPT_CHARS => {
                Err(PromptError::TooLong(text.chars().count()))
            }
            prompt => Ok(Self { text: prompt.to_owned(), context: Vec::new() }),
        }
    }

    /// Parses a prompt with quotations.
    pub fn with_context(text: &str, context: Vec<Quotation>) -> Result<Self, PromptError> {
        let prompt = Self::parse(text)?;
        if context.len() > MAX_QUOTATIONS {
            return Err(PromptError::TooManyQuotations(context.len()));
        }
        let mut total = text.chars().count();
        for (index, quotation) in context.iter().enumerate() {
            let chars = quotation.label.chars().count();
            if chars == 0 || chars > MAX_LABEL_CHARS {
                return Err(PromptError::BadLabel { index, chars });
            }
            total += chars + quotation.text.chars().count();
        }
        match context.is_empty() || total <= MAX_PROMPT_CHARS {
            true => Ok(Self { context, ..prompt }),
            false => Err(PromptError::TooLongTogether(total)),
        }
    }

    /// The instruction.
    pub fn as_str(&self) -> &str {
        &self.text
    }

    pub fn context(&self) -> &[Quotation] {
        &self.context
    }
}

/// Whether a character is a space, a control character or has no width.
fn is_blank(c: char) -> bool {
    c.is_whitespace() || c.is_control() || matches!(c, '\u{200b}'..='\u{200f}' | '\u{2060}' | '\u{feff}')
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn prompts() {
        #[track_caller]
        fn check(text: &str, expected: Result<&str, PromptError>) {
            assert_eq!(Prompt::parse(text).as_ref().map(Prompt::as_str), expected.as_ref().copied());
        }
        check("  Fix links\n", Ok("Fix links"));
        check(" \n\t ", Err(PromptError::Empty));
        check("\u{200b}\0 \u{feff}", Err(PromptError::Empty));
        let longest = "é".repeat(MAX_PROMPT_CHARS);
        check(&longest, Ok(&longest));
        check(&format!("{longest}x"), Err(PromptError::TooLong(MAX_PROMPT_CHARS + 1)));
    }

    #[test]
    fn contexts() {
        #[track_caller]
        fn check(prompt: &str, context: &[(&str, &str)], expected: Result<usize, PromptError>) {
            let quotation =
                |(label, text): &(&str, &str)| Quotation { label: (*label).into(), text: (*text).into() };
            let parsed = Prompt::with_context(prompt, context.iter().map(quotation).collect());
            assert_eq!(parsed.map(|prompt| prompt.context().len()), expected);
        }
        let (label, long) = ("é".repeat(MAX_LABEL_CHARS), "é".repeat(MAX_PROMPT_CHARS - 2));
        check("x", &[], Ok(0));
        check("x", &[("a", ""), (&label, "b")], Ok(2));
        check("x", &[("a", &long)], Ok(1));
        check("xy", &[("a", &long)], Err(PromptError::TooLongTogether(MAX_PROMPT_CHARS + 1)));
        check("x", &[("a", "b"), ("", "c")], Err(PromptError::BadLabel { index: 1, chars: 0 }));
        check("x", &[(&format!("{label}a"), "b")], Err(PromptError::BadLabel { index: 0, chars: 101 }));
        check("x", &[("a", "b"); 20], Ok(20));
        check("x", &[("a", "b"); 21], Err(PromptError::TooManyQuotations(21)));
        check(" ", &[("a", "b")], Err(PromptError::Empty));
    }
}
