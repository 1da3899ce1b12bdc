use std::os::unix::fs::PermissionsExt;

use std::path::Path;

use store::{DataDir, DataDirError, DirectoryLost, MasterKey, SecretError};

#[test]
fn a_second_server_is_refused_until_the_first_lets_go() {
    let parent = tempfile::tempdir().unwrap();
    let path = parent.path().join("a/b");
    let dir = DataDir::open(&path).unwrap();
    assert_eq!(std::fs::metadata(&path).unwrap().permissions().mode() & 0o777, 0o700);
    let held = dir.lock().unwrap();
    let refused = DataDir::open(&path).unwrap().lock().unwrap_err().to_string();
    assert!(refused.starts_with("another Docwright server is using"), "{refused}");
    drop(held);
    dir.lock().unwrap();
}

#[test]
fn a_directory_that_others_could_read_is_closed_to_them() {
    let dir = tempfile::tempdir().unwrap();
    std::fs::set_permissions(dir.path(), std::fs::Permissions::from_mode(0o755)).unwrap();
    DataDir::open(dir.path()).unwrap();
    assert_eq!(std::fs::metadata(dir.path()).unwrap().permissions().mode() & 0o777, 0o700);
}

#[test]
fn a_file_in_the_way_is_named() {
    let parent = tempfile::tempdir().unwrap();
    let path = parent.path().join("file");
    std::fs::write(&path, "").unwrap();
    let refused = DataDir::open(&path).unwrap_err().to_string();
    assert!(refused.contains(path.to_str().unwrap()), "{refused}");
}

/// Without its lock, a server still holds the directory.
#[test]
fn a_lock_that_was_deleted_lets_no_second_server_in() {
    let parent = tempfile::tempdir().unwrap();
    let dir = DataDir::open(&parent.path().join("data")).unwrap();
    let held = dir.lock().unwrap();
    std::fs::remove_file(dir.path().join("lock")).unwrap();
    assert!(dir.is_locked());
    assert!(matches!(dir.lock(), Err(DataDirError::InUse(_))));
    assert!(!dir.path().join("lock").exists(), "a refusal makes nothing");
    drop(held);
    assert!(!dir.is_locked());
    dir.lock().unwrap();
}

fn touch(path: &Path) {
    std::fs::write(path, "x").unwrap();
}

#[test]
fn parts_of_an_installation_without_its_database_are_no_place_for_a_new_one() {
    for left in
        ["views.db", "repos", "id", "before-restore-20261116", "restore-partial-x", "docwright.db-wal"]
    {
        let parent = tempfile::tempdir().unwrap();
        let dir = DataDir::open(parent.path()).unwrap();
        // What a start leaves behind that did not get to make its database.
        ["lock", "url", "master.key"].iter().for_each(|name| touch(&dir.path().join(name)));
        dir.refuse_missing_database().unwrap();
        assert!(matches!(DataDir::find_installation(parent.path()), Err(DataDirError::NoDatabase(_))));

        touch(&dir.path().join(left));
        for _ in 0..2 {
            let refused = dir.refuse_missing_database().unwrap_err().to_string();
            assert!(refused.contains(left) && refused.contains("Restore docwright.db"), "{refused}");
            assert!(DataDir::find_installation(parent.path()).is_err());
            if left == "docwright.db-wal" {
                break;
            }
            // SQLite makes an empty file before it writes to it.
            std::fs::write(dir.database(), "").unwrap();
        }
        touch(&dir.database());
        dir.refuse_missing_database().unwrap();
        DataDir::find_installation(parent.path()).unwrap();
    }
}

#[test]
fn a_directory_that_is_looked_for_is_not_made() {
    let parent = tempfile::tempdir().unwrap();
    let path = parent.path().join("typo");
    let refused = DataDir::find_installation(&path).unwrap_err().to_string();
    assert!(refused.contains("there is no data directory") && refused.contains("--data"), "{refused}");
    assert!(!DataDir::at(&path).has_database() && DataDir::at(&path).url().is_none());
    assert!(!path.exists());
}

#[test]
fn the_id_is_made_once_and_a_torn_one_is_made_anew() {
    let parent = tempfile::tempdir().unwrap();
    let dir = DataDir::open(parent.path()).unwrap();
    let held = dir.lock().unwrap();
    assert_eq!(dir.known_id(), None);
    let id = dir.id(&held).unwrap();
    assert_eq!((dir.id(&held).unwrap(), dir.known_id()), (id.clone(), Some(id)));
    std::fs::write(dir.path().join("id"), "").unwrap();
    assert_eq!(dir.known_id(), None);
    assert!(!dir.id(&held).unwrap().is_empty());
}

#[test]
fn a_watch_knows_its_files_from_others_of_the_same_name() {
    let parent = tempfile::tempdir().unwrap();
    let (path, link) = (parent.path().join("data"), parent.path().join("link"));
    std::fs::create_dir(&path).unwrap();
    std::os::unix::fs::symlink(&path, &link).unwrap();
    let dir = DataDir::open(&link).unwrap();
    let held = dir.lock().unwrap();
    touch(&dir.views());
    let watch = dir.watch(&held, &[dir.views()]).unwrap();
    watch.check().unwrap();
    assert!(watch.is_intact());

    let aside = |name: &str, test: &dyn Fn()| {
        let (here, there) = (path.join(name), parent.path().join("aside"));
        std::fs::rename(&here, &there).unwrap();
        test();
        std::fs::rename(&there, &here).unwrap();
        watch.check().unwrap();
        assert!(watch.is_intact(), "the same file again");
    };
    let views = path.join("views.db");
    aside("views.db", &|| {
        assert!(matches!(watch.check(), Err(DirectoryLost::Deleted(lost)) if lost == views));
        assert!(!watch.is_intact());
        touch(&views);
        assert!(matches!(watch.check(), Err(DirectoryLost::Replaced(lost)) if lost == views));
        std::fs::remove_file(&views).unwrap();
    });
    aside("lock", &|| assert!(matches!(watch.check(), Err(DirectoryLost::Deleted(_)))));
    aside("", &|| {
        assert!(matches!(watch.check(), Err(DirectoryLost::Deleted(_))));
        std::fs::create_dir(&path).unwrap();
        assert!(matches!(watch.check(), Err(DirectoryLost::Replaced(_))));
        std::fs::remove_dir(&path).unwrap();
    });
    // A second server that is started with the same --data would be elsewhere.
    std::fs::remove_file(&link).unwrap();
    std::os::unix::fs::symlink(parent.path(), &link).unwrap();
    assert!(matches!(watch.check(), Err(DirectoryLost::Replaced(lost)) if lost == link));
}

#[test]
fn a_master_key_that_is_missing_is_said_to_be_missing_and_is_not_made() {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("master.key");
    let refused = MasterKey::load(&path).err().unwrap();
    assert!(matches!(&refused, SecretError::Missing(missing) if *missing == path));
    assert!(refused.to_string().contains("is missing: restore it from its backup"), "{refused}");
    assert_eq!(std::fs::read_dir(folder.path()).unwrap().count(), 0);
}
