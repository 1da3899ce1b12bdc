//! A page as a browser would see it: without its code, and with all that it would load by itself.

use std::collections::BTreeMap;
use std::ops::Range;

use pulldown_cmark::{Event, Options, Parser, Tag};
use regex::Captures;

use super::added::{Added, Text};
use super::fences::is_module;
use super::tags::Reader;
use super::unescape::unescape;
use super::url::host;
use super::{cells, fences, front};
use crate::pattern::pattern;

/// What an address is loaded for.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub(super) enum Kind {
    Image,
    /// Scripts and styles.
    Code,
    /// Frames, objects, and components that load what they like.
    Frame,
}

impl Kind {
    pub(super) fn as_str(self) -> &'static str {
        match self {
            Self::Image => "an image or a film",
            Self::Code => "a script or a style",
            Self::Frame => "a frame or an object",
        }
    }
}

/// Something that is loaded without a click.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) struct Embed {
    pub(super) kind: Kind,
    pub(super) at: usize,
    pub(super) address: String,
}

#[derive(Default)]
pub(super) struct Markup {
    /// The text, line for line, with blanks where code is shown.
    pub(super) visible: String,
    pub(super) embeds: Vec<Embed>,
    /// How long the front matter is.
    pub(super) front: usize,
    /// Code that is not only shown, and where it is.
    pub(super) cells: Vec<(usize, String)>,
}

/// The touched files as a browser would see them.
pub(super) struct Shown<'t, 'a> {
    pub(super) before: BTreeMap<&'a str, Markup>,
    pub(super) after: Vec<(&'a str, &'t Text<'a>, Markup)>,
}

impl<'t, 'a> Shown<'t, 'a> {
    pub(super) fn of(added: &'t Added<'a>) -> Self {
        let before = added.before.iter().map(|(path, text)| (*path, Markup::of(path, text)));
        let after = added.files().map(|(path, text)| (path, text, Markup::of(path, &text.text)));
        Self { before: before.collect(), after: after.collect() }
    }
}

impl Markup {
    pub(super) fn of(path: &str, text: &str) -> Self {
        let name = path.to_ascii_lowercase();
        let mut markup = match name.rsplit('.').next() {
            Some(ending) if is_markdown(ending) => Self::page(ending, text),
            _ => Self { visible: text.to_owned(), ..Self::default() },
        };
        markup.embeds.extend(in_tags(&markup.visible));
        markup.embeds.extend(in_styles(&markup.visible));
        markup.embeds.extend(in_data(&markup.visible));
        markup.embeds.retain(|embed| host(&embed.address).is_some());
        markup
    }

    fn page(ending: &str, text: &str) -> Self {
        let length = front::length(text);
        let (head, body) = text.split_at(length);
        let mut cells = cells::cells(ending, body);
        cells.iter_mut().for_each(|(at, _)| *at += length);
        let body = match ending {
            _ if front::is_unsure(head) || fences::are_hidden(body, ending == "mdx") => {
                fences::without_marks(body)
            }
            "mdx" => fences::blank(body),
            _ => body.to_owned(),
        };
        let mut markup = Self::markdown(body);
        markup.embeds.iter_mut().for_each(|embed| embed.at += length);
        markup.embeds.extend(images(head, 0));
        markup.visible.insert_str(0, head);
        Self { front: length, cells, ..markup }
    }

    /// What is code by its indentation stays: some generators read every page as MDX, where it is none.
    fn markdown(mut visible: String) -> Self {
        let (mut code, mut embeds, mut braces) = (Vec::new(), Vec::new(), Braces::default());
        let mut is_even = true;
        for (event, range) in Parser::new_ext(&visible, options()).into_offset_iter() {
            match event {
                Event::Code(_) if !braces.is_template(&visible, &range) => code.push(range),
                // Who reads it as a string reads what stands in it, too.
                Event::Code(_) => embeds.extend(images(&visible[range.clone()], range.start)),
                Event::Start(Tag::CodeBlock(kind)) if kind.is_fenced() => {
                    is_even &= fences::is_even(&visible[range.clone()]);
                    // From the first on that is none to some, nothing is certain.
                    match is_even {
                        true => code.push(range),
                        false => embeds.extend(images(&visible[range.clone()], range.start)),
                    }
                }
                Event::Start(Tag::CodeBlock(_)) => code.extend(fences::indented(&visible, range)),
                Event::Start(Tag::Image { dest_url, .. }) => {
                    embeds.push(Embed { kind: Kind::Image, at: range.start, address: dest_url.to_string() });
                }
                _ => {}
            }
        }
        code.into_iter().for_each(|range| blank(&mut visible, range));
        Self { visible, embeds, ..Self::default() }
    }
}

fn is_markdown(ending: &str) -> bool {
    let endings =
        ["mdx", "md", "markdown", "mkd", "mdown", "mkdn", "mkdown", "mdwn", "qmd", "rmd", "mdoc", "markdoc"];
    endings.contains(&ending)
}

pub(super) fn may_load(path: &str) -> bool {
    let endings = [
        "html", "htm", "xhtml", "shtml", "njk", "liquid", "jinja", "j2", "hbs", "tmpl", "vue", "svelte",
        "astro", "svg", "xml", "css", "json", "ipynb", "yml", "yaml",
    ];
    let path = path.to_ascii_lowercase();
    path.rsplit('.').next().is_some_and(|ending| is_markdown(ending) || endings.contains(&ending))
}

pub(super) fn options() -> Options {
    Options::ENABLE_TABLES | Options::ENABLE_FOOTNOTES | Options::ENABLE_STRIKETHROUGH | Options::ENABLE_GFM
}

/// Reads along and remembers how many braces of the paragraph are open, and whether a string in a tag is.
#[derive(Default)]
struct Braces {
    at: usize,
    open: usize,
    line: usize,
    tag: Reader,
    /// Whether the paragraph is one of statements.
    is_module: bool,
}

impl Braces {
    /// Whether backticks at `range` are those of a string in an expression of JSX, or stand in one. If not, what they
    /// hold is no brace.
    fn is_template(&mut self, text: &str, range: &Range<usize>) -> bool {
        for at in self.at..range.start {
            self.read(text, at);
        }
        let before = text[..range.start].trim_end();
        let is_template = self.open > 0
            || self.is_module
            || self.tag.string().is_some()
            || before.ends_with(['{', '(', '+', '?', ':', '=']);
        self.at = self.at.max(if is_template { range.start } else { range.end });
        is_template
    }

    fn read(&mut self, text: &str, at: usize) {
        let byte = text.as_bytes()[at];
        let starts = at == 0 || text.as_bytes()[at - 1] == b'\n';
        if starts && matches!(byte, b'e' | b'i') && !self.is_module {
            let line = text[at..].lines().next().unwrap_or_default();
            self.is_module =
                ["export ", "import "].iter().any(|word| line.starts_with(word)) && is_module(line);
        }
        match byte {
            b'{' => self.open += 1,
            b'}' => self.open = self.open.saturating_sub(1),
            b'\n' if self.line == 0 => {
                self.open = 0;
                self.is_module = false;
                self.tag.leave();
            }
            _ => {}
        }
        self.tag.read(byte);
        self.line = if byte == b'\n' { 0 } else { self.line + usize::from(!byte.is_ascii_whitespace()) };
    }
}

/// Images as Markdown writes them.
fn images(text: &str, start: usize) -> impl Iterator<Item = Embed> {
    let found = image().into_iter().flat_map(move |pattern| pattern.captures_iter(text));
    found.filter_map(move |found| {
        let address = found.get(1)?;
        Some(Embed { kind: Kind::Image, at: start + address.start(), address: address.as_str().to_owned() })
    })
}

pattern!(image, r"!\[[^\]\n]*\]\(\s*<?([^\s)>]+)");

/// Blanks of the same length, so that every place stays where it is.
fn blank(text: &mut String, range: Range<usize>) {
    let blanks: String = text[range.clone()].bytes().map(|b| if b == b'\n' { '\n' } else { ' ' }).collect();
    text.replace_range(range, &blanks);
}

/// Attributes that load, in any tag.
fn in_tags(text: &str) -> Vec<Embed> {
    let Some(pattern) = attribute() else { return Vec::new() };
    pattern.captures_iter(text).flat_map(|found| embeds_of(text, &found)).collect()
}

/// Front matter and data files name images, too.
fn in_data(text: &str) -> Vec<Embed> {
    let Some(pattern) = entry() else { return Vec::new() };
    let embed = |found: Captures<'_>| {
        let value = found.get(1)?;
        let address = addresses(value.as_str()).into_iter().next()?;
        Some(Embed { kind: Kind::Image, at: value.start(), address })
    };
    pattern.captures_iter(text).filter_map(embed).collect()
}

fn embeds_of(text: &str, found: &Captures<'_>) -> Vec<Embed> {
    let (Some(all), Some(name)) = (found.get(0), found.get(1)) else { return Vec::new() };
    let value = (2..=5).find_map(|group| found.get(group)).map_or("", |value| value.as_str());
    let tag = tag_before(text, all.start());
    let name = name.as_str().to_ascii_lowercase();
    let is_link =
        name.ends_with("href") && !matches!(tag.as_str(), "link" | "use" | "image" | "base" | "feimage");
    let is_plain = tag.is_empty() && !name.contains("src");
    if is_link || is_plain || name == "content" && tag != "meta" {
        return Vec::new();
    }
    let kind = kind(&tag);
    addresses(value).into_iter().map(|address| Embed { kind, at: all.start(), address }).collect()
}

fn kind(tag: &str) -> Kind {
    match tag {
        "img" | "source" | "video" | "audio" | "picture" | "track" | "image" | "use" | "feimage"
        | "input" | "td" | "table" | "body" => Kind::Image,
        "script" | "link" | "style" | "base" | "meta" => Kind::Code,
        _ => Kind::Frame,
    }
}

/// The name of the tag that is open at `at`, in small letters unless it is a component's.
fn tag_before(text: &str, at: usize) -> String {
    const MAX_TAG: usize = 4096;
    let near = &text[text.ceil_char_boundary(at.saturating_sub(MAX_TAG))..at];
    let open = near.rfind('<').map_or("", |open| &near[open + 1..]);
    let end = open.find(|c: char| !c.is_ascii_alphanumeric() && !"-.:".contains(c)).unwrap_or(open.len());
    let name = &open[..end];
    let is_component =
        name.starts_with(|c: char| c.is_ascii_uppercase()) && name != name.to_ascii_uppercase();
    if is_component { name.to_owned() } else { name.to_ascii_lowercase() }
}

/// Every address in the value of an attribute: one, or several as in `srcset`, or those of an expression.
fn addresses(value: &str) -> Vec<String> {
    let plain = unescape(value).text;
    let solid: String = plain.chars().filter(|c| !matches!(c, '\n' | '\r' | '\t')).collect();
    let slashes = solid.replace('\\', "/");
    let found = address().into_iter().flat_map(|pattern| pattern.find_iter(&slashes));
    let mut found: Vec<String> = found.map(|found| found.as_str().to_owned()).collect();
    // An address that is put together when the page is built cannot be judged; it counts as one elsewhere.
    let made = value.starts_with('{')
        && ["${", "+", "concat(", "join(", "atob", "fromCharCode", "process.", "import.meta"]
            .iter()
            .any(|sign| value.contains(sign));
    if found.is_empty() && made {
        found.push("//unknown".to_owned());
    }
    found
}

fn in_styles(text: &str) -> Vec<Embed> {
    let Some(pattern) = style() else { return Vec::new() };
    let embed = |found: Captures<'_>| {
        let value = (1..=3).find_map(|group| found.get(group))?;
        let kind = if found.get(2).is_some() { Kind::Code } else { Kind::Image };
        let escaped = value.as_str().contains('\\').then(|| "//unknown".to_owned());
        let address = addresses(value.as_str()).into_iter().next().or(escaped)?;
        Some(Embed { kind, at: value.start(), address })
    };
    pattern.captures_iter(text).filter_map(embed).collect()
}

pattern!(
    attribute,
    r"(?i)[\s/\x22'}:](?:v-bind:|:)?((?:[a-z]*-?)?src(?:set|doc)?|[a-z]*:?href|poster|data",
    r"|background|action|formaction|ping|manifest|codebase|archive|content|cover|banner|thumbnail|image|img|icon|logo|video|iframe|embed|url|style)",
    r"\s*=\s*(?:\x22([^\x22]*)\x22|'([^']*)'|(\{[^}]*\}?)|([^\s\x22'{>]+))",
);

pattern!(address, r"(?i)(?:(?:https?|ftp|wss?):/{0,4}|//)[^\s\x22'`,<>){}/][^\s\x22'`,<>){}]*",);

pattern!(
    entry,
    r"(?im)^[\s,{-]*[\x22']?(?:[a-z]*[:_-]?(?:image|logo|icon|img|src|poster|cover|banner|thumbnail)",
    r"|video|iframe|script|css)[\x22']?\s*:\s*([\x22']?(?:https?:|//)[^\s]+)",
);

pattern!(
    style,
    r#"(?i)\burl\(\s*([^)]+)|@import(?:\s|/\*[^*]*\*/)*["']([^"']+)|\bimage-set\(\s*["']([^"']+)"#
);

#[cfg(test)]
mod tests {
    use super::*;

    #[track_caller]
    fn check(path: &str, text: &str, expected: &[(Kind, &str)]) {
        let markup = Markup::of(path, text);
        assert_eq!(markup.visible.len(), text.len());
        let found: Vec<_> = markup.embeds.iter().map(|e| (e.kind, e.address.as_str())).collect();
        assert_eq!(found, expected, "{text}");
    }

    #[test]
    fn what_is_loaded() {
        use Kind::{Code, Frame, Image};
        check("a.md", "![x](https://e.example/p.png)", &[(Image, "https://e.example/p.png")]);
        check("a.md", "![x][r]\n\n[r]: //e.example/p.png", &[(Image, "//e.example/p.png")]);
        check("a.md", "<img src=https://e.example/p>", &[(Image, "https://e.example/p")]);
        check("a.md", "<IMG\nSRC = 'https:\\\\e.example/p'>", &[(Image, "https://e.example/p")]);
        check("a.md", "<img srcset=\"a.png 1x, https://e.example/b 2x\">", &[(Image, "https://e.example/b")]);
        check("a.md", "<img src=\"&#104;ttps://e.example/p\">", &[(Image, "https://e.example/p")]);
        check("a.md", "<pre><img src=\"https://e.example/p\"></pre>", &[(Image, "https://e.example/p")]);
        check(
            "a.md",
            "<script src=\"https://e.example/s.js\"></script>",
            &[(Code, "https://e.example/s.js")],
        );
        check("a.md", "<link rel=x href=\"//e.example/s.css\">", &[(Code, "//e.example/s.css")]);
        check("a.md", "<object data=\"https://e.example/o\">", &[(Frame, "https://e.example/o")]);
        check(
            "a.md",
            "<div style=\"background:url(https://e.example/p)\">",
            &[(Frame, "https://e.example/p"), (Image, "https://e.example/p")],
        );
        check(
            "a.md",
            "<meta http-equiv=refresh content=\"0;url=https://e.example/\">",
            &[(Code, "https://e.example/")],
        );
        check("a.css", "@import 'https://e.example/s.css';", &[(Code, "https://e.example/s.css")]);
        check("a.css", "@import/**/'https://e.example/s.css';", &[(Code, "https://e.example/s.css")]);
        check("a.css", "a{b:image-set('https://e.example/p' 1x)}", &[(Image, "https://e.example/p")]);
        check("a.mdx", "    <Video src={`https://e.example/v`} />", &[(Frame, "https://e.example/v")]);
        check("a.mdx", "<Frame src={\"ht\" + x} />", &[(Frame, "//unknown")]);
        check("a.md", "---\nimage: https://e.example/p\n---\n", &[(Image, "https://e.example/p")]);
        check("docs.json", "{\n  \"logo\": \"https://e.example/p\",\n", &[(Image, "https://e.example/p")]);
        check(
            "a.svg",
            "<svg><use xlink:href=\"https://e.example/s#a\"/></svg>",
            &[(Image, "https://e.example/s#a")],
        );
    }

    #[test]
    fn what_is_not() {
        check("a.md", "[x](https://e.example) <https://e.example> <a href=\"https://e.example\">x</a>", &[]);
        check("a.md", "```html\n<script src=\"https://e.example/s.js\"></script>\n```", &[]);
        check("a.md", "Write `<img src=\"https://e.example/p\">`.", &[]);
        check("a.mdx", "<Tabs>\n  ```html\n  <img src=\"https://e.example/p\">\n  ```\n</Tabs>", &[]);
        check("a.mdx", "<Card href=\"https://e.example\">x</Card>", &[]);
        check("a.md", "![x](./p.png) <img src=\"/p.png\"> ![y](data:image/png;base64,AAAA)", &[]);
        check("a.mdx", "<img src={useBaseUrl('/img/x.png')} />", &[]);
    }
}
