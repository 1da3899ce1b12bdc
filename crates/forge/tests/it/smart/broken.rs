//! Answers that are damaged, cut off, or not what was asked for. None may hang, panic, or leave
//! anything behind.

use std::path::Path;
use std::process::{Command, Stdio};

use fakehost::Effect;
use forge::{Cache, Error, Oid, Remote};

use super::scripted::{Said, Scripted};
use super::{HEAD, NAME, Site, remote};
use crate::support::{Repo, git};

const RESULT: &str = "application/x-git-upload-pack-result";

fn line(data: &[u8]) -> Vec<u8> {
    [format!("{:04x}", data.len() + 4).as_bytes(), data].concat()
}

fn said(body: Vec<u8>) -> Said {
    Said { kind: RESULT, body, whole: true }
}

fn refs(tip: &Oid) -> Said {
    said([line(format!("{tip} refs/heads/main\n").as_bytes()), b"0000".to_vec()].concat())
}

/// A fetch's whole answer: the pack in pieces on the first band.
fn packfile(pack: &[u8]) -> Vec<u8> {
    let banded = |piece: &[u8]| line(&[&[1], piece].concat());
    let mut answer = line(b"packfile\n");
    answer.extend(line(b"\x02Counting\n"));
    pack.chunks(100).for_each(|piece| answer.extend(banded(piece)));
    answer.extend(b"0000");
    answer
}

/// A pack with all of `main`.
fn pack(dir: &Path) -> Vec<u8> {
    let mut child = Command::new("git")
        .arg("-C")
        .arg(dir)
        .args(["pack-objects", "--revs", "--stdout", "-q"])
        .stdin(Stdio::piped())
        .stdout(Stdio::piped())
        .spawn()
        .unwrap();
    std::io::Write::write_all(&mut child.stdin.take().unwrap(), b"main\n").unwrap();
    child.wait_with_output().unwrap().stdout
}

/// Fetches from a host that answers so into an empty cache.
async fn fetch(repo: &Repo, answers: Vec<Said>, max: u64) -> Result<Oid, Error> {
    let host = Scripted::start(answers).await;
    let room = tempfile::tempdir_in(repo.beside("")).unwrap();
    let dir = room.path().join("p.git");
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
async fn packs_that_are_cut_or_changed() {
    let repo = Repo::new();
    let (tip, pack) = (repo.tip("main"), pack(&repo.path()));
    let whole = packfile(&pack);
    for at in [0, 3, 12, 13, 40, whole.len() / 2, whole.len() - 5, whole.len() - 1] {
        for ended in [true, false] {
            let cut = Said { whole: ended, ..said(whole[..at].to_vec()) };
            let error = fetch(&repo, vec![refs(&tip), cut], 1 << 20).await.unwrap_err();
            assert!(matches!(error, Error::Later { .. }), "at {at}: {error:?}");
        }
    }
    for at in [0, 5, 11, 20, pack.len() / 2, pack.len() - 1] {
        let mut wrong = pack.clone();
        wrong[at] ^= 0x55;
        let answers = vec![refs(&tip), said(packfile(&wrong))];
        let error = fetch(&repo, answers, 1 << 20).await.unwrap_err();
        assert!(matches!(error, Error::Later { .. } | Error::TooLarge(_)), "at {at}: {error:?}");
    }
    assert_eq!(fetch(&repo, vec![refs(&tip), said(whole)], 1 << 20).await.unwrap(), tip);
}

#[tokio::test]
async fn answers_that_are_not_gits() {
    let repo = Repo::new();
    let tip = repo.tip("main");
    let check = async |answer: Vec<u8>, expected: &str| {
        let error = fetch(&repo, vec![refs(&tip), said(answer)], 1 << 20).await.unwrap_err().to_string();
        let (_, told) = error.split_once(' ').unwrap();
        assert!(told.starts_with(expected), "{error}");
    };
    let pack = line(b"packfile\n");
    check(b"0000".to_vec(), "sent an answer that is not git's").await;
    check(b"<html>".to_vec(), "sent an answer that is not git's").await;
    check(line(b"ERR upload-pack: \x1b[31mnot our ref\n"), "broke off: upload-pack: [31mnot our ref").await;
    check([pack.clone(), line(b"")].concat(), "sent an answer that is not git's").await;
    check([pack.clone(), line(b"\x04x")].concat(), "sent an answer that is not git's").await;
    check([pack.clone(), line(b"\x03no \x1b]0;x\x07room\n")].concat(), "broke off: no ]0;x room").await;
    check([pack.clone(), b"0001".to_vec()].concat(), "sent an answer that is not git's").await;
}

#[tokio::test]
async fn a_pack_without_the_commit() {
    let repo = Repo::new();
    let pack = pack(&repo.path());
    let other = Oid::parse(&"1".repeat(40)).unwrap();
    let error = fetch(&repo, vec![refs(&other), said(packfile(&pack))], 1 << 20).await.unwrap_err();
    let told = "broke off: the commit that it named was not in what it sent";
    assert!(error.to_string().ends_with(told), "{error}");
}

/// All came and only the end was lost: what is here is whole for git all the same.
#[tokio::test]
async fn a_cut_leaves_a_sound_cache() {
    let site = Site::new().await;
    site.host.push(NAME, "main", &[("index.md", "# Newer\n")]).await;
    let tip = site.tip("main").unwrap();
    let alone = site.room.path().join("alone.git");
    let from = format!("file://{}", site.git_dir.display());
    git(site.room.path(), &["clone", "-q", "--bare", "--depth=1", &from, alone.to_str().unwrap()]);
    let answer = packfile(&pack(&alone));
    for lost in [100, 4] {
        let cut = answer[..answer.len() - lost].to_vec();
        let host = Scripted::start(vec![refs(&tip), said(cut)]).await;
        let cut = site.cache.fetch(&Remote::Http(remote(&host.url, None)), "main", "job-1").await;
        assert!(matches!(cut, Err(Error::Later { .. })), "{cut:?}");
        site.sound();
        site.cache.tidy().await.unwrap();
    }
    let tip = site.fetch("job-1").await.unwrap();
    let new = site.edit(&tip, "x");
    site.push(&new, HEAD, None).await.unwrap();
    site.sound();
}

/// Eighty kilobytes that say how to make a gigabyte.
#[tokio::test]
async fn delta_bomb() {
    let base = [b'a'; 0x1_0000];
    // Its sizes, before and after; then: copy all of the base, and again.
    let sizes = [&[0x80, 0x80, 0x04][..], &[0x80, 0x80, 0x80, 0x80, 0x04]].concat();
    let delta = [sizes, vec![0x80; 1 << 14]].concat();
    let first = object(3, &base, &[]);
    let second = object(6, &delta, &distance(first.len()));
    let mut pack = [&b"PACK\0\0\0\x02\0\0\0\x02"[..], &first, &second].concat();
    let mut hasher = gix::hash::hasher(gix::hash::Kind::Sha1);
    hasher.update(&pack);
    pack.extend_from_slice(hasher.try_finalize().unwrap().as_slice());
    let repo = Repo::new();
    let answers = vec![refs(&repo.tip("main")), said(packfile(&pack))];
    let error = fetch(&repo, answers, 1 << 20).await.unwrap_err();
    let told = "the repository has a file that is too large to be read: give one of the docs alone";
    assert_eq!(error.to_string(), told);
}

/// An object of a pack: its kind and size, how far back its base is, and its data in zlib's plainest
/// form.
fn object(kind: u8, data: &[u8], base: &[u8]) -> Vec<u8> {
    let mut head = vec![(kind << 4) | (data.len() & 15) as u8];
    let mut rest = data.len() >> 4;
    while rest > 0 {
        *head.last_mut().unwrap() |= 0x80;
        head.push((rest & 0x7f) as u8);
        rest >>= 7;
    }
    let mut packed = vec![0x78, 0x01];
    for piece in data.chunks(0x8000) {
        let size = piece.len() as u16;
        packed.push(0);
        packed.extend(size.to_le_bytes().into_iter().chain((!size).to_le_bytes()));
        packed.extend(piece);
    }
    packed.extend([1, 0, 0, 0xff, 0xff]);
    let (a, b) = data.iter().fold((1, 0), |(a, b), byte| {
        let a = (a + u32::from(*byte)) % 65521;
        (a, (b + a) % 65521)
    });
    packed.extend(((b << 16) | a).to_be_bytes());
    [head, base.to_vec(), packed].concat()
}

/// How a pack says how far back a base is.
fn distance(mut back: usize) -> Vec<u8> {
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
    let pack = pack(&repo.path());
    let error = fetch(&repo, vec![refs(&tip), said(packfile(&pack))], 100).await.unwrap_err();
    assert!(matches!(error, Error::TooLarge(_)), "{error:?}");
    // More files than anybody has, as the pack itself says.
    let many = b"PACK\0\0\0\x02\xff\xff\xff\xff".to_vec();
    let error = fetch(&repo, vec![refs(&tip), said(packfile(&many))], 1 << 20).await.unwrap_err();
    assert!(matches!(error, Error::TooLarge(_)), "{error:?}");

    // And from a real host.
    let site = Site::with(&[("big.bin", &noise(200_000)), ("index.md", "x")]).await;
    let url = format!("{}/acme/docs.git", site.host.url());
    let small = Remote::Http(remote(&url, Some(super::CANARY)).max_pack(64 << 10));
    let error = site.cache.fetch(&small, "main", "job-1").await.unwrap_err();
    let told = "the repository is larger than 0 MiB without its history: give one of the docs alone";
    assert_eq!(error.to_string(), told);
    site.sound();
    site.fetch("job-1").await.unwrap();
}

/// Text that cannot be packed to less than about half of it.
fn noise(letters: usize) -> String {
    let mut state = 1_u64;
    let mut letter = || {
        state = state.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1_442_695_040_888_963_407);
        char::from(b'!' + u8::try_from((state >> 33) % 90).unwrap())
    };
    (0..letters).map(|_| letter()).collect()
}

#[tokio::test]
async fn answers_without_end_are_cut_off() {
    let site = Site::new().await;
    let endless = Effect::Endless;
    site.host.faults().next(1, "POST", "git-upload-pack", endless);
    assert!(site.fetch("job-1").await.is_err());
    // Of good packets, too.
    let repo = Repo::new();
    let line = line(format!("{} refs/heads/other\n", repo.tip("main")).as_bytes());
    let error = fetch(&repo, vec![said(line.repeat((33 << 20) / line.len()))], 1).await.unwrap_err();
    assert!(matches!(error, Error::TooLarge(_)), "{error:?}");
}

#[tokio::test]
async fn a_host_that_speaks_no_version_2_is_said_so() {
    let repo = Repo::new();
    let tip = repo.tip("main");
    let advertised = |lines: &[&str]| Said {
        kind: "application/x-git-upload-pack-advertisement",
        body: [lines.iter().flat_map(|text| line(text.as_bytes())).collect(), b"0000".to_vec()].concat(),
        whole: true,
    };
    let old = format!("{tip} HEAD\0multi_ack\n");
    for advertisement in [&[old.as_str()][..], &["version 2\n", "object-format=sha256\n"]] {
        let answers = vec![said(Vec::new()), advertised(advertisement)];
        let error = fetch(&repo, answers, 1 << 20).await.unwrap_err();
        assert!(matches!(error, Error::Denied(_)), "{error:?}");
        assert!(error.to_string().contains("does not speak version 2"), "{error}");
    }
    // Of one that does, it was an accident.
    let answers = vec![said(Vec::new()), advertised(&["version 2\n", "ls-refs=unborn\n"])];
    let error = fetch(&repo, answers, 1 << 20).await.unwrap_err();
    assert!(matches!(error, Error::Later { .. }), "{error:?}");
}

#[tokio::test]
async fn reports_of_a_push_that_make_no_sense() {
    let site = Site::new().await;
    let base = site.fetch("job-1").await.unwrap();
    let new = site.edit(&base, "x");
    for body in ["", "0000", "0008\u{1}000", "000eunpack ok\n0000", "0009\u{1}00000000", "<html>"] {
        let kind = ("content-type".to_owned(), "application/x-git-receive-pack-result".to_owned());
        let odd = Effect::Status { status: 200, body: body.to_owned(), headers: [kind].into() };
        site.host.faults().next(1, "POST", "git-receive-pack", odd);
        let error = site.push(&new, HEAD, None).await.unwrap_err();
        assert!(matches!(error, Error::Later { .. }), "{body:?}: {error:?}");
    }
}
