//! Code between fences that is not only shown: it is run when the docs are built, or in the reader's browser.

use std::ops::Range;

use super::fences;
use crate::pattern::pattern;

/// Directives of MyST that run what they hold, or hand it on; most only show it in another way.
const RUN: &[&str] = &[
    "raw",
    "eval-rst",
    "code-cell",
    "jupyter-execute",
    "plot",
    "ipython",
    "exec",
    "program-output",
    "command-output",
    "ifconfig",
    "python",
    "r",
    "julia",
    "ojs",
    "bash",
    "sh",
    "=html",
];

/// Where they are in the page, and what they hold.
pub(super) fn cells(ending: &str, text: &str) -> Vec<(usize, String)> {
    let is_notebook = ["qmd", "rmd"].contains(&ending);
    let blocks = fences::blocks(text).into_iter().filter(|block| runs(&text[block.clone()], is_notebook));
    let spans = span().filter(|_| is_notebook).into_iter().flat_map(|span| span.find_iter(text));
    let templates = template().into_iter().flat_map(|template| template.find_iter(text));
    let found = spans.chain(templates).map(|found| found.range());
    let colons = colons().into_iter().flat_map(|colons| colons.find_iter(text)).map(|found| found.range());
    let all = blocks.chain(found).chain(colons);
    all.map(|range: Range<usize>| (range.start, text[range].trim().to_owned())).collect()
}

fn runs(block: &str, is_notebook: bool) -> bool {
    let info = block.lines().next().unwrap_or_default();
    let info = info.trim_start_matches([' ', '\t', '`', '~']).trim().to_ascii_lowercase();
    if let Some(rest) = info.strip_prefix('{') {
        let name = rest.split(|c: char| c.is_whitespace() || c == '}' || c == ',').next().unwrap_or_default();
        let is_shown = name.is_empty() || name.starts_with(['.', '{', '#']);
        return RUN.contains(&name) || is_notebook && !is_shown || info.contains("exec=");
    }
    info.contains(" exec=") || info.split_ascii_whitespace().skip(1).any(|word| word == "live")
}

// What is put in place of a span of code.
pattern!(span, r"`(?:r |\{(?:r|python|julia|ojs)\})[^`]*`");

// Templates are filled in before anybody looks for code, so that none of it hides them.
pattern!(
    template,
    r"\{[{%][^{}\n]{0,400}(?:__(?:init|class|globals|import|subclasses|builtins)__|\bconstructor\s*[.(\[]",
    r"|\|\s*attr\s*\()[^{}\n]*",
);

pattern!(
    colons,
    r"(?mi)^[ \t]*:{3,}[ \t]*\{(?:raw|eval-rst|code-cell|jupyter-execute|plot|ipython|exec)\}[^\n]*(?:\n[^\n]+)*"
);

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_runs() {
        let check = |ending: &str, text: &str, expected: usize| {
            assert_eq!(cells(ending, text).len(), expected, "{text}");
        };
        for info in ["{raw} html", "{eval-rst}", "{code-cell} python3", "python exec=\"on\"", "jsx live"] {
            check("md", &format!("# A\n\n```{info}\ngo()\n```\n"), 1);
        }
        for info in ["{note}", "{code-block} python", "{image} a.png", "{.python}", "js {1,3}", "live", ""] {
            check("md", &format!("# A\n\n```{info}\ngo()\n```\n"), 0);
        }
        check("rmd", "```{r, echo=FALSE}\ngo()\n```\n\nThere are `r go()` and `run`.\n", 2);
        check("qmd", "```{sql}\ngo()\n```\n\n```{.sql}\ngo()\n```\n\n```{{python}}\n```\n", 1);
        check("md", "There are `r go()`.\n", 0);
        check("md", "```\n{{ a.__init__.__globals__ }}\n```\n", 1);
    }
}
