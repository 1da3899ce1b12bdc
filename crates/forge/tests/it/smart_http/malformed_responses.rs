//! Tests malformed, truncated and unexpected responses. None may hang, panic, or leave temporary files.

use std::path::Path;
use std::process::{Command, Stdio};

use fakehost::Effect;
use forge::{Cache, Error, Oid, Remote};

use super::scripted_host::{ScriptedHost, ScriptedResponse};
use super::{HEAD, NAME, Site, remote};
use crate::support::{Repo, git};

const RESULT: &str = "application/x-git-upload-pack-result";

fn pkt_line(data: &[u8]) -> Vec<u8> {
    [format!("{:04x}", data.len() + 4).as_bytes(), data].concat()
}

pub(super) fn upload_response(body: Vec<u8>) -> ScriptedResponse {
    ScriptedResponse { content_type: RESULT, body, is_complete: true }
}

fn refs(tip: &Oid) -> ScriptedResponse {
    upload_response([pkt_line(format!("{tip} refs/heads/main\n").as_bytes()), b"0000".to_vec()].concat())
}

/// A complete fetch response: the packfile in chunks on the first band.
pub(super) fn fetch_response(pack: &[u8]) -> Vec<u8> {
    let banded = |chunk: &[u8]| pkt_line(&[&[1], chunk].concat());
    let mut answer = pkt_line(b"packfile\n");
    answer.extend(pkt_line(b"\x02Counting\n"));
    pack.chunks(100).for_each(|chunk| answer.extend(banded(chunk)));
    answer.extend(b"0000");
    answer
}

/// A packfile with all objects of `main`.
fn build_packfile(dir: &Path) -> Vec<u8> {
    pack_objects(dir, &["--revs"], "main\n")
}

/// A packfile with these objects.
pub(super) fn pack_of_objects(dir: &Path, ids: &[&str]) -> Vec<u8> {
    pack_objects(dir, &[], &format!("{}\n", ids.join("\n")))
}

fn pack_objects(dir: &Path, args: &[&str], input: &str) -> Vec<u8> {
    let mut child = Command::new("git")
        .arg("-C")
        .arg(dir)
        .args(["pack-objects", "--stdout", "-q"])
        .args(args)
        .stdin(Stdio::piped())
        .stdout(Stdio::piped())
        .spawn()
        .unwrap();
    std::io::Write::write_all(&mut child.stdin.take().unwrap(), input.as_bytes()).unwrap();
    child.wait_with_output().unwrap().stdout
}

/// Fetches into an empty cache from a host with these responses.
async fn fetch(repo: &Repo, answers: Vec<ScriptedResponse>, max: u64) -> Result<Oid, Error> {
    let host = ScriptedHost::start(answers).await;
    let temp_dir = tempfile::tempdir_in(repo.beside("")).unwrap();
    let dir = temp_dir.path().join("p.git");
    let cache = Cache::open(&dir).await.unwrap();
    let remote = Remote::Http(remote(&host.url, None).max_pack(max));
    let fetched = cache.fetch(&remote, "main", "job-1").await;
    let left = std::fs::read_dir(dir.join("objects/pack")).unwrap();
    let left = left.filter(|file| file.as_ref().unwrap().file_name().to_string_lossy().starts_with("tmp_"));
    assert_eq!((left.count(), dir.join("shallow.lock").exists()), (0, false));
    if fetched.is_err() {
        assert_eq!(git(&dir, &["for-each-ref"]), "", "nothing is pinned");
    }
    fetched
}

#[tokio::test]
async fn truncated_and_corrupt_packfiles_are_refused() {
    let repo = Repo::new();
    let (tip, pack) = (repo.tip("main"), build_packfile(&repo.path()));
    let whole = fetch_response(&pack);
    for at in [0, 3, 12, 13, 40, whole.len() / 2, whole.len() - 5, whole.len() - 1] {
        for ended in [true, false] {
            let cut = ScriptedResponse { is_complete: ended, ..upload_response(whole[..at].to_vec()) };
            let error = fetch(&repo, vec![refs(&tip), cut], 1 << 20).await.unwrap_err();
            assert!(matches!(error, Error::Temporary { .. }), "at {at}: {error:?}");
        }
    }
    for at in [0, 5, 11, 20, pack.len() / 2, pack.len() - 1] {
        let mut wrong = pack.clone();
        wrong[at] ^= 0x55;
        let answers = vec![refs(&tip), upload_response(fetch_response(&wrong))];
        let error = fetch(&repo, answers, 1 << 20).await.unwrap_err();
        assert!(matches!(error, Error::Temporary { .. } | Error::TooLarge(_)), "at {at}: {error:?}");
    }
    assert_eq!(fetch(&repo, vec![refs(&tip), upload_response(whole)], 1 << 20).await.unwrap(), tip);
}

#[tokio::test]
async fn responses_that_violate_the_protocol_are_errors() {
    let repo = Repo::new();
    let tip = repo.tip("main");
    let check = async |answer: Vec<u8>, expected: &str| {
        let error =
            fetch(&repo, vec![refs(&tip), upload_response(answer)], 1 << 20).await.unwrap_err().to_string();
        let (_, message) = error.split_once(' ').unwrap();
        assert!(message.starts_with(expected), "{error}");
    };
    let pack = pkt_line(b"packfile\n");
    check(b"0000".to_vec(), "sent a response that does not follow the git protocol").await;
    check(b"<html>".to_vec(), "sent a response that does not follow the git protocol").await;
    check(
        pkt_line(b"ERR upload-pack: \x1b[31mnot our ref\n"),
        "reported an error: upload-pack: [31mnot our ref",
    )
    .await;
    check([pack.clone(), pkt_line(b"")].concat(), "sent a response that does not follow the git protocol")
        .await;
    check(
        [pack.clone(), pkt_line(b"\x04x")].concat(),
        "sent a response that does not follow the git protocol",
    )
    .await;
    check([pack.clone(), pkt_line(b"\x03no \x1b]0;x\x07room\n")].concat(), "reported an error: no ]0;x room")
        .await;
    check([pack.clone(), b"0001".to_vec()].concat(), "sent a response that does not follow the git protocol")
        .await;
}

#[tokio::test]
async fn a_packfile_without_the_commit_is_refused() {
    let repo = Repo::new();
    let pack = build_packfile(&repo.path());
    let other = Oid::parse(&"1".repeat(40)).unwrap();
    let error =
        fetch(&repo, vec![refs(&other), upload_response(fetch_response(&pack))], 1 << 20).await.unwrap_err();
    let message = "reported an error: the packfile lacks the requested commit";
    assert!(error.to_string().ends_with(message), "{error}");
}

/// The packfile arrived completely, and only the end of the response was lost.
#[tokio::test]
async fn an_interrupted_fetch_leaves_a_sound_cache() {
    let site = Site::new().await;
    site.host.push(NAME, "main", &[("index.md", "# Newer\n")]).await;
    let tip = site.tip("main").unwrap();
    let alone = site.temp_dir.path().join("alone.git");
    let from = format!("file://{}", site.git_dir.display());
    git(site.temp_dir.path(), &["clone", "-q", "--bare", "--depth=1", &from, alone.to_str().unwrap()]);
    let answer = fetch_response(&build_packfile(&alone));
    for lost in [100, 4] {
        let cut = answer[..answer.len() - lost].to_vec();
        let host = ScriptedHost::start(vec![refs(&tip), upload_response(cut)]).await;
        let cut = site.cache.fetch(&Remote::Http(remote(&host.url, None)), "main", "job-1").await;
        assert!(matches!(cut, Err(Error::Temporary { .. })), "{cut:?}");
        site.assert_sound();
        site.cache.collect_garbage().await.unwrap();
    }
    let tip = site.fetch("job-1").await.unwrap();
    let new = site.edit(&tip, "x");
    site.push(&new, HEAD, None).await.unwrap();
    site.assert_sound();
}

/// Eighty kilobytes that expand to a gigabyte.
#[tokio::test]
async fn delta_bomb() {
    let base = [b'a'; 0x1_0000];
    // The sizes before and after; then many copies of the whole base.
    let sizes = [&[0x80, 0x80, 0x04][..], &[0x80, 0x80, 0x80, 0x80, 0x04]].concat();
    let delta = [sizes, vec![0x80; 1 << 14]].concat();
    let first = packed_object(3, &base, &[]);
    let second = packed_object(6, &delta, &base_offset(first.len()));
    let mut pack = [&b"PACK\0\0\0\x02\0\0\0\x02"[..], &first, &second].concat();
    let mut hasher = gix::hash::hasher(gix::hash::Kind::Sha1);
    hasher.update(&pack);
    pack.extend_from_slice(hasher.try_finalize().unwrap().as_slice());
    let repo = Repo::new();
    let answers = vec![refs(&repo.tip("main")), upload_response(fetch_response(&pack))];
    let error = fetch(&repo, answers, 1 << 20).await.unwrap_err();
    let message = "the repository has a file that is too large to be read: use a repository that contains only the docs";
    assert_eq!(error.to_string(), message);
}

/// An object of a packfile: its kind and size, the offset of its base, and its data as uncompressed zlib
/// blocks.
fn packed_object(kind: u8, data: &[u8], base: &[u8]) -> Vec<u8> {
    let mut head = vec![(kind << 4) | (data.len() & 15) as u8];
    let mut rest = data.len() >> 4;
    while rest > 0 {
        *head.last_mut().unwrap() |= 0x80;
        head.push((rest & 0x7f) as u8);
        rest >>= 7;
    }
    let mut packed = vec![0x78, 0x01];
    for chunk in data.chunks(0x8000) {
        let size = chunk.len() as u16;
        packed.push(0);
        packed.extend(size.to_le_bytes().into_iter().chain((!size).to_le_bytes()));
        packed.extend(chunk);
    }
    packed.extend([1, 0, 0, 0xff, 0xff]);
    let (a, b) = data.iter().fold((1, 0), |(a, b), byte| {
        let a = (a + u32::from(*byte)) % 65521;
        (a, (b + a) % 65521)
    });
    packed.extend(((b << 16) | a).to_be_bytes());
    [head, base.to_vec(), packed].concat()
}

/// Encodes the offset of a delta base.
fn base_offset(mut back: usize) -> Vec<u8> {
    let mut bytes = vec![(back & 0x7f) as u8];
    while back >= 0x80 {
        back = (back >> 7) - 1;
        bytes.insert(0, 0x80 | (back & 0x7f) as u8);
    }
    bytes
}

#[tokio::test]
async fn huge_blob() {
    let repo = Repo::new();
    let tip = repo.tip("main");
    let pack = build_packfile(&repo.path());
    let error =
        fetch(&repo, vec![refs(&tip), upload_response(fetch_response(&pack))], 100).await.unwrap_err();
    assert!(matches!(error, Error::TooLarge(_)), "{error:?}");
    // The header announces a huge number of objects.
    let many = b"PACK\0\0\0\x02\xff\xff\xff\xff".to_vec();
    let error =
        fetch(&repo, vec![refs(&tip), upload_response(fetch_response(&many))], 1 << 20).await.unwrap_err();
    assert!(matches!(error, Error::TooLarge(_)), "{error:?}");

    // The same limit with the real git backend.
    let site = Site::with(&[("big.bin", &random_text(200_000)), ("index.md", "x")]).await;
    let url = format!("{}/acme/docs.git", site.host.url());
    let small = Remote::Http(remote(&url, Some(super::CANARY)).max_pack(64 << 10));
    let error = site.cache.fetch(&small, "main", "job-1").await.unwrap_err();
    let message = "the repository is larger than 0 MiB without its history: use a repository that contains only the docs";
    assert_eq!(error.to_string(), message);
    site.assert_sound();
    site.fetch("job-1").await.unwrap();
}

/// Random text, which compresses badly.
fn random_text(letters: usize) -> String {
    let mut state = 1_u64;
    let mut letter = || {
        state = state.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1_442_695_040_888_963_407);
        char::from(b'!' + u8::try_from((state >> 33) % 90).unwrap())
    };
    (0..letters).map(|_| letter()).collect()
}

#[tokio::test]
async fn endless_responses_are_refused() {
    let site = Site::new().await;
    let endless = Effect::Endless;
    site.host.faults().next(1, "POST", "git-upload-pack", endless);
    assert!(site.fetch("job-1").await.is_err());
    // Also if the packets are valid.
    let repo = Repo::new();
    let line = pkt_line(format!("{} refs/heads/other\n", repo.tip("main")).as_bytes());
    let error =
        fetch(&repo, vec![upload_response(line.repeat((33 << 20) / line.len()))], 1).await.unwrap_err();
    assert!(matches!(error, Error::TooLarge(_)), "{error:?}");
}

#[tokio::test]
async fn a_host_without_protocol_version_2_is_an_error() {
    let repo = Repo::new();
    let tip = repo.tip("main");
    let advertised = |lines: &[&str]| ScriptedResponse {
        content_type: "application/x-git-upload-pack-advertisement",
        body: [lines.iter().flat_map(|text| pkt_line(text.as_bytes())).collect(), b"0000".to_vec()].concat(),
        is_complete: true,
    };
    let old = format!("{tip} HEAD\0multi_ack\n");
    for advertisement in [&[old.as_str()][..], &["version 2\n", "object-format=sha256\n"]] {
        let answers = vec![upload_response(Vec::new()), advertised(advertisement)];
        let error = fetch(&repo, answers, 1 << 20).await.unwrap_err();
        assert!(matches!(error, Error::Denied(_)), "{error:?}");
        assert!(error.to_string().contains("does not support version 2"), "{error}");
    }
    // A host with version 2 had a temporary failure.
    let answers = vec![upload_response(Vec::new()), advertised(&["version 2\n", "ls-refs=unborn\n"])];
    let error = fetch(&repo, answers, 1 << 20).await.unwrap_err();
    assert!(matches!(error, Error::Temporary { .. }), "{error:?}");
}

#[tokio::test]
async fn malformed_push_reports_are_temporary_errors() {
    let site = Site::new().await;
    let base = site.fetch("job-1").await.unwrap();
    let new = site.edit(&base, "x");
    for body in ["", "0000", "0008\u{1}000", "000eunpack ok\n0000", "0009\u{1}00000000", "<html>"] {
        let kind = ("content-type".to_owned(), "application/x-git-receive-pack-result".to_owned());
        let odd = Effect::Status { status: 200, body: body.to_owned(), headers: [kind].into() };
        site.host.faults().next(1, "POST", "git-receive-pack", odd);
        let error = site.push(&new, HEAD, None).await.unwrap_err();
        assert!(matches!(error, Error::Temporary { .. }), "{body:?}: {error:?}");
    }
}
