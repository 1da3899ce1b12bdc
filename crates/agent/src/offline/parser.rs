//! Reads instructions from plain English.
//!
//! A prompt is understood as a whole or not at all: every word must be accounted for, because an
//! instruction that is half understood is carried out wrongly.

use super::command::{Bump, Command, Instruction, Replace};
use super::lexer::{self, Kind, Token};
use super::phrases::{Code, Phrases};
use super::version;

const MAX_INSTRUCTIONS: usize = 50;
const MAX_QUOTED_CHARS: usize = 80;
const POLITE: &[&str] = &[
    "please", "kindly", "can", "could", "would", "will", "you", "i", "i'd", "we", "want", "need", "like",
    "to", "just", "now", "let's", "lets", "hi", "hello", "hey", "thanks", "thank", "task", "todo", "-", "*",
    "•",
];
const BETWEEN: &[&str] = &["and", "then", "also", "next", "finally", "afterwards", "plus", "&"];
const DETERMINERS: &[&str] = &[
    "the",
    "all",
    "any",
    "every",
    "each",
    "of",
    "to",
    "our",
    "occurrences",
    "occurrence",
    "instances",
    "mentions",
    "uses",
    "references",
    "word",
    "words",
    "term",
    "phrase",
    "string",
    "text",
    "name",
];
/// Words that stand for something else; taken literally they would be replaced by mistake.
const NOT_LITERAL: &[&str] =
    &["it", "this", "that", "them", "these", "those", "everything", "something", "anything", "one"];
const CONNECTORS: &[&str] = &["with", "by", "to", "into", "for", "→", "->", "=>"];

/// The instructions of a prompt, or a sentence that says which part of it was not understood.
pub(super) fn parse(prompt: &str) -> Result<Vec<Instruction>, String> {
    let tokens = lexer::tokens(prompt);
    let mut parser = Parser { tokens: Phrases::new(&tokens) };
    let mut instructions = Vec::new();
    while parser.skip_between() {
        let start = parser.tokens.at;
        if parser.belongs_to_the_last(&mut instructions) {
            continue;
        }
        let found = parser.sentence().filter(|_| parser.at_end_of_instruction());
        let Some(found) = found else { return Err(not_understood(part(prompt, &tokens, start))) };
        instructions.extend(found);
        if instructions.len() > MAX_INSTRUCTIONS {
            return Err(format!(
                "The prompt has more than {MAX_INSTRUCTIONS} instructions; split it over several jobs."
            ));
        }
    }
    match instructions.is_empty() {
        true => Err(not_understood(prompt)),
        false => Ok(instructions),
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
         misspellings, and bump version X to Y; connect a model to have it read prose: see `docwright model --help`."
    )
}

/// The sentence that begins at a token, as it was written.
fn part<'a>(prompt: &'a str, tokens: &[Token], start: usize) -> &'a str {
    let rest = &tokens[start..];
    let end = rest.iter().position(|token| token.kind == Kind::Stop).unwrap_or(rest.len()).max(1);
    match (rest.first(), rest.get(end - 1)) {
        (Some(first), Some(last)) => &prompt[first.range.start..last.range.end],
        _ => prompt,
    }
}

struct Parser<'a> {
    tokens: Phrases<'a>,
}

impl Parser<'_> {
    /// Steps over what joins instructions; false at the end of the prompt.
    fn skip_between(&mut self) -> bool {
        while self.tokens.mark().is_some()
            || self.tokens.any_of(BETWEEN).is_some()
            || self.tokens.any_of(POLITE).is_some()
        {}
        !self.tokens.is_done()
    }

    fn at_end_of_instruction(&mut self) -> bool {
        while self.tokens.any_of(&["please", "thanks", "thank", "you", "now"]).is_some() {}
        self.tokens.is_done() || self.tokens.is_mark() || self.tokens.peek_any(BETWEEN)
    }

    /// "Include code blocks." as a sentence of its own speaks of the replacement before it.
    fn belongs_to_the_last(&mut self, instructions: &mut [Instruction]) -> bool {
        let Some(Instruction { command: Command::Replace(replace), .. }) = instructions.last_mut() else {
            return false;
        };
        let start = self.tokens.at;
        match self.tokens.code_phrase() {
            Some(code) if self.at_end_of_instruction() => {
                replace.code = code == Code::Included;
                true
            }
            _ => {
                self.tokens.at = start;
                false
            }
        }
    }

    fn sentence(&mut self) -> Option<Vec<Instruction>> {
        let mut modifiers = Modifiers::default();
        self.modifiers(&mut modifiers)?;
        while self.tokens.mark().is_some() || self.tokens.any_of(POLITE).is_some() {}
        let start = self.tokens.at;
        for reader in [Self::bump, Self::replace, Self::use_instead, Self::fix] {
            let mut found = modifiers.clone();
            if let Some(commands) = reader(self, &mut found) {
                return Some(found.apply(commands));
            }
            self.tokens.at = start;
        }
        None
    }

    /// Reads where and whether in code, as far as anything says so. `None` when a pattern makes no sense.
    fn modifiers(&mut self, modifiers: &mut Modifiers) -> Option<()> {
        loop {
            if let Some(code) = self.tokens.code_phrase() {
                modifiers.code = Some(code == Code::Included);
            } else if let Some(scope) = self.tokens.scope_phrase() {
                if scope.iter().any(|text| pages::Scope::parse(text).is_none()) {
                    return None;
                }
                modifiers.scope.extend(scope);
            } else {
                return Some(());
            }
        }
    }

    /// `replace "A" with "B"`, `change A to B`.
    fn replace(&mut self, modifiers: &mut Modifiers) -> Option<Vec<Command>> {
        let verb = self.tokens.any_of(&["replace", "change", "rename", "swap", "update", "switch"])?;
        let old = self.operand()?;
        self.modifiers(modifiers)?;
        self.tokens.any_of(CONNECTORS)?;
        let new = self.operand()?;
        // To rename a file is another thing than to replace its name in the text.
        if old.text.is_empty() || (verb == "rename" && pages::is_page(&old.text)) {
            return None;
        }
        self.modifiers(modifiers)?;
        Some(vec![replace(old.text, new.text)])
    }

    /// `use "B" instead of "A"`.
    fn use_instead(&mut self, modifiers: &mut Modifiers) -> Option<Vec<Command>> {
        self.tokens.any_of(&["use", "write", "say", "prefer"])?;
        let new = self.operand()?;
        self.modifiers(modifiers)?;
        let joined = self.tokens.words(&["instead", "of"])
            || self.tokens.words(&["rather", "than"])
            || self.tokens.words(&["over"]);
        let old = self.operand().filter(|old| joined && !old.text.is_empty())?;
        self.modifiers(modifiers)?;
        Some(vec![replace(old.text, new.text)])
    }

    /// A quoted text, or one word that can only be meant literally.
    fn operand(&mut self) -> Option<Token> {
        while self.tokens.any_of(DETERMINERS).is_some() {}
        let token = self.tokens.next()?;
        let literal = match token.kind {
            Kind::Quoted => true,
            Kind::Word => {
                !NOT_LITERAL.iter().any(|word| token.is(word))
                    && !token.text.starts_with(['"', '\'', '`', '“'])
            }
            Kind::Comma | Kind::Stop => false,
        };
        literal.then(|| token.clone())
    }

    /// `bump the version from X to Y`.
    fn bump(&mut self, modifiers: &mut Modifiers) -> Option<Vec<Command>> {
        let verb = self
            .tokens
            .any_of(&["bump", "upgrade", "raise", "update", "change", "replace", "set", "move"])?;
        let named = self.version_words();
        let old = self.tokens.next()?.clone();
        self.modifiers(modifiers)?;
        self.tokens.any_of(&["to", "with", "by", "into", "→", "->", "=>"])?;
        self.version_words();
        let new = self.tokens.next()?.clone();
        let literal =
            old.kind == Kind::Quoted && !named && !["bump", "upgrade", "raise"].contains(&verb.as_str());
        let (old, new) = (version::parse(&old.text)?, version::parse(&new.text)?);
        if literal {
            return None;
        }
        self.modifiers(modifiers)?;
        Some(vec![Command::Bump(Bump { old, new })])
    }

    /// Whether the word "version" stood among the words in front of a number.
    fn version_words(&mut self) -> bool {
        let mut named = false;
        let words = &[
            "the",
            "all",
            "every",
            "our",
            "version",
            "versions",
            "release",
            "number",
            "numbers",
            "string",
            "strings",
            "of",
            "references",
            "mentions",
            "from",
            "docs",
            "to",
            "doc",
            "documented",
        ];
        while let Some(word) = self.tokens.any_of(words) {
            named |= word.starts_with("version");
        }
        named
    }

    /// `fix broken links and typos`.
    fn fix(&mut self, modifiers: &mut Modifiers) -> Option<Vec<Command>> {
        self.tokens.any_of(&["fix", "repair", "correct", "mend", "resolve"])?;
        let mut commands = vec![self.tokens.fixable()?];
        loop {
            let start = self.tokens.at;
            self.tokens.comma();
            self.tokens.any_of(&["and", "&", "also"]);
            match self.tokens.fixable().filter(|_| self.tokens.at > start) {
                Some(command) => commands.push(command),
                None => {
                    self.tokens.at = start;
                    break;
                }
            }
        }
        self.modifiers(modifiers)?;
        commands.dedup();
        Some(commands)
    }
}

fn replace(old: String, new: String) -> Command {
    Command::Replace(Replace { old, new, code: false })
}

#[derive(Clone, Default)]
struct Modifiers {
    scope: Vec<String>,
    code: Option<bool>,
}

impl Modifiers {
    fn apply(self, mut commands: Vec<Command>) -> Vec<Instruction> {
        for command in &mut commands {
            if let Command::Replace(replace) = command {
                replace.code = self.code.unwrap_or(false);
            }
        }
        commands.into_iter().map(|command| Instruction { command, scope: self.scope.clone() }).collect()
    }
}

#[cfg(test)]
mod tests;
