use base::TestClock;
use futures_util::future::poll_immediate;
use jiff::SignedDuration;
use store::{
    MemberKeys, NewAuditEntry, NewInvite, NewPerson, OrganizationId, PasswordHash, Person, PersonId, Removal,
    Role, Store, StoreError, Token,
};

use crate::jobs::MILLISECOND;
use crate::{every_backend, project};

every_backend! {
    a_name_is_unique_in_an_organization,
    an_invitation_adds_one_member_within_seven_days,
    an_invitation_is_listed_until_it_is_withdrawn_used_or_expired,
    a_name_that_is_taken_does_not_use_up_the_invitation,
    a_session_ends_with_its_member,
    a_session_that_is_handed_over_has_a_new_token,
    a_new_password_and_a_sign_out_end_sessions_everywhere,
    the_last_owner_stays,
    of_owners_who_remove_each_other_one_stays,
    the_audit_log_of_an_organization_is_listed_newest_first,
    a_deleted_organization_has_no_members,
    the_end_of_a_key_or_a_session_notifies_waiters,
}

fn hash() -> PasswordHash {
    PasswordHash("not a real one".into())
}

async fn person(store: &dyn Store, organization: &OrganizationId, name: &str) -> Person {
    with_role(store, organization, name, Role::Member).await
}

async fn with_role(store: &dyn Store, organization: &OrganizationId, name: &str, role: Role) -> Person {
    let new = NewPerson { organization: organization.clone(), name: name.into(), role, password: hash() };
    store.create_person(&new).await.unwrap()
}

async fn invited(store: &dyn Store, organization: &OrganizationId, role: Role) -> Token {
    let (organization, creator) = (organization.clone(), "ada@acme.dev".into());
    store.create_invite(&NewInvite { organization, role, creator }).await.unwrap()
}

async fn remove(store: &dyn Store, organization: &OrganizationId, person: &PersonId) -> Removal {
    store.remove_person(organization, person, &MemberKeys::Revoke).await.unwrap().0
}

async fn signed_in(store: &dyn Store, session: &Token) -> Option<String> {
    store.session(session).await.unwrap().and_then(|session| session.person).map(|person| person.name)
}

async fn a_name_is_unique_in_an_organization(store: &dyn Store, _: &TestClock) {
    let (acme, globex) =
        (project(store, "acme").await.organization, project(store, "globex").await.organization);
    let ada = person(store, &acme, "ada@acme.dev").await;
    assert_eq!(store.person_named("ada@acme.dev").await.unwrap(), Some((ada.clone(), hash())));
    assert!(!format!("{:?}", hash()).contains("real"));
    let again = NewPerson {
        organization: acme.clone(),
        name: "ada@acme.dev".into(),
        role: Role::Owner,
        password: hash(),
    };
    assert!(matches!(store.create_person(&again).await, Err(StoreError::Taken(_))));
    let elsewhere = store.create_person(&NewPerson { organization: globex.clone(), ..again }).await.unwrap();
    let named = store.people_named("ada@acme.dev").await.unwrap();
    let mut ids: Vec<_> = named.iter().map(|(person, _)| person.id.clone()).collect();
    ids.sort();
    let mut expected = [ada.id.clone(), elsewhere.id.clone()];
    expected.sort();
    assert_eq!(ids, expected);
    assert_eq!(remove(store, &globex, &elsewhere.id).await, Removal::LastOwner);
    with_role(store, &globex, "eve@globex.dev", Role::Owner).await;
    assert_eq!(remove(store, &globex, &elsewhere.id).await, Removal::Done);
    let eve = store.person_named("eve@globex.dev").await.unwrap().unwrap().0;
    let bob = person(store, &globex, "bob@globex.dev").await;
    assert_eq!(store.people(Some(&acme)).await.unwrap(), std::slice::from_ref(&ada));
    assert_eq!(store.people(None).await.unwrap(), [ada.clone(), bob.clone(), eve]);
    let (kept, theirs) =
        (invited(store, &acme, Role::Owner).await, invited(store, &globex, Role::Owner).await);
    assert_eq!(remove(store, &acme, &bob.id).await, Removal::NoSuchPerson);
    assert!(store.invite(&kept).await.unwrap().is_some());
    assert_eq!(remove(store, &acme, &ada.id).await, Removal::Done);
    assert!(store.invite(&kept).await.unwrap().is_none(), "who was removed comes back by it");
    assert!(store.invite(&theirs).await.unwrap().is_some());
    assert!(store.person_named("ada@acme.dev").await.unwrap().is_none());
}

async fn an_invitation_adds_one_member_within_seven_days(store: &dyn Store, clock: &TestClock) {
    let acme = project(store, "acme").await.organization;
    let link = invited(store, &acme, Role::Owner).await;
    let late = invited(store, &acme, Role::Member).await;
    for _ in 0..2 {
        assert_eq!(store.invite(&link).await.unwrap().unwrap().role, Role::Owner);
    }
    let made = store.accept_invite(&link, "ada@acme.dev", &hash()).await.unwrap().unwrap();
    assert_eq!((&made.organization, made.role), (&acme, Role::Owner));
    assert!(store.accept_invite(&link, "eve@acme.dev", &hash()).await.unwrap().is_none());
    assert!(store.invite(&link).await.unwrap().is_none());

    clock.advance(SignedDuration::from_hours(24 * 7) - MILLISECOND);
    assert!(store.invite(&late).await.unwrap().is_some());
    clock.advance(MILLISECOND);
    assert!(store.invite(&late).await.unwrap().is_none());
    assert!(store.accept_invite(&late, "eve@acme.dev", &hash()).await.unwrap().is_none());
}

async fn an_invitation_is_listed_until_it_is_withdrawn_used_or_expired(store: &dyn Store, clock: &TestClock) {
    let (acme, globex) =
        (project(store, "acme").await.organization, project(store, "globex").await.organization);
    let first = invited(store, &acme, Role::Owner).await;
    clock.advance(SignedDuration::from_hours(1));
    let second = invited(store, &acme, Role::Member).await;
    invited(store, &globex, Role::Member).await;
    let all = store.invites(Some(&acme)).await.unwrap();
    assert_eq!(all.iter().map(|invite| invite.role).collect::<Vec<_>>(), [Role::Owner, Role::Member]);
    assert_eq!(all[0].creator.as_deref(), Some("ada@acme.dev"));
    assert_eq!(store.invite(&first).await.unwrap().as_ref(), Some(&all[0]));
    assert_eq!(store.invites(None).await.unwrap().len(), 3);

    assert_eq!(store.withdraw_invite(&globex, &all[0].id).await.unwrap(), None);
    assert_eq!(store.withdraw_invite(&acme, &all[0].id).await.unwrap().as_ref(), Some(&all[0]));
    assert_eq!(store.withdraw_invite(&acme, &all[0].id).await.unwrap(), None);
    assert!(store.accept_invite(&first, "eve@acme.dev", &hash()).await.unwrap().is_none());
    assert_eq!(store.invites(Some(&acme)).await.unwrap(), &all[1..]);
    store.accept_invite(&second, "bob@acme.dev", &hash()).await.unwrap().unwrap();
    assert_eq!(store.invites(Some(&acme)).await.unwrap(), []);
    let late = store.invites(None).await.unwrap().remove(0);
    clock.advance(SignedDuration::from_hours(24 * 7));
    assert_eq!(store.invites(None).await.unwrap(), []);
    assert_eq!(store.withdraw_invite(&globex, &late.id).await.unwrap(), None);
}

async fn a_name_that_is_taken_does_not_use_up_the_invitation(store: &dyn Store, _: &TestClock) {
    let acme = project(store, "acme").await.organization;
    person(store, &acme, "ada@acme.dev").await;
    let link = invited(store, &acme, Role::Member).await;
    let taken = store.accept_invite(&link, "ada@acme.dev", &hash()).await;
    assert!(matches!(taken, Err(StoreError::Taken(_))));
    assert!(store.accept_invite(&link, "bob@acme.dev", &hash()).await.unwrap().is_some());
}

async fn a_session_ends_with_its_member(store: &dyn Store, clock: &TestClock) {
    let acme = project(store, "acme").await.organization;
    let ada = person(store, &acme, "ada@acme.dev").await;
    let token = store.start_session(&ada.id).await.unwrap().unwrap();
    let session = store.session(&token).await.unwrap().unwrap();
    assert_eq!(session.person, Some(ada.clone()));
    assert!(!session.operator && !session.is_owner());
    let other = store.start_session(&ada.id).await.unwrap().unwrap();
    clock.advance(SignedDuration::from_hours(24 * 14));
    assert!(store.session(&other).await.unwrap().is_none());
    let token = store.start_session(&ada.id).await.unwrap().unwrap();
    assert_eq!(remove(store, &acme, &ada.id).await, Removal::Done);
    assert!(store.session(&token).await.unwrap().is_none());
    assert!(store.start_session(&ada.id).await.unwrap().is_none());
}

async fn a_session_that_is_handed_over_has_a_new_token(store: &dyn Store, _: &TestClock) {
    let (acme, globex) =
        (project(store, "acme").await.organization, project(store, "globex").await.organization);
    let (ada, eve) =
        (person(store, &acme, "ada@acme.dev").await, person(store, &globex, "eve@globex.dev").await);
    let link = store.create_login(&acme).await.unwrap();
    let before = store.use_login(&link).await.unwrap().unwrap();
    assert!(store.assign_session_to_member(&before, &eve.id).await.unwrap().is_none());
    let after = store.assign_session_to_member(&before, &ada.id).await.unwrap().unwrap();
    assert!(store.session(&before).await.unwrap().is_none());
    let session = store.session(&after).await.unwrap().unwrap();
    assert!(session.operator && session.person == Some(ada));
}

async fn a_new_password_and_a_sign_out_end_sessions_everywhere(store: &dyn Store, _: &TestClock) {
    let acme = project(store, "acme").await.organization;
    let (ada, bob) = (person(store, &acme, "ada@acme.dev").await, person(store, &acme, "bob@acme.dev").await);
    let link = store.create_login(&acme).await.unwrap();
    let nobodys = store.use_login(&link).await.unwrap().unwrap();
    let of = async |person: &Person| store.start_session(&person.id).await.unwrap().unwrap();
    let (first, second, bobs) = (of(&ada).await, of(&ada).await, of(&bob).await);
    assert!(store.set_password(&ada.id, &PasswordHash("another".into())).await.unwrap());
    assert_eq!(store.person_named("ada@acme.dev").await.unwrap().unwrap().1, PasswordHash("another".into()));
    assert_eq!((signed_in(store, &first).await, signed_in(store, &second).await), (None, None));
    assert!(!store.set_password(&PersonId("nobody".into()), &hash()).await.unwrap());

    let again = of(&ada).await;
    store.end_sessions(&store.session(&again).await.unwrap().unwrap()).await.unwrap();
    assert!(store.session(&again).await.unwrap().is_none());
    assert_eq!(signed_in(store, &bobs).await.as_deref(), Some("bob@acme.dev"));
    store.end_sessions(&store.session(&nobodys).await.unwrap().unwrap()).await.unwrap();
    assert!(store.session(&nobodys).await.unwrap().is_none());
    assert_eq!(signed_in(store, &bobs).await.as_deref(), Some("bob@acme.dev"));
}

async fn the_last_owner_stays(store: &dyn Store, _: &TestClock) {
    let (acme, globex) =
        (project(store, "acme").await.organization, project(store, "globex").await.organization);
    let ada = with_role(store, &acme, "ada@acme.dev", Role::Owner).await;
    with_role(store, &globex, "eve@globex.dev", Role::Owner).await;
    let bob = person(store, &acme, "bob@acme.dev").await;
    let link = invited(store, &acme, Role::Member).await;
    let session = store.start_session(&ada.id).await.unwrap().unwrap();
    assert_eq!(remove(store, &acme, &ada.id).await, Removal::LastOwner);
    assert!(store.invite(&link).await.unwrap().is_some() && signed_in(store, &session).await.is_some());
    assert_eq!(remove(store, &acme, &bob.id).await, Removal::Done);
    with_role(store, &acme, "zoe@acme.dev", Role::Owner).await;
    assert_eq!(remove(store, &acme, &ada.id).await, Removal::Done);
}

async fn of_owners_who_remove_each_other_one_stays(store: &dyn Store, _: &TestClock) {
    let acme = project(store, "acme").await.organization;
    with_role(store, &acme, "owner@acme.dev", Role::Owner).await;
    for round in 0..20 {
        with_role(store, &acme, &format!("owner{round}@acme.dev"), Role::Owner).await;
        let two = store.people(None).await.unwrap();
        let (one, other) = tokio::join!(remove(store, &acme, &two[0].id), remove(store, &acme, &two[1].id));
        let ends = [one, other];
        assert!(ends.contains(&Removal::Done) && ends.contains(&Removal::LastOwner), "{ends:?}");
        assert_eq!(store.people(None).await.unwrap().len(), 1);
    }
}

async fn the_audit_log_of_an_organization_is_listed_newest_first(store: &dyn Store, clock: &TestClock) {
    let (acme, globex) =
        (project(store, "acme").await.organization, project(store, "globex").await.organization);
    for (organization, about) in [(&acme, "one"), (&globex, "theirs"), (&acme, "two"), (&acme, "three\0")] {
        clock.advance(SignedDuration::from_secs(1));
        let deed = NewAuditEntry {
            organization: organization.clone(),
            who: "ada@acme.dev".into(),
            what: "revoked the key".into(),
            about: about.into(),
        };
        store.record_audit(&deed).await.unwrap();
    }
    let newest = store.audit_log(&acme, None, 2).await.unwrap();
    assert!(newest[0].about.starts_with("three") && newest[1].about == "two" && newest[0].at > newest[1].at);
    let older = store.audit_log(&acme, Some(newest[1].number), 2).await.unwrap();
    assert_eq!(older.iter().map(|deed| deed.about.as_str()).collect::<Vec<_>>(), ["one"]);
}

async fn a_deleted_organization_has_no_members(store: &dyn Store, _: &TestClock) {
    let acme = project(store, "acme").await.organization;
    person(store, &acme, "ada@acme.dev").await;
    let link = invited(store, &acme, Role::Member).await;
    assert!(store.delete_organization(&acme).await.unwrap());
    assert!(store.person_named("ada@acme.dev").await.unwrap().is_none());
    assert!(store.invite(&link).await.unwrap().is_none());
}

/// Those who watch a job look whether they still may.
async fn the_end_of_a_key_or_a_session_notifies_waiters(store: &dyn Store, _: &TestClock) {
    let project = project(store, "acme").await;
    let organization = project.organization.clone();
    let [ada, bob] = [
        with_role(store, &organization, "ada@acme.dev", Role::Owner).await,
        with_role(store, &organization, "bob@acme.dev", Role::Owner).await,
    ];
    let (key, _) = store.create_key(&crate::accounts::new_key(&project)).await.unwrap();
    let first = store.start_session(&ada.id).await.unwrap().unwrap();
    let second = store.start_session(&ada.id).await.unwrap().unwrap();
    let session = store.session(&second).await.unwrap().unwrap();
    let link = store.create_login(&organization).await.unwrap();
    store.use_login(&link).await.unwrap().unwrap();
    let link_session = store.link_sessions(Some(&organization)).await.unwrap().remove(0);
    for step in 0..6 {
        let mut woken = std::pin::pin!(store.wait_for_events());
        assert!(poll_immediate(&mut woken).await.is_none());
        match step {
            0 => assert!(store.revoke_key(&organization, &key.id).await.unwrap()),
            1 => store.end_session(&first).await.unwrap(),
            2 => store.end_sessions(&session).await.unwrap(),
            3 => assert!(store.set_password(&ada.id, &hash()).await.unwrap()),
            4 => {
                let ended = store.end_link_session(&organization, &link_session.id).await.unwrap();
                assert!(ended.is_some());
            }
            _ => {
                let (removal, _) =
                    store.remove_person(&organization, &bob.id, &MemberKeys::Revoke).await.unwrap();
                assert_eq!(removal, Removal::Done);
            }
        }
        assert!(poll_immediate(&mut woken).await.is_some(), "step {step}");
    }
}
