//! Scans fences: code blocks, and directives of MyST whose content is a page.

use std::collections::HashSet;
use std::ops::Range;

use super::super::code::{self, Fence};
use super::super::{ConstructKind, info, myst};
use super::Scanner;
use super::lines::Line;
use super::paragraph::is_container_end;

impl<'a> Scanner<'a> {
    /// Scans a line with the marks of a fence, and the fence if all renderers recognize it.
    pub(super) fn scan_fence_line(&mut self, line: &Line<'a>, info: &str, fence_may_be_text: bool) -> usize {
        let at = line.start;
        let fence = match self.is_mdx() && !self.has_list_above {
            _ if self.has_uncertain_fence => None,
            true => code::mdx_fence_at(self.file, at),
            false => code::fence_at(self.file, at),
        };
        let fence = fence.filter(|fence| !fence_may_be_text && !self.is_cut(at, fence));
        // Renderers disagree from this fence on, so the rest counts as text.
        let was_uncertain = self.has_uncertain_fence;
        self.has_uncertain_fence |= fence.is_none();
        if self.has_uncertain_fence {
            self.fence_lines.add_above(line.text);
        }
        match fence {
            fence if myst::is_directive(info) => self.scan_fenced_directive(line, info, fence, was_uncertain),
            Some(fence) => self.scan_code_block(at, &fence),
            None => {
                let marks = line.text.find(['`', '~']).unwrap_or_default();
                let length =
                    line.text[marks..].find(|c| c != '`' && c != '~').unwrap_or(line.text.len() - marks);
                self.mask(at + marks..at + marks + length);
                self.scan_inline(at + marks + length, line.end)
            }
        }
    }

    /// A fence of MyST whose content is a page, and not code.
    fn scan_fenced_directive(
        &mut self,
        line: &Line<'a>,
        info: &str,
        fence: Option<Fence<'a>>,
        was_uncertain: bool,
    ) -> usize {
        let fence = fence.filter(|_| !self.directive_overlaps.is_full_at(line.start));
        // Without an end, the content can be the whole rest. That is reported once.
        if myst::is_active(info) && !was_uncertain {
            let content = fence.as_ref().map_or(line.end..self.file.len(), |fence| fence.content.clone());
            self.push_unknown(format!("{info}\n{}", &self.file[content]), line.span());
        }
        self.has_uncertain_fence |= fence.is_none();
        if let Some(fence) = fence {
            self.directive_overlaps.push(fence.content.end);
            self.closing_fences.insert(fence.content.end);
        }
        let (name, arguments) = info.split_once('}').unwrap_or((info, ""));
        let kind =
            ConstructKind::Directive { name: format!("{name}}}"), arguments: arguments.trim().to_owned() };
        // Docusaurus removes such a fence and reads its content as MDX.
        if info != "mdx-code-block" {
            self.push(kind, line.span());
        }
        self.scan_options(line.end);
        self.mask(line.span())
    }

    /// A directive of MyST in colons. Its first line is also read as prose.
    pub(super) fn scan_colon_directive(&mut self, info: &str, line: Range<usize>) {
        // A directive inside of another active one is part of that one's content.
        if myst::is_active(info) && line.start >= self.active_directive_end {
            self.active_directive_end = myst::colon_end(self.file, line.end);
            let content = &self.file[line.end..self.active_directive_end];
            self.push_unknown(format!("{info}\n{content}"), line.clone());
        }
        self.scan_options(line.end);
    }

    fn scan_options(&mut self, start: usize) {
        if !self.is_mdx() {
            let options = myst::options(self.file, start);
            options.into_iter().for_each(|(kind, span)| self.push(kind, span));
        }
    }

    fn scan_code_block(&mut self, at: usize, fence: &Fence<'_>) -> usize {
        let content = &self.file[fence.content.clone()];
        let kind = ConstructKind::Code { info: fence.info.to_owned(), text: content.to_owned() };
        self.push(kind, at..fence.end);
        if !self.is_mdx() && (fence.is_in_list || info::has_attributes(fence.info)) {
            self.non_python_fences.push(fence.content.clone());
        }
        self.mask(at..fence.end)
    }

    /// Whether some renderer ends a fence early: at the end of an enclosure, a container or a template block in which the
    /// fence begins.
    fn is_cut(&self, at: usize, fence: &Fence<'_>) -> bool {
        let content = &self.file[fence.content.clone()];
        at < self.enclosed_end && self.enclosed_end < fence.end
            || self.open_containers > 0 && content.lines().any(|line| is_container_end(line.trim()))
            || !self.is_mdx() && ends_template_block(content)
    }
}

/// Whether a text ends a template block that begins before it, such as `{% comment %}`.
fn ends_template_block(text: &str) -> bool {
    let words = text.match_indices("{%").map(|(at, _)| {
        let word = text[at + 2..].trim_start_matches(['-', ' ']);
        &word[..word.find(|c: char| !c.is_ascii_alphanumeric()).unwrap_or(word.len())]
    });
    let mut begun = HashSet::new();
    words.into_iter().any(|word| match word.strip_prefix("end") {
        Some(name) => !begun.contains(name),
        None => {
            begun.insert(word);
            false
        }
    })
}
