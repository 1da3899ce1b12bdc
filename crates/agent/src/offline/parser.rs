//! Reads instructions from plain English.
//!
//! A prompt is understood as a whole or not at all: every word must be accounted for, because an
//! instruction that is half understood is carried out wrongly.

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
const BETWEEN: WordList = WordList("and then also next finally afterwards plus &");

/// The instructions of a prompt, or a sentence that says which part of it was not understood.
pub(super) fn parse(prompt: &str) -> Result<Vec<Instruction>, String> {
    let tokens = lexer::tokens(prompt);
    let mut parser = Parser::new(&tokens);
    while parser.skip_between() {
        let start = parser.tokens.at;
        if parser.speaks_of_what_was_said() {
            continue;
        }
        parser.tokens.any_of(BETWEEN);
        if parser.sentence().is_none() || !parser.at_end_of_instruction() {
            return Err(not_understood(part(prompt, &tokens, start)));
        }
        if parser.instructions.len() > MAX_INSTRUCTIONS {
            return Err(format!(
                "The prompt has more than {MAX_INSTRUCTIONS} instructions; split it over several jobs."
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
        "The offline editor does not understand \"{shown}\": it can replace \"A\" with \"B\", fix broken links, fix \
         misspellings, and bump version X to Y; anything else needs a model that reads prose: name one in the settings and give it to the project."
    )
}

/// The sentence that begins at a token, as it was written, without the word that joins it to the last.
fn part<'a>(prompt: &'a str, tokens: &[Token], mut start: usize) -> &'a str {
    while tokens[start].is_one_of(BETWEEN) && start + 1 < tokens.len() {
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
    /// What was said in front of instructions, and holds for all of them: to the end of the sentence, or of the prompt.
    leading: Modifiers,
    leading_lasts: bool,
    /// The first instruction of this sentence that no place was named behind.
    unplaced: usize,
}

impl<'a> Parser<'a> {
    fn new(tokens: &'a [Token]) -> Self {
        Self {
            tokens: Phrases::new(tokens),
            instructions: Vec::new(),
            leading: Modifiers::default(),
            leading_lasts: false,
            unplaced: 0,
        }
    }

    /// Steps over what joins instructions, up to a last "and" or "also"; false at the end of the prompt.
    fn skip_between(&mut self) -> bool {
        loop {
            let _ = self.tokens.words("in advance");
            let joint = self.tokens.peek_any(BETWEEN) && self.joins_more();
            if !joint && !self.tokens.is_mark() && !self.tokens.peek_any(POLITE) {
                break;
            }
            let Some(token) = self.tokens.next() else { break };
            if token.kind == Kind::Stop {
                self.unplaced = self.instructions.len();
            }
            if token.ends_a_sentence() && !self.leading_lasts {
                self.leading = Modifiers::default();
            }
        }
        !self.tokens.is_done()
    }

    /// Whether the word behind this one is a joint as well, or nothing stands there.
    fn joins_more(&self) -> bool {
        self.tokens.peek_second().is_none_or(|token| {
            token.kind != Kind::Word && token.kind != Kind::Quoted
                || token.is_one_of(BETWEEN)
                || token.is_one_of(POLITE)
        })
    }

    fn at_end_of_instruction(&mut self) -> bool {
        while self.tokens.any_of(THANKS).is_some() || self.tokens.words("in advance") {}
        self.tokens.is_done() || self.tokens.is_mark() || self.tokens.peek_any(BETWEEN)
    }

    /// "Include code blocks." as a sentence of its own speaks of the instruction before it, and
    /// "Do not touch code." of all of them.
    fn speaks_of_what_was_said(&mut self) -> bool {
        let start = self.tokens.at;
        let Some(included) = self.tokens.code_phrase() else { return false };
        let count = self.instructions.len();
        let meant = if included { count.saturating_sub(1) } else { 0 };
        let understood = count > 0
            && self.at_end_of_instruction()
            && self.instructions[meant..].iter_mut().all(|one| one.command.set_code(included));
        if !understood {
            self.tokens.at = start;
        }
        understood
    }

    fn sentence(&mut self) -> Option<()> {
        let mut said = Modifiers::default();
        said.read(&mut self.tokens)?;
        if !said.is_empty() {
            self.lead(said)?;
        }
        while self.tokens.mark().is_some() || self.tokens.any_of(POLITE).is_some() {}
        let mut own = Modifiers::default();
        let commands = verbs::commands(&mut self.tokens, &mut own)?;
        self.spread_back(&own)?;
        let placed = own.names_a_place();
        let own = own.within(&self.leading)?;
        for command in commands {
            self.instructions.push(own.apply(command)?);
        }
        if placed {
            self.unplaced = self.instructions.len();
        }
        Some(())
    }

    /// "In a.md, …" holds for the sentence; "In a.md: …", and a first sentence of its own, for all that follows.
    fn lead(&mut self, said: Modifiers) -> Option<()> {
        let mark = self.tokens.peek().map(|token| token.kind);
        // "Fix typos. Only in docs. Fix links.": it cannot be told which of the two is meant.
        if mark == Some(Kind::Stop) && !self.instructions.is_empty() {
            return None;
        }
        self.leading = said;
        self.leading_lasts = matches!(mark, Some(Kind::Colon | Kind::Stop));
        Some(())
    }

    /// "Fix typos and links in a.md" may mean a.md for both; so it does, as that is the narrower reading.
    fn spread_back(&mut self, own: &Modifiers) -> Option<()> {
        for instruction in &mut self.instructions[self.unplaced..] {
            own.narrow(instruction)?;
        }
        Some(())
    }
}

#[cfg(test)]
mod tests;
