//! Sets `has_postgres` when PostgreSQL is installed, and `has_engines` when ClickHouse is installed for tests, too, so that
//! tests which need them are reported as ignored elsewhere. In CI nothing is ignored: what is missing fails there. Crates
//! whose tests include `engine.rs` use this file.

use std::env;
use std::path::{Path, PathBuf};

/// Debian's packages put each version in a directory of its own.
const POSTGRES_VERSIONS: &str = "/usr/lib/postgresql";
/// `scripts/clickhouse_engine.py` installs it.
const CLICKHOUSE: &str = "docwright/chdb-core-26.9.0/installed";

fn main() {
    println!("cargo::rustc-check-cfg=cfg(has_postgres, has_engines)");
    println!("cargo::rerun-if-env-changed=CI");
    println!("cargo::rerun-if-env-changed=XDG_CACHE_HOME");
    let (postgres, clickhouse) = (PathBuf::from(POSTGRES_VERSIONS), cache().join(CLICKHOUSE));
    for file in [&postgres, &clickhouse] {
        // Cargo would build again and again because of a file that is missing.
        let watched = file.ancestors().find(|path| path.exists()).unwrap_or(Path::new("/"));
        println!("cargo::rerun-if-changed={}", watched.display());
    }
    let mut versions = postgres.read_dir().into_iter().flatten().flatten();
    let is_ci = env::var_os("CI").is_some();
    let has_postgres = versions.any(|version| version.path().join("bin/initdb").exists());
    if is_ci || has_postgres {
        println!("cargo::rustc-cfg=has_postgres");
    }
    if is_ci || (has_postgres && clickhouse.exists()) {
        println!("cargo::rustc-cfg=has_engines");
    }
}

fn cache() -> PathBuf {
    let home = env::var_os("HOME").map(PathBuf::from).unwrap_or_default();
    env::var_os("XDG_CACHE_HOME").map_or_else(|| home.join(".cache"), PathBuf::from)
}
