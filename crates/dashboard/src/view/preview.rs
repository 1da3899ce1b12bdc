//! Renders the changed passages of a Markdown page as its readers see them.
//!
//! The HTML is written element by element from a short allowlist. So HTML of the page becomes text, images aren't
//! loaded, and links can't be followed.

use std::fmt::Write as _;

use pages::{FileKind, FrontMatter};
use pulldown_cmark::{CowStr, Event, Options, Parser, Tag, TagEnd};

use super::diff::{DiffFile, LineKind};

impl DiffFile {
    /// The passages as HTML, one per hunk. Empty for files that aren't Markdown, and for deleted files.
    pub(super) fn preview(&self) -> Vec<String> {
        let is_deleted = self.note.as_deref() == Some("deleted");
        match FileKind::of(&self.path).is_markdown() && !is_deleted {
            true => {
                self.passages().iter().map(|text| to_html(text)).filter(|html| !html.is_empty()).collect()
            }
            false => Vec::new(),
        }
    }

    /// The text of each hunk after the change.
    fn passages(&self) -> Vec<String> {
        let mut passages = Vec::new();
        for line in &self.lines {
            match (line.kind, passages.last_mut()) {
                (LineKind::HunkHeader, _) => passages.push(String::new()),
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

fn to_html(markdown: &str) -> String {
    let options = Options::ENABLE_TABLES | Options::ENABLE_STRIKETHROUGH;
    // Readers don't see the front matter.
    let body = &markdown[FrontMatter::parse(markdown).body_start..];
    let mut writer = HtmlWriter::default();
    for event in Parser::new_ext(body, options) {
        writer.event(event);
    }
    writer.html
}

#[derive(Default)]
struct HtmlWriter {
    html: String,
    in_table_head: bool,
}

impl HtmlWriter {
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
            // Not an HTML heading, which would become part of the outline of the dashboard's page.
            Tag::Heading { level, .. } => self.put(format_args!("<p class=\"title level-{}\">", level as u8)),
            Tag::Link { dest_url, .. } => self.open_span("link", &dest_url),
            Tag::Image { dest_url, .. } => self.open_span("image", &dest_url),
            Tag::List(Some(first)) => self.put(format_args!("<ol start=\"{first}\">")),
            Tag::TableHead => {
                self.in_table_head = true;
                self.html.push_str("<tr>");
            }
            Tag::TableCell if self.in_table_head => self.html.push_str("<th>"),
            other => {
                if let Some(name) = element_name(other.to_end()) {
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
                self.in_table_head = false;
                self.html.push_str("</tr>");
            }
            TagEnd::TableCell if self.in_table_head => self.html.push_str("</th>"),
            other => {
                if let Some(name) = element_name(other) {
                    self.put(format_args!("</{name}>"));
                }
            }
        }
    }

    /// Shows the target of a link or an image as a title.
    fn open_span(&mut self, class: &str, target: &CowStr<'_>) {
        self.put(format_args!("<span class=\"{class}\" title=\""));
        self.text(target);
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

/// The allowlist of elements without attributes.
fn element_name(tag: TagEnd) -> Option<&'static str> {
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
    fn passages_are_rendered_as_readers_see_them() {
        #[track_caller]
        fn check(markdown: &str, expected: &str) {
            assert_eq!(to_html(markdown), expected);
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
    fn html_of_a_page_becomes_text() {
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
            let html = to_html(markdown);
            for piece in ["<script", "<img", "<b>", "href=", "src=\"", "\" onclick", "<!--"] {
                assert!(!html.contains(piece), "{markdown}: {html}");
            }
        }
    }

    #[test]
    fn only_markdown_pages_that_still_exist_have_a_preview() {
        let diff = |path: &str| {
            diff_files(&format!(
                "diff --git a/{path} b/{path}\n--- a/{path}\n+++ b/{path}\n@@ -1,2 +1,2 @@\n-a\n+b\n c\n@@ -9 +9 @@\n-x\n+y\n"
            ))
        };
        assert_eq!(diff("a.md")[0].preview(), ["<p>b\nc</p>", "<p>y</p>"]);
        assert!(diff("a.png")[0].preview().is_empty());
        let deleted = "diff --git a/a.md b/a.md\ndeleted file mode 100644\n--- a/a.md\n+++ /dev/null\n@@ -1 +0,0 @@\n-a\n";
        assert!(diff_files(deleted)[0].preview().is_empty());
    }
}
