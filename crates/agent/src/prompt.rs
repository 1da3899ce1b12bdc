//! Keeps the source of every part of a prompt as a type: an instruction in a person's own words, or a quotation.
//!
//! The guard takes [`Instructions`]. Only a prompt can create them, and only from its instructions. So nothing in a
//! quotation can widen what the guard allows.

use crate::fence;

#[derive(Debug, Clone, PartialEq, Eq)]
pub enum PromptPart {
    /// A person's own words: the prompt box of the dashboard, or `prompt` of the API.
    Instruction(String),
    /// Everything else, such as page views or a file. `source` says where the text comes from.
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

    /// The instructions as a person typed them, including quotations in them. See [`Prompt::instructions`].
    pub fn instruction_text(&self) -> String {
        self.instruction_parts().collect::<Vec<_>>().join("\n\n")
    }

    fn instruction_parts(&self) -> impl Iterator<Item = &str> {
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

    /// The instructions without the quotations in them, behind `>` or in `<quoted>`. A quotation without an end ends
    /// with its instruction.
    pub fn instructions(&self) -> Instructions {
        Instructions(self.instruction_parts().map(fence::remove_quotations).collect::<Vec<_>>().join("\n\n"))
    }

    /// The prompt as a model reads it: the instructions as the task, then each quotation between its own tags.
    pub fn render(&self) -> String {
        let task = fence::fence_task(&self.instruction_text());
        self.quotations()
            .fold(task, |text, (source, quoted)| text + "\n" + &fence::fence_quotation(source, quoted))
    }
}

/// A person's own words. Only this text can widen what the guard allows.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct Instructions(String);

impl Instructions {
    pub fn as_str(&self) -> &str {
        &self.0
    }
}
