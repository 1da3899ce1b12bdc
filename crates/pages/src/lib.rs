//! Models a documentation tree: its files, pages, links, anchors, front matter and spelling.
//!
//! This crate does no I/O of its own. It reads a commit through the trait [`Tree`]. An editor works on [`Files`], which
//! [`Overlay`] implements with changes in memory.

mod anchor_typos;
mod anchors;
mod check;
mod code_spans;
mod commonmark;
mod constructs;
mod destination;
mod diff;
mod explicit_ids;
mod files;
mod folded_names;
mod fragments;
mod frontmatter;
mod html;
mod index;
mod kind;
mod link_repair;
mod links;
mod markdown;
mod mdx;
mod moved_pages;
mod navigation;
mod overlay;
mod page_info;
mod page_list;
mod path;
mod path_index;
mod paths;
mod pattern;
mod prefetch;
mod prose;
pub mod redirects;
mod relocate;
mod route;
mod scope;
mod script;
mod served_paths;
mod site;
mod spelling;
mod splice;
mod word_list;

pub use anchors::Heading;
pub use check::{Problem, ProblemKind, added_problems, check, check_change};
pub use code_spans::{LinePart, code_spans};
pub use constructs::{
    Ambiguity, Attribute, Construct, ConstructKind, Element, Enclosure, Entry as DataEntry, Reading,
    ScalarType, Value as AttributeValue, constructs, is_plain_code, is_statement, split_info,
};
pub use destination::is_external;
pub use diff::unified_diff;
pub use files::{Edits, Entry, Files, FilesError, Hit, Kind, MAX_FILES, MAX_TEXT_BYTES, MemoryTree, Tree};
pub use fragments::LinkedFragments;
pub use frontmatter::{FrontMatter, Value};
pub use kind::FileKind;
pub use link_repair::{Repair, repair};
pub use links::{BrokenLink, LinkFault, broken_links};
pub use markdown::{Link, Page};
pub use overlay::Overlay;
pub use page_list::{page_at, pages};
pub use path_index::PathIndex;
pub use paths::Paths;
pub use prefetch::{growing_chunks, prefetch};
pub use relocate::{Relocation, relocate};
pub use route::{is_page, route};
pub use scope::Scope;
pub use site::Site;
pub use spelling::{
    KnownWords, Misspelling, Spelling, misspellings, name_continues_after, name_continues_before,
};
pub use splice::{line_of, splice};
pub use word_list::WordList;
