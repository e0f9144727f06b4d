//! Finds the harness's program and asks it for its version. Nothing else is run here.

use crate::error::{CommandError, Result};
use crate::exit::Exit;
use crate::host::Host;
use crate::model::tier::Harness;
use crate::tool::{self, Bounds};
use std::os::unix::fs::PermissionsExt;
use std::path::{Path, PathBuf};
use std::process::Command;
use std::time::Duration;

/// How long a harness may take to say its version.
const PATIENCE: Duration = Duration::from_secs(5);

/// The npm package that brings a harness.
pub fn package(harness: Harness) -> &'static str {
    match harness {
        Harness::Claude => "@anthropic-ai/claude-code",
        Harness::Opencode => "opencode-ai",
        Harness::Codex => "@openai/codex",
    }
}

/// The program in `PATH`, as a shell would find it.
pub fn find(name: &str, harness: Harness, host: &Host) -> Result<PathBuf> {
    let path = host.env.get("PATH").map_or("", String::as_str);
    let mut unusable = None;
    for dir in std::env::split_paths(path) {
        let candidate = host.cwd.join(dir).join(name);
        match candidate.metadata() {
            Ok(meta) if meta.is_file() && meta.permissions().mode() & 0o111 != 0 => return Ok(candidate),
            Ok(meta) if meta.is_file() => {
                unusable.get_or_insert(candidate);
            }
            _ => {}
        }
    }
    let install = format!("install it with `npm install -g {}`", package(harness));
    match unusable {
        Some(path) => {
            Err(CommandError::new(Exit::NotExecutable, format!("`{}` is not executable", path.display()))
                .hint(format!("`chmod +x {}`, or {install}", path.display())))
        }
        None => Err(CommandError::new(Exit::NotFound, format!("`{name}` was not found in `PATH`"))
            .hint(install)
            .hint("`agentworkforce doctor` shows what is installed; `--harness` picks another one")),
    }
}

/// What the program says its version is: the first word that looks like one. `Err` says why there is none.
pub fn version(program: &Path) -> std::result::Result<String, String> {
    let mut command = Command::new(program);
    // Not in the project: what is asked is the program alone.
    command.arg("--version").current_dir("/");
    let bounds = Bounds { time: PATIENCE, output: 64 * 1024, stop: &|| false };
    let said = tool::run(&mut command, None, bounds).map_err(|error| error.to_string())?;
    version_in(&String::from_utf8_lossy(&said.stdout))
        .ok_or_else(|| "`--version` names no version".to_owned())
}

/// The same, remembered for as long as the program stays the same: some take most of a second to answer.
pub fn remembered_version(program: &Path, home: &Path) -> std::result::Result<String, String> {
    use std::os::unix::fs::MetadataExt;
    let Ok(meta) = program.metadata() else { return version(program) };
    let key = format!(
        "{}:{}:{}:{}.{}",
        program.display(),
        meta.ino(),
        meta.size(),
        meta.mtime(),
        meta.mtime_nsec()
    );
    let dir = home.join("cache/versions");
    let file = dir.join(blake3::hash(key.as_bytes()).to_hex().as_str());
    if let Some(known) = std::fs::read_to_string(&file).ok().and_then(|text| version_in(&text)) {
        return Ok(known);
    }
    let answer = version(program)?;
    // A memory that cannot be kept costs time and nothing else.
    let _ = std::fs::create_dir_all(&dir).and_then(|()| {
        let temp = tempfile::NamedTempFile::new_in(&dir)?;
        std::fs::write(temp.path(), &answer)?;
        temp.persist(&file)?;
        Ok(())
    });
    Ok(answer)
}

fn version_in(text: &str) -> Option<String> {
    let is_version = |word: &&str| {
        let mut parts = word.split('.');
        let number = |part: Option<&str>| {
            part.is_some_and(|part| !part.is_empty() && part.bytes().all(|b| b.is_ascii_digit()))
        };
        number(parts.next()) && number(parts.next())
    };
    let word = |word: &str| word.trim_start_matches('v').to_owned();
    text.split_whitespace().map(word).find(|word| is_version(&word.as_str()))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_version_is_found_in_what_the_harnesses_say() {
        assert_eq!(version_in("2.1.197 (Claude Code)\n").as_deref(), Some("2.1.197"));
        assert_eq!(version_in("codex-cli 0.166.0").as_deref(), Some("0.166.0"));
        assert_eq!(version_in("v1.18.33-beta.1").as_deref(), Some("1.18.33-beta.1"));
        assert_eq!(version_in("usage: harness [--help] 7"), None);
        assert_eq!(version_in(""), None);
    }
}
