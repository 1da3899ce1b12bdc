use base::TestClock;
use jiff::SignedDuration;
use store::{
    Allow, Author, Expiry, FieldChange, HostApp, Hosting, HumanReads, KeyText, NewKey, Project,
    ProjectChange, ProjectId, Scope, Store, StoreError, Token,
};

use crate::jobs::MILLISECOND;
use crate::{every_backend, project};

every_backend! {
    an_organizations_name_is_taken_once,
    a_project_is_found_as_it_was_created,
    a_change_of_a_project_keeps_its_other_fields,
    a_project_allows_its_own_model_and_listed_models,
    a_key_is_found_by_its_text_and_stored_as_a_hash,
    a_revoked_key_is_dead_and_only_its_owner_can_revoke,
    a_key_and_a_project_are_read_together_as_they_are_apart,
    a_key_ends_by_the_stores_clock,
    last_used_is_recorded_once_a_minute,
    a_login_link_works_once_within_fifteen_minutes,
    a_session_ends,
}

pub(crate) fn new_key(project: &Project) -> NewKey {
    NewKey {
        organization: project.organization.clone(),
        name: "CI".into(),
        scope: Scope::Read,
        projects: Some(vec![project.id.clone()]),
        allow: Allow::parse(["192.0.2.0/24"]).unwrap(),
        expiry: Expiry::Days(7),
        creator: Some("command line".into()),
    }
}

async fn an_organizations_name_is_taken_once(store: &dyn Store, _: &TestClock) {
    store.create_organization("acme").await.unwrap();
    let again = store.create_organization("acme").await;
    assert!(matches!(again, Err(StoreError::Taken(sentence)) if sentence.contains("acme already")));
    assert_eq!(store.organizations().await.unwrap().len(), 1);
}

async fn a_project_is_found_as_it_was_created(store: &dyn Store, _: &TestClock) {
    let made = project(store, "acme").await;
    let other = project(store, "globex").await;
    let found = store.project(&made.id).await.unwrap().unwrap();
    assert_eq!(format!("{found:?}"), format!("{made:?}"));
    let of = |organization| store.projects(organization);
    assert_eq!(of(Some(&other.organization)).await.unwrap()[0].id, other.id);
    assert_eq!(of(None).await.unwrap().len(), 2);
}

async fn a_change_of_a_project_keeps_its_other_fields(store: &dyn Store, _: &TestClock) {
    let (made, other) = (project(store, "acme").await, project(store, "globex").await);
    let sites = vec!["https://a.example".to_owned(), "https://b.example".to_owned()];
    let app = HostApp { id: "7".into(), installation: Some(u64::MAX) };
    let author = Author { name: "Docs Bot".into(), email: "bot@acme.dev".into() };
    let first = ProjectChange {
        sites: Some(sites.clone()),
        labels: Some(vec!["docs".into()]),
        models: Some(vec!["fast".into()]),
        allow_paths: Some(vec![".github/**".into()]),
        ..ProjectChange::default()
    };
    let second = ProjectChange {
        name: Some("Handbook".into()),
        repository: Some("/srv/handbook".into()),
        host_app: FieldChange::Set(app.clone()),
        author: FieldChange::Set(author.clone()),
        base_ref: FieldChange::Set("next".into()),
        docs_path: FieldChange::Set("docs".into()),
        human_reads: Some(HumanReads::Beacon),
        ..ProjectChange::default()
    };
    let (one, two) =
        tokio::join!(store.update_project(&made.id, &first), store.update_project(&made.id, &second));
    assert!(one.unwrap().is_some() && two.unwrap().is_some());
    let expected = Project {
        name: "Handbook".into(),
        repository: "/srv/handbook".into(),
        hosting: Hosting {
            app: Some(app),
            labels: vec!["docs".into()],
            author: Some(author),
            ..made.hosting.clone()
        },
        base_ref: Some("next".into()),
        docs_path: Some("docs".into()),
        sites: sites.clone(),
        models: vec!["fast".into()],
        allow_paths: vec![".github/**".into()],
        human_reads: HumanReads::Beacon,
        ..made.clone()
    };
    let found = store.project(&made.id).await.unwrap().unwrap();
    assert_eq!(format!("{found:?}"), format!("{expected:?}"));

    let back = ProjectChange {
        base_ref: FieldChange::Clear,
        docs_path: FieldChange::Clear,
        ..ProjectChange::default()
    };
    let told = store.update_project(&made.id, &back).await.unwrap().unwrap();
    assert_eq!((told.base_ref, told.docs_path, told.sites), (None, None, sites));
    let untouched = store.project(&other.id).await.unwrap().unwrap();
    assert_eq!(format!("{untouched:?}"), format!("{other:?}"));
    assert!(store.update_project(&ProjectId("nothing".into()), &first).await.unwrap().is_none());
}

async fn a_project_allows_its_own_model_and_listed_models(store: &dyn Store, _: &TestClock) {
    let mut project = project(store, "acme").await;
    let allowed = |project: &Project| ["offline", "fast", "slow"].map(|model| project.allows(model));
    assert_eq!(allowed(&project), [true, true, true], "none are named: every one of the server");
    project.models = vec!["fast".into()];
    assert_eq!(allowed(&project), [true, true, false]);
    project.model = "fast".into();
    assert_eq!(allowed(&project), [false, true, false]);
}

async fn a_key_is_found_by_its_text_and_stored_as_a_hash(store: &dyn Store, _: &TestClock) {
    let project = project(store, "acme").await;
    let (made, text) = store.create_key(&new_key(&project)).await.unwrap();
    let found = store.key(&text).await.unwrap().unwrap();
    assert_eq!(format!("{found:?}"), format!("{made:?}"));
    assert!(found.reaches(&project.id) && !found.reaches(&store::ProjectId("other".into())));
    assert!(store.key(&KeyText::random()).await.unwrap().is_none());
    assert!(!format!("{found:?}").contains(&text.reveal()[8..]));
}

async fn a_revoked_key_is_dead_and_only_its_owner_can_revoke(store: &dyn Store, clock: &TestClock) {
    let (mine, theirs) = (project(store, "acme").await, project(store, "globex").await);
    let (key, text) = store.create_key(&new_key(&mine)).await.unwrap();
    assert!(!store.revoke_key(&theirs.organization, &key.id).await.unwrap());
    assert!(key.is_live && store.key(&text).await.unwrap().unwrap().is_live);
    assert!(store.revoke_key(&mine.organization, &key.id).await.unwrap());
    let revoked = store.key(&text).await.unwrap().unwrap();
    assert!(!revoked.is_live);
    clock.advance(SignedDuration::from_secs(1));
    assert!(!store.revoke_key(&mine.organization, &key.id).await.unwrap());
    assert_eq!(store.key(&text).await.unwrap().unwrap().revoked_at, revoked.revoked_at);
}

async fn a_key_and_a_project_are_read_together_as_they_are_apart(store: &dyn Store, _: &TestClock) {
    let (kept, deleted) = (project(store, "acme").await, project(store, "globex").await);
    let (_, live) = store.create_key(&new_key(&kept)).await.unwrap();
    let (key, revoked) = store.create_key(&new_key(&deleted)).await.unwrap();
    store.revoke_key(&deleted.organization, &key.id).await.unwrap();
    store.delete_project(&deleted.id).await.unwrap();
    for text in [live, revoked, KeyText::random()] {
        for id in [&kept.id, &deleted.id, &store::ProjectId("other".into())] {
            let together = store.key_and_project(&text, id).await.unwrap();
            let apart = (store.key(&text).await.unwrap(), store.project(id).await.unwrap());
            assert_eq!(format!("{together:?}"), format!("{apart:?}"));
        }
    }
}

async fn a_key_ends_by_the_stores_clock(store: &dyn Store, clock: &TestClock) {
    let project = project(store, "acme").await;
    let (_, text) = store.create_key(&new_key(&project)).await.unwrap();
    let is_live = async || {
        let listed = store.keys(None).await.unwrap()[0].is_live;
        (store.key(&text).await.unwrap().unwrap().is_live, listed)
    };
    clock.advance(SignedDuration::from_hours(24 * 7) - MILLISECOND);
    assert_eq!(is_live().await, (true, true));
    clock.advance(MILLISECOND);
    assert_eq!(is_live().await, (false, false));
}

async fn last_used_is_recorded_once_a_minute(store: &dyn Store, clock: &TestClock) {
    let project = project(store, "acme").await;
    let (key, text) = store.create_key(&new_key(&project)).await.unwrap();
    store.touch_key(&key).await.unwrap();
    let first = store.key(&text).await.unwrap().unwrap();
    assert_eq!(first.last_used_at, Some(key.created_at));
    let used = async |later| {
        clock.advance(SignedDuration::from_secs(later));
        store.touch_key(&store.key(&text).await.unwrap().unwrap()).await.unwrap();
        store.key(&text).await.unwrap().unwrap().last_used_at
    };
    assert_eq!(used(59).await, first.last_used_at);
    assert!(used(1).await > first.last_used_at);
}

async fn a_login_link_works_once_within_fifteen_minutes(store: &dyn Store, clock: &TestClock) {
    let organization = project(store, "acme").await.organization;
    let link = store.create_login(&organization).await.unwrap();
    // Looking at it, as a mail program's preview does, uses nothing up.
    for _ in 0..3 {
        assert!(store.login_works(&link).await.unwrap());
    }
    let session = store.use_login(&link).await.unwrap().unwrap();
    let signed_in = store.session(&session).await.unwrap().unwrap();
    assert_eq!((&signed_in.organization, &signed_in.person), (&organization, &None));
    assert!(signed_in.operator && signed_in.is_owner());
    assert!(!store.login_works(&link).await.unwrap());
    assert!(store.use_login(&link).await.unwrap().is_none());

    let late = store.create_login(&organization).await.unwrap();
    clock.advance(SignedDuration::from_mins(15));
    assert!(!store.login_works(&late).await.unwrap());
    assert!(store.use_login(&late).await.unwrap().is_none());
    assert!(store.use_login(&Token::received("junk")).await.unwrap().is_none());
}

async fn a_session_ends(store: &dyn Store, clock: &TestClock) {
    let organization = project(store, "acme").await.organization;
    assert!(!store.has_live_session().await.unwrap());
    let mut sessions = Vec::new();
    for _ in 0..2 {
        let link = store.create_login(&organization).await.unwrap();
        sessions.push(store.use_login(&link).await.unwrap().unwrap());
    }
    store.end_session(&sessions[0]).await.unwrap();
    assert!(store.session(&sessions[0]).await.unwrap().is_none());
    assert!(store.session(&sessions[1]).await.unwrap().is_some());
    assert!(store.has_live_session().await.unwrap());
    clock.advance(SignedDuration::from_hours(24 * 14));
    assert!(!store.has_live_session().await.unwrap());
    assert!(store.session(&sessions[1]).await.unwrap().is_none());
}
