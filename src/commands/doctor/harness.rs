//! Which harnesses are installed, in which version, and whether a run has a chance on any of them.

use super::row::{Area, Row};
use super::user_files::HostFiles;
use crate::harness::{Login, adapter};
use crate::host::Host;
use crate::model::amounts::counted;
use crate::model::tier::Harness;
use crate::tool::{self, Lookup, version};
use std::collections::BTreeMap;

/// Two rows per installed harness, and one more if none can be used. `personas` is how many run on each.
pub fn rows(host: &Host, personas: &BTreeMap<Harness, usize>) -> Vec<Row> {
    // All at once: most of the time is theirs.
    let checks: Vec<Check> = std::thread::scope(|scope| {
        let handles = Harness::ALL.map(|harness| scope.spawn(move || Check::run(harness, host)));
        handles.into_iter().filter_map(|handle| handle.join().ok()).collect()
    });
    let mut rows: Vec<Row> =
        checks.iter().flat_map(|check| check.rows(personas.get(&check.harness).copied())).collect();
    if !checks.iter().any(Check::is_usable) {
        let detail = "no harness can be used, so no persona can run";
        rows.push(Row::problem(Area::Harness, "any", detail, shortest_fix(&checks, personas)));
    }
    rows
}

/// Log in to an installed harness, else install the one that most personas run on.
fn shortest_fix(checks: &[Check], personas: &BTreeMap<Harness, usize>) -> String {
    let needs_login = |check: &&Check| {
        !matches!(check.program, Program::Missing) && !matches!(check.login, Login::Found(_))
    };
    if let Some(check) = checks.iter().find(needs_login) {
        return adapter(check.harness).login_hint.to_owned();
    }
    let most = personas.iter().max_by_key(|(_, count)| **count);
    adapter(most.map_or(Harness::DEFAULT, |(harness, _)| *harness)).install_command()
}

struct Check {
    harness: Harness,
    program: Program,
    login: Login,
}

enum Program {
    Missing,
    Broken { path: String, why: String },
    Works { path: String, version: String },
}

impl Check {
    fn run(harness: Harness, host: &Host) -> Check {
        let adapter = adapter(harness);
        let program = match tool::look_up(host, adapter.program) {
            Lookup::Missing => Program::Missing,
            Lookup::NotExecutable(path) => {
                Program::Broken { path: path.display().to_string(), why: "is not executable".into() }
            }
            Lookup::Found(path) => {
                let shown = path.display().to_string();
                match version::of(&path) {
                    Ok(version) => Program::Works { path: shown, version },
                    Err(why) => Program::Broken { path: shown, why },
                }
            }
        };
        Check { harness, program, login: (adapter.login)(&HostFiles(host)) }
    }

    fn is_usable(&self) -> bool {
        matches!(self.program, Program::Works { .. }) && self.login.is_enough()
    }

    fn rows(&self, personas: Option<usize>) -> Vec<Row> {
        let (name, adapter) = (self.harness.name(), adapter(self.harness));
        let program = match &self.program {
            Program::Missing => {
                let wanted = personas.map(|count| format!("; used by {}", counted(count, "persona")));
                let detail = format!("not installed{}", wanted.unwrap_or_default());
                return vec![Row::warning(Area::Harness, name, detail, adapter.install_command())];
            }
            Program::Broken { path, why } => {
                Row::problem(Area::Harness, name, format!("{path}: {why}"), adapter.install_command())
            }
            Program::Works { path, version } => Row::ok(Area::Harness, name, format!("{version} at {path}")),
        };
        let login = match &self.login {
            Login::Found(place) => Row::ok(Area::Login, name, place),
            Login::Missing(detail) | Login::NotNeeded(detail) => {
                Row::warning(Area::Login, name, detail, adapter.login_hint)
            }
            Login::Broken(detail) => Row::problem(Area::Login, name, detail, adapter.login_hint),
        };
        vec![program, login]
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::commands::doctor::row::Status;
    use std::os::unix::fs::PermissionsExt;

    /// The harness that exists only in tests, which no line of `doctor` mentions.
    #[test]
    fn a_new_harness_is_checked_without_a_change_here() {
        let world = tempfile::tempdir().expect("a directory");
        let mut host = Host {
            env: BTreeMap::from([
                ("PATH".to_owned(), world.path().display().to_string()),
                ("HOME".to_owned(), world.path().display().to_string()),
            ]),
            cwd: world.path().to_owned(),
            stdin_is_terminal: false,
            stderr_is_terminal: false,
        };
        let of_example = |host: &Host| -> Vec<(Area, Status, String, Option<String>)> {
            rows(host, &BTreeMap::from([(Harness::Example, 2)]))
                .into_iter()
                .filter(|row| row.name == "example" || row.name == "any")
                .map(|row| (row.area, row.status, row.detail, row.fix))
                .collect()
        };
        let install = Some("npm install -g @example/agent".to_owned());
        let none = "no harness can be used, so no persona can run".to_owned();
        let wanted = "not installed; used by 2 personas".to_owned();
        assert_eq!(
            of_example(&host),
            [
                (Area::Harness, Status::Warning, wanted, install.clone()),
                (Area::Harness, Status::Problem, none, install),
            ]
        );

        let program = world.path().join("example-agent");
        std::fs::write(&program, "#!/bin/sh\necho 1.2.3\n").expect("writable");
        std::fs::set_permissions(&program, std::fs::Permissions::from_mode(0o755)).expect("ours");
        host.env.insert("EXAMPLE_API_KEY".into(), "k".into());
        assert_eq!(
            of_example(&host),
            [
                (Area::Harness, Status::Ok, format!("1.2.3 at {}", program.display()), None),
                (Area::Login, Status::Ok, "EXAMPLE_API_KEY".into(), None),
            ]
        );
    }
}
