//! Tests that pushes and merges survive a power cut. Each test mounts its own disk image and shuts the file
//! system down right after the step, which loses everything without an fsync.

use std::fs;
use std::path::{Path, PathBuf};
use std::process::Command;

use forge::{Host as _, Oid, State};
use tempfile::TempDir;

use crate::support::{Repo, edits, git, host, new_pull, propose};

/// Calls `FS_IOC_SHUTDOWN` without flushing the log, which simulates a power cut.
const SHUT_DOWN: &str = "import fcntl, os, struct, sys
disk = os.open(sys.argv[1], os.O_RDONLY)
fcntl.ioctl(disk, 0x8004587D, struct.pack('I', 2))";

struct Disk {
    folder: TempDir,
}

impl Disk {
    /// Prints a message and returns `None` if this user cannot mount a disk.
    fn new() -> Option<Self> {
        let disk = Self { folder: tempfile::tempdir().unwrap() };
        fs::create_dir(disk.path()).unwrap();
        let image = fs::File::create(disk.image()).unwrap();
        image.set_len(64 << 20).unwrap();
        let made = run("mkfs.ext4", &["-q", "-F", disk.image().to_str().unwrap()]);
        if made.and_then(|()| disk.mount()).is_none() {
            println!("skipped: only root can mount a disk image");
            return None;
        }
        Some(disk)
    }

    fn image(&self) -> PathBuf {
        self.folder.path().join("image")
    }

    fn path(&self) -> PathBuf {
        self.folder.path().join("disk")
    }

    /// The file system writes its log every ten minutes, or on an fsync.
    fn mount(&self) -> Option<()> {
        let (image, path) = (self.image(), self.path());
        run("mount", &["-o", "loop,commit=600", image.to_str()?, path.to_str()?])
    }

    fn cut_power(&self) {
        run("python3", &["-c", SHUT_DOWN, self.path().to_str().unwrap()]).unwrap();
        run("umount", &[self.path().to_str().unwrap()]).unwrap();
        self.mount().unwrap();
    }
}

impl Drop for Disk {
    fn drop(&mut self) {
        let _ = run("umount", &["--lazy", self.path().to_str().unwrap()]);
    }
}

fn run(program: &str, args: &[&str]) -> Option<()> {
    Command::new(program).args(args).output().ok().filter(|output| output.status.success()).map(|_| ())
}

/// A bare repository on the disk, synced.
fn repository(repo: &Repo, disk: &Disk) -> PathBuf {
    let bare = disk.path().join("docs.git");
    repo.git(&["clone", "-q", "--bare", ".", bare.to_str().unwrap()]);
    assert!(run("sync", &[]).is_some());
    bare
}

fn assert_intact(bare: &Path, branch: &str, commit: &Oid) {
    assert_eq!(git(bare, &["rev-parse", &format!("refs/heads/{branch}")]), commit.as_str());
    assert_eq!(git(bare, &["fsck", "--full", "--strict", "--no-dangling"]), "");
}

#[tokio::test]
async fn a_push_survives_a_power_cut() {
    let (repo, Some(disk)) = (Repo::new(), Disk::new()) else { return };
    let bare = repository(&repo, &disk);
    let local = host(&bare).await.unwrap();
    let pull = propose(&repo, &local, &edits(&[("guides/install.md", Some("Run `pnpm add acme`.\n"))])).await;
    disk.cut_power();
    assert_intact(&bare, "docwright/job-1", &pull.head_commit);
}

#[tokio::test]
async fn a_push_of_many_files_by_git_survives_a_power_cut() {
    let (repo, Some(disk)) = (Repo::new(), Disk::new()) else { return };
    let bare = repository(&repo, &disk);
    let local = host(&bare).await.unwrap();
    let many: Vec<_> = (0..100).map(|n| (format!("many/{n}.md"), Some(n.to_string()))).collect();
    let many: Vec<_> = many.iter().map(|(path, text)| (path.as_str(), text.as_deref())).collect();
    let pull = propose(&repo, &local, &edits(&many)).await;
    disk.cut_power();
    assert_intact(&bare, "docwright/job-1", &pull.head_commit);
}

#[tokio::test]
async fn a_merge_survives_a_power_cut() {
    let (repo, Some(disk)) = (Repo::new(), Disk::new()) else { return };
    let bare = repository(&repo, &disk);
    let local = host(&bare).await.unwrap();
    propose(&repo, &local, &edits(&[("guides/install.md", Some("Run `pnpm add acme`.\n"))])).await;
    let merged = local.merge(1, None).await.unwrap();
    disk.cut_power();
    assert_intact(&bare, "main", &merged.merge_commit.unwrap());
}

#[tokio::test]
async fn a_merge_by_git_survives_a_power_cut() {
    let (repo, Some(disk)) = (Repo::new(), Disk::new()) else { return };
    let bare = repository(&repo, &disk);
    // This setting leaves the push to the git program.
    git(&bare, &["config", "receive.fsckObjects", "true"]);
    assert!(run("sync", &[]).is_some());
    let local = host(&bare).await.unwrap();
    propose(&repo, &local, &edits(&[("guides/install.md", Some("Run `pnpm add acme`.\n"))])).await;
    let merged = local.merge(1, None).await.unwrap();
    disk.cut_power();
    assert_intact(&bare, "main", &merged.merge_commit.unwrap());
}

/// A server that was killed between the push and its record must not assume that the branch is durable.
#[tokio::test]
async fn a_second_push_makes_an_existing_branch_durable() {
    let (repo, Some(disk)) = (Repo::new(), Disk::new()) else { return };
    let bare = repository(&repo, &disk);
    let (local, cache) = (host(&bare).await.unwrap(), repo.cache().await);
    let base = cache.fetch(&local.remote(), "main", "job-1").await.unwrap();
    let edit = edits(&[("guides/install.md", Some("Run `pnpm add acme`.\n"))]);
    let head = crate::support::commit(&cache, &base, &edit).unwrap();
    // A push by git, which does not sync directories.
    let durable = ["-c", "core.fsync=all", "-c", "receive.unpackLimit=1"];
    let receive = format!("git {} receive-pack", durable.join(" "));
    let to = format!("{head}:refs/heads/docwright/job-1");
    let pushed = [format!("--receive-pack={receive}"), bare.to_str().unwrap().to_owned(), to];
    git(&repo.beside("cache/p.git"), &["push", "-q", &pushed[0], &pushed[1], &pushed[2]]);
    cache.push(&local.remote(), &head, "docwright/job-1", None).await.unwrap();
    local.open(&new_pull(&base, &head)).await.unwrap();
    disk.cut_power();
    assert_intact(&bare, "docwright/job-1", &head);
}

#[tokio::test]
async fn a_merge_by_hand_is_durable_before_it_is_recorded() {
    let (repo, Some(disk)) = (Repo::new(), Disk::new()) else { return };
    let bare = repository(&repo, &disk);
    let local = host(&bare).await.unwrap();
    let pull = propose(&repo, &local, &edits(&[("guides/install.md", Some("Run `pnpm add acme`.\n"))])).await;
    git(&bare, &["update-ref", "refs/heads/main", pull.head_commit.as_str()]);
    assert_eq!(local.get(1).await.unwrap().unwrap().state, State::Merged);
    disk.cut_power();
    assert_intact(&bare, "main", &pull.head_commit);
}
