//! Keeps the source of every part of a prompt as a type: a person's own words, or a quotation of what others wrote.
//!
//! The guard takes [`Instructions`], which only a prompt can make, and only of its instructions. So nothing in a
//! quotation can widen what the guard allows.

use crate::fence;

#[derive(Debug, Clone, PartialEq, Eq)]
pub enum PromptPart {
    /// A person's own words: what was typed into a form, or `prompt` of the API.
    Instruction(String),
    /// Everything else, such as page views or a file. `source` says where the text is from.
    Quotation { source: String, text: String },
}

#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct Prompt(Vec<PromptPart>);

impl Prompt {
    pub fn new(parts: Vec<PromptPart>) -> Self {
        Self(parts)
    }

    /// A prompt without quotations.
    pub fn instruction(text: impl Into<String>) -> Self {
        Self(vec![PromptPart::Instruction(text.into())])
    }

    /// The parts of all prompts of one run, in their order.
    pub fn joined(prompts: &[Self]) -> Self {
        Self(prompts.iter().flat_map(|prompt| prompt.0.iter().cloned()).collect())
    }

    /// The instructions as they were typed. A person can quote in them, too: see [`Prompt::instructions`].
    pub fn instruction_text(&self) -> String {
        self.typed().collect::<Vec<_>>().join("\n\n")
    }

    fn typed(&self) -> impl Iterator<Item = &str> {
        self.0.iter().filter_map(|part| match part {
            PromptPart::Instruction(text) => Some(text.as_str()),
            PromptPart::Quotation { .. } => None,
        })
    }

    /// Source and text of each quotation.
    pub fn quotations(&self) -> impl Iterator<Item = (&str, &str)> {
        self.0.iter().filter_map(|part| match part {
            PromptPart::Instruction(_) => None,
            PromptPart::Quotation { source, text } => Some((source.as_str(), text.as_str())),
        })
    }

    /// What people ask for: the instructions, without what is quoted in them behind `>` or in `<quoted>`.
    /// A quotation that is never closed ends with its own instruction.
    pub fn instructions(&self) -> Instructions {
        Instructions(self.typed().map(fence::unquoted).collect::<Vec<_>>().join("\n\n"))
    }

    /// The prompt as a model reads it: the instructions as the task, each quotation fenced behind it.
    pub fn render(&self) -> String {
        let task = fence::task(&self.instruction_text());
        self.quotations().fold(task, |text, (source, quoted)| text + "\n" + &fence::quotation(source, quoted))
    }
}

/// A person's own words: the only text that can widen what the guard allows.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct Instructions(String);

impl Instructions {
    pub fn as_str(&self) -> &str {
        &self.0
    }
}
