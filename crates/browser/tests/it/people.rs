//! Tests members by clicks: invited in one browser, joined in another, limited to a role, removed.

use crate::support::{Browser, PASSWORD, Site};

#[tokio::test]
#[cfg_attr(not(has_browser), ignore = "Chromium, chromedriver or axe is missing: scripts/test installs them")]
async fn a_member_is_invited_joins_is_limited_to_the_role_and_is_removed() {
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
    check_member_view(&site, &bob).await;

    owner.open("/people").await;
    owner.read("tbody tr", "bob@acme.dev").await;
    owner.click("tbody details.sure summary").await;
    owner.click("tbody details.sure button.danger").await;
    owner.read("main", "No members yet").await;
    bob.open("/people").await;
    bob.see("#password").await;
    assert_eq!(bob.status().await, 401);
    bob.open(link.strip_prefix(&site.url).unwrap()).await;
    bob.is_refused(410, "This invitation no longer works").await;
    owner.transferred().await;
    bob.transferred().await;
}

/// A member sees no button that only owners can use.
async fn check_member_view(site: &Site, member: &Browser<'_>) {
    assert_eq!(member.count("form[action='/people/invite'], details.sure, a[href='/audit']").await, 0);
    member.open(&site.page("/settings")).await;
    member.read("main", "Only owners of the organization can change these settings").await;
    assert_eq!(member.count("main form button:not(.copy)").await, 0);
    member.open("/audit").await;
    member.is_refused(403, "Only owners can do this").await;
    member.open(&site.page("/jobs")).await;
    member.see(".ask button.main").await;
    member.open(&site.page("/keys")).await;
    member.see("form[action$='/keys'] button.main").await;
}
