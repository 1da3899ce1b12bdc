//! Sets `has_browser` when the tests can run, so that they are reported as ignored elsewhere. In CI nothing is ignored:
//! what is missing fails there.

use std::env;
use std::path::{Path, PathBuf};

fn main() {
    println!("cargo::rustc-check-cfg=cfg(has_browser)");
    println!("cargo::rerun-if-env-changed=CI");
    println!("cargo::rerun-if-env-changed=PATH");
    let files = [find_program("chromium"), find_program("chromedriver"), axe()];
    for file in &files {
        // Cargo would build again and again because of a file that is missing.
        let watched = file.ancestors().find(|path| path.exists()).unwrap_or(file);
        println!("cargo::rerun-if-changed={}", watched.display());
    }
    if env::var_os("CI").is_some() || files.iter().all(|file| file.exists()) {
        println!("cargo::rustc-cfg=has_browser");
    }
}

fn find_program(name: &str) -> PathBuf {
    let path = env::var_os("PATH").unwrap_or_default();
    let found = env::split_paths(&path).map(|folder| folder.join(name)).find(|file| file.exists());
    found.unwrap_or_else(|| Path::new("/usr/bin").join(name))
}

/// The script that looks for barriers in pages; `scripts/test` installs it.
fn axe() -> PathBuf {
    let home = env::var_os("HOME").map(PathBuf::from).unwrap_or_default();
    let cache = env::var_os("XDG_CACHE_HOME").map_or_else(|| home.join(".cache"), PathBuf::from);
    cache.join("docwright/axe-core-4.14.0/node_modules/axe-core/axe.min.js")
}
