//! Page views: who read which page when. `classify` says who, `path` which, `event` makes one
//! view of what a log line or a beacon says, `views` keeps and counts them.

mod accept;
mod agents;
mod asset;
mod block;
mod bytes;
mod cache;
mod cells;
mod classify;
mod distinct;
mod event;
mod filter;
mod glob;
mod guess;
pub mod import;
mod index;
mod interval;
mod names;
mod pages;
mod path;
mod portion;
mod range;
mod reports;
mod room;
mod share;
mod sqlite;
mod views;

pub use accept::prefers_markdown;
pub use agents::agents_version;
pub use asset::is_asset;
pub use classify::{Class, classify};
pub use event::{Event, Kind, RawEvent, Rejection, parse};
pub use glob::{BadGlob, PathGlob};
pub use interval::Interval;
pub use names::OTHER_NAMES;
pub use pages::OTHER_PAGES;
pub use path::{BadPath, Page, page};
pub use portion::{Portion, Sort};
pub use range::{BadDate, BadRange, Range, bound, moment};
pub use reports::{
    AgentCount, Agents, Live, Missing, NotFound, Point, Reclassified, Referrers, Removed, Reports, Series,
    SeriesError,
};
pub use room::Limits;
pub use sqlite::{SqliteViews, VIEWS_SCHEMA};
pub use views::{
    Counts, Failure, PageCount, Part, Progress, Readers, Receipt, TakeError, Tally, Views, Visitors,
};
