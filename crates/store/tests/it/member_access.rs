//! Access of members: API keys, sessions of login links, networks, and the actor of a job.

use base::TestClock;
use jiff::SignedDuration;
use store::{
    Actor, Allow, DEFAULT_LOGIN_NAME, Expiry, KeyRef, MemberKeys, NewKey, NewPerson, OrganizationId,
    PasswordHash, Person, Project, Prompt, Receipt, Removal, Role, Scope, SessionId, Store, StoreError,
    Terms,
};

use crate::every_backend;
use crate::jobs::new_job;
use crate::project;

every_backend! {
    the_keys_of_a_removed_member_are_revoked,
    an_owner_takes_over_the_keys_of_a_removed_member,
    a_removed_member_creates_no_key,
    a_session_has_the_name_of_its_login_link_and_can_be_ended,
    a_bounded_number_of_networks_is_stored,
    a_job_records_its_actor,
}

async fn member(store: &dyn Store, organization: &OrganizationId, name: &str, role: Role) -> Person {
    let password = PasswordHash("not a real one".into());
    let new = NewPerson { organization: organization.clone(), name: name.into(), role, password };
    store.create_person(&new).await.unwrap()
}

fn new_key(organization: &OrganizationId, name: &str, creator: &str) -> NewKey {
    NewKey {
        organization: organization.clone(),
        name: name.into(),
        scope: Scope::Write,
        projects: None,
        allow: Allow::default(),
        expiry: Expiry::Days(7),
        creator: Some(creator.into()),
    }
}

/// The names of the keys that work, with their makers.
async fn live(store: &dyn Store, organization: &OrganizationId) -> Vec<(String, String)> {
    let keys = store.keys(Some(organization)).await.unwrap().into_iter().filter(|key| key.is_live);
    let mut live: Vec<_> = keys.map(|key| (key.name, key.creator.unwrap())).collect();
    live.sort();
    live
}

fn pairs(expected: &[(&str, &str)]) -> Vec<(String, String)> {
    expected.iter().map(|(name, maker)| ((*name).to_owned(), (*maker).to_owned())).collect()
}

/// Bob's two keys, one of the command line, and one of a Bob elsewhere.
async fn with_keys(store: &dyn Store) -> (OrganizationId, OrganizationId, Person) {
    let (acme, globex) =
        (project(store, "acme").await.organization, project(store, "globex").await.organization);
    member(store, &acme, "ada@acme.dev", Role::Owner).await;
    let bob = member(store, &acme, "bob@acme.dev", Role::Member).await;
    member(store, &globex, "bob@acme.dev", Role::Member).await;
    for (organization, name, creator) in [
        (&acme, "CI", "bob@acme.dev"),
        (&acme, "laptop", "bob@acme.dev"),
        (&acme, "server", "command line"),
        (&globex, "theirs", "bob@acme.dev"),
    ] {
        store.create_key(&new_key(organization, name, creator)).await.unwrap();
    }
    (acme, globex, bob)
}

async fn the_keys_of_a_removed_member_are_revoked(store: &dyn Store, _: &TestClock) {
    let (acme, globex, bob) = with_keys(store).await;
    let (removal, keys) = store.remove_person(&acme, &bob.id, &MemberKeys::Revoke).await.unwrap();
    assert_eq!(removal, Removal::Done);
    let mut names: Vec<_> = keys.iter().map(|key| key.name.as_str()).collect();
    names.sort_unstable();
    assert_eq!(names, ["CI", "laptop"]);
    assert!(keys.iter().all(|key| key.prefix.starts_with("dw_") && key.prefix.len() == 7), "{keys:?}");
    let text = KeyRef { name: "CI".into(), prefix: "dw_AbCd".into() }.to_string();
    assert_eq!(text, "CI (dw_AbCd…)");
    assert_eq!(live(store, &acme).await, pairs(&[("server", "command line")]));
    assert_eq!(live(store, &globex).await, pairs(&[("theirs", "bob@acme.dev")]));
}

async fn an_owner_takes_over_the_keys_of_a_removed_member(store: &dyn Store, _: &TestClock) {
    let (acme, globex, bob) = with_keys(store).await;
    member(store, &globex, "zoe@globex.dev", Role::Owner).await;
    let to = |owner: &str| MemberKeys::TakeOver { owner: owner.into() };
    for nobody in ["bob@acme.dev", "zoe@globex.dev", "nobody@acme.dev"] {
        let refused = store.remove_person(&acme, &bob.id, &to(nobody)).await.unwrap();
        assert_eq!(refused, (Removal::NoSuchOwner, vec![]), "{nobody}");
    }
    let (removal, keys) = store.remove_person(&acme, &bob.id, &to("ada@acme.dev")).await.unwrap();
    assert_eq!((removal, keys.len()), (Removal::Done, 2));
    let expected = [("CI", "ada@acme.dev"), ("laptop", "ada@acme.dev"), ("server", "command line")];
    assert_eq!(live(store, &acme).await, pairs(&expected));
    assert_eq!(live(store, &globex).await, pairs(&[("theirs", "bob@acme.dev")]));
}

async fn a_removed_member_creates_no_key(store: &dyn Store, _: &TestClock) {
    let (acme, _, bob) = with_keys(store).await;
    store.remove_person(&acme, &bob.id, &MemberKeys::Revoke).await.unwrap();
    let late = store.create_key(&new_key(&acme, "late", "bob@acme.dev")).await;
    assert!(matches!(late, Err(StoreError::NotAMember(name)) if name == "bob@acme.dev"));
    store.create_key(&new_key(&acme, "link", "login link (bob@acme.dev)")).await.unwrap();
    let expected = [("link", "login link (bob@acme.dev)"), ("server", "command line")];
    assert_eq!(live(store, &acme).await, pairs(&expected));
}

async fn a_session_has_the_name_of_its_login_link_and_can_be_ended(store: &dyn Store, clock: &TestClock) {
    let (acme, globex) =
        (project(store, "acme").await.organization, project(store, "globex").await.organization);
    let ada = member(store, &acme, "ada@acme.dev", Role::Owner).await;
    store.start_session(&ada.id).await.unwrap().unwrap();
    let link = store.create_named_login(&acme, "Ada's laptop").await.unwrap();
    let laptop = store.use_login(&link).await.unwrap().unwrap();
    assert_eq!(store.session(&laptop).await.unwrap().unwrap().name.as_deref(), Some("Ada's laptop"));
    clock.advance(SignedDuration::from_secs(1));
    let plain = store.use_login(&store.create_login(&acme).await.unwrap()).await.unwrap().unwrap();
    let plain = store.assign_session_to_member(&plain, &ada.id).await.unwrap().unwrap();
    let all = store.link_sessions(Some(&acme)).await.unwrap();
    let shown = all.iter().map(|one| (one.name.as_deref().unwrap(), one.member.as_deref()));
    assert_eq!(
        shown.collect::<Vec<_>>(),
        [("Ada's laptop", None), (DEFAULT_LOGIN_NAME, Some("ada@acme.dev"))],
        "a session by password is no session of a link"
    );
    assert!(store.link_sessions(Some(&globex)).await.unwrap().is_empty());
    assert_eq!(store.end_link_session(&globex, &all[0].id).await.unwrap(), None);
    assert_eq!(store.end_link_session(&acme, &SessionId("ses_x".into())).await.unwrap(), None);
    assert_eq!(store.end_link_session(&acme, &all[0].id).await.unwrap().as_ref(), Some(&all[0]));
    assert!(store.session(&laptop).await.unwrap().is_none());
    assert!(store.session(&plain).await.unwrap().is_some());
    clock.advance(SignedDuration::from_hours(24 * 14));
    assert!(store.link_sessions(None).await.unwrap().is_empty());
}

async fn a_bounded_number_of_networks_is_stored(store: &dyn Store, clock: &TestClock) {
    let (acme, globex) =
        (project(store, "acme").await.organization, project(store, "globex").await.organization);
    let ada = member(store, &acme, "ada@acme.dev", Role::Owner).await;
    let elsewhere = member(store, &globex, "ada@acme.dev", Role::Owner).await;
    let seen = async |network: &str| store.accounts_seen_from("ada@acme.dev", network).await.unwrap().len();
    for n in 0..21 {
        clock.advance(SignedDuration::from_secs(1));
        store.note_network(&ada.id, &format!("192.0.{n}.0/24")).await.unwrap();
        store.note_network(&ada.id, "2001:db8::/48").await.unwrap();
    }
    assert_eq!((seen("192.0.1.0/24").await, seen("192.0.2.0/24").await), (0, 1));
    assert_eq!((seen("192.0.20.0/24").await, seen("2001:db8::/48").await), (1, 1));
    store.note_network(&elsewhere.id, "2001:db8::/48").await.unwrap();
    assert_eq!(seen("2001:db8::/48").await, 2);
    store.remove_person(&acme, &ada.id, &MemberKeys::Revoke).await.unwrap();
    store.note_network(&store::PersonId("nobody".into()), "192.0.2.0/24").await.unwrap();
    assert_eq!(store.accounts_seen_from("nobody@acme.dev", "192.0.2.0/24").await.unwrap(), []);
}

fn by(actor: Actor) -> Terms {
    Terms { actor: Some(actor), ..Terms::default() }
}

async fn started(store: &dyn Store, project: &Project, terms: &Terms) -> store::Job {
    match store.insert(&new_job(project), terms).await.unwrap() {
        Receipt::Done { job, .. } => *job,
        other => panic!("{other:?}"),
    }
}

async fn a_job_records_its_actor(store: &dyn Store, _: &TestClock) {
    let acme = project(store, "acme").await;
    let key = Actor::ApiKey { id: "key_1".into(), name: "CI".into(), prefix: "dw_AbCd".into() };
    let ada = Actor::Member { name: "ada@acme.dev".into() };
    let job = started(store, &acme, &by(key.clone())).await;
    let unknown = started(store, &acme, &Terms::default()).await;
    let found = async |id| store.find(&acme.id, id).await.unwrap().unwrap().created_by;
    assert_eq!((found(&job.id).await, found(&unknown.id).await), (Some(key), None));
    let prompt = Prompt::parse("More").unwrap();
    store.message(&acme.id, &job.id, &prompt, &by(ada)).await.unwrap().unwrap();
    let deeds = store.audit_log(&acme.organization, None, 10).await.unwrap();
    let lines: Vec<_> = deeds.iter().map(|deed| (&*deed.who, &*deed.what, &*deed.about)).collect();
    let about = format!("Docs {}", job.id);
    assert_eq!(
        lines,
        [
            ("ada@acme.dev", "followed up on the job", &*about),
            ("API key CI (dw_AbCd…)", "started the job", &*about)
        ]
    );
}
