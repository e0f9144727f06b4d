//! What some tests need besides the checkout. A test that cannot run fails and says what to install, or how to leave it
//! out where people can see it (`--skip`); none returns early as if it had passed.

use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};

/// The corpus of files that people have, which is not part of the repository: `AGENTWORKFORCE_CORPUS`, or
/// `shared/corpus` beside the checkout.
#[track_caller]
pub(crate) fn corpus() -> PathBuf {
    let beside = Path::new(env!("CARGO_MANIFEST_DIR")).join("../shared/corpus");
    let dir = std::env::var_os("AGENTWORKFORCE_CORPUS").map_or(beside, PathBuf::from);
    assert!(
        dir.is_dir(),
        "{} is not there: set AGENTWORKFORCE_CORPUS to the corpus, or leave these tests out with `--skip corpus`",
        dir.display()
    );
    dir
}

#[track_caller]
pub(crate) fn program(name: &str) {
    let found = Command::new(name).arg("-V").stdout(Stdio::null()).stderr(Stdio::null()).status();
    assert!(found.is_ok(), "this test needs `{name}`: install it");
}

#[track_caller]
pub(crate) fn root() {
    assert!(
        rustix::process::geteuid().is_root(),
        "only root can do this: run the tests as root, or leave this one out with `--skip as_root`"
    );
}

/// A directory that no sandbox leaves open as a place for temporary files.
#[track_caller]
pub(crate) fn place_outside_of_temp() -> &'static Path {
    const PLACES: [&str; 2] = ["/run/lock", env!("CARGO_TARGET_TMPDIR")];
    let place = PLACES.iter().find(|place| tempfile::tempdir_in(place).is_ok());
    Path::new(place.unwrap_or_else(|| panic!("this test needs to write in one of {PLACES:?}")))
}
