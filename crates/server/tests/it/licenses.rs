//! Checks that every dependency has a license that `deny.toml` allows. `cargo deny check licenses` does the
//! same, but few machines have that program.

use std::path::Path;
use std::process::Command;

use serde_json::Value;
use spdx::{Expression, LicenseReq, ParseMode};

#[test]
fn every_dependency_has_an_allowed_license() {
    let root = Path::new(env!("CARGO_MANIFEST_DIR")).join("../..");
    let deny: toml::Table = std::fs::read_to_string(root.join("deny.toml")).unwrap().parse().unwrap();
    let allowed: Vec<_> =
        deny["licenses"]["allow"].as_array().unwrap().iter().filter_map(|v| v.as_str()).collect();
    let metadata = Command::new(env!("CARGO"))
        .args([
            "metadata",
            "--format-version",
            "1",
            "--locked",
            "--filter-platform",
            "x86_64-unknown-linux-gnu",
        ])
        .current_dir(&root)
        .output()
        .unwrap();
    let metadata: Value = serde_json::from_slice(&metadata.stdout).unwrap();
    let packages = metadata["packages"].as_array().unwrap();
    assert!(packages.len() > 100, "{}", packages.len());
    let refused: Vec<_> = packages.iter().filter(|package| !has_allowed_license(package, &allowed)).collect();
    let names: Vec<_> =
        refused.iter().map(|package| format!("{} ({})", package["name"], package["license"])).collect();
    assert!(names.is_empty(), "{names:?}");
}

fn has_allowed_license(package: &Value, allowed: &[&str]) -> bool {
    let Some(license) = package["license"].as_str() else { return false };
    let is_allowed = |required: &LicenseReq| {
        let name = required.license.id().map(|id| id.name);
        name.is_some_and(|name| allowed.contains(&name))
    };
    Expression::parse_mode(license, ParseMode::LAX).is_ok_and(|expression| expression.evaluate(is_allowed))
}
