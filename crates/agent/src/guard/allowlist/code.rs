//! Judges added code blocks: code that is only shown passes, code that a site runs or draws is refused.

use pages::{FileKind, WordList, is_plain_code, split_info};

use super::context::Judge;
use super::verdict::{Verdict, refuse_remote};
use crate::guard::vocabulary::DocsUsage;

/// Words after a code fence that make a site run the code.
const RUNS: WordList =
    WordList("live exec eval run interactive sandpack codapi noinline cell reference pyodide session");

/// Parts of names of languages that a site draws or runs.
const DRAWN: WordList = WordList(
    "mermaid uml d2 dot graphviz vega kroki wavedrom diagram chart math draw svgbob ditaa nomnoml pikchr tikz \
     structurizr bytefield erd diag embed iframe -vue live player video pyodide",
);

pub(super) fn judge(judge: &Judge<'_, '_>, kind: FileKind, info: &str, text: &str) -> Verdict {
    let (language, words) = split_info(info);
    let runs = |word: &String| {
        word.contains("{=")
            || word
                .split('=')
                .next()
                .is_some_and(|name| RUNS.contains(&name.trim_matches(['{', '}', '.']).to_lowercase()))
    };
    if RUNS.contains(&language.to_lowercase()) || words.iter().any(runs) {
        return refuse_remote("adds code that runs when the docs are built or read; use a plain code block");
    }
    // In MDX, the words after the language are a title.
    let is_known = |docs: &DocsUsage| {
        (kind == FileKind::Mdx || words.iter().all(|word| docs.has_info(word))) && docs.has_language(language)
    };
    // VitePress fills in templates in code of such a language.
    if language.ends_with("-vue") && text.contains("{{") {
        return refuse_remote("adds a template to code that the site fills in");
    }
    let is_drawn = DRAWN.iter().any(|drawn| language.to_lowercase().contains(drawn));
    let is_used = || judge.vocabulary().is_some_and(is_known) && (!is_drawn || is_inert_diagram(text));
    // reStructuredText shows code of any language.
    if text.is_empty() && (kind == FileKind::Rst || is_plain_code(info)) || is_used() {
        return Verdict::Passes;
    }
    refuse_remote(
        "adds a kind of code block that the docs don't have: write only the language after the fence, such as ```js",
    )
}

/// Whether a diagram loads nothing and has no links.
fn is_inert_diagram(text: &str) -> bool {
    let text = text.to_lowercase().replace("<br/>", " ").replace("<br />", " ").replace("<br>", " ");
    let active = [
        "://",
        "<",
        "click ",
        "href",
        "javascript",
        "%%{",
        "@{",
        "!include",
        "!import",
        "url(",
        "icon:",
        "image",
        "img:",
    ];
    !active.iter().any(|word| text.contains(word))
}
