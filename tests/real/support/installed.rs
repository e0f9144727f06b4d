//! Where the real harnesses are.

use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};
use std::sync::LazyLock;

/// The directory of the harnesses' commands: `AGENTWORKFORCE_HARNESSES`, or where `.ci/harnesses` installs them, which
/// takes a while the first time. Without them every test fails; `cargo test --test it` runs the others.
pub fn bin_directory() -> PathBuf {
    static INSTALLED: LazyLock<PathBuf> = LazyLock::new(|| {
        let script = Path::new(env!("CARGO_MANIFEST_DIR")).join(".ci/harnesses");
        let output = Command::new(&script).stdin(Stdio::null()).stderr(Stdio::inherit()).output();
        let output = output.unwrap_or_else(|error| panic!("{}: {error}", script.display()));
        assert!(output.status.success(), "{} cannot install the harnesses", script.display());
        PathBuf::from(String::from_utf8(output.stdout).expect("a path").trim_end())
    });
    let dir = std::env::var_os("AGENTWORKFORCE_HARNESSES").map_or_else(|| INSTALLED.clone(), PathBuf::from);
    for name in ["claude", "codex", "opencode"] {
        assert!(dir.join(name).exists(), "there is no {name} in {}", dir.display());
    }
    dir
}
