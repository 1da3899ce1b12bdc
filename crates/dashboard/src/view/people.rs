//! The pages about people, as data.

use askama::Template;

use super::{Section, Shell, When};

/// `/people`
#[derive(Template)]
#[template(path = "people.html")]
pub(crate) struct PeoplePage {
    pub(crate) shell: Shell,
    /// `None`: somebody who came by a login link.
    pub(crate) me: Option<Me>,
    pub(crate) owner: bool,
    pub(crate) people: Vec<PersonRow>,
    /// Those that still work; none for who is no owner.
    pub(crate) invites: Vec<InviteRow>,
    /// Sessions that began with a login link; none for who is no owner.
    pub(crate) links: Vec<LinkSessionRow>,
    /// An invitation that was just made: the only time that it is on a page.
    pub(crate) link: Option<String>,
    pub(crate) outcome: Option<Outcome>,
}

impl PeoplePage {
    fn problem(&self, form: Form) -> Option<&str> {
        self.outcome.as_ref().filter(|one| one.form == form && !one.good).map(|one| one.sentence.as_str())
    }

    fn success(&self, form: Form) -> Option<&str> {
        self.outcome.as_ref().filter(|one| one.form == form && one.good).map(|one| one.sentence.as_str())
    }
}

/// What came of a form, told where it stands.
pub(crate) struct Outcome {
    pub(crate) form: Form,
    pub(crate) good: bool,
    pub(crate) sentence: String,
}

#[derive(Clone, Copy, PartialEq, Eq)]
pub(crate) enum Form {
    Remove,
    Invite,
    Password,
}

pub(crate) struct Me {
    pub(crate) name: String,
    pub(crate) role: &'static str,
}

pub(crate) struct PersonRow {
    pub(crate) id: String,
    pub(crate) name: String,
    pub(crate) role: &'static str,
    pub(crate) since: When,
    pub(crate) is_me: bool,
    /// The only owner, who cannot be removed.
    pub(crate) stays: bool,
    /// The API keys that they made and that still work; none for who is no owner.
    pub(crate) keys: Vec<String>,
}

pub(crate) struct LinkSessionRow {
    pub(crate) id: String,
    pub(crate) name: Option<String>,
    /// The member that it was handed over to.
    pub(crate) member: Option<String>,
    pub(crate) since: When,
    pub(crate) until: When,
}

pub(crate) struct InviteRow {
    pub(crate) id: String,
    pub(crate) role: &'static str,
    pub(crate) creator: Option<String>,
    pub(crate) until: When,
}

/// `/join`
#[derive(Template)]
#[template(path = "join.html")]
pub(crate) struct Join {
    pub(crate) shell: Shell,
    pub(crate) organization: String,
    pub(crate) role: &'static str,
    pub(crate) token: String,
    /// What was typed, kept when it was refused.
    pub(crate) name: String,
    pub(crate) error: Option<String>,
}

/// `/audit`
#[derive(Template)]
#[template(path = "audit.html")]
pub(crate) struct Deeds {
    pub(crate) shell: Shell,
    pub(crate) rows: Vec<DeedRow>,
    pub(crate) newer: Option<String>,
    pub(crate) older: Option<String>,
}

pub(crate) struct DeedRow {
    pub(crate) when: When,
    pub(crate) who: String,
    pub(crate) what: String,
    pub(crate) about: String,
}
