//! Asks a program for its version. It does not interpret versions.

use super::{Bounds, ToolError};
use crate::host::own_project;
use crate::model::harness_variables::PLACES;
use std::os::unix::fs::{DirBuilderExt, MetadataExt};
use std::path::Path;
use std::process::Command;
use std::time::Duration;

/// The slowest of them takes less than a second on a quiet machine.
const PATIENCE: Duration = Duration::from_secs(10);
const MOST_OUTPUT: u64 = 64 * 1024;

/// What `<program> --version` calls itself; an error says what is wrong with the answer, and shows nothing of it.
pub fn of(program: &Path) -> Result<String, String> {
    if own_project::contains(program) {
        return Err("it is a file of the project, and is not run outside of a mount".into());
    }
    // Some make their directories even then: it gets others, for as long as it takes. A launcher that finds its programs in such
    // a directory needs the user's.
    if let Ok(scratch) = tempfile::tempdir() {
        let elsewhere = asked(program, Some(scratch.path()));
        if elsewhere.is_ok() {
            return elsewhere;
        }
    }
    asked(program, None)
}

fn asked(program: &Path, places: Option<&Path>) -> Result<String, String> {
    let bounds = Bounds { time: PATIENCE, output: MOST_OUTPUT, stop: &|| false };
    // Not in the project: what is asked is the program alone.
    let mut command = Command::new(program);
    command.arg("--version").current_dir("/");
    command.envs(PLACES.into_iter().zip(places.into_iter().cycle()));
    let done = super::run(&mut command, None, bounds).map_err(|error| match error {
        ToolError::Start { error, .. } => format!("cannot be started: {error}"),
        other => format!("--version: {other}"),
    })?;
    if !done.status.success() {
        return Err(match done.status.code() {
            Some(code) => format!("--version ends with exit code {code}"),
            None => "--version is ended by a signal".into(),
        });
    }
    let text = String::from_utf8_lossy(&done.stdout);
    first_in(&text).ok_or_else(|| "--version prints no version".into())
}

/// The same, remembered in a directory for as long as the program stays the same: some take most of a second to answer.
pub fn remembered(program: &Path, dir: &Path) -> Result<String, String> {
    let Ok(meta) = program.metadata() else { return of(program) };
    let key = format!(
        "{}:{}:{}:{}.{}",
        program.display(),
        meta.ino(),
        meta.size(),
        meta.mtime(),
        meta.mtime_nsec()
    );
    let file = dir.join(blake3::hash(key.as_bytes()).to_hex().as_str());
    if let Some(known) = std::fs::read_to_string(&file).ok().and_then(|text| first_in(&text)) {
        return Ok(known);
    }
    let answer = of(program)?;
    // A memory that cannot be kept costs time and nothing else.
    let made = std::fs::DirBuilder::new().recursive(true).mode(0o700).create(dir);
    let _ = made.and_then(|()| {
        let temp = tempfile::NamedTempFile::new_in(dir)?;
        std::fs::write(temp.path(), &answer)?;
        temp.persist(&file)?;
        Ok(())
    });
    Ok(answer)
}

/// The first word that is a version: `2.1.197`, `v20.20.2`, `0.166.0-alpha.3`.
fn first_in(text: &str) -> Option<String> {
    let is_version = |word: &&str| {
        let mut parts = word.split('.');
        let number = |part: &str| !part.is_empty() && part.bytes().all(|byte| byte.is_ascii_digit());
        let plain = |c: char| c.is_ascii_alphanumeric() || ".-+_".contains(c);
        parts.next().is_some_and(number)
            && parts.next().is_some_and(|part| part.starts_with(|c: char| c.is_ascii_digit()))
            && word.len() <= 40
            && word.chars().all(plain)
    };
    let mut words =
        text.split_whitespace().map(|word| word.trim_matches([',', '(', ')']).trim_start_matches('v'));
    words.find(is_version).map(str::to_owned)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_version_is_found_and_nonsense_is_not() {
        for (text, version) in [
            ("2.1.197 (Claude Code)\n", Some("2.1.197")),
            ("codex-cli 0.166.0-alpha.3", Some("0.166.0-alpha.3")),
            ("v20.20.2", Some("20.20.2")),
            ("git version 2.53.0", Some("2.53.0")),
            ("hello", None),
            ("usage: x [1]", None),
            ("", None),
        ] {
            assert_eq!(first_in(text).as_deref(), version, "{text}");
        }
    }
}
