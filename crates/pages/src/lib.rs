//! What a documentation tree is: its files, pages, links, anchors, front matter and spelling.
//!
//! This crate does no I/O of its own: a commit is read through the trait [`Tree`], and an editor
//! works on [`Files`], of which [`Overlay`] is the one that holds its changes in memory.

mod anchors;
mod check;
mod close;
mod constructs;
mod destination;
mod diff;
mod explicit;
mod files;
mod fragments;
mod frontmatter;
mod glance;
mod ground;
mod html;
mod index;
mod kind;
mod known;
mod links;
mod markdown;
mod mdx;
mod moved;
mod names;
mod navigation;
mod overlay;
mod path;
mod pattern;
mod places;
mod prose;
mod relocate;
mod repair;
mod route;
mod scope;
mod script;
mod site;
mod spelling;
mod splice;
mod word_list;

pub use anchors::Heading;
pub use check::{Finding, FindingKind, check, made_worse, worse};
pub use constructs::{
    Attribute, Construct, ConstructKind, Doubt, Element, Entry as DataEntry, Reading, Shape, Swallow,
    Value as AttributeValue, constructs, is_shown_as_it_is, is_statement, split_info,
};
pub use destination::is_external;
pub use diff::unified_diff;
pub use files::{Edits, Entry, Files, FilesError, Hit, Kind, MAX_FILES, MAX_TEXT_BYTES, MemoryTree, Tree};
pub use fragments::Fragments;
pub use frontmatter::{FrontMatter, Value};
pub use ground::{Ground, Paths};
pub use kind::FileKind;
pub use links::{BrokenLink, Why, broken_links};
pub use markdown::{Link, Page};
pub use overlay::Overlay;
pub use relocate::{Relocated, relocate};
pub use repair::{Repair, repair};
pub use route::{is_page, page_at, pages, route};
pub use scope::Scope;
pub use site::Site;
pub use spelling::{Misspelling, Spelling, Words, misspellings, name_goes_on_before, name_goes_on_behind};
pub use splice::{line_of, splice};
pub use word_list::WordList;
