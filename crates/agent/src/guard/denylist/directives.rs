//! What reStructuredText and AsciiDoc hand on as it is, or run.

use regex::Match;

use super::runs::Running;
use crate::pattern::pattern;

pub(super) fn running(path: &str, text: &str) -> Vec<Running> {
    let name = path.to_ascii_lowercase();
    let is = |endings: &[&str]| endings.iter().any(|ending| name.ends_with(ending));
    let block = |found: Match<'_>| {
        let what = found.as_str().trim().to_owned();
        Running { kind: "raw".to_owned(), at: found.start(), what, loads: None }
    };
    if is(&[".rst", ".rest", ".txt"]) {
        let blocks = directive().into_iter().flat_map(|pattern| pattern.find_iter(text));
        let links = script_link().into_iter().flat_map(|pattern| pattern.find_iter(text));
        return blocks.filter(|found| runs(found.as_str())).chain(links).map(block).collect();
    }
    if is(&[".adoc", ".asciidoc", ".asc", ".ad"]) {
        let blocks = passthrough().into_iter().flat_map(|pattern| pattern.find_iter(text));
        let styled = styled().into_iter().flat_map(|pattern| pattern.find_iter(text));
        return blocks.chain(styled.filter(|found| is_raw(found.as_str()))).map(block).collect();
    }
    Vec::new()
}

/// Raw text for other writers than that of HTML, and words about the page, are free.
fn runs(directive: &str) -> bool {
    let (name, rest) = directive.split_once("::").unwrap_or((directive, ""));
    let name = name.trim().to_ascii_lowercase();
    let rest = rest.to_ascii_lowercase();
    let formats = rest.lines().next().unwrap_or_default().trim();
    match name.rsplit(|c: char| c.is_whitespace() || c == '|').next() {
        Some("raw") => formats.is_empty() || formats.contains("html"),
        Some("role") => formats.replace(' ', "").contains("(raw)"),
        Some("meta") => rest.contains("http-equiv"),
        _ => true,
    }
}

/// Whether a block is written without what makes text of its signs.
fn is_raw(block: &str) -> bool {
    let style = block.lines().next().unwrap_or_default().to_ascii_lowercase();
    let Some((_, subs)) = style.split_once("subs=") else { return true };
    let keeps = ["normal", "verbatim", "specialch"].iter().any(|word| subs.contains(word));
    let takes = subs.contains("-special") || subs.contains("-verbatim") || subs.contains("-normal");
    takes || !keeps && !subs.contains('+')
}

// Alone or in a list, and as what a word stands for; with all that is below it.
pattern!(
    directive,
    r"(?mi)^[ \t]*(?:(?:[-*+]|#\.|\d+[.)])[ \t]+){0,8}\.\.[ \t]+(?:\|[^|\n]+\|[ \t]*)?",
    r"(?:raw|role|meta|ifconfig|plot|jupyter-execute|program-output|command-output|ipython|exec|exec_code",
    r"|execute_code|runblock|autoprogram)[ \t]*::[^\n]*(?:\n[ \t]+[^\n]*|\n[ \t\r]*)*",
);

pattern!(
    script_link,
    r"(?mi)(?:<|^[ \t]*\.\.[ \t]+_[^\n:]*:[ \t]+|:target:[ \t]*)(?:javascript|vbscript|data):[^\s>]+"
);

pattern!(
    passthrough,
    r"(?ms)^\+{4,}[ \t]*\r?\n.*?(?:^\+{4,}|\z)|\+\+\+(?:[^\n+]|\n[^\n+])*\+\+\+|pass:[a-z,]*\[[^\]]*",
    r"|(?i:\blink[:=][\x22']?(?:\+\+)?(?:javascript|vbscript|data):[^\s\[]*)",
);

pattern!(styled, r"(?mi)^\[(?:pass\b|[^\]\n]*\bsubs=)[^\n]*\][ \t]*\r?\n(?:[^\r\n]+\r?\n?)*");

#[cfg(test)]
mod tests {
    use super::*;

    #[track_caller]
    fn check(path: &str, text: &str, expected: usize) {
        assert_eq!(running(path, text).len(), expected, "{text}");
    }

    #[test]
    fn restructured_text() {
        for text in [
            "A\n\n.. raw :: html\n\n   <b>\n",
            "A\n\n.. |br| raw:: html\n\n   <b>\n",
            "A\n\n.. role:: h(raw)\n   :format: html\n",
            "A\n\n.. raw::\n   html\n\n   <b>\n",
            "A\n\n* .. raw:: html\n\n     <b>\n",
            "A\n\n.. raw:: latex html\n\n   <b>\n",
            "A\n\n.. ifconfig:: go()\n\n   x\n",
            "A\n\n.. program-output:: go\n",
            "A\n\n`x <javascript:go()>`_\n",
            "A\n\n.. meta::\n   :http-equiv=refresh: 0;url=/x\n",
        ] {
            check("a.rst", text, 1);
        }
        for text in [
            "A\n\n.. raw:: latex\n\n   \\b\n",
            "A\n\n.. role:: python(code)\n",
            "A\n\n.. meta::\n   :description: x\n",
            "A\n\n.. note:: raw:: html\n",
        ] {
            check("a.rst", text, 0);
        }
    }

    #[test]
    fn asciidoc() {
        for text in [
            "A\r\n\r\n++++\r\n<b>\r\n++++\r\n",
            "Text +++<b>\nx</b>+++ text\n",
            "[pass]\n<b>\n",
            "[subs=none]\n<b>\n",
            "[source,subs=\"-specialchars\"]\n<b>\n",
            "link:javascript:go()[x]\n",
        ] {
            check("a.ad", text, 1);
        }
        for text in [
            "[source,subs=\"attributes+\"]\n<b>\n",
            "[subs=\"verbatim,attributes\"]\n<b>\n",
            "C++ and link:a.html[x]\n",
        ] {
            check("a.adoc", text, 0);
        }
    }
}
