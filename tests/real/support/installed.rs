//! Where the real harnesses are, and what happens to a test where they are not.

use std::io::Write;
use std::path::PathBuf;
use std::sync::Once;

/// The directory of the harnesses' commands, as `.ci/harnesses` prints it.
///
/// Without them there is nothing to test, and `cargo test` of a developer goes on; `AGENTWORKFORCE_REAL=required`
/// makes that a failure, so that no one takes a run that tested nothing for one that passed.
pub fn bin_directory() -> Option<PathBuf> {
    static SAID: Once = Once::new();
    if let Some(dir) = std::env::var_os("AGENTWORKFORCE_HARNESSES") {
        let dir = PathBuf::from(dir);
        for name in ["claude", "codex", "opencode"] {
            assert!(dir.join(name).exists(), "AGENTWORKFORCE_HARNESSES has no {name}: {}", dir.display());
        }
        return Some(dir);
    }
    let required = std::env::var_os("AGENTWORKFORCE_REAL").is_some_and(|value| value == "required");
    assert!(
        !required,
        "AGENTWORKFORCE_REAL=required, but AGENTWORKFORCE_HARNESSES does not say where the harnesses are"
    );
    SAID.call_once(|| {
        // Straight to the stream: the test runner swallows what is printed by tests that pass.
        let _ = writeln!(
            std::io::stderr(),
            "\nNOT RUN: the tests against the real claude, codex and opencode, because AGENTWORKFORCE_HARNESSES is \
             not set.\nTo run them: AGENTWORKFORCE_HARNESSES=\"$(.ci/harnesses)\" cargo test --test real\n"
        );
    });
    None
}
