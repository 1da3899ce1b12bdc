//! What the changed passages of a Markdown page look like to its readers. Written tag by tag from a short list, so
//! nothing of the page becomes more than text: no HTML of its own, no picture, no link that leads anywhere.

use std::fmt::Write as _;

use pages::{FileKind, FrontMatter};
use pulldown_cmark::{CowStr, Event, Options, Parser, Tag, TagEnd};

use super::diff::{DiffFile, LineKind};

impl DiffFile {
    /// The passages as HTML, one a hunk; none of a file that is not a page, or is gone.
    pub(super) fn preview(&self) -> Vec<String> {
        let gone = self.note.as_deref() == Some("deleted");
        match FileKind::of(&self.path).is_markdown() && !gone {
            true => {
                self.passages().iter().map(|passage| html(passage)).filter(|html| !html.is_empty()).collect()
            }
            false => Vec::new(),
        }
    }

    /// The text of each hunk after the change.
    fn passages(&self) -> Vec<String> {
        let mut passages = Vec::new();
        for line in &self.lines {
            match (line.kind, passages.last_mut()) {
                (LineKind::At, _) => passages.push(String::new()),
                (LineKind::Add | LineKind::Context, Some(passage)) => {
                    passage.push_str(&line.text);
                    passage.push('\n');
                }
                _ => {}
            }
        }
        passages
    }
}

fn html(markdown: &str) -> String {
    let options = Options::ENABLE_TABLES | Options::ENABLE_STRIKETHROUGH;
    // Readers do not see the front matter.
    let body = &markdown[FrontMatter::parse(markdown).body..];
    let mut page = Page::default();
    for event in Parser::new_ext(body, options) {
        page.event(event);
    }
    page.html
}

#[derive(Default)]
struct Page {
    html: String,
    in_head: bool,
}

impl Page {
    fn event(&mut self, event: Event<'_>) {
        match event {
            Event::Start(tag) => self.open(tag),
            Event::End(tag) => self.close(tag),
            Event::Text(text) => self.text(&text),
            Event::Code(code) | Event::InlineHtml(code) | Event::Html(code) => {
                self.html.push_str("<code>");
                self.text(code.trim_end());
                self.html.push_str("</code>");
            }
            Event::SoftBreak => self.html.push('\n'),
            Event::HardBreak => self.html.push_str("<br>"),
            Event::Rule => self.html.push_str("<hr>"),
            _ => {}
        }
    }

    fn open(&mut self, tag: Tag<'_>) {
        match tag {
            // No headings: the outline of this page is not the previewed one's.
            Tag::Heading { level, .. } => self.put(format_args!("<p class=\"title level-{}\">", level as u8)),
            Tag::Link { dest_url, .. } => self.named("link", &dest_url),
            Tag::Image { dest_url, .. } => self.named("image", &dest_url),
            Tag::List(Some(first)) => self.put(format_args!("<ol start=\"{first}\">")),
            Tag::TableHead => {
                self.in_head = true;
                self.html.push_str("<tr>");
            }
            Tag::TableCell if self.in_head => self.html.push_str("<th>"),
            other => {
                if let Some(name) = name(other.to_end()) {
                    self.put(format_args!("<{name}>"));
                }
            }
        }
    }

    fn close(&mut self, tag: TagEnd) {
        match tag {
            TagEnd::Heading(_) => self.html.push_str("</p>"),
            TagEnd::Link | TagEnd::Image => self.html.push_str("</span>"),
            TagEnd::List(true) => self.html.push_str("</ol>"),
            TagEnd::TableHead => {
                self.in_head = false;
                self.html.push_str("</tr>");
            }
            TagEnd::TableCell if self.in_head => self.html.push_str("</th>"),
            other => {
                if let Some(name) = name(other) {
                    self.put(format_args!("</{name}>"));
                }
            }
        }
    }

    /// Where it would lead is told, not gone to.
    fn named(&mut self, class: &str, to: &CowStr<'_>) {
        self.put(format_args!("<span class=\"{class}\" title=\""));
        self.text(to);
        self.html.push_str("\">");
    }

    fn text(&mut self, text: &str) {
        for c in text.chars() {
            match c {
                '<' => self.html.push_str("&lt;"),
                '>' => self.html.push_str("&gt;"),
                '&' => self.html.push_str("&amp;"),
                '"' => self.html.push_str("&quot;"),
                c => self.html.push(c),
            }
        }
    }

    fn put(&mut self, markup: std::fmt::Arguments<'_>) {
        let _ = self.html.write_fmt(markup);
    }
}

/// Elements that are written as they are.
fn name(tag: TagEnd) -> Option<&'static str> {
    Some(match tag {
        TagEnd::Paragraph => "p",
        TagEnd::BlockQuote(_) => "blockquote",
        TagEnd::CodeBlock => "pre",
        TagEnd::List(false) => "ul",
        TagEnd::Item => "li",
        TagEnd::Table => "table",
        TagEnd::TableRow => "tr",
        TagEnd::TableCell => "td",
        TagEnd::Emphasis => "em",
        TagEnd::Strong => "strong",
        TagEnd::Strikethrough => "s",
        _ => return None,
    })
}

#[cfg(test)]
mod tests {
    use super::super::diff_files;
    use super::*;

    #[test]
    fn passages_are_written_as_readers_see_them() {
        #[track_caller]
        fn check(markdown: &str, expected: &str) {
            assert_eq!(html(markdown), expected);
        }
        check("# One *two*", "<p class=\"title level-1\">One <em>two</em></p>");
        check("---\ntitle: x\n---\ntext", "<p>text</p>");
        check("- a\n- `b`", "<ul><li>a</li><li><code>b</code></li></ul>");
        check("3. a", "<ol start=\"3\"><li>a</li></ol>");
        check("|a|\n|-|\n|b|", "<table><tr><th>a</th></tr><tr><td>b</td></tr></table>");
        check("[x](/y)", "<p><span class=\"link\" title=\"/y\">x</span></p>");
        check("```sh\nls\n```", "<pre>ls\n</pre>");
    }

    #[test]
    fn nothing_of_a_page_becomes_markup() {
        let hostile = [
            "<script>alert(1)</script>",
            "a <img src=x onerror=alert(1)> b",
            "![\"><script>](https://evil.example/x.png \"t\")",
            "[x](javascript:alert(1))",
            "[x](\" onclick=\"y)",
            "```\n</pre><script>\n```",
            "|<b>|\n|-|\n|</table><script>|",
            "<!-- <script> -->",
        ];
        for markdown in hostile {
            let html = html(markdown);
            for piece in ["<script", "<img", "<b>", "href=", "src=\"", "\" onclick", "<!--"] {
                assert!(!html.contains(piece), "{markdown}: {html}");
            }
        }
    }

    #[test]
    fn only_pages_that_are_still_there_have_one() {
        let diff = |path: &str| {
            diff_files(&format!(
                "diff --git a/{path} b/{path}\n--- a/{path}\n+++ b/{path}\n@@ -1,2 +1,2 @@\n-a\n+b\n c\n@@ -9 +9 @@\n-x\n+y\n"
            ))
        };
        assert_eq!(diff("a.md")[0].preview(), ["<p>b\nc</p>", "<p>y</p>"]);
        assert!(diff("a.png")[0].preview().is_empty());
        let gone = "diff --git a/a.md b/a.md\ndeleted file mode 100644\n--- a/a.md\n+++ /dev/null\n@@ -1 +0,0 @@\n-a\n";
        assert!(diff_files(gone)[0].preview().is_empty());
    }
}
