//! Reads the info string of a code block: its language, and its attributes.

use super::{Construct, ConstructKind};
use crate::WordList;

/// Languages of programs and of plain data.
const LANGUAGES: WordList = WordList(
    "abap actionscript ada apache applescript arduino asm astro awk bash bat batch blade c c# c++ clojure \
     cmake cmd cobol coffeescript console conf config cpp crystal cs csharp css csv curl cypher d dart diff \
     docker dockerfile dotenv edn elixir elm env erb erlang fish fortran fsharp gdscript gherkin git \
     gitignore glsl go golang gradle graphql groovy haml handlebars haskell hbs hcl html http ignore ini java \
     javascript jinja jinja2 jq js json json5 jsonc jsonl jsonnet jsx julia kotlin kt less liquid lisp log \
     logs lua makefile make markdown markup matlab md mdx mongodb mysql nginx nim nix none nu nunjucks objc \
     objective-c objectivec ocaml output pascal patch perl pgsql php plain plaintext plsql postgresql \
     powershell prisma prolog promql proto protobuf ps1 pug puppet py pycon python python3 ql r raw rb regex \
     requirements rest rs rst ruby rust sass scala scheme scss sh shell shellscript sol solidity sparql sql \
     ssh svelte svg swift systemd tcl terminal terraform tex text textproto tf tmpl toml ts tsv tsx twig txt \
     typescript vb vba verilog vhdl vim vue wasm wat xml yaml yml zig zsh ascii asciidoc adoc gitattributes \
     hosts mermaid-source tree url uri properties bibtex latex mdc postcss stylus text/x-sh shell-session \
     sh-session shellsession bash-session doscon pwsh ps gql http-request xhtml wgsl hlsl cuda mdoc cue rego \
     starlark bazel bicep kdl just justfile po pot man groff diff-js diff-ts python-console python-repl",
);

/// Whether code is only shown: its language is known, and its attributes only change its appearance. Code in another
/// language can be rendered, and code with another attribute can run.
pub fn is_plain_code(info: &str) -> bool {
    let (language, rest) = split_info(info);
    (language.is_empty() || LANGUAGES.contains(&language.to_ascii_lowercase()))
        && rest.iter().all(|word| {
            let name = word.split(['=', '{', '/', '"', '[', '0']).next().unwrap_or_default();
            name.is_empty() && !is_attribute_list(word)
                || APPEARANCE.contains(&name.to_ascii_lowercase()) && !names_file(word)
                || is_error_code(word)
        })
}

/// `file=a.js`, from which some generators take the code. In quotes it is a title.
fn names_file(word: &str) -> bool {
    word.strip_prefix("file=").is_some_and(|file| !file.starts_with('"'))
}

/// `{=html}`, `{.class}`: more than line numbers.
fn is_attribute_list(word: &str) -> bool {
    word.contains('{') && !word.chars().all(|c| matches!(c, '{' | '}' | '0' | ',' | '-' | ' '))
}

/// Whether an info string has more than a language.
pub(super) fn has_attributes(info: &str) -> bool {
    info.contains(|c: char| !c.is_alphanumeric() && !matches!(c, '-' | '_' | '+' | '#' | '.'))
}

/// `E0223`, the compiler error of a Rust example.
fn is_error_code(word: &str) -> bool {
    word.strip_prefix('E')
        .is_some_and(|code| code.len() == 4 && code.bytes().all(|byte| byte.is_ascii_digit()))
}

/// The language of a code block, and its attributes. Values that only change its appearance and values that are not
/// paths are left out: `title=""`, `{0}`.
pub fn split_info(info: &str) -> (&str, Vec<String>) {
    let end = info.find([' ', '\t', '{', ',', ':', '=', '[']).unwrap_or(info.len());
    let (language, rest) = info.split_at(end);
    let (mut words, mut word, mut quote, mut braces) = (Vec::new(), String::new(), None, 0_usize);
    let is_appearance = |word: &str| {
        let name = word.split('=').next().unwrap_or_default().trim_start_matches('{');
        name.is_empty() || APPEARANCE.contains(&name.to_ascii_lowercase())
    };
    let (mut value, mut keeps_value) = (String::new(), false);
    for c in rest.chars() {
        match (c, quote) {
            ('"' | '\'', None) => {
                (quote, keeps_value) = (Some(c), !is_appearance(&word));
                word.push('"');
            }
            (c, Some(open)) if c == open => {
                quote = None;
                let value = std::mem::take(&mut value);
                if keeps_value && value.contains(['/', '.', ':', '\\']) {
                    word.push_str(&value);
                }
                word.push('"');
            }
            (c, Some(_)) => value.push(c),
            ('{', None) => {
                braces += 1;
                word.push('{');
            }
            ('}', None) => {
                braces = braces.saturating_sub(1);
                word.push('}');
            }
            (' ' | '\t' | ',', None) if braces == 0 => {
                words.extend((!word.is_empty()).then(|| std::mem::take(&mut word)));
            }
            ('0'..='9' | ',' | '-' | ' ', None) if braces > 0 => {
                if !word.ends_with('0') {
                    word.push('0');
                }
            }
            (c, None) => word.push(c),
        }
    }
    words.extend((!word.is_empty()).then_some(word));
    (language, words)
}

/// Clears the text of plain code. It matters only where code is rendered or run.
pub(super) fn clear_plain_code(construct: &mut Construct) {
    if let ConstructKind::Code { info, text } = &mut construct.kind
        && is_plain_code(info)
    {
        text.clear();
    }
}

/// Attributes that only change the appearance of code.
const APPEARANCE: WordList = WordList(
    "title showlinenumbers linenums hl_lines lines highlight wrap copy icon filename file name :line-numbers \
     :no-line-numbers nocopy startline showlinenumber expandable theme focus caption ignore no_run \
     should_panic compile_fail noplayground does_not_compile panics edition2 editable norun twoslash",
);
