//! Defines the data of the pages about members: the list, joining, the audit log.

use askama::Template;

use super::{DisplayTime, FormMessage, Section, Shell};

/// `/people`
#[derive(Template)]
#[template(path = "people.html")]
pub(crate) struct MembersPage {
    pub(crate) shell: Shell,
    /// `None` in a session that began with a login link.
    pub(crate) me: Option<SignedInMember>,
    pub(crate) is_owner: bool,
    pub(crate) members: Vec<MemberRow>,
    /// Invitations that are still valid. Only owners see them.
    pub(crate) invites: Vec<InviteRow>,
    /// Sessions that began with a login link. Only owners see them.
    pub(crate) link_sessions: Vec<LinkSessionRow>,
    /// The link of an invitation that was just created. It is shown only once.
    pub(crate) link: Option<String>,
    pub(crate) message: Option<FormMessage<MemberForm>>,
}

impl MembersPage {
    fn message(&self, form: MemberForm) -> Option<&FormMessage<MemberForm>> {
        self.message.as_ref().filter(|message| message.form == form)
    }
}

#[derive(Clone, Copy, PartialEq, Eq)]
pub(crate) enum MemberForm {
    Remove,
    Invite,
    Password,
}

pub(crate) struct SignedInMember {
    pub(crate) name: String,
    pub(crate) role: &'static str,
}

pub(crate) struct MemberRow {
    pub(crate) id: String,
    pub(crate) name: String,
    pub(crate) role: &'static str,
    pub(crate) since: DisplayTime,
    pub(crate) is_me: bool,
    /// The last owner can't be removed.
    pub(crate) is_last_owner: bool,
    /// The API keys that they created and that are still valid. Only owners see them.
    pub(crate) keys: Vec<String>,
}

pub(crate) struct LinkSessionRow {
    pub(crate) id: String,
    pub(crate) name: Option<String>,
    /// The member whose account continues the session.
    pub(crate) member: Option<String>,
    pub(crate) since: DisplayTime,
    pub(crate) until: DisplayTime,
}

pub(crate) struct InviteRow {
    pub(crate) id: String,
    pub(crate) role: &'static str,
    pub(crate) creator: Option<String>,
    pub(crate) until: DisplayTime,
}

/// `/join`
#[derive(Template)]
#[template(path = "join.html")]
pub(crate) struct Join {
    pub(crate) shell: Shell,
    pub(crate) organization: String,
    pub(crate) role: &'static str,
    pub(crate) token: String,
    /// The name as typed, if the form was refused.
    pub(crate) name: String,
    pub(crate) error: Option<String>,
}

/// `/audit`
#[derive(Template)]
#[template(path = "audit.html")]
pub(crate) struct AuditPage {
    pub(crate) shell: Shell,
    pub(crate) rows: Vec<AuditRow>,
    pub(crate) newer: Option<String>,
    pub(crate) older: Option<String>,
}

pub(crate) struct AuditRow {
    pub(crate) when: DisplayTime,
    pub(crate) who: String,
    pub(crate) what: String,
    pub(crate) about: String,
}
