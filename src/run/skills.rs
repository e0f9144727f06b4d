//! Gets the skills of a plan and puts them where its harness looks for them.

use super::error::RunError;
use crate::load::snapshot::Snapshot;
use crate::model::plan::{AgentPlan, PlannedSkill, RunPlan, SkillKind};
use crate::model::template::Hole;
use crate::model::warning::{Warning, WarningCode};
use crate::mount::{InjectedFile, SignalInbox};
use crate::skills::{self, SkillRequest};
use crate::workforce::Workforce;
use anyhow::Result;
use std::path::{Path, PathBuf};

/// Skills, staged.
#[derive(Debug, Default)]
pub struct Staged {
    /// Files of the mount.
    pub injected: Vec<InjectedFile>,
    /// A directory of the session that the harness reads.
    pub shown: Option<PathBuf>,
    pub warnings: Vec<Warning>,
}

pub fn stage(
    plan: &RunPlan,
    agent: &AgentPlan,
    workforce: &Workforce,
    session_dir: &Path,
    signals: &SignalInbox,
) -> Result<Staged> {
    let Some(path) = &agent.skills_path else { return Ok(Staged::default()) };
    let snapshot = workforce.layers.files.snapshot.as_deref();
    let exported = snapshot.map(|snapshot| Exported::of(snapshot, session_dir)).transpose()?;
    let (mut persona_dir, mut project_root) = (agent.skills_dir().map(Path::to_owned), &*plan.mount.root);
    if let (Some(snapshot), Some(exported)) = (snapshot, &exported) {
        let at = |dir: PathBuf| snapshot.relative(&dir).map_or(dir, |inside| exported.0.path().join(inside));
        (persona_dir, project_root) = (persona_dir.map(at), exported.0.path());
    }
    let anchors: Vec<&Path> = persona_dir.as_deref().into_iter().chain([project_root]).collect();
    let is_untrusted = |skill: &PlannedSkill| {
        let source = workforce.host.expand_tilde(&skill.source);
        let tree = snapshot.filter(|_| skill.kind == SkillKind::Local).map(|snapshot| snapshot.top.as_path());
        tree.is_some_and(|tree| leads_into(tree, &source, &anchors))
    };
    let (untrusted, wanted): (Vec<PlannedSkill>, Vec<PlannedSkill>) =
        agent.skills.iter().cloned().partition(is_untrusted);
    let mut obtained = skills::obtain(&SkillRequest {
        skills: &wanted,
        persona_dir: persona_dir.as_deref(),
        project_root,
        rules: &plan.mount.rules,
        cache: &workforce.layers.home.join("cache/skills"),
        offline: plan.offline,
        refresh: plan.refresh_skills,
        strict: plan.strict,
        host: &workforce.host,
        stop: &|| signals.asked_to_end().is_some(),
    })?;
    for skill in untrusted {
        let text = format!(
            "skill `{}` is left out: {} is in the working tree, and `--persona-ref` takes nothing from there",
            skill.id, skill.source
        );
        obtained.warnings.push(Warning::new(WarningCode::Skill, text));
        obtained.missing.push(skill.id);
    }
    if plan.strict && !obtained.missing.is_empty() {
        let reasons = obtained.warnings.iter().map(ToString::to_string).collect();
        return Err(RunError::MissingSkills { reasons }.into());
    }
    let mut staged = Staged { warnings: obtained.warnings, ..Staged::default() };
    let below: String = path.0.iter().filter_map(text_of).collect();
    let below = Path::new(below.trim_start_matches('/'));
    if path.0.first() == Some(&Hole::Mount) {
        let inject =
            |file: skills::SkillFile| InjectedFile { path: file.path, bytes: file.bytes, mode: file.mode };
        let (files, warnings) = skills::files_for_mount(&obtained.obtained, below)?;
        staged.injected = files.into_iter().map(inject).collect();
        staged.warnings.extend(warnings);
    } else {
        let target = session_dir.join(below);
        // An earlier run of the session may have left others.
        crate::mount::fs::cleanup::remove_tree(&target)?;
        // Empty where none is available: the harness must not be pointed at a missing directory.
        std::fs::create_dir_all(&target)?;
        staged.warnings.extend(skills::stage(&obtained.obtained, &target)?);
        let first = below.components().next().map(|name| session_dir.join(name));
        staged.shown = first;
    }
    Ok(staged)
}

/// The project layer of a commit as files, for as long as skills are looked for in it: the working tree's own are
/// not the persona's.
struct Exported(tempfile::TempDir);

impl Exported {
    fn of(snapshot: &Snapshot, session_dir: &Path) -> std::io::Result<Exported> {
        let dir = tempfile::Builder::new().prefix("persona-ref-").tempdir_in(session_dir)?;
        snapshot.export(dir.path())?;
        Ok(Exported(dir))
    }
}

/// Whether a source, seen from the first anchor that has it, is in this tree: by an absolute path, or through a link.
fn leads_into(tree: &Path, source: &Path, anchors: &[&Path]) -> bool {
    let found = anchors.iter().find_map(|anchor| anchor.join(source).canonicalize().ok());
    let tree = tree.canonicalize().unwrap_or_else(|_| tree.to_owned());
    found.is_some_and(|path| path.starts_with(tree))
}

fn text_of(hole: &Hole) -> Option<&str> {
    match hole {
        Hole::Text(text) => Some(text),
        _ => None,
    }
}
