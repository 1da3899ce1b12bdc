//! Tests `docwright ranges`: the list, and checks of files.

use crate::support::{home, json, run};

fn text(bytes: Vec<u8>) -> String {
    String::from_utf8(bytes).unwrap()
}

#[test]
fn a_checked_file_replaces_the_shipped_list() {
    let home = home();
    let file = home.path().join("gptbot.json");
    let published =
        r#"{"creationTime": "2026-05-01T00:00:00", "prefixes": [{"ipv4Prefix": "20.125.66.80/28"}]}"#;
    std::fs::write(&file, published).unwrap();
    let checked = run(home.path(), &["ranges", "check", "gptbot.json"]);
    assert!(checked.status.success(), "{checked:?}");
    let line = text(checked.stdout).lines().nth(1).unwrap().split_whitespace().collect::<Vec<_>>().join(" ");
    assert_eq!(line, "GPTBot product 1 gptbot.json 2026-05-01");

    let folder = home.path().join("data/ranges");
    std::fs::create_dir_all(&folder).unwrap();
    std::fs::rename(file, folder.join("gptbot.json")).unwrap();
    let lists = json(home.path(), &["ranges", "--data", "data", "--json"]);
    let named = |name: &str| lists.as_array().unwrap().iter().find(|list| list["name"] == name).unwrap();
    assert_eq!((&named("GPTBot")["ranges"], &named("GPTBot")["date"]), (&1.into(), &"2026-05-01".into()));
    assert_eq!(
        (&named("Amazonbot")["source"], &named("Amazonbot")["date"]),
        (&"shipped".into(), &"2026-03-11".into())
    );
}

#[test]
fn the_doctor_warns_of_files_that_are_bad_or_old() {
    let home = home();
    run(home.path(), &["org", "create", "--name", "Acme", "--data", "data"]);
    let warnings = || -> Vec<String> {
        let report = json(home.path(), &["doctor", "--data", "data", "--json"]);
        let checks = report["checks"].as_array().unwrap().iter();
        let checks = checks.filter(|check| check["name"] == "address ranges");
        checks.map(|check| format!("{}: {}", check["status"].as_str().unwrap(), check["message"])).collect()
    };
    assert!(warnings().is_empty());
    let folder = home.path().join("data/ranges");
    std::fs::create_dir_all(&folder).unwrap();
    std::fs::write(folder.join("GPTBot.json"), r#"["20.1.1.0/24"]"#).unwrap();
    assert!(matches!(warnings().as_slice(), [one] if one.starts_with("ok: \"1 file")), "{:?}", warnings());
    let old = r#"{"creationTime": "2026-01-01T00:00:00", "prefixes": [{"ipv4Prefix": "20.125.66.80/28"}]}"#;
    std::fs::write(folder.join("GPTBot.json"), old).unwrap();
    std::fs::write(folder.join("Nobody.json"), r#"["20.1.1.0/24"]"#).unwrap();
    let found = warnings();
    assert_eq!(found.len(), 2, "{found:?}");
    assert!(found[0].contains("Nobody.json") && found[0].contains("not a known product"), "{found:?}");
    assert!(found[1].starts_with("warn: \"the list of GPTBot is of 2026-01-01"), "{found:?}");
}

#[test]
fn a_bad_file_is_explained() {
    let home = home();
    std::fs::write(home.path().join("GPTBot.json"), r#"["0.0.0.0/0", "10.0.0.0/8", "20.1.1.0/24"]"#).unwrap();
    std::fs::write(home.path().join("Nobody.json"), r#"["20.1.1.0/24"]"#).unwrap();
    let checked = run(home.path(), &["ranges", "check", "GPTBot.json", "Nobody.json"]);
    assert_eq!((checked.status.code(), checked.stdout.len()), (Some(1), 0));
    let problems = text(checked.stderr);
    for problem in [
        "GPTBot.json: `0.0.0.0/0` is too wide: the length must be at least 8.",
        "GPTBot.json: `10.0.0.0/8` contains private or reserved addresses.",
        "Nobody.json: `Nobody` is not a known product.",
    ] {
        assert!(problems.contains(problem), "{problems}");
    }
}
