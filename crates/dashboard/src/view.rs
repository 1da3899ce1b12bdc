//! Defines the data of each page: one struct per page, which a handler fills and a template of the same name renders.
//!
//! Nothing here reads a clock, a store or a request. Dates arrive as text, and templates escape every text.

mod chart;
mod diff;
mod finding;
mod findings;
mod form_message;
mod job;
mod numbers;
mod people;
mod preview;
mod prose;
mod readers;
mod rows;
mod settings;
#[cfg(test)]
mod tests;
mod weekly;
mod welcome;

use askama::Template;
use percent_encoding::{AsciiSet, NON_ALPHANUMERIC, utf8_percent_encode};

pub(crate) use chart::Chart;
pub(crate) use diff::{DiffFile, diff_files, truncate_files};
pub(crate) use finding::{CountedPath, Finding, FindingStep, Fix, Target};
pub(crate) use findings::{
    CountedLink, EffectCell, EffectRow, EffectSummary, FindingChip, FindingGroup, FindingLink, FindingRow,
    Findings, FixedFindings, SourceHint,
};
pub(crate) use form_message::FormMessage;
pub(crate) use job::Job;
pub(crate) use numbers::{count, sentence, with_commas};
pub(crate) use people::{
    AuditPage, AuditRow, InviteRow, Join, LinkSessionRow, MemberForm, MemberRow, MembersPage, SignedInMember,
};
pub(crate) use prose::{Block, Quotation, blocks, headline};
pub(crate) use readers::{
    LinkChoice, LiveLine, MergeRow, NoReaders, Panel, PathFilter, RangePicker, ReaderList, Readers, Row, Tile,
};
pub(crate) use rows::{
    Commit, Expiry, ExpiryKind, JobResult, JobRow, JobState, KeyForm, KeyRow, NewKey, OtherProject,
    ProjectRow, PullRef, PullRow, PullState, QuotationField, Step,
};

pub(crate) use settings::{
    FindingsForm, JobsForm, ModelChoice, ReadersForm, RepositoryForm, Settings, SettingsForm, Sparkline,
    ViewsReceived,
};

pub(crate) use weekly::{WeekList, WeekMerge, WeekRow, WeekTile, Weekly};
pub(crate) use welcome::{
    ModelOption, NewProjectForm, Welcome, WelcomeDone, WelcomeModel, WelcomeRepository,
};

/// The characters that are percent-encoded in a path segment.
const SEGMENT: &AsciiSet = &NON_ALPHANUMERIC.remove(b'-').remove(b'_').remove(b'.').remove(b'~');

/// Replaces control characters and bidirectional controls of a page with their code points. Otherwise, text of other
/// people could look different from what it is, or do something where it's pasted.
pub(crate) fn escape_control_characters(html: &str) -> String {
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

/// What every page has around its content.
pub(crate) struct Shell {
    pub(crate) title: String,
    pub(crate) project: Option<ProjectNav>,
    pub(crate) current: Section,
    pub(crate) signed_in: bool,
    /// The CSRF token. Every form of a signed-in page sends it in the field `csrf`.
    pub(crate) csrf: String,
}

impl Shell {
    /// The shell of a page that needs no session.
    pub(crate) fn signed_out(title: &str) -> Self {
        Self {
            title: title.into(),
            project: None,
            current: Section::None,
            signed_in: false,
            csrf: String::new(),
        }
    }

    /// The path that all pages of the project begin with. Empty outside of a project.
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
    /// `/p/{id}`: an id can contain a slash, so it's encoded as one path segment.
    pub(crate) fn root(&self) -> String {
        format!("/p/{}", utf8_percent_encode(&self.id, SEGMENT))
    }
}

/// The entry of the navigation that is marked as current.
#[derive(Clone, Copy, PartialEq, Eq)]
pub(crate) enum Section {
    Projects,
    Readers,
    Findings,
    Jobs,
    Pulls,
    Keys,
    Settings,
    Members,
    /// A page that isn't in the navigation, such as an error page.
    None,
}

/// A point in time, for programs (RFC 3339) and for people ("2 minutes ago").
#[derive(Clone)]
pub(crate) struct DisplayTime {
    pub(crate) iso: String,
    pub(crate) text: String,
}

pub(crate) struct Link {
    pub(crate) href: String,
    pub(crate) label: String,
}

/// The page of a login link. Only its button uses up the link, so that link previews and mail scanners don't.
#[derive(Template)]
#[template(path = "login.html")]
pub(crate) struct Login {
    pub(crate) shell: Shell,
    pub(crate) token: String,
}

/// The page that people without a session see.
#[derive(Template)]
#[template(path = "login_required.html")]
pub(crate) struct LoginRequired {
    pub(crate) shell: Shell,
    /// The name as typed, if the form was refused.
    pub(crate) name: String,
    pub(crate) error: Option<String>,
    /// The path to return to after signing in.
    pub(crate) next: Option<String>,
}

/// A page with only a message, such as "not found" or an expired link.
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
    /// Owners can create projects.
    pub(crate) is_owner: bool,
}

/// `/p/{projectId}/keys`
#[derive(Template)]
#[template(path = "keys.html")]
pub(crate) struct Keys {
    pub(crate) shell: Shell,
    pub(crate) project_id: String,
    pub(crate) keys: Vec<KeyRow>,
    pub(crate) others: Vec<OtherProject>,
    /// A key that was just created. Its secret is shown only once.
    pub(crate) created: Option<NewKey>,
    pub(crate) error: Option<String>,
    /// The form as typed, if it was refused.
    pub(crate) form: KeyForm,
}

impl Keys {
    fn expiries(&self) -> [(&'static str, &'static str); 5] {
        [
            ("7d", "In 7 days"),
            ("30d", "In 30 days"),
            ("60d", "In 60 days"),
            ("90d", "In 90 days"),
            ("never", "Never"),
        ]
    }
}

/// `/p/{projectId}/jobs`
#[derive(Template)]
#[template(path = "jobs.html")]
pub(crate) struct Jobs {
    pub(crate) shell: Shell,
    pub(crate) jobs: Vec<JobRow>,
    /// The filters by state and their URLs. `None` is "all".
    pub(crate) states: Vec<(Option<JobState>, String)>,
    pub(crate) state: Option<JobState>,
    /// The words that the list is searched for.
    pub(crate) words: String,
    /// The URLs of the adjacent pages of the list, if there are any.
    pub(crate) newer: Option<String>,
    pub(crate) older: Option<String>,
    pub(crate) error: Option<String>,
    /// The idempotency token of this page's forms.
    pub(crate) once: String,
    /// The prompt as typed, if the form was refused, or a suggestion.
    pub(crate) prompt: String,
    /// Quotations that the form can send with the prompt.
    pub(crate) quotations: Vec<QuotationField>,
    /// Set if the project uses the built-in editor.
    pub(crate) offline: Option<OfflineHint>,
}

/// Says what the built-in editor can't do, and what to do about it.
pub(crate) struct OfflineHint {
    /// The server has other models to choose from.
    pub(crate) has_models: bool,
    /// The suggested prompt needs a model.
    pub(crate) needs_model: bool,
    /// A prompt that does part of it without a model.
    pub(crate) alternative: Option<&'static str>,
}

impl Jobs {
    fn is_filtered(&self) -> bool {
        self.state.is_some() || !self.words.is_empty()
    }

    /// Prompts that are useful on any documentation tree, without a model.
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
    /// The state that the list is filtered by.
    pub(crate) state: Option<PullState>,
    /// There are older pull requests that the list doesn't show.
    pub(crate) is_truncated: bool,
    /// The repository's page, if it's on another host.
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
    /// The commit at the head. A merge is refused if the head moves after the person saw this page.
    pub(crate) head_commit: String,
    pub(crate) when: DisplayTime,
    /// The job that opened it.
    pub(crate) job: Option<Link>,
    pub(crate) fixes: FixedFindings,
    pub(crate) body: Vec<Block>,
    pub(crate) commits: Vec<Commit>,
    pub(crate) files: Vec<DiffFile>,
    /// The URL of the full diff, if this page truncates it.
    pub(crate) full_diff: Option<String>,
    pub(crate) can_merge: bool,
    /// How to merge by hand, if the dashboard can't. Commands are between backticks or fences.
    pub(crate) merge_hint: Option<String>,
    pub(crate) error: Option<String>,
}

impl Pull {
    fn hint(&self) -> Option<Vec<Block>> {
        self.merge_hint.as_deref().map(blocks)
    }
}
