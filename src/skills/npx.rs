//! Fetches skills with other people's installers, `prpm` and `skills`, run by npx in a temporary directory. Searches
//! everything they write, because each has its own layout.

use super::bundle::{Bundle, is_skill_file, read_file};
use super::choose::{Candidate, Wanted, choose};
use super::frontmatter::name_in;
use crate::remote::fetch_context::{FetchContext, failure_reason};
use anyhow::{Context, Result, bail};
use std::collections::BTreeMap;
use std::fs;
use std::path::{Path, PathBuf};

const MAX_OUTPUT: u64 = 16 * 1024 * 1024;
/// `.claude/skills/<name>` and `.agents/skills/<name>` are three deep.
const MAX_DEPTH: usize = 5;

/// The command of an installer.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Installation {
    args: Vec<String>,
    /// The name of the skill, if the source has one.
    name: Option<String>,
}

impl Installation {
    /// A prpm package: its address, or `scope/name`.
    pub fn prpm(source: &str) -> Result<Installation> {
        let package = without_scheme(source).trim_start_matches("prpm.dev/packages/").trim_matches('/');
        check_name(package)?;
        // Installed for claude a skill becomes a directory with SKILL.md, whichever harness will read it.
        let args = ["prpm", "install", package, "--as", "claude"].map(str::to_owned).to_vec();
        Ok(Installation { args, name: None })
    }

    /// A page of skills.sh, `<host>/<owner>/<repository>/<skill>`: the repository is what its installer takes.
    pub fn skills_sh(source: &str) -> Result<Installation> {
        let path = without_scheme(source).trim_start_matches("skills.sh/").trim_matches('/');
        let (path, name) = match path.rsplit_once('#') {
            Some((path, name)) => (path.trim_end_matches('/'), Some(name.to_owned())),
            None => (path, None),
        };
        check_name(path)?;
        let parts: Vec<&str> = path.split('/').collect();
        let (repository, last) = match parts[..] {
            [owner, repository] => (format!("{owner}/{repository}"), None),
            [owner, repository, ref skill @ ..] if !skill.is_empty() => {
                (format!("{owner}/{repository}"), skill.last().map(|skill| (*skill).to_owned()))
            }
            _ => bail!("it does not name a repository: `skills.sh/<owner>/<repository>/<skill>`"),
        };
        let name = name.or(last);
        let mut args = ["skills", "add", &repository].map(str::to_owned).to_vec();
        if let Some(name) = &name {
            check_name(name)?;
            args.extend(["--skill".to_owned(), name.clone()]);
        }
        args.extend(["--agent", "claude-code", "-y"].map(str::to_owned));
        Ok(Installation { args, name })
    }
}

pub fn fetch(installation: &Installation, id: &str, context: &FetchContext<'_>) -> Result<Bundle> {
    let npx = context.program("npx")?;
    let dir = context.scratch.join("project");
    fs::create_dir(&dir)?;
    // npx searches the project around it for programs and must not find one in a parent directory.
    fs::write(dir.join("package.json"), "{\"private\": true}\n")?;
    let mut command = context.command(&npx);
    command.arg("-y").args(&installation.args).current_dir(&dir);
    command.env("CI", "1").env("NO_COLOR", "1").env("DO_NOT_TRACK", "1").env("DISABLE_TELEMETRY", "1");
    command.env("GIT_TERMINAL_PROMPT", "0").env("GCM_INTERACTIVE", "never");
    let finished = context.run(&mut command, None, MAX_OUTPUT)?;
    let installer = &installation.args[0];
    if !finished.status.success() {
        let output = if finished.stderr.trim().is_empty() {
            String::from_utf8_lossy(&finished.stdout).into_owned()
        } else {
            finished.stderr
        };
        bail!("`npx {installer}` failed: {}", failure_reason(&output));
    }
    let found = skills_below(&dir)?;
    let candidates: Vec<Candidate> = found
        .iter()
        .map(|(relative, real)| Candidate {
            dir: relative.clone(),
            name: fs::read_dir(real).into_iter().flatten().flatten().find_map(|entry| {
                is_skill_file(Path::new(&entry.file_name()))
                    .then(|| read_file(&entry.path()).ok().and_then(|(bytes, _)| name_in(&bytes)))?
            }),
        })
        .collect();
    let wanted = Wanted { name: installation.name.as_deref(), id };
    let chosen =
        choose(&candidates, wanted).with_context(|| format!("`npx {installer}` did not fetch the skill"))?;
    let collected = Bundle::of_directory(&found[&chosen], &|_, _| false)?;
    Ok(collected.bundle)
}

/// The directories with a SKILL.md, each once: installers may create several links to one.
fn skills_below(dir: &Path) -> Result<BTreeMap<PathBuf, PathBuf>> {
    let root = dir.canonicalize()?;
    let mut found = BTreeMap::new();
    let mut waiting = vec![(root.clone(), 0)];
    while let Some((at, depth)) = waiting.pop() {
        for entry in fs::read_dir(&at).with_context(|| at.display().to_string())? {
            let entry = entry?;
            let (name, path) = (entry.file_name(), entry.path());
            let is_dir = entry.file_type()?.is_dir();
            if is_dir && depth < MAX_DEPTH && name != "node_modules" && name != ".git" {
                waiting.push((path, depth + 1));
            } else if !is_dir && is_skill_file(Path::new(&name)) && at != root {
                found.insert(at.strip_prefix(&root)?.to_owned(), at.clone());
            }
        }
    }
    Ok(found)
}

fn without_scheme(source: &str) -> &str {
    source.strip_prefix("https://").or_else(|| source.strip_prefix("http://")).unwrap_or(source)
}

/// Parts of a source become arguments, so none may look like an option.
fn check_name(text: &str) -> Result<()> {
    let is_plain = |c: char| c.is_ascii_alphanumeric() || "-_.@/".contains(c);
    let parts_are_plain =
        text.split('/').all(|part| !part.is_empty() && part != ".." && !part.starts_with('-'));
    if text.chars().all(is_plain) && parts_are_plain {
        return Ok(());
    }
    bail!("`{text}` is not a package name")
}

#[cfg(test)]
mod tests {
    use super::*;

    fn words(installation: Result<Installation>) -> String {
        installation.map_or_else(|error| error.to_string(), |installation| installation.args.join(" "))
    }

    #[test]
    fn installers_are_asked_as_people_ask_them() {
        for (source, asked) in [
            ("https://prpm.dev/packages/s/n", "prpm install s/n --as claude"),
            ("https://prpm.dev/packages/@s/n/", "prpm install @s/n --as claude"),
            ("@s/n", "prpm install @s/n --as claude"),
            ("--evil/n", "`--evil/n` is not a package name"),
            ("s/n;rm", "`s/n;rm` is not a package name"),
        ] {
            assert_eq!(words(Installation::prpm(source)), asked, "{source}");
        }
        for (source, asked) in [
            ("https://skills.sh/o/r/x", "skills add o/r --skill x --agent claude-code -y"),
            ("https://skills.sh/o/r", "skills add o/r --agent claude-code -y"),
            ("https://skills.sh/o/r#x", "skills add o/r --skill x --agent claude-code -y"),
            (
                "https://skills.sh/o",
                "it does not name a repository: `skills.sh/<owner>/<repository>/<skill>`",
            ),
            ("https://skills.sh/o/r/--all", "`o/r/--all` is not a package name"),
        ] {
            assert_eq!(words(Installation::skills_sh(source)), asked, "{source}");
        }
    }

    #[test]
    fn skills_are_found_wherever_an_installer_puts_them() {
        let dir = tempfile::tempdir().unwrap();
        let place = |path: &str| {
            let path = dir.path().join(path);
            fs::create_dir_all(path.parent().unwrap()).unwrap();
            fs::write(path, "x").unwrap();
        };
        place(".agents/skills/a/SKILL.md");
        place("node_modules/p/SKILL.md");
        fs::create_dir_all(dir.path().join(".claude/skills")).unwrap();
        std::os::unix::fs::symlink("../../.agents/skills/a", dir.path().join(".claude/skills/a")).unwrap();
        let found: Vec<PathBuf> = skills_below(dir.path()).unwrap().into_keys().collect();
        assert_eq!(found, [PathBuf::from(".agents/skills/a")]);
    }
}
