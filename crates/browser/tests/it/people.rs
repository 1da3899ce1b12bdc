//! People, by clicks: invited in one browser, joined in another, held to a role, removed.

use crate::support::{Browser, PASSWORD, Site, installed};

#[tokio::test]
async fn somebody_is_invited_joins_works_as_a_member_and_is_removed() {
    if !installed() {
        return;
    }
    let site = Site::start().await;
    let (owner, bob) = (Browser::signed_in(&site).await, Browser::start(&site).await);
    owner.click("nav a[href='/people']").await;
    owner.click("#role option[value=member]").await;
    owner.click("form[action='/people/invite'] button").await;
    let link = owner.copied("invitation").await;
    owner.open("/people").await;
    assert!(!owner.text().await.contains("/join?token="), "shown once");

    bob.open(link.strip_prefix(&site.url).unwrap()).await;
    bob.read("h1", "Join Acme").await;
    bob.write("#name", "bob@acme.dev").await;
    bob.write("#password", PASSWORD).await;
    bob.click("main button").await;
    bob.see(".projects").await;
    bob.click("nav a[href='/people']").await;
    bob.read("#you .hint", "bob@acme.dev, member").await;
    is_for_looking(&site, &bob).await;

    owner.open("/people").await;
    owner.read("tbody tr", "bob@acme.dev").await;
    owner.click("tbody details.sure summary").await;
    owner.click("tbody details.sure button.danger").await;
    owner.read("main", "Nobody has an account yet").await;
    bob.open("/people").await;
    bob.see("#password").await;
    assert_eq!(bob.status().await, 401);
    bob.open(link.strip_prefix(&site.url).unwrap()).await;
    bob.is_refused(410, "That invitation does not work any more").await;
    owner.transferred().await;
    bob.transferred().await;
}

/// A member sees no button that only an owner may press.
async fn is_for_looking(site: &Site, member: &Browser<'_>) {
    assert_eq!(member.count("form[action='/people/invite'], details.sure, a[href='/audit']").await, 0);
    member.open(&site.page("/settings")).await;
    member.read("main", "Only owners of the organization change these").await;
    assert_eq!(member.count("main form button:not(.copy)").await, 0);
    member.open("/audit").await;
    member.is_refused(403, "Only an owner may do that").await;
    member.open(&site.page("/jobs")).await;
    member.see(".ask button.main").await;
    member.open(&site.page("/keys")).await;
    member.see("form[action$='/keys'] button.main").await;
}
