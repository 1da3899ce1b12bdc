//! Page-view analytics: parses, classifies, stores and counts page views.
//!
//! `classify` determines the class of a reader, `path` normalizes the page, `event` parses one view from a log
//! line or a beacon, and `views` defines how views are stored and counted.

mod accept;
mod agents;
mod asset;
mod assistants;
mod block;
mod bloom_filter;
mod cache;
mod cells;
mod classify;
mod comparison;
mod distinct_readers;
mod encoding;
mod event;
mod glob;
mod guess;
pub mod import;
mod interval;
mod limits;
mod list_query;
mod live_report;
mod name_counts;
mod name_reports;
mod names;
mod new_name_quota;
mod new_page_quota;
mod pages;
mod path;
mod prefix_sums;
mod range;
mod range_parts;
mod ranges;
mod remote;
mod reports;
mod series_steps;
mod sqlite;
mod views;
mod visitor_salts;
mod weighted;

pub use accept::prefers_markdown;
pub use agents::agents_version;
pub use asset::is_asset;
pub use classify::{Class, classify};
pub use comparison::{Comparison, Difference, compare_reports};
pub use event::{Event, Kind, RawEvent, Rejection, parse_event};
pub use glob::{BadGlob, PathGlob};
pub use interval::Interval;
pub use limits::Limits;
pub use list_query::{ListQuery, Sort};
pub use name_counts::OTHER_NAMES;
pub use pages::OTHER_PAGES;
pub use path::{BadPath, Page, normalize_page};
pub use range::{BadDate, BadRange, Range, parse_bound, parse_timestamp};
pub use ranges::{AddressRanges, BadRangeFile, RangeList, RangeSource, Verification, check_range_file};
pub use remote::{
    FoundViews, Inspection, RemoteLimits, RemoteSettings, RemoteViews, TransferredPart, ViewsToMove,
    ViewsTransfer, ViewsUrl, find_page_views, is_clickhouse_name, ledger,
};
pub use reports::{
    AgentCount, Agents, AiReferrals, DayCounts, Live, MAX_PATHS, MissingPath, NotFound, PathCounts, PathDays,
    PathDaysQuery, Point, ReclassifyProgress, Redirected, Referrers, RemovalProgress, Reports, Series,
    SeriesError, assistant_operator,
};
pub use sqlite::{SqliteViews, VIEWS_SCHEMA, pending_views_changes};
// `Readers` is a count of distinct readers. `Visitors` is a report: such counts for the site and for each page.
pub use views::{
    Counts, Failure, FilePart, IngestError, Lag, PageCount, Progress, Readers, Receipt, Tally, Views,
    Visitors,
};
pub use weighted::{WeightedItem, weighted_items};
