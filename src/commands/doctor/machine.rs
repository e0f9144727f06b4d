//! What this machine offers to a run: tools, the home directory, the mount.

use super::levels::{self, ReachedLevel};
use super::limits::{self, CheckedLimit};
use super::row::{Area, Row};
use crate::host::Host;
use crate::model::mount::Backend;
use crate::model::mount_facts::{HostMounts, MountFacts, Obstacle, OverlayWay};
use crate::mount::{limit_obstacles, probe, root, userns};
use crate::tool;
use std::path::Path;

/// What was found: rows for people, and the sandbox levels and limits for programs.
#[derive(Default)]
pub struct Machine {
    pub rows: Vec<Row>,
    pub sandbox: Vec<ReachedLevel>,
    pub limits: Vec<CheckedLimit>,
}

pub fn check(host: &Host) -> Machine {
    let mut machine = Machine { rows: tools(host), ..Machine::default() };
    match host.workforce_home() {
        Ok(home) => {
            let (row, scratch) = home_row(&home);
            machine.rows.push(row);
            if let Some(scratch) = scratch {
                let found = mount(host, &home, scratch.path());
                let rows = [machine.rows, found.rows].concat();
                machine = Machine { rows, sandbox: found.sandbox, limits: found.limits };
                crate::mount::fs::cleanup::unlock_work_dirs(scratch.path());
            }
        }
        Err(error) => {
            let error = crate::error::CommandError::from(error);
            let fix = error.hints.into_iter().next().unwrap_or_default();
            machine.rows.push(Row::problem(Area::Home, "directory", error.message, fix));
        }
    }
    machine
}

fn tools(host: &Host) -> Vec<Row> {
    const AREA: Area = Area::Tool;
    let wanted = [
        (
            "git",
            "skills from git and commits made by agents need it",
            "install git with your package manager",
        ),
        ("node", "harnesses run on it", "install Node.js 20 or newer"),
        ("npm", "harnesses are installed with it", "install Node.js 20 or newer, npm comes with it"),
        ("npx", "skills from prpm and skills.sh need it", "install Node.js 20 or newer, npx comes with it"),
    ];
    let row = |(name, why, fix): (&str, &str, &str)| match tool::find(host, name) {
        None => Row::warning(AREA, name, format!("not installed; {why}"), fix),
        Some(path) => match tool::version::of(&path) {
            Ok(version) => Row::ok(AREA, name, format!("{version} at {}", path.display())),
            Err(said) => Row::warning(AREA, name, format!("{}: {said}; {why}", path.display()), fix),
        },
    };
    std::thread::scope(|scope| {
        let handles = wanted.map(|tool| scope.spawn(move || row(tool)));
        handles.into_iter().filter_map(|handle| handle.join().ok()).collect()
    })
}

/// Whether our own directory is writable, tested by writing a temporary directory, which is returned. A missing home is not
/// created.
fn home_row(home: &Path) -> (Row, Option<tempfile::TempDir>) {
    let existing = home.ancestors().find(|dir| dir.exists()).unwrap_or(Path::new("/"));
    match tempfile::Builder::new().prefix(".doctor-").tempdir_in(existing) {
        Ok(scratch) => {
            let note = if existing == home { "" } else { ", created when it is needed" };
            (Row::ok(Area::Home, "directory", format!("{}{note}", home.display())), Some(scratch))
        }
        Err(error) => {
            let detail = format!("{} cannot be written: {error}", home.display());
            let fix =
                format!("sudo chown -R \"$(id -un)\" {}, or set AGENT_WORKFORCE_HOME", existing.display());
            (Row::problem(Area::Home, "directory", detail, fix), None)
        }
    }
}

fn mount(host: &Host, home: &Path, state: &Path) -> Machine {
    const AREA: Area = Area::Mount;
    let around_home = host.home_dir();
    let around = root::Surroundings { cwd: &host.cwd, home: around_home.as_deref(), state: home };
    let found = root::find(around, None, None).ok().map(|found| found.root);
    let chosen = found.filter(|root| root::refuse(root, around).is_ok());
    let helper = Path::new("/proc/self/exe");
    // The probe works in a temporary directory, so that nothing is left behind.
    let host_facts = match probe::host(helper, state) {
        Ok(facts) => facts,
        Err(error) => {
            let detail = format!("cannot be probed: {error:#}");
            let rows = vec![Row::warning(AREA, "backend", detail, "`--mount copy` works everywhere")];
            return Machine { rows, ..Machine::default() };
        }
    };
    let obstacles =
        chosen.as_ref().map(|root| probe::obstacles(root, host_facts.overlay)).unwrap_or_default();
    let facts = MountFacts { host: host_facts, obstacles };
    let (_, why) = facts.choose(Backend::Auto);
    let limits = limits::checked(why.as_deref(), &limit_obstacles());
    let mut rows = Vec::new();
    match why {
        None => {
            let way = match facts.host.overlay {
                OverlayWay::Capable => "by privilege",
                OverlayWay::UserNamespace | OverlayWay::Unavailable => "in a user namespace",
            };
            rows.push(Row::ok(AREA, "backend", format!("overlay at the project's own path, {way}")));
        }
        Some(why) => {
            let why = why.replace(&*state.to_string_lossy(), &home.to_string_lossy());
            let copies = if facts.host.reflink { "reflinked copy" } else { "plain copy" };
            rows.push(Row::warning(AREA, "backend", format!("{copies}: {why}"), overlay_fix(&facts)));
        }
    }
    if !facts.host.pid_namespace {
        let why = facts.host.pid_namespace_reason.clone().unwrap_or_else(|| "not available here".into());
        let detail = format!("no PID namespace: {why}; processes of a run are ended one by one");
        rows.push(Row::warning(AREA, "processes", detail, namespace_fix(&facts.host)));
    }
    let sandbox = levels::reached(&facts, state);
    rows.push(sandbox_row(&sandbox));
    rows.push(limits::row(&limits));
    if chosen.is_none() {
        let detail = format!("{} cannot be mounted as a project", host.cwd.display());
        rows.push(Row::warning(
            AREA,
            "project",
            detail,
            "change to a project directory, or use `--root DIR`",
        ));
    }
    Machine { rows, sandbox, limits }
}

fn sandbox_row(levels: &[ReachedLevel]) -> Row {
    const AREA: Area = Area::Mount;
    let names = |available: bool| -> Vec<String> {
        let these = levels.iter().filter(|level| level.available == available);
        these.map(|level| format!("`{}`", level.level.name())).collect()
    };
    let missing = names(false);
    let Some(reason) = levels.iter().find_map(|level| level.reason.clone()) else {
        return Row::ok(AREA, "sandbox", format!("{} are available", names(true).join(", ")));
    };
    let detail =
        format!("only {}; {} unavailable here: {reason}", names(true).join(", "), missing.join(" and "));
    let fix = format!(
        "allow unprivileged user namespaces (sysctl, AppArmor; in Docker: seccomp), see docs/containers.md; until then a run with \
         `--sandbox {}` is refused",
        missing[0].trim_matches('`')
    );
    Row::warning(AREA, "sandbox", detail, fix)
}

fn overlay_fix(facts: &MountFacts) -> String {
    if facts.host.state_unfit {
        return "set AGENT_WORKFORCE_HOME to a directory on a local disk".into();
    }
    match facts.obstacles.first() {
        Some(Obstacle::MountedBelow(_)) if facts.host.overlay != OverlayWay::Unavailable => {
            "unmount it, or start in a directory below it with `--root`".into()
        }
        Some(Obstacle::LayerOf(_)) if facts.host.overlay != OverlayWay::Unavailable => "unmount it".into(),
        Some(Obstacle::ForeignOwner(_)) if facts.host.overlay != OverlayWay::Unavailable => {
            "give the project's files to yourself with chown".into()
        }
        _ => namespace_fix(&facts.host),
    }
}

/// A fix for missing namespaces, as far as the kernel's settings tell.
fn namespace_fix(host: &HostMounts) -> String {
    let forbidden = (host.overlay == OverlayWay::Unavailable).then(userns::forbidden_here).flatten();
    match forbidden {
        Some(forbidden) => forbidden.fix.to_owned(),
        None => "allow user namespaces (in a container: through its options); docs/containers.md explains it"
            .into(),
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::commands::doctor::row::Status;
    use crate::model::mount::Sandbox;

    #[test]
    fn the_row_says_which_levels_there_are_and_why_not_the_others() {
        let level = |level: Sandbox, reason: Option<&str>| ReachedLevel {
            level,
            available: reason.is_none(),
            reason: reason.map(str::to_owned),
        };
        let all = [Sandbox::Off, Sandbox::Project, Sandbox::Strict];
        let row = sandbox_row(&all.map(|one| level(one, None)));
        assert_eq!(
            (row.status, row.detail.as_str()),
            (Status::Ok, "`off`, `project`, `strict` are available")
        );
        let why = Some("no overlay here");
        let row = sandbox_row(&[level(all[0], None), level(all[1], why), level(all[2], why)]);
        assert_eq!(row.status, Status::Warning);
        assert_eq!(row.detail, "only `off`; `project` and `strict` unavailable here: no overlay here");
        let row = sandbox_row(&[level(all[0], None), level(all[1], None), level(all[2], why)]);
        assert_eq!(row.detail, "only `off`, `project`; `strict` unavailable here: no overlay here");
        assert!(row.fix.unwrap().contains("`--sandbox strict` is refused"));
    }
}
