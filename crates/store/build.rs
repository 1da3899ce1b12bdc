//! Sets `has_postgres` when PostgreSQL is installed, so that tests which need it are reported as ignored elsewhere. In CI
//! nothing is ignored: what is missing fails there. Crates whose tests include `cluster.rs` use this file, too.

use std::env;
use std::path::Path;

/// Debian's packages put each version in a directory of its own.
const VERSIONS: &str = "/usr/lib/postgresql";

fn main() {
    println!("cargo::rustc-check-cfg=cfg(has_postgres)");
    println!("cargo::rerun-if-env-changed=CI");
    // Cargo would build again and again because of a directory that is missing.
    let watched = Path::new(VERSIONS).ancestors().find(|path| path.exists()).unwrap_or(Path::new("/"));
    println!("cargo::rerun-if-changed={}", watched.display());
    let mut versions = Path::new(VERSIONS).read_dir().into_iter().flatten().flatten();
    if env::var_os("CI").is_some() || versions.any(|version| version.path().join("bin/initdb").exists()) {
        println!("cargo::rustc-cfg=has_postgres");
    }
}
