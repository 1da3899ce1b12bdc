use std::fs;
use std::os::unix::fs::PermissionsExt;

use base::sqlite::Schema;
use store::{MasterKey, Secrets, SqliteStore};

use crate::{SqliteTest, open};

#[tokio::test]
async fn a_secret_is_stored_sealed() {
    let kept = SqliteTest::new().await;
    let token = b"canary-5d41402abc4b2a76b9719d911017c592";
    kept.store.put_secret("prj_1", "forge-token", token).await.unwrap();
    assert_eq!(kept.store.secret("prj_1", "forge-token").await.unwrap().unwrap().as_slice(), token);
    assert!(kept.store.secret("prj_2", "forge-token").await.unwrap().is_none());
    for file in fs::read_dir(kept.dir.path()).unwrap() {
        let bytes = fs::read(file.unwrap().path()).unwrap();
        assert!(!bytes.windows(token.len()).any(|window| window == token));
    }
    let again = open(&kept.dir, kept.clock.clone()).await;
    assert_eq!(again.secret("prj_1", "forge-token").await.unwrap().unwrap().as_slice(), token);
}

#[tokio::test]
async fn only_the_named_secret_is_removed() {
    let SqliteTest { store, .. } = &SqliteTest::new().await;
    for name in ["fast", "slow"] {
        store.put_secret("model", name, b"canary").await.unwrap();
    }
    assert!(store.remove_secret("model", "fast").await.unwrap());
    assert!(!store.remove_secret("model", "fast").await.unwrap());
    assert!(store.secret("model", "fast").await.unwrap().is_none());
    assert!(store.secret("model", "slow").await.unwrap().is_some());
}

#[tokio::test]
async fn a_sealed_secret_opens_only_in_its_own_row() {
    let kept = SqliteTest::new().await;
    kept.store.put_secret("prj_1", "forge-token", b"canary").await.unwrap();
    let raw =
        sqlx::SqlitePool::connect(kept.dir.path().join("docwright.db").to_str().unwrap()).await.unwrap();
    sqlx::query("INSERT INTO secrets SELECT 'prj_2', name, sealed FROM secrets WHERE owner = 'prj_1'")
        .execute(&raw)
        .await
        .unwrap();
    assert!(kept.store.secret("prj_2", "forge-token").await.is_err());
}

#[tokio::test]
async fn a_signature_depends_on_the_master_key_and_the_purpose() {
    let (kept, other) = (SqliteTest::new().await, SqliteTest::new().await);
    let signature = kept.store.sign("form", b"text");
    assert_eq!(open(&kept.dir, kept.clock.clone()).await.sign("form", b"text"), signature);
    for another in [
        other.store.sign("form", b"text"),
        kept.store.sign("form", b"texts"),
        kept.store.sign("link", b"text"),
        kept.store.sign("formt", b"ext"),
    ] {
        assert_ne!(another, signature);
    }
}

#[tokio::test]
async fn a_wrong_master_key_is_refused_with_a_message() {
    let kept = SqliteTest::new().await;
    let wrong = MasterKey::load_or_create(&kept.dir.path().join("other.key")).unwrap();
    let path = kept.dir.path().join("docwright.db");
    let refused = SqliteStore::open(&path, Schema::Migrate, wrong, kept.clock.clone()).await.err().unwrap();
    assert!(refused.to_string().contains("DOCWRIGHT_MASTER_KEY_FILE"), "{refused}");
}

#[test]
fn the_master_key_file_is_private_and_junk_in_it_is_refused() {
    let dir = tempfile::tempdir().unwrap();
    let path = dir.path().join("master.key");
    MasterKey::load_or_create(&path).unwrap();
    assert_eq!(fs::metadata(&path).unwrap().permissions().mode() & 0o777, 0o600);
    for junk in ["", "abc", &"g".repeat(64), &"é".repeat(32)] {
        fs::write(&path, junk).unwrap();
        let refused = MasterKey::load_or_create(&path).err().unwrap().to_string();
        assert!(refused.contains("64 hexadecimal digits"), "{refused}");
    }
}

#[test]
fn concurrent_creators_of_the_master_key_get_the_same_key() {
    for _ in 0..50 {
        let dir = tempfile::tempdir().unwrap();
        let path = dir.path().join("master.key");
        std::thread::scope(|scope| {
            let makers: Vec<_> = (0..8).map(|_| scope.spawn(|| MasterKey::load_or_create(&path))).collect();
            makers.into_iter().for_each(|maker| drop(maker.join().unwrap().unwrap()));
        });
        assert_eq!(fs::read_dir(dir.path()).unwrap().count(), 1);
    }
}
