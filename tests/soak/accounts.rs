//! Counts everything when all runs are over: what each run said, what its project has, what its session holds.

use super::leftovers;
use super::one_run::Did;
use super::upkeep::Upkeep;
use super::wish::{By, Conduct, PROJECTS, Wish};
use super::world::{Store, World};
use serde_json::Value;
use std::collections::{BTreeMap, BTreeSet};
use std::fs;
use std::os::unix::process::ExitStatusExt;

pub struct Accounts<'a> {
    world: &'a World,
    runs: Vec<(&'a Wish, &'a Did)>,
    /// By the process that made it.
    sessions: BTreeMap<u64, Value>,
    findings: Vec<String>,
}

/// How much of a run's work the project has.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum InProject {
    All,
    None,
    Half,
}

impl<'a> Accounts<'a> {
    pub fn new(world: &'a World, wishes: &'a [Wish], dids: &'a [Did]) -> Accounts<'a> {
        let runs = wishes.iter().zip(dids).collect();
        Accounts { world, runs, sessions: BTreeMap::new(), findings: Vec::new() }
    }

    pub fn findings(self) -> Vec<String> {
        self.findings
    }

    pub fn nothing_is_left_running(&mut self) {
        self.findings.extend(leftovers::processes(self.world));
        self.findings.extend(leftovers::mounts(self.world));
        self.findings.extend(leftovers::locks(self.world, PROJECTS));
    }

    pub fn upkeep(&mut self, upkeep: &Upkeep) {
        let problems = upkeep.problems.iter().map(|problem| format!("while all ran: {problem}"));
        self.findings.extend(problems);
    }

    /// Takes up what was killed. How many sessions needed it at the end.
    pub fn recover(&mut self) -> usize {
        let mut interrupted = 0;
        for again in [false, true] {
            match self.world.ask(&["sessions", "recover", "--json"]) {
                Ok(recovery) => {
                    let recovered = recovery["recovered"].as_array().map_or(0, Vec::len);
                    let running = recovery["running"].as_array().map_or(0, Vec::len);
                    if running > 0 || (again && recovered > 0) {
                        self.findings
                            .push(format!("a recover after all is over (again: {again}): {recovery}"));
                    }
                    interrupted += recovered;
                }
                Err(problem) => self.findings.push(problem),
            }
        }
        // Only now: an apply that was cut off has its stage in the project until it is taken up.
        self.findings.extend(leftovers::files(self.world, PROJECTS));
        match self.world.sessions() {
            Ok(sessions) => self.sessions = sessions,
            Err(problem) => self.findings.push(problem),
        }
        self.every_session_is_of_a_run();
        interrupted
    }

    fn every_session_is_of_a_run(&mut self) {
        let known: BTreeSet<u64> = self.runs.iter().map(|(_, did)| u64::from(did.pid)).collect();
        let listed = self.sessions.iter().map(|(pid, entry)| (pid, entry["id"].as_str().unwrap_or_default()));
        let strange = listed.clone().filter(|(pid, _)| !known.contains(pid));
        self.findings.extend(strange.map(|(pid, id)| format!("session {id} (process {pid}) is of no run")));
        let listed: BTreeSet<&str> = listed.map(|(_, id)| id).collect();
        let dirs = fs::read_dir(self.world.workforce().join("sessions")).into_iter().flatten().flatten();
        let names: Vec<String> = dirs.map(|entry| entry.file_name().to_string_lossy().into_owned()).collect();
        let unlisted = names.iter().filter(|name| !listed.contains(name.as_str()));
        let unlisted: Vec<String> = unlisted.map(|name| format!("sessions/{name} is not listed")).collect();
        self.findings.extend(unlisted);
    }

    pub fn each_run(&mut self) {
        for index in 0..self.runs.len() {
            let (wish, did) = self.runs[index];
            let problems = self.problems_of(wish, did);
            self.note(wish, did, problems);
        }
    }

    fn note(&mut self, wish: &Wish, did: &Did, problems: Vec<String>) {
        for problem in problems {
            self.findings.push(format!("{problem}\n    {}\n    {}", did.line(wish), did.stderr.trim()));
        }
    }

    fn problems_of(&self, wish: &Wish, did: &Did) -> Vec<String> {
        let mut problems = Vec::new();
        if did.hung {
            problems.push("it hangs".into());
        }
        if did.stderr.contains("panicked") {
            problems.push("it panics".into());
        }
        let state = self.state(did);
        let in_project = self.in_project(wish);
        if in_project == InProject::Half {
            problems.push("half of its work is in the project".into());
        }
        if let Some(report) = &did.report {
            problems.extend(disagreements(wish, did, report, state.as_deref(), in_project));
        } else if !did.was_killed() {
            problems.push("it ends by itself and says nothing".into());
        } else {
            let of_runner = [By::KillOfTheRunner, By::TermOfTheRunner, By::CtrlC];
            if !wish.death.is_some_and(|death| of_runner.contains(&death.by)) {
                problems.push("it was killed although nobody killed it".into());
            }
        }
        let is_done = self.world.mark(wish.number, "done").exists();
        let wrong = match (in_project, state.as_deref()) {
            (InProject::All, Some("applied")) | (InProject::None, Some("held")) | (InProject::Half, _) => {
                None
            }
            (InProject::All, _) => Some("its work is applied"),
            (InProject::None, _) if is_done => Some("LOST: its work is not in the project"),
            (InProject::None, Some("nothing") | None) => None,
            (InProject::None, _) => Some("it did nothing"),
        };
        problems.extend(wrong.map(|wrong| format!("{wrong}, and its session says {state:?}")));
        problems
    }

    fn state(&self, did: &Did) -> Option<String> {
        let entry = self.sessions.get(&u64::from(did.pid))?;
        Some(entry["state"].as_str().unwrap_or_default().to_owned())
    }

    fn in_project(&self, wish: &Wish) -> InProject {
        let root = self.world.project(wish.project);
        let files = wish.files();
        let have = |path: &str| fs::read_to_string(root.join(path)).ok();
        if files.iter().all(|(path, _, after)| have(path) == *after) {
            InProject::All
        } else if files.iter().all(|(path, before, _)| have(path) == *before) {
            InProject::None
        } else {
            InProject::Half
        }
    }

    /// Whatever is held is applied or discarded, and some of what is applied is taken back: all of it must be possible.
    pub fn settle_what_is_held(&mut self) {
        for index in 0..self.runs.len() {
            let (wish, did) = self.runs[index];
            let Some(entry) = self.sessions.get(&u64::from(did.pid)).cloned() else { continue };
            let id = entry["id"].as_str().unwrap_or_default();
            let is_done = self.world.mark(wish.number, "done").exists();
            let wanted = match entry["state"].as_str() {
                Some("held") if is_done && wish.number % 3 > 0 => {
                    self.apply(wish, id).map(|()| InProject::All)
                }
                Some("held") => self.discard(id),
                Some("applied") if wish.number % 5 == 0 && wish.conduct != Conduct::Shares => {
                    self.world.ask(&["sessions", "undo", id, "--json"]).and_then(|_| self.discard(id))
                }
                _ => continue,
            };
            let problem = match wanted {
                Ok(wanted) if self.in_project(wish) == wanted => continue,
                Ok(wanted) => {
                    format!("settled, the project has {:?} and not {wanted:?}", self.in_project(wish))
                }
                Err(problem) => problem,
            };
            self.note(wish, did, vec![problem]);
        }
    }

    fn apply(&self, wish: &Wish, id: &str) -> Result<(), String> {
        let mut args = vec!["sessions", "apply", id, "--json"];
        if wish.conduct == Conduct::Shares {
            args.extend(["--theirs", "shared"]);
        }
        self.world.ask(&args).map(|_| ())
    }

    fn discard(&self, id: &str) -> Result<InProject, String> {
        self.world.ask(&["sessions", "discard", id, "--json"]).map(|_| InProject::None)
    }

    /// Everything is settled, so nothing of the sessions may stay.
    pub fn prune(&mut self, at_start: &Store) {
        match self.world.ask(&["sessions", "prune", "--older-than", "0s", "--json"]) {
            Ok(pruned) => {
                for kept in pruned["kept"].as_array().into_iter().flatten() {
                    self.findings.push(format!("not pruned: {kept}"));
                }
            }
            Err(problem) => self.findings.push(problem),
        }
        let now = self.world.store();
        // A run that was interrupted before its harness started leaves its log, and the next one replaces it.
        let is_log = |path: &str| ["logs", "logs/last-failure.log"].contains(&path);
        let is_old =
            |path: &str| path.is_empty() || is_log(path) || at_start.paths.iter().any(|old| old == path);
        // The directory says it for what is in it.
        let parent =
            |path: &str| path.rsplit_once('/').map_or(String::new(), |(parent, _)| parent.to_owned());
        let new = now.paths.iter().filter(|path| !is_old(path) && is_old(&parent(path)));
        self.findings.extend(new.map(|path| format!("{path} is left in the home")));
        self.findings.extend(leftovers::files(self.world, PROJECTS));
        self.findings.extend(leftovers::processes(self.world));
        self.shared_is_of_somebody();
        self.repositories_are_sound();
    }

    fn shared_is_of_somebody(&mut self) {
        for project in 0..PROJECTS {
            let text = fs::read_to_string(self.world.project(project).join("shared")).unwrap_or_default();
            let of = text.trim().parse::<usize>().ok().and_then(|number| self.runs.get(number));
            let is_known = of.is_some_and(|(wish, _)| {
                wish.project == project
                    && wish.conduct == Conduct::Shares
                    && self.in_project(wish) == InProject::All
            });
            if text != "base\n" && !is_known {
                self.findings.push(format!("p{project}/shared is of nobody who is applied: {text:?}"));
            }
        }
    }

    /// A commit that a run reported is in the user's repository for good, also when its session is gone.
    fn repositories_are_sound(&mut self) {
        for project in 0..PROJECTS - 1 {
            self.world.git(project, &["fsck", "--no-progress"]);
            let refs =
                self.world.git(project, &["for-each-ref", "--format=%(objectname)", "refs/agentworkforce"]);
            let refs: BTreeSet<&str> = refs.lines().collect();
            for (wish, did) in self.runs.iter().filter(|(wish, _)| wish.project == project) {
                let commits = did.report.as_ref().and_then(|report| report["commits"].as_array());
                for commit in commits.into_iter().flatten() {
                    let id = commit["id"].as_str().unwrap_or_default();
                    if !refs.contains(id) {
                        self.findings.push(format!("LOST: commit {id}\n    {}", did.line(wish)));
                    }
                }
                let said = commits.map_or(0, Vec::len);
                let says_applied =
                    did.report.as_ref().is_some_and(|report| report["apply"]["status"] == "applied");
                // Where git itself was killed or a signal came before it, the commits stay in the session, and that is said.
                let says_held = did.report.as_ref().is_some_and(|report| {
                    let warnings = report["warnings"].to_string();
                    warnings.contains("are not taken over") || warnings.contains("commits could not be read")
                });
                if wish.conduct == Conduct::Commits && says_applied && said == 0 && !says_held {
                    self.findings.push(format!("its commit is not reported\n    {}", did.line(wish)));
                }
            }
        }
    }
}

/// Where a report is not what happened.
fn disagreements(
    wish: &Wish,
    did: &Did,
    report: &Value,
    state: Option<&str>,
    in_project: InProject,
) -> Vec<String> {
    let mut problems = Vec::new();
    let status = report["outcome"]["status"].as_str().unwrap_or("none");
    let apply = report["apply"]["status"].as_str().unwrap_or("none");
    let code = report["outcome"]["exitCode"].as_i64();
    // Killed after it said everything is killed all the same.
    if did.status.code().is_some() && did.status.code().map(i64::from) != code {
        problems.push(format!("it ends with {} and reports {code:?}", did.status));
    }
    let expected = match apply {
        "applied" => (InProject::All, "applied"),
        "held" | "conflict" => (InProject::None, "held"),
        "nothing" => (InProject::None, "nothing"),
        _ => (InProject::Half, "none"),
    };
    let session_agrees = match state {
        Some(state) => state == expected.1,
        None => apply == "nothing" && report["session"].is_null(),
    };
    if in_project != expected.0 || !session_agrees {
        problems.push(format!(
            "it reports {status} and {apply}, the project has {in_project:?} of it, its session is {state:?}"
        ));
    }
    let changes = report["changes"].as_array().cloned().unwrap_or_default();
    let all_applied = changes.iter().all(|change| change["applied"] == (apply == "applied"));
    if !all_applied {
        problems.push(format!("it reports {apply} and changes {changes:?}"));
    }
    let is_free = wish.death.is_none();
    let wanted = match (wish.conduct, wish.apply) {
        (Conduct::Fails, _) => &[("failed", "held", 1)][..],
        (_, Some("never")) => &[("completed", "held", 0)],
        (Conduct::Shares, _) => &[("completed", "applied", 0), ("completed", "conflict", 3)],
        _ => &[("completed", "applied", 0)],
    };
    let got = (status, apply, did.status.code().unwrap_or(-did.status.signal().unwrap_or(0)));
    if is_free && !wanted.contains(&got) {
        problems.push(format!("nobody hurt it, and it ends as {got:?}: {}", report["outcome"]["reason"]));
    }
    problems
}
