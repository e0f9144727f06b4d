//! Which harnesses are installed, in which version, and whether one of them can be used.

use super::login::{self, Login};
use super::{Row, Status};
use crate::host::Host;
use crate::model::tier::Harness;
use crate::tool::{self, Bounds, ToolError};
use std::collections::BTreeMap;
use std::path::Path;
use std::process::Command;
use std::time::Duration;

const AREA: &str = "harness";
/// The slowest of them takes less than a second on a quiet machine.
const VERSION_TIME: Duration = Duration::from_secs(10);
const MOST_OUTPUT: u64 = 64 * 1024;

/// Two rows a harness, and one more where none can be used. `personas` says how many run on each.
pub fn rows(host: &Host, personas: &BTreeMap<Harness, usize>) -> Vec<Row> {
    // All at once: most of the time is theirs.
    let looked: Vec<Looked> = std::thread::scope(|scope| {
        let handles = Harness::ALL.map(|harness| scope.spawn(move || Looked::at(harness, host)));
        handles.into_iter().filter_map(|handle| handle.join().ok()).collect()
    });
    let any_usable = looked.iter().any(Looked::is_usable);
    let mut rows = Vec::new();
    for Looked { harness, installed, login } in looked {
        let name = harness.name();
        match installed {
            Installed::Missing => {
                let wanted = personas.get(&harness).copied().unwrap_or(0);
                let wanted =
                    if wanted > 0 { format!("; {wanted} persona(s) run on it") } else { String::new() };
                let fix = format!("npm install -g {}", harness.package());
                rows.push(Row::warning(AREA, name, format!("not installed{wanted}"), fix));
                continue;
            }
            Installed::Broken { path, why } => {
                let fix = format!("npm install -g {}", harness.package());
                rows.push(Row::problem(AREA, name, format!("{path}: {why}"), fix));
            }
            Installed::Version { path, version } => {
                rows.push(Row::ok(AREA, name, format!("{version} at {path}")));
            }
        }
        rows.push(login.row(harness));
    }
    if !any_usable {
        // The shortest way: log in to what is there, else install what most personas want.
        let detail = "no harness can be used, so no persona can run";
        let of_login = rows.iter().find(|row| row.area == login::AREA && row.status != Status::Ok);
        let wanted =
            personas.iter().max_by_key(|(_, count)| **count).map_or(Harness::Claude, |(harness, _)| *harness);
        let fix = of_login.and_then(|row| row.fix.clone());
        let fix = fix.unwrap_or_else(|| format!("npm install -g {}", wanted.package()));
        rows.push(Row::problem(AREA, "any", detail, fix));
    }
    rows
}

struct Looked {
    harness: Harness,
    installed: Installed,
    login: Login,
}

enum Installed {
    Missing,
    Broken { path: String, why: String },
    Version { path: String, version: String },
}

impl Looked {
    fn at(harness: Harness, host: &Host) -> Looked {
        let installed = match tool::find(host, harness.name()) {
            None => Installed::Missing,
            Some(path) => {
                let shown = path.display().to_string();
                match version_of(&path) {
                    Ok(version) => Installed::Version { path: shown, version },
                    Err(why) => Installed::Broken { path: shown, why },
                }
            }
        };
        Looked { harness, installed, login: login::look(harness, host) }
    }

    fn is_usable(&self) -> bool {
        matches!(self.installed, Installed::Version { .. }) && self.login.is_enough()
    }
}

/// What `<program> --version` calls itself; an error says what is wrong with the answer, and shows nothing of it.
pub fn version_of(program: &Path) -> Result<String, String> {
    let bounds = Bounds { time: VERSION_TIME, output: MOST_OUTPUT, stop: &|| false };
    let done =
        tool::run(Command::new(program).arg("--version"), None, bounds).map_err(|error| match error {
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
    version_in(&text).ok_or_else(|| "--version prints no version".into())
}

/// The first word that is a version: `2.1.197`, `v20.20.2`, `0.166.0-alpha.3`.
fn version_in(text: &str) -> Option<String> {
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
            assert_eq!(version_in(text).as_deref(), version, "{text}");
        }
    }
}
