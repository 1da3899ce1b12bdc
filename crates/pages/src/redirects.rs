//! Proposes redirects for paths of a site that lead to no page, and writes them in the format of the site.

mod address;
mod clue;
mod editions;
mod existing;
mod formats;
mod history;
mod layout;
mod matching;
mod plan;
mod prefix;
mod rules;
mod served;
mod site;
mod site_pages;
mod store;

pub use clue::ClueRecord;
pub use existing::Redirect;
pub use formats::docusaurus::split as split_docusaurus;
pub use formats::snippet::snippets;
pub use history::{History, RemovedPage, Rename};
pub use matching::{Candidate, Matcher};
pub use plan::{CERTAIN, Plan, Uncertain, is_file, plan, quotation_text};
pub use prefix::{Prefix, configured_prefix, strip_prefix};
pub use rules::{Rule, rules};
pub use served::{Sources, served_address};
pub use site::{Additions, SiteRedirects};
pub use site_pages::{SitePage, SitePages};

#[cfg(test)]
mod measure;
