//! Tests of `inject`: what lies in an upper directory before it is mounted.

use super::*;
use std::os::unix::fs::{FileTypeExt, MetadataExt, PermissionsExt};

/// A project with `a/b/secret` and `link -> a`, times in the past, and an empty upper directory beside it.
fn project() -> (tempfile::TempDir, PathBuf, PathBuf) {
    let dir = tempfile::tempdir().unwrap();
    let (lower, upper) = (dir.path().join("lower"), dir.path().join("upper"));
    fs::create_dir_all(lower.join("a/b")).unwrap();
    fs::create_dir(&upper).unwrap();
    fs::write(lower.join("a/b/secret"), "s").unwrap();
    std::os::unix::fs::symlink("a", lower.join("link")).unwrap();
    for (path, mode) in [("a/b", 0o750), ("a", 0o711), ("", 0o705)] {
        fs::set_permissions(lower.join(path), fs::Permissions::from_mode(mode)).unwrap();
        let past = Timespec { tv_sec: 1_000_000, tv_nsec: 7 };
        let times = Timestamps { last_access: past, last_modification: past };
        utimensat(CWD, lower.join(path), &times, AtFlags::empty()).unwrap();
    }
    (dir, lower, upper)
}

fn is_whiteout(path: &Path) -> bool {
    fs::symlink_metadata(path).is_ok_and(|meta| meta.file_type().is_char_device() && meta.rdev() == 0)
}

fn is_opaque(path: &Path) -> bool {
    let mut value = [0_u8; 4];
    lgetxattr(path, XattrNamespace::User.opaque(), &mut value).is_ok_and(|length| &value[..length] == b"y")
}

#[test]
fn parents_of_a_whiteout_look_like_the_originals() {
    let (_dir, lower, upper_dir) = project();
    let mut upper = Upper::new(&lower, &upper_dir, XattrNamespace::User).unwrap();
    upper.hide(Path::new("a/b/secret")).unwrap();
    upper.finish().unwrap();
    assert!(is_whiteout(&upper_dir.join("a/b/secret")));
    for path in ["", "a", "a/b"] {
        let (original, ours) =
            (fs::metadata(lower.join(path)).unwrap(), fs::metadata(upper_dir.join(path)).unwrap());
        assert_eq!(
            (ours.mode(), ours.uid(), ours.gid(), ours.mtime(), ours.mtime_nsec()),
            (original.mode(), original.uid(), original.gid(), original.mtime(), original.mtime_nsec()),
            "{path}"
        );
    }
}

#[test]
fn a_file_injected_below_a_hidden_directory_reveals_nothing_of_it() {
    let (_dir, lower, upper_dir) = project();
    let mut upper = Upper::new(&lower, &upper_dir, XattrNamespace::User).unwrap();
    upper.hide(Path::new("a")).unwrap();
    upper.inject(&InjectedFile { path: "a/b/ours".into(), bytes: b"text".to_vec(), mode: 0o600 }).unwrap();
    upper.finish().unwrap();
    assert!(is_opaque(&upper_dir.join("a")));
    assert!(!is_opaque(&upper_dir.join("a/b")), "below an opaque directory there is nothing to hide");
    let injected = fs::metadata(upper_dir.join("a/b/ours")).unwrap();
    assert_eq!(injected.mode() & 0o7777, 0o600);
}

#[test]
fn a_file_injected_below_a_link_does_not_follow_it() {
    let (_dir, lower, upper_dir) = project();
    let mut upper = Upper::new(&lower, &upper_dir, XattrNamespace::User).unwrap();
    upper.inject(&InjectedFile { path: "link/ours".into(), bytes: Vec::new(), mode: 0o644 }).unwrap();
    upper.finish().unwrap();
    assert!(is_opaque(&upper_dir.join("link")));
    assert!(!lower.join("a/ours").exists());
}

#[test]
fn an_injected_file_replaces_a_whiteout() {
    let (_dir, lower, upper_dir) = project();
    let mut upper = Upper::new(&lower, &upper_dir, XattrNamespace::User).unwrap();
    upper.hide(Path::new("a/b/secret")).unwrap();
    upper.inject(&InjectedFile { path: "a/b/secret".into(), bytes: b"x".to_vec(), mode: 0o644 }).unwrap();
    assert_eq!(fs::read(upper_dir.join("a/b/secret")).unwrap(), b"x");
}

#[test]
fn a_path_that_leaves_the_root_is_refused() {
    let (_dir, lower, upper_dir) = project();
    let mut upper = Upper::new(&lower, &upper_dir, XattrNamespace::User).unwrap();
    for path in ["../x", "/x", "a/../../x", ""] {
        assert!(upper.hide(Path::new(path)).is_err(), "{path}");
    }
}
