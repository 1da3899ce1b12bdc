//! Creates another organization on the same server, and describes the state of both.

use store::{
    Allow, Expiry, NewKey, NewPerson, NewProject, Organization, OrganizationId, ProjectId, Role, Scope,
};

use super::site::Site;

pub(crate) const PASSWORD: &str = "correct horse battery";

/// The ids of the other organization's resources.
pub(crate) struct Neighbours {
    pub(crate) project: String,
    pub(crate) key: String,
    pub(crate) person: String,
}

impl Site {
    pub(crate) async fn neighbours(&self) -> Neighbours {
        let Organization { id, .. } = self.app.accounts.create_organization("Globex").await.unwrap();
        let new = NewProject { organization: id.clone(), name: "Theirs".into(), ..self.new_project() };
        let project = self.app.accounts.create_project(&new).await.unwrap().id.0;
        let key = self.key_of(&id, None).await.0;
        Neighbours { project, key, person: self.person(&id, "eve@globex.dev", Role::Owner).await }
    }

    /// Creates a key, and returns its id and its secret.
    pub(crate) async fn key_of(
        &self,
        organization: &OrganizationId,
        only: Option<&ProjectId>,
    ) -> (String, String) {
        let new = NewKey {
            organization: organization.clone(),
            name: "Log".into(),
            scope: Scope::Write,
            projects: only.map(|project| vec![project.clone()]),
            allow: Allow::default(),
            expiry: Expiry::Days(7),
            creator: None,
        };
        let (key, text) = self.app.accounts.create_key(&new).await.unwrap();
        (key.id.0, text.reveal().to_owned())
    }

    /// Creates a member, and returns its id.
    pub(crate) async fn person(&self, organization: &OrganizationId, name: &str, role: Role) -> String {
        let password = self.app.passwords.hash(PASSWORD).await.unwrap();
        let new = NewPerson { organization: organization.clone(), name: name.into(), role, password };
        self.app.people.create_person(&new).await.unwrap().id.0
    }

    /// Everything that forms can change, as text. If the text is the same, nothing changed.
    pub(crate) async fn state(&self) -> String {
        let (accounts, secrets) = (&self.app.accounts, &self.app.secrets);
        let keys = accounts.keys(None).await.unwrap();
        let keys: Vec<_> = keys.iter().map(|key| (&key.id, &key.name, key.revoked_at)).collect();
        let jobs = self.app.jobs.list(&self.project.id, &store::Filter::default()).await.unwrap().items.len();
        let token = secrets.secret(&self.project.id.0, server::HOST_KEY).await.unwrap();
        let projects = accounts.projects(None).await.unwrap();
        let people = self.app.people.people(None).await.unwrap();
        format!("{keys:?} {projects:?} {people:?} {jobs} {token:?}")
    }
}
