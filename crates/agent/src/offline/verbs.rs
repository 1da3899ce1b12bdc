//! Parses the commands: replace, use instead, remove, bump, fix.

use pages::WordList;

use super::command::{Bump, Command, Replace};
use super::lexer::Kind;
use super::literal::is_literal;
use super::modifiers::Modifiers;
use super::phrases::Phrases;
use super::version;

const DETERMINERS: WordList = WordList(
    "\
the all any every each of to our occurrences occurrence instances mentions uses references word words term \
phrase string text name",
);
const CONNECTORS: WordList = WordList("with by to into for → -> =>");
const VERSION_WORDS: WordList = WordList(
    "\
the all every our version versions release number numbers string strings of references mentions from docs to \
doc documented",
);

type Reader = fn(&mut Phrases<'_>, &mut Modifiers) -> Option<Vec<Command>>;

/// Reads the commands of one instruction, with the modifiers among and after them.
pub(super) fn commands(tokens: &mut Phrases<'_>, modifiers: &mut Modifiers) -> Option<Vec<Command>> {
    let readers: [Reader; 8] =
        [bump, replace, use_instead, remove, fix, check_for, spell_check, add_redirects];
    let start = tokens.at;
    for reader in readers {
        let mut found = modifiers.clone();
        if let Some(commands) = reader(tokens, &mut found) {
            *modifiers = found;
            return Some(commands);
        }
        tokens.at = start;
    }
    None
}

/// `replace A with B`, `change "A" to "B"`, `switch from A to B`, `replace "A" with "B" and "C" with "D"`.
fn replace(tokens: &mut Phrases<'_>, modifiers: &mut Modifiers) -> Option<Vec<Command>> {
    find_and(tokens);
    let verb = tokens.any_of("replace swap change rename update switch")?;
    let from = tokens.any_of("from").is_some();
    // "Change the version to 1.5.0" is about a version. Only these verbs take literal words.
    let literal = ["replace", "swap"].contains(&verb.as_str()) || (verb == "switch" && from);
    let first = pair(tokens, modifiers, literal)?;
    // Renaming a file is not the same as replacing its name in the text.
    if verb == "rename" && pages::is_page(&first.old) {
        return None;
    }
    let mut pairs = vec![Command::Replace(first)];
    while let Some(next) = tokens.attempt(|tokens| {
        tokens.comma();
        tokens.skip("and also");
        let mut found = modifiers.clone();
        let next = pair(tokens, &mut found, false)?;
        *modifiers = found;
        Some(next)
    }) {
        pairs.push(Command::Replace(next));
    }
    Some(pairs)
}

fn find_and(tokens: &mut Phrases<'_>) {
    let _ = tokens.words("find and") || tokens.words("search and") || tokens.words("search for and");
}

fn pair(tokens: &mut Phrases<'_>, modifiers: &mut Modifiers, literal: bool) -> Option<Replace> {
    let old = operand(tokens, literal)?;
    modifiers.read(tokens)?;
    tokens.any_of(CONNECTORS)?;
    let new = operand(tokens, literal)?;
    modifiers.read(tokens)?;
    replacement(old, new)
}

/// `use "B" instead of "A"`, `use B, not A`.
fn use_instead(tokens: &mut Phrases<'_>, modifiers: &mut Modifiers) -> Option<Vec<Command>> {
    let verb = tokens.any_of("use write say prefer")?;
    let literal = ["use", "prefer"].contains(&verb.as_str());
    let new = operand(tokens, literal)?;
    modifiers.read(tokens)?;
    let comma = tokens.comma();
    let joined = tokens.words("instead of")
        || tokens.words("rather than")
        || (verb == "prefer" && tokens.words("over"))
        || (comma && tokens.words("not"))
        || tokens.words("and not");
    let old = operand(tokens, literal).filter(|_| joined)?;
    modifiers.read(tokens)?;
    Some(vec![Command::Replace(replacement(old, new)?)])
}

/// `remove "A"`.
fn remove(tokens: &mut Phrases<'_>, modifiers: &mut Modifiers) -> Option<Vec<Command>> {
    tokens.any_of("remove delete drop")?;
    let old = operand(tokens, false)?;
    modifiers.read(tokens)?;
    Some(vec![Command::Replace(replacement(old, String::new())?)])
}

fn replacement(old: String, new: String) -> Option<Replace> {
    (!old.is_empty()).then_some(Replace { old, new, code: false })
}

/// A quoted text. With `literal`, also a word that can only be literal.
fn operand(tokens: &mut Phrases<'_>, literal: bool) -> Option<String> {
    tokens.skip(DETERMINERS);
    let token = tokens.next()?;
    let is_operand = match token.kind {
        Kind::Quoted => true,
        Kind::Word => literal && is_literal(token),
        Kind::Comma | Kind::Colon | Kind::Stop => false,
    };
    is_operand.then(|| token.text.clone())
}

/// `bump the version from X to Y`, `bump acme to Y from X`.
fn bump(tokens: &mut Phrases<'_>, modifiers: &mut Modifiers) -> Option<Vec<Command>> {
    let verb = tokens.any_of("bump upgrade raise update change replace set move switch")?;
    let says_version = ["bump", "upgrade", "raise"].contains(&verb.as_str());
    let (mut says_word, mut is_reversed) = version_words(tokens);
    let product = match says_version || verb == "update" {
        true => tokens.attempt(product),
        false => None,
    };
    if product.is_some() {
        (says_word, is_reversed) = version_words(tokens);
    }
    let first = tokens.next()?;
    // A quoted text is literal, unless the prompt says that it is a version.
    if first.kind == Kind::Quoted && !says_word && !says_version {
        return None;
    }
    let first = version::parse(&first.text)?;
    modifiers.read(tokens)?;
    match is_reversed {
        true => tokens.any_of("from")?,
        false => tokens.any_of("to with by into → -> =>")?,
    };
    version_words(tokens);
    let second = version::parse(&tokens.next()?.text)?;
    modifiers.read(tokens)?;
    let (old, new) = if is_reversed { (second, first) } else { (first, second) };
    Some(vec![Command::Bump(Bump { old, new, product, code: true })])
}

/// Skips words before a version. Returns whether "version" is among them, and whether the last is "to".
fn version_words(tokens: &mut Phrases<'_>) -> (bool, bool) {
    let (mut says_version, mut last) = (false, String::new());
    while let Some(word) = tokens.any_of(VERSION_WORDS) {
        says_version |= word.starts_with("version");
        last = word;
    }
    (says_version, last == "to")
}

/// Reads the name of the product of a version.
fn product(tokens: &mut Phrases<'_>) -> Option<String> {
    let token = tokens.next()?;
    let is_name = matches!(token.kind, Kind::Word | Kind::Quoted)
        && version::parse(&token.text).is_none()
        && is_literal(token)
        && token.text.contains(|c: char| c.is_alphabetic());
    is_name.then(|| token.text.clone())
}

/// `fix broken links and typos`, `find and fix broken links`.
fn fix(tokens: &mut Phrases<'_>, modifiers: &mut Modifiers) -> Option<Vec<Command>> {
    find_and(tokens);
    tokens.any_of(FIX)?;
    let commands = tokens.fixables()?;
    modifiers.read(tokens)?;
    Some(commands)
}

const FIX: WordList = WordList("fix repair correct mend resolve");

/// `check the docs for broken links and fix them`.
fn check_for(tokens: &mut Phrases<'_>, modifiers: &mut Modifiers) -> Option<Vec<Command>> {
    let verb = tokens.any_of("check look search scan find")?;
    if verb != "find" && !tokens.words("for") {
        modifiers.set_scope(tokens.object()?)?;
        tokens.any_of("for")?;
    }
    let commands = tokens.fixables()?;
    modifiers.read(tokens)?;
    tokens.comma();
    tokens.any_of("and then")?;
    tokens.any_of(FIX)?;
    tokens.any_of("them those these it all")?;
    tokens.skip("all");
    modifiers.read(tokens)?;
    Some(commands)
}

/// `spell check the docs`, `run a spell check on install.md`.
fn spell_check(tokens: &mut Phrases<'_>, modifiers: &mut Modifiers) -> Option<Vec<Command>> {
    tokens.skip("run do a");
    if tokens.any_of("spellcheck spell-check").is_none() && !tokens.words("spell check") {
        return None;
    }
    if let Some(pages) = tokens.object() {
        modifiers.set_scope(pages)?;
    }
    modifiers.read(tokens)?;
    Some(vec![Command::FixSpelling])
}

const REDIRECT_NOUNS: WordList = WordList("redirect redirects redirections");
/// The words around what readers did not find.
const NOT_FOUND_FILLERS: WordList = WordList(
    "the all any every our my those these that which who were was are is have been be do does don't dont can't cant \
     couldn't not longer no pages page paths path addresses address urls url routes routes requests readers people \
     visitors agents assistants and ask asked look looked for by from in to of could find get listed named quoted \
     old moved renamed exist exists",
);
/// The words of which there must be one.
const NOT_FOUND: WordList = WordList(
    "found find missing 404 404s gone exist exists quotation quotations findings finding moved renamed",
);

/// `add redirects for pages that were not found`, "add redirects for `/a` and `/b`".
fn add_redirects(tokens: &mut Phrases<'_>, _modifiers: &mut Modifiers) -> Option<Vec<Command>> {
    tokens.any_of("add create write make")?;
    tokens.skip("a the any all missing needed new");
    tokens.any_of(REDIRECT_NOUNS)?;
    tokens.any_of("for from")?;
    if let Some(paths) = tokens.attempt(addresses) {
        return Some(vec![Command::AddRedirects(paths)]);
    }
    let mut is_clear = false;
    while let Some(token) =
        tokens.peek().filter(|token| token.is_one_of(NOT_FOUND_FILLERS) || token.is_one_of(NOT_FOUND))
    {
        is_clear |= token.is_one_of(NOT_FOUND);
        tokens.next();
    }
    is_clear.then(|| vec![Command::AddRedirects(Vec::new())])
}

/// Addresses of the site, with commas or "and" between them.
fn addresses(tokens: &mut Phrases<'_>) -> Option<Vec<String>> {
    let address = |tokens: &mut Phrases<'_>| {
        tokens.skip("the page pages path paths address");
        let token = tokens.next().filter(|token| matches!(token.kind, Kind::Quoted | Kind::Word))?;
        token.text.starts_with('/').then(|| token.text.clone())
    };
    let mut found = vec![address(tokens)?];
    while let Some(next) = tokens.attempt(|tokens| {
        tokens.comma();
        tokens.skip("and &");
        address(tokens)
    }) {
        found.push(next);
    }
    Some(found)
}
