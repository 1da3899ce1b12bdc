//! Parses instructions in plain English.
//!
//! A prompt is understood completely or not at all: every word must have a meaning, because an instruction that is
//! understood only in part would be carried out wrongly.

use pages::WordList;

use super::command::Instruction;
use super::lexer::{self, Kind, Token};
use super::modifiers::Modifiers;
use super::phrases::Phrases;
use super::verbs;

const MAX_INSTRUCTIONS: usize = 50;
const MAX_QUOTED_CHARS: usize = 80;
const POLITE: WordList = WordList(
    "\
please kindly can could would will you i i'd we want need like to just now let's lets hi hello hey thanks \
thank cheers many very much too as well task todo - * •",
);
const THANKS: WordList = WordList("please thanks thank you now many very much cheers too as well");
const CONNECTORS: WordList = WordList("and then also next finally afterwards plus &");

/// Returns the instructions of a prompt, or a sentence that says which part was not understood.
pub(super) fn parse(prompt: &str) -> Result<Vec<Instruction>, String> {
    let tokens = lexer::tokens(prompt);
    let mut parser = Parser::new(&tokens);
    while parser.skip_connectors() {
        let start = parser.tokens.at;
        if parser.apply_to_previous() {
            continue;
        }
        parser.tokens.any_of(CONNECTORS);
        if parser.sentence().is_none() || !parser.is_at_end_of_instruction() {
            return Err(not_understood(sentence_at(prompt, &tokens, start)));
        }
        if parser.instructions.len() > MAX_INSTRUCTIONS {
            return Err(format!(
                "The prompt has more than {MAX_INSTRUCTIONS} instructions. Split it into several jobs."
            ));
        }
    }
    match parser.instructions.is_empty() {
        true => Err(not_understood(prompt)),
        false => Ok(parser.instructions),
    }
}

fn not_understood(part: &str) -> String {
    let part: Vec<&str> = part.split_whitespace().collect();
    let part: String = part.join(" ").chars().filter(|c| !c.is_control()).collect();
    let shown = match part.chars().count() > MAX_QUOTED_CHARS {
        true => part.chars().take(MAX_QUOTED_CHARS - 1).chain(['…']).collect(),
        false => part,
    };
    format!(
        "The offline editor does not understand \"{shown}\". It can replace \"A\" with \"B\", fix broken links, fix \
        misspellings, bump version X to Y, and add redirects for pages that were not found. For anything else, configure a model in the settings and assign it to the project."
    )
}

/// The text of the sentence that begins at a token, without the connector before it.
fn sentence_at<'a>(prompt: &'a str, tokens: &[Token], mut start: usize) -> &'a str {
    while tokens[start].is_one_of(CONNECTORS) && start + 1 < tokens.len() {
        start += 1;
    }
    let rest = &tokens[start..];
    let end = rest.iter().position(|token| token.kind == Kind::Stop).unwrap_or(rest.len()).max(1);
    match (rest.first(), rest.get(end - 1)) {
        (Some(first), Some(last)) => &prompt[first.range.start..last.range.end],
        _ => prompt,
    }
}

struct Parser<'a> {
    tokens: Phrases<'a>,
    instructions: Vec<Instruction>,
    /// Modifiers before instructions. They apply to the end of the sentence, or of the prompt.
    leading: Modifiers,
    leading_lasts: bool,
    /// The index of the first instruction of this sentence without a scope after it.
    unscoped: usize,
}

impl<'a> Parser<'a> {
    fn new(tokens: &'a [Token]) -> Self {
        Self {
            tokens: Phrases::new(tokens),
            instructions: Vec::new(),
            leading: Modifiers::default(),
            leading_lasts: false,
            unscoped: 0,
        }
    }

    /// Skips punctuation, polite words and connectors, except the last connector. Returns `false` at the end of the
    /// prompt.
    fn skip_connectors(&mut self) -> bool {
        loop {
            let _ = self.tokens.words("in advance");
            let is_connector = self.tokens.peek_any(CONNECTORS) && self.is_followed_by_connector();
            if !is_connector && !self.tokens.is_punctuation() && !self.tokens.peek_any(POLITE) {
                break;
            }
            let Some(token) = self.tokens.next() else { break };
            if token.kind == Kind::Stop {
                self.unscoped = self.instructions.len();
            }
            if token.ends_sentence() && !self.leading_lasts {
                self.leading = Modifiers::default();
            }
        }
        !self.tokens.is_done()
    }

    /// Whether the next word is followed by another connector, by punctuation, or by nothing.
    fn is_followed_by_connector(&self) -> bool {
        self.tokens.peek_second().is_none_or(|token| {
            token.kind != Kind::Word && token.kind != Kind::Quoted
                || token.is_one_of(CONNECTORS)
                || token.is_one_of(POLITE)
        })
    }

    fn is_at_end_of_instruction(&mut self) -> bool {
        while self.tokens.any_of(THANKS).is_some() || self.tokens.words("in advance") {}
        self.tokens.is_done() || self.tokens.is_punctuation() || self.tokens.peek_any(CONNECTORS)
    }

    /// Applies a sentence about code to earlier instructions: "Include code blocks." to the last one, "Do not touch
    /// code." to all of them. Returns whether there was such a sentence.
    fn apply_to_previous(&mut self) -> bool {
        let start = self.tokens.at;
        let Some(included) = self.tokens.code_phrase() else { return false };
        let count = self.instructions.len();
        let first = if included { count.saturating_sub(1) } else { 0 };
        let is_applied = count > 0
            && self.is_at_end_of_instruction()
            && self.instructions[first..]
                .iter_mut()
                .all(|instruction| instruction.command.set_code(included));
        if !is_applied {
            self.tokens.at = start;
        }
        is_applied
    }

    fn sentence(&mut self) -> Option<()> {
        let mut leading = Modifiers::default();
        leading.read(&mut self.tokens)?;
        if !leading.is_empty() {
            self.set_leading(leading)?;
        }
        while self.tokens.punctuation().is_some() || self.tokens.any_of(POLITE).is_some() {}
        let mut own = Modifiers::default();
        let commands = verbs::commands(&mut self.tokens, &mut own)?;
        self.narrow_previous(&own)?;
        let has_scope = own.has_scope();
        let own = own.within(&self.leading)?;
        for command in commands {
            self.instructions.push(own.apply(command)?);
        }
        if has_scope {
            self.unscoped = self.instructions.len();
        }
        Some(())
    }

    /// "In a.md, …" applies to the sentence. "In a.md: …", and a separate first sentence, apply to the rest of the
    /// prompt.
    fn set_leading(&mut self, modifiers: Modifiers) -> Option<()> {
        let next = self.tokens.peek().map(|token| token.kind);
        // "Fix typos. Only in docs. Fix links.": it's not clear which instruction is meant.
        if next == Some(Kind::Stop) && !self.instructions.is_empty() {
            return None;
        }
        self.leading = modifiers;
        self.leading_lasts = matches!(next, Some(Kind::Colon | Kind::Stop));
        Some(())
    }

    /// "Fix typos and links in a.md" can mean a.md for both. So it does, because that is the narrower meaning.
    fn narrow_previous(&mut self, own: &Modifiers) -> Option<()> {
        for instruction in &mut self.instructions[self.unscoped..] {
            own.narrow(instruction)?;
        }
        Some(())
    }
}

#[cfg(test)]
mod tests;
