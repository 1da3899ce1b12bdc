//! The settings and environment variables of every git call.

/// Settings on every command line. The other end of a local fetch or push gets them, too: it is a separate process
/// that reads the configuration of the repository it serves.
pub(super) const SETTINGS: &[&str] = &[
    // Larger files are streamed instead of loaded into memory.
    "core.bigFileThreshold=64m",
    // Fast compression for local objects. `pack.compression` below keeps transfers small.
    "core.compression=1",
    "core.hooksPath=/dev/null",
    "core.fsmonitor=false",
    "core.attributesFile=/dev/null",
    "core.excludesFile=/dev/null",
    // A shell runs this command to list the refs of an alternate. `true` lists none.
    "core.alternateRefsCommand=true",
    "core.sshCommand=false",
    "core.pager=cat",
    "core.quotePath=false",
    "credential.helper=",
    "fetch.recurseSubmodules=false",
    "gc.auto=0",
    "log.showSignature=false",
    "maintenance.auto=false",
    "pack.compression=6",
    "protocol.ext.allow=never",
    "push.gpgSign=false",
    "push.recurseSubmodules=no",
    "receive.autogc=false",
    "receive.denyCurrentBranch=refuse",
    "submodule.recurse=false",
    "transfer.bundleURI=false",
];

/// Settings for writes to a repository that is not a cache. By default, git calls fsync for neither loose objects nor
/// refs, and a power cut leaves empty files.
pub(super) const FSYNC_SETTINGS: &[&str] =
    &["core.fsync=objects,derived-metadata,reference", "core.fsyncMethod=fsync"];
/// Stores every push as one packfile, so that the directory to sync is known.
pub(super) const RECEIVE_SETTINGS: &[&str] = &["receive.unpackLimit=1"];

/// Lets git repack a repository although objects are missing. The remote has no address, so git cannot fetch them.
pub(super) const INCOMPLETE_SETTINGS: &[&str] =
    &["remote.docwright.promisor=true", "repack.writeBitmaps=false"];

pub(super) const ENVIRONMENT: &[(&str, &str)] = &[
    // A packfile of a few bytes can expand to gigabytes.
    ("GIT_ALLOC_LIMIT", "512m"),
    ("GIT_ALLOW_PROTOCOL", "file"),
    ("GIT_ASKPASS", ""),
    ("GIT_ATTR_NOSYSTEM", "1"),
    ("GIT_CONFIG_GLOBAL", "/dev/null"),
    ("GIT_CONFIG_NOSYSTEM", "1"),
    ("GIT_CONFIG_SYSTEM", "/dev/null"),
    ("GIT_NO_LAZY_FETCH", "1"),
    ("GIT_NO_REPLACE_OBJECTS", "1"),
    ("GIT_OPTIONAL_LOCKS", "0"),
    ("GIT_PROTOCOL_FROM_USER", "0"),
    ("GIT_TERMINAL_PROMPT", "0"),
    ("GIT_AUTHOR_NAME", "Docwright"),
    ("GIT_AUTHOR_EMAIL", "docwright@localhost"),
    ("GIT_COMMITTER_NAME", "Docwright"),
    ("GIT_COMMITTER_EMAIL", "docwright@localhost"),
    ("HOME", "/nonexistent"),
    ("XDG_CONFIG_HOME", "/nonexistent"),
    ("LC_ALL", "C"),
];
