//! Tests `docwright move --views-url`.

use std::time::Duration;

use super::installation::Installation;
use super::{data, move_command, refuse, succeed};
use crate::cluster::Database;
use crate::engine::EngineDatabase;
use crate::support::home;

/// The views that [`Installation`] sends.
const EVENTS: u64 = 27 * 40;

#[test]
#[cfg_attr(not(has_engines), ignore = "PostgreSQL or ClickHouse is not installed")]
fn page_views_are_moved_and_compared() {
    let (home, database, engine) = (home(), Database::create(), EngineDatabase::create());
    Installation::create(home.path()).stop();
    let mut command = move_command(home.path(), &database);
    let (moved, messages) = succeed(command.args(["--views-url", &engine.url()]));
    assert_eq!((moved["events"].as_u64(), moved["questions"].as_u64()), (Some(EVENTS), Some(200)));
    assert!(messages.contains("1,080 raw views of 1 project go to ClickHouse"), "{messages}");
    assert!(messages.contains("gave the same answers to 200 questions about page views"), "{messages}");
    assert_eq!(engine.sql("SELECT count() FROM views"), EVENTS.to_string());
    assert_eq!(
        database.sql("SELECT dir FROM views_home"),
        "clickhouse",
        "a directory must not keep page views"
    );
    assert!(data(&home).join("views.db").exists());
}

#[test]
#[cfg_attr(not(has_engines), ignore = "PostgreSQL or ClickHouse is not installed")]
fn a_killed_move_of_page_views_continues() {
    let (home, database, engine) = (home(), Database::create(), EngineDatabase::create());
    Installation::create(home.path()).stop();
    let moving = || {
        let mut command = move_command(home.path(), &database);
        command.env("DOCWRIGHT_VIEWS_URL", engine.url()).arg("--views-url");
        command
    };
    for wait in (150..).step_by(90).take(10) {
        let mut killed = moving().spawn().unwrap();
        std::thread::sleep(Duration::from_millis(wait));
        killed.kill().unwrap();
        killed.wait().unwrap();
    }
    let (moved, _) = succeed(&mut moving());
    assert!(moved["wasComplete"] == true || moved["events"] == EVENTS, "{moved}");
    assert_eq!(engine.sql("SELECT count() FROM views"), EVENTS.to_string());
    assert_eq!(
        engine.sql("SELECT sum(n) FROM views_daily"),
        engine.sql("SELECT countIf(kind = 0) FROM views")
    );
}

#[test]
#[cfg_attr(not(has_engines), ignore = "PostgreSQL or ClickHouse is not installed")]
fn used_databases_and_another_choice_are_refused() {
    let (home, database, engine) = (home(), Database::create(), EngineDatabase::create());
    Installation::create(home.path()).stop();
    let moving = |database: &Database| {
        let mut command = move_command(home.path(), database);
        command.args(["--views-url", &engine.url()]);
        command
    };
    succeed(&mut moving(&database));
    std::fs::remove_file(data(&home).join("moved")).unwrap();
    let other = Database::create();
    refuse(&mut moving(&other), "already has page views: create an empty database");
    for table in ["views", "views_daily", "views_hourly", "views_names"] {
        engine.sql(&format!("TRUNCATE TABLE {table}"));
    }
    refuse(
        &mut moving(&other),
        "belongs to another installation of Docwright, or to an earlier move: drop it",
    );
    assert!(!data(&home).join("moved").exists(), "nothing was moved");
}
