//! Tests that `docwright restore` refuses everything that is not a complete backup, before it replaces anything.

use std::io::Write;
use std::path::{Path, PathBuf};

use serde_json::{Value, json};
use sha2::{Digest, Sha256};

use crate::backup::data;
use crate::support::{Serving, home, json, refusal, run};

/// A home with a small installation, and a backup of it in both forms.
struct Installation {
    home: tempfile::TempDir,
}

impl Installation {
    fn new() -> Self {
        let home = home();
        // A server creates the database of page views.
        Serving::start(home.path()).stop();
        json(home.path(), &["org", "create", "--name", "Acme", "--json"]);
        for name in ["good", "good.tar.zst"] {
            assert!(run(home.path(), &["backup", name]).status.success());
        }
        Self { home }
    }

    fn path(&self, name: &str) -> PathBuf {
        self.home.path().join(name)
    }

    fn names(&self) -> Vec<String> {
        let names = std::fs::read_dir(self.home.path()).unwrap();
        let mut names: Vec<_> = names.map(|file| file.unwrap().file_name().into_string().unwrap()).collect();
        names.sort();
        names
    }

    /// Checks that the restore fails with this message, and leaves nothing behind.
    #[track_caller]
    fn refuses(&self, name: &str, expected: &str) {
        let before = self.names();
        let (code, words) = refusal(self.home.path(), &["restore", name, "--data", "new"]);
        assert!(code == 1 && words.contains(expected), "{name}: {words}");
        assert_eq!(self.names(), before);
    }

    /// Copies the valid folder, so that a test can damage the copy.
    fn folder(&self, name: &str) -> PathBuf {
        let to = self.path(name);
        std::fs::create_dir(&to).unwrap();
        for file in ["manifest.json", "docwright.db", "views.db", "id"] {
            std::fs::copy(self.path("good").join(file), to.join(file)).unwrap();
        }
        to
    }

    fn manifest(&self) -> Value {
        serde_json::from_slice(&std::fs::read(self.path("good/manifest.json")).unwrap()).unwrap()
    }

    /// An archive of a manifest and of files with any name and type.
    fn archive(&self, name: &str, manifest: &Value, entries: &[(&str, tar::EntryType)]) {
        let mut archive = tar::Builder::new(Vec::new());
        let manifest = serde_json::to_vec(manifest).unwrap();
        append(&mut archive, "manifest.json", tar::EntryType::Regular, &manifest);
        for (name, kind) in entries {
            let file = self.path("good").join(name.trim_start_matches(['.', '/']));
            let content = std::fs::read(file).unwrap_or_else(|_| b"content".to_vec());
            append(&mut archive, name, *kind, if *kind == tar::EntryType::Symlink { b"" } else { &content });
        }
        std::fs::write(self.path(name), zstd::encode_all(&*archive.into_inner().unwrap(), 3).unwrap())
            .unwrap();
    }
}

fn append(archive: &mut tar::Builder<Vec<u8>>, name: &str, kind: tar::EntryType, content: &[u8]) {
    let mut header = tar::Header::new_gnu();
    header.as_gnu_mut().unwrap().name[..name.len()].copy_from_slice(name.as_bytes());
    header.set_entry_type(kind);
    header.set_mode(0o600);
    header.set_size(content.len() as u64);
    if kind == tar::EntryType::Symlink {
        header.set_link_name("/etc").unwrap();
    }
    header.set_cksum();
    archive.append(&header, content).unwrap();
}

fn write(path: &Path, value: &Value) {
    std::fs::write(path, value.to_string()).unwrap();
}

#[test]
fn what_is_not_a_backup_is_refused() {
    let installation = Installation::new();
    installation.refuses("missing", "there is no backup at missing");
    std::fs::write(installation.path("text"), "no backup at all, but some text\n").unwrap();
    installation.refuses("text", "it is not a .tar.zst");
    std::fs::write(installation.path("nothing"), "").unwrap();
    installation.refuses("nothing", "it is not a .tar.zst");
    std::fs::create_dir(installation.path("folder")).unwrap();
    installation.refuses("folder", "it has no manifest.json");
    std::fs::write(installation.path("folder/manifest.json"), "{\"format\": 1").unwrap();
    installation.refuses("folder", "its manifest.json cannot be read");
    let other = zstd::encode_all(&b"packed, but no tar"[..], 3).unwrap();
    std::fs::write(installation.path("packed.tar.zst"), other).unwrap();
    installation.refuses("packed.tar.zst", "cannot be restored");
    installation.archive("no-files.tar.zst", &installation.manifest(), &[]);
    installation.refuses("no-files.tar.zst", "is missing: it is cut off or damaged");
    let mut archive = tar::Builder::new(Vec::new());
    append(&mut archive, "docwright.db", tar::EntryType::Regular, b"SQLite");
    let packed = zstd::encode_all(&*archive.into_inner().unwrap(), 3).unwrap();
    std::fs::write(installation.path("no-manifest.tar.zst"), packed).unwrap();
    installation.refuses("no-manifest.tar.zst", "does not begin with a manifest.json");
    let restored = run(installation.home.path(), &["restore", "good", "--data", "new"]);
    assert!(restored.status.success(), "{restored:?}");
}

#[test]
fn a_truncated_or_changed_archive_is_refused() {
    let installation = Installation::new();
    let good = std::fs::read(installation.path("good.tar.zst")).unwrap();
    for length in (1..16).map(|n| good.len() * n / 16).chain([good.len() - 4, good.len() - 1]) {
        std::fs::write(installation.path("bad"), &good[..length]).unwrap();
        installation.refuses("bad", "cannot be restored");
    }
    for at in (1..16).map(|n| good.len() * n / 16) {
        let mut bad = good.clone();
        bad[at] ^= 1;
        std::fs::write(installation.path("bad"), bad).unwrap();
        installation.refuses("bad", "cannot be restored");
    }
    std::fs::write(installation.path("bad"), [&good[..], &good[..]].concat()).unwrap();
    installation.refuses("bad", "cannot be restored");
}

#[test]
fn a_changed_folder_is_refused() {
    let installation = Installation::new();
    for name in ["docwright.db", "views.db", "id"] {
        let folder = installation.folder(&format!("bad-{name}"));
        let mut bytes = std::fs::read(folder.join(name)).unwrap();
        let middle = bytes.len() / 2;
        bytes[middle] ^= 1;
        std::fs::write(folder.join(name), &bytes).unwrap();
        installation.refuses(&format!("bad-{name}"), &format!("its file {name} is cut off or damaged"));
        bytes[middle] ^= 1;
        bytes.pop();
        std::fs::write(folder.join(name), &bytes).unwrap();
        installation.refuses(&format!("bad-{name}"), &format!("its file {name} is cut off or damaged"));
        std::fs::remove_file(folder.join(name)).unwrap();
        installation.refuses(&format!("bad-{name}"), &format!("its file {name} cannot be read"));
        std::os::unix::fs::symlink(installation.path("good").join(name), folder.join(name)).unwrap();
        installation.refuses(&format!("bad-{name}"), &format!("its file {name} is a link"));
    }
}

/// Updates the manifest to the current content of a file, so that its hash matches.
fn describe(folder: &Path, name: &str, manifest: &mut Value) {
    let bytes = std::fs::read(folder.join(name)).unwrap();
    let sha256: String = Sha256::digest(&bytes).iter().map(|byte| format!("{byte:02x}")).collect();
    let files = manifest["files"].as_array_mut().unwrap();
    let file = files.iter_mut().find(|file| file["path"] == name).unwrap();
    (file["bytes"], file["sha256"]) = (bytes.len().into(), sha256.into());
    write(&folder.join("manifest.json"), manifest);
}

#[test]
fn a_database_that_is_newer_or_damaged_is_refused() {
    /// Where SQLite's file format has the schema version, big-endian.
    const USER_VERSION: std::ops::Range<usize> = 60..64;
    let installation = Installation::new();
    for name in ["docwright.db", "views.db"] {
        let folder = installation.folder(&format!("newer-{name}"));
        let mut bytes = std::fs::read(folder.join(name)).unwrap();
        bytes[USER_VERSION].copy_from_slice(&1000_u32.to_be_bytes());
        std::fs::write(folder.join(name), &bytes).unwrap();
        let mut manifest = installation.manifest();
        describe(&folder, name, &mut manifest);
        installation.refuses(&format!("newer-{name}"), "is not the one that its manifest.json describes");
        manifest["schemas"][name] = 1000.into();
        write(&folder.join("manifest.json"), &manifest);
        installation.refuses(&format!("newer-{name}"), "was created by a newer version of Docwright");

        let folder = installation.folder(&format!("damaged-{name}"));
        let mut bytes = std::fs::read(folder.join(name)).unwrap();
        bytes[4096..5000].fill(0xaa);
        std::fs::write(folder.join(name), &bytes).unwrap();
        describe(&folder, name, &mut installation.manifest());
        installation.refuses(&format!("damaged-{name}"), "Use another backup");
    }
    let folder = installation.folder("format");
    let mut manifest = installation.manifest();
    manifest["format"] = 2.into();
    write(&folder.join("manifest.json"), &manifest);
    installation.refuses("format", "restore it with that version");
}

#[test]
fn no_entry_escapes_the_folder_or_occurs_twice() {
    use tar::EntryType::{Directory, Regular, Symlink};
    const ALL: [(&str, tar::EntryType); 3] =
        [("docwright.db", Regular), ("id", Regular), ("views.db", Regular)];
    let installation = Installation::new();
    installation.archive("good-by-hand.tar.zst", &installation.manifest(), &ALL);
    let restored = run(installation.home.path(), &["restore", "good-by-hand.tar.zst", "--data", "by-hand"]);
    assert!(restored.status.success(), "{restored:?}");
    for (number, (name, kind)) in [
        ("../x", Regular),
        ("/tmp/docwright-escape", Regular),
        ("sample-1.git/../../x", Regular),
        ("sample-1.git", Symlink),
        ("sample-1.git/HEAD", Symlink),
        ("docwright.db-wal", Regular),
        ("lock", Regular),
        ("sample-1.git", Directory),
        ("id", Regular),
    ]
    .into_iter()
    .enumerate()
    {
        let entries = [&ALL[..], &[(name, kind)]].concat();
        let archive = format!("unnamed-{number}.tar.zst");
        installation.archive(&archive, &installation.manifest(), &entries);
        installation.refuses(&archive, "cannot be restored");
        let mut manifest = installation.manifest();
        let file = json!({ "path": name, "bytes": 7, "sha256": "00" });
        manifest["files"].as_array_mut().unwrap().push(file);
        let archive = format!("named-{number}.tar.zst");
        installation.archive(&archive, &manifest, &entries);
        installation.refuses(&archive, "cannot be restored");
    }
    let mut manifest = installation.manifest();
    manifest["directories"] = json!(["../x"]);
    installation.archive("directory.tar.zst", &manifest, &ALL);
    installation.refuses("directory.tar.zst", "cannot be in a backup");
    assert!(!Path::new("/tmp/docwright-escape").exists());
}

#[test]
fn existing_data_is_replaced_only_with_force_and_moved_aside() {
    let installation = Installation::new();
    let restore = |more: &[&str]| {
        let args = [&["restore", "good.tar.zst"], more].concat();
        refusal(installation.home.path(), &args)
    };
    let old = data(installation.home.path());
    json(installation.home.path(), &["org", "create", "--name", "Later", "--json"]);
    let key = std::fs::read(old.join("master.key")).unwrap();
    let organizations =
        || json(installation.home.path(), &["org", "list", "--json"]).as_array().unwrap().len();
    let (code, words) = restore(&[]);
    assert!(code == 1 && words.contains("is not empty") && words.contains("--force"), "{words}");

    let serving = Serving::start(installation.home.path());
    let (code, words) = restore(&["--force"]);
    assert!(code == 1 && words.contains("a Docwright server is using"), "{words}");
    serving.stop();
    std::fs::write(installation.path("bad"), "no backup").unwrap();
    let (code, words) = refusal(installation.home.path(), &["restore", "bad", "--force"]);
    assert!(code == 1 && words.contains("cannot be restored"), "{words}");
    assert_eq!(organizations(), 2, "a bad backup replaces nothing");

    let (code, words) = restore(&["--force"]);
    assert!(code == 0 && words.contains("Kept the master key"), "{words}");
    assert_eq!(organizations(), 1);
    assert_eq!(std::fs::read(old.join("master.key")).unwrap(), key);
    let previous = words.lines().find_map(|line| line.strip_prefix("The previous content is in ")).unwrap();
    let previous = previous.split(". Remove").next().unwrap();
    assert!(Path::new(previous).starts_with(old.canonicalize().unwrap()), "{previous}");
    let organizations_before = json(installation.home.path(), &["org", "list", "--json", "--data", previous]);
    assert_eq!(organizations_before.as_array().unwrap().len(), 2);
    Serving::start(installation.home.path()).stop();
    // A log of the replaced database would be read as a part of the new one.
    assert!(!old.join("docwright.db-wal").exists());
    let mut stray = std::fs::File::create(old.join("docwright.db-wal")).unwrap();
    stray.write_all(b"of another database").unwrap();
    assert_eq!(restore(&["--force"]).0, 0);
    assert!(!old.join("docwright.db-wal").exists());
}

#[test]
fn an_endless_name_is_refused() {
    let installation = Installation::new();
    let mut archive = tar::Builder::new(Vec::new());
    append(&mut archive, "long", tar::EntryType::GNULongName, &vec![b'x'; 1 << 20]);
    let packed = zstd::encode_all(&*archive.into_inner().unwrap(), 3).unwrap();
    std::fs::write(installation.path("long.tar.zst"), packed).unwrap();
    installation.refuses("long.tar.zst", "a file whose name is too long");
}

#[test]
fn a_restore_after_an_interrupted_one_finds_the_master_key() {
    let installation = Installation::new();
    let old = data(installation.home.path());
    let key = std::fs::read(old.join("master.key")).unwrap();
    // The earlier restore had moved everything aside, and nothing in.
    let aside = old.join("before-restore-20261116T120000000Z");
    std::fs::create_dir(&aside).unwrap();
    for name in ["docwright.db", "views.db", "id", "master.key"] {
        std::fs::rename(old.join(name), aside.join(name)).unwrap();
    }
    let (code, words) = refusal(installation.home.path(), &["serve", "--listen", "127.0.0.1:0"]);
    assert!(code == 1 && words.contains("docwright.db is missing: an installation was in"), "{words}");
    let (code, words) = refusal(installation.home.path(), &["restore", "good.tar.zst", "--force"]);
    assert!(code == 0 && words.contains("Kept the master key"), "{words}");
    assert_eq!(std::fs::read(old.join("master.key")).unwrap(), key);
    Serving::start(installation.home.path()).stop();
}
