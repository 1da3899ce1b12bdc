//! The pages of the dashboard as data: one struct a page, filled by a handler and laid out by a
//! template of the same name. Nothing here reads a clock, a store or a request; dates arrive
//! written out, and every text is escaped by the template.

mod chart;
mod diff;
mod job;
mod people;
mod preview;
mod prose;
mod readers;
mod rows;
mod settings;
#[cfg(test)]
mod tests;
mod welcome;

use askama::Template;
use percent_encoding::{AsciiSet, NON_ALPHANUMERIC, utf8_percent_encode};

pub(crate) use chart::Chart;
pub(crate) use diff::{DiffFile, diff_files, fit};
pub(crate) use job::Job;
pub(crate) use people::{
    DeedRow, Deeds, Form, InviteRow, Join, LinkSessionRow, Me, Outcome, PeoplePage, PersonRow,
};
pub(crate) use prose::{Block, blocks, headline};
pub(crate) use readers::{
    Choice, Filter, LiveLine, MergeRow, NoReaders, Panel, Picker, ReaderList, Readers, Row, Tile,
};
pub(crate) use rows::{
    Commit, Ended, Expiry, ExpiryKind, JobRow, JobState, KeyForm, KeyRow, NewKey, OtherProject, ProjectRow,
    PullRef, PullRow, PullState, QuotationField, Step,
};

pub(crate) use settings::{
    Arrived, Card, JobsForm, ModelChoice, ReadersForm, RepositoryForm, Said, Settings, Spark,
};

pub(crate) use welcome::{NewProjectForm, OneModel, Welcome, WelcomeDone, WelcomeModel, WelcomeRepository};

/// Everything but what may stand in a path as it is.
const SEGMENT: &AsciiSet = &NON_ALPHANUMERIC.remove(b'-').remove(b'_').remove(b'.').remove(b'~');

/// The page with what a browser hides or obeys spelled out: text of others must not read otherwise than
/// it is, nor do anything where it is copied to.
pub(crate) fn spelled_out(html: &str) -> String {
    let mut page = String::with_capacity(html.len());
    for c in html.chars() {
        match c {
            '\n' | '\r' | '\t' => page.push(c),
            '\u{202a}'..='\u{202e}' | '\u{2066}'..='\u{2069}' => page.push_str(&code_point(c)),
            c if c.is_control() => page.push_str(&code_point(c)),
            c => page.push(c),
        }
    }
    page
}

fn code_point(c: char) -> String {
    format!("⟨U+{:04X}⟩", u32::from(c))
}

/// What every page has around it.
pub(crate) struct Shell {
    pub(crate) title: String,
    pub(crate) project: Option<ProjectNav>,
    pub(crate) current: Section,
    pub(crate) signed_in: bool,
    /// Sent back by every form of a signed-in page in the field `csrf`.
    pub(crate) csrf: String,
}

impl Shell {
    /// The address all pages of the project begin with; empty outside of a project.
    fn root(&self) -> String {
        self.project.as_ref().map(ProjectNav::root).unwrap_or_default()
    }

    fn is(&self, section: Section) -> bool {
        self.current == section
    }
}

/// The project that a page belongs to.
pub(crate) struct ProjectNav {
    pub(crate) id: String,
    pub(crate) name: String,
    pub(crate) repository: String,
    /// `None`: the repository's default branch.
    pub(crate) branch: Option<String>,
}

impl ProjectNav {
    /// `/p/{id}`: an id may hold a slash, so it is encoded as one path segment.
    pub(crate) fn root(&self) -> String {
        format!("/p/{}", utf8_percent_encode(&self.id, SEGMENT))
    }
}

/// The entry of the navigation that is marked as the current one.
#[derive(Clone, Copy, PartialEq, Eq)]
pub(crate) enum Section {
    Projects,
    Readers,
    Jobs,
    Pulls,
    Keys,
    Settings,
    People,
    /// A page that is in no navigation: signing in, an error.
    Elsewhere,
}

/// A moment, once for machines and once for people ("2 minutes ago").
#[derive(Clone)]
pub(crate) struct When {
    pub(crate) iso: String,
    pub(crate) text: String,
}

/// Somewhere to go next.
pub(crate) struct Link {
    pub(crate) href: String,
    pub(crate) label: String,
}

/// Where a one-time link leads: opening it must not use it up, so that previews of chat programs
/// and mail scanners cannot; its button does.
#[derive(Template)]
#[template(path = "login.html")]
pub(crate) struct Login {
    pub(crate) shell: Shell,
    pub(crate) token: String,
}

/// What someone without a session sees.
#[derive(Template)]
#[template(path = "login_needed.html")]
pub(crate) struct LoginNeeded {
    pub(crate) shell: Shell,
    /// What was typed, kept when it was refused.
    pub(crate) name: String,
    pub(crate) error: Option<String>,
    /// Where to go then.
    pub(crate) next: Option<String>,
}

/// An answer that is not a page of its own: not found, an expired link, a conflict.
#[derive(Template)]
#[template(path = "notice.html")]
pub(crate) struct Notice {
    pub(crate) shell: Shell,
    pub(crate) status: u16,
    pub(crate) message: String,
    pub(crate) action: Option<Link>,
}

/// `/`: the projects of the organization.
#[derive(Template)]
#[template(path = "home.html")]
pub(crate) struct Home {
    pub(crate) shell: Shell,
    pub(crate) projects: Vec<ProjectRow>,
    /// May make one.
    pub(crate) owner: bool,
}

/// `/p/{projectId}/keys`
#[derive(Template)]
#[template(path = "keys.html")]
pub(crate) struct Keys {
    pub(crate) shell: Shell,
    pub(crate) project_id: String,
    pub(crate) keys: Vec<KeyRow>,
    pub(crate) others: Vec<OtherProject>,
    /// The key that was just made: the only time its secret is on a page.
    pub(crate) created: Option<NewKey>,
    pub(crate) error: Option<String>,
    /// What was typed, kept when it was refused.
    pub(crate) form: KeyForm,
}

impl Keys {
    fn expiries(&self) -> [(&'static str, &'static str); 5] {
        [
            ("7d", "in 7 days"),
            ("30d", "in 30 days"),
            ("60d", "in 60 days"),
            ("90d", "in 90 days"),
            ("never", "never"),
        ]
    }
}

/// `/p/{projectId}/jobs`
#[derive(Template)]
#[template(path = "jobs.html")]
pub(crate) struct Jobs {
    pub(crate) shell: Shell,
    pub(crate) jobs: Vec<JobRow>,
    /// What the list can be narrowed to, `None` to nothing, and where.
    pub(crate) states: Vec<(Option<JobState>, String)>,
    pub(crate) state: Option<JobState>,
    pub(crate) words: String,
    /// Addresses of the neighbouring pages of the list, where there are any.
    pub(crate) newer: Option<String>,
    pub(crate) older: Option<String>,
    pub(crate) error: Option<String>,
    /// What this page's forms are known by when they are sent twice.
    pub(crate) once: String,
    /// What was typed, kept when it was refused.
    pub(crate) prompt: String,
    /// What can be sent along with it.
    pub(crate) quotations: Vec<QuotationField>,
    /// Of a project whose jobs are the built-in editor's.
    pub(crate) offline: Option<Offline>,
}

/// What the built-in editor does not do, and what to do about it.
pub(crate) struct Offline {
    /// Another model is a choice away.
    pub(crate) has_models: bool,
    /// The prompt in the box is beyond it.
    pub(crate) beyond: bool,
    /// A prompt that is not, and does a part of it.
    pub(crate) instead: Option<&'static str>,
}

impl Jobs {
    fn narrowed(&self) -> bool {
        self.state.is_some() || !self.words.is_empty()
    }

    /// Prompts that do something useful on any documentation tree, without a model.
    fn examples(&self) -> [&'static str; 3] {
        [
            "Fix broken links and anchors.",
            "Fix common misspellings.",
            "Replace \"e-mail\" with \"email\" everywhere.",
        ]
    }
}

/// `/p/{projectId}/pulls`
#[derive(Template)]
#[template(path = "pulls.html")]
pub(crate) struct Pulls {
    pub(crate) shell: Shell,
    pub(crate) rows: Vec<PullRow>,
    /// What the list is narrowed to.
    pub(crate) state: Option<PullState>,
    /// Older ones are not among those that were looked at.
    pub(crate) cut: bool,
    /// The repository's page, if it is on another host.
    pub(crate) host: Option<String>,
}

impl Pulls {
    fn is(&self, state: &PullState) -> bool {
        self.state == Some(*state)
    }
}

/// `/p/{projectId}/pulls/{n}`
#[derive(Template)]
#[template(path = "pull.html")]
pub(crate) struct Pull {
    pub(crate) shell: Shell,
    pub(crate) number: u64,
    pub(crate) state: PullState,
    pub(crate) head: String,
    pub(crate) base: String,
    /// The commit at the head: what is merged is what was looked at.
    pub(crate) seen: String,
    pub(crate) when: When,
    /// The job that opened it.
    pub(crate) job: Option<Link>,
    pub(crate) body: Vec<Block>,
    pub(crate) commits: Vec<Commit>,
    pub(crate) files: Vec<DiffFile>,
    /// Where all of the change is, when some of it is left out here.
    pub(crate) whole: Option<String>,
    pub(crate) can_merge: bool,
    /// How to merge by hand, when it cannot be done here. Commands go between backticks or fences.
    pub(crate) merge_hint: Option<String>,
    pub(crate) error: Option<String>,
}

impl Pull {
    fn hint(&self) -> Option<Vec<Block>> {
        self.merge_hint.as_deref().map(blocks)
    }
}
