use std::os::unix::fs::PermissionsExt;

use store::DataDir;

#[test]
fn a_second_server_is_refused_until_the_first_lets_go() {
    let parent = tempfile::tempdir().unwrap();
    let path = parent.path().join("a/b");
    let dir = DataDir::open(&path).unwrap();
    assert_eq!(std::fs::metadata(&path).unwrap().permissions().mode() & 0o777, 0o700);
    let held = dir.hold().unwrap();
    let refused = DataDir::open(&path).unwrap().hold().unwrap_err().to_string();
    assert!(refused.starts_with("another Docwright server is using"), "{refused}");
    drop(held);
    dir.hold().unwrap();
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
