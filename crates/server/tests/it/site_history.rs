//! Reads the history of a project's pages from every kind of host, and removes its cache.

use std::path::PathBuf;

use forge::{History, Oid};
use jiff::SignedDuration;
use server::do_chores;

use crate::hosts::{HostFixture, NAME, WEB};
use crate::support::git;

/// Renames a page, removes another and adds a file that is no page, in one commit.
fn rename_a_page(fixture: &HostFixture) -> Oid {
    let copy = tempfile::tempdir().unwrap();
    let (repository, copy) = (fixture.team.repository.to_str().unwrap(), copy.path());
    git(copy, &["clone", "-q", repository, "."]);
    git(copy, &["mv", "a.md", "start.md"]);
    git(copy, &["rm", "-q", "b.md"]);
    std::fs::write(copy.join("tool.sh"), "true\n").unwrap();
    git(copy, &["add", "-A"]);
    git(copy, &["commit", "-q", "-m", "Rename"]);
    git(copy, &["push", "-q", "origin", "HEAD:main"]);
    Oid::parse(&git(copy, &["rev-parse", "HEAD"])).unwrap()
}

async fn read(fixture: &HostFixture) -> History {
    fixture.server.app.hosts.site_history(&fixture.team.project, None).await.unwrap()
}

fn cache(fixture: &HostFixture) -> PathBuf {
    fixture.server.data().join(format!("repos/{}.history.git", fixture.team.project.id))
}

#[tokio::test]
async fn renames_and_removals_are_known_on_every_host() {
    let mut fixtures = vec![HostFixture::local().await];
    for kind in WEB {
        fixtures.push(HostFixture::on(kind).await);
    }
    for fixture in &fixtures {
        let tip = rename_a_page(fixture);
        let history = read(fixture).await;
        let [rename] = &history.renames[..] else { panic!("{history:?}") };
        let [removed] = &history.removed[..] else { panic!("{history:?}") };
        assert_eq!((&history.commit, history.complete), (&tip, true));
        assert_eq!((rename.from.as_str(), rename.to.as_str()), ("a.md", "start.md"));
        assert_eq!((removed.path.as_str(), removed.blob.is_some()), ("b.md", true));
        let changed: Vec<_> = history.last_changed.iter().map(|(path, _)| path.as_str()).collect();
        assert_eq!(changed, ["start.md"]);
        assert_eq!(cache(fixture).exists(), fixture.host.is_some(), "a local history is not copied");
    }
}

#[tokio::test]
async fn a_history_counts_as_a_cache() {
    let fixture = HostFixture::on(WEB[0]).await;
    let app = &fixture.server.app;
    let history = read(&fixture).await;
    app.hosts.shrink_caches(u64::MAX, true).await.unwrap();
    assert!(cache(&fixture).is_dir());
    assert!(app.hosts.cached_projects().iter().all(|project| *project == fixture.team.project.id));

    app.hosts.shrink_caches(0, true).await.unwrap();
    assert!(!cache(&fixture).exists());
    assert_eq!(read(&fixture).await, history);

    let requests = fixture.fake().request_count();
    read(&fixture).await;
    let seen = fixture.fake().requests();
    let seen: Vec<_> = seen[usize::try_from(requests).unwrap()..].iter().map(|seen| &seen.path).collect();
    assert!(seen.iter().all(|path| path.contains(NAME)) && seen.len() <= 2, "{seen:?}");
}

#[tokio::test]
async fn a_deleted_project_leaves_no_history() {
    let fixture = HostFixture::on(WEB[0]).await;
    read(&fixture).await;
    let app = &fixture.server.app;
    assert!(app.upkeep.delete_project(&fixture.team.project.id).await.unwrap());
    fixture.server.clock.advance(SignedDuration::from_mins(2));
    do_chores(app).await;
    let files = std::fs::read_dir(fixture.server.data().join("repos")).unwrap();
    let files: Vec<_> = files.map(|file| file.unwrap().file_name().into_string().unwrap()).collect();
    assert!(files.iter().all(|name| !name.contains(&fixture.team.project.id.0)), "{files:?}");
}
