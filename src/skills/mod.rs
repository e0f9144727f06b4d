//! From the skill sources of a plan to directories that a harness takes, through a cache. A skill that cannot be had is
//! a warning and never stops the others; nothing that is in a skill is run by us.

mod bundle;
mod cache;
mod choose;
pub(crate) mod frontmatter;
mod git;
mod local;
mod npx;
#[cfg(test)]
mod obtain_tests;
mod stage;

pub use stage::{SkillFile, planted, stage};

use crate::error::Result;
use crate::host::Host;
use crate::model::mount::{PathRule, RuleSource};
use crate::model::plan::{PlannedSkill, SkillKind};
use crate::remote::git_source::{self, GitSource};
use crate::remote::surroundings::Surroundings;
use crate::rules::PathRules;
use anyhow::{Context, bail};
use bundle::Bundle;
use cache::{Cache, Remembered};
use local::Places;
use npx::Installation;
use std::path::{Path, PathBuf};
use std::time::Duration;

/// How long one fetch may take.
const FETCH_TIME: Duration = Duration::from_mins(3);
/// How long what a remote source gave is taken for what it would give now.
const FRESH: Duration = Duration::from_hours(24);

/// What is asked for, and where it may come from.
pub struct SkillRequest<'a> {
    pub skills: &'a [PlannedSkill],
    /// The directory of the file that declares the skills, `RunPlan::skills_dir`: relative sources are looked for here
    /// first, then in the project.
    pub persona_dir: Option<&'a Path>,
    pub project_root: &'a Path,
    /// The rules of the mount: what they hide is left out of local skills, too.
    pub rules: &'a [PathRule],
    /// `<home>/cache/skills`.
    pub cache: &'a Path,
    /// Use the cache only; local sources are read all the same.
    pub offline: bool,
    pub host: &'a Host,
    /// Asked while something is fetched: whether the user wants to stop.
    pub stop: &'a dyn Fn() -> bool,
}

/// A skill in the cache.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct ObtainedSkill {
    pub id: String,
    /// The directory name for the harness, which no other skill of the run has.
    pub name: String,
    /// For a SKILL.md that has none.
    pub description: String,
    /// In the cache.
    pub dir: PathBuf,
}

#[derive(Debug, Default, PartialEq, Eq)]
pub struct Skills {
    pub obtained: Vec<ObtainedSkill>,
    /// Ids of those that could not be had; each has its warning.
    pub missing: Vec<String>,
    pub warnings: Vec<String>,
}

/// Gets the skills of a plan into the cache. An `Err` means that the cache itself cannot be used.
pub fn obtain(request: &SkillRequest<'_>) -> Result<Skills> {
    obtain_within(request, FETCH_TIME)
}

fn obtain_within(request: &SkillRequest<'_>, time: Duration) -> Result<Skills> {
    let mut skills = Skills::default();
    if request.skills.is_empty() {
        return Ok(skills);
    }
    // What a harness's own configuration is hidden for does not hold for a skill that the persona names.
    let rules = request.rules.iter().filter(|rule| rule.source != RuleSource::BuiltinHarness);
    let rules = PathRules::compile(&rules.cloned().collect::<Vec<_>>()).map_err(anyhow::Error::from)?;
    let places = Places {
        host: request.host,
        persona_dir: request.persona_dir,
        project_root: request.project_root,
        rules: &rules,
    };
    let obtainer = Obtainer { request, cache: Cache::open(request.cache)?, places, time };
    for skill in request.skills {
        match obtainer.one(skill, &mut skills.warnings)? {
            Ok((bundle, dir)) => {
                let obtained = named(skill, &bundle, dir, &skills.obtained);
                skills.obtained.push(obtained);
            }
            Err(why) => {
                skills.warnings.push(format!("skill `{}` is left out: {}", skill.id, shown(skill, &why)));
                skills.missing.push(skill.id.clone());
            }
        }
    }
    Ok(skills)
}

/// A reason with the source in front and no password in it.
fn shown(skill: &PlannedSkill, why: &anyhow::Error) -> String {
    let mut text = format!("{}: {why:#}", git_source::without_password(&skill.source));
    if let Some(secret) = git_source::userinfo(&skill.source) {
        text = text.replace(secret, "***");
    }
    text
}

struct Obtainer<'a> {
    request: &'a SkillRequest<'a>,
    cache: Cache<'a>,
    places: Places<'a>,
    time: Duration,
}

type Had = anyhow::Result<(Bundle, PathBuf)>;

impl Obtainer<'_> {
    /// The inner error is for this skill alone.
    fn one(&self, skill: &PlannedSkill, warnings: &mut Vec<String>) -> Result<Had> {
        if skill.kind != SkillKind::Local {
            return self.remote(skill, warnings);
        }
        match local::fetch(&skill.source, &self.places) {
            Ok(gathered) => {
                if !gathered.left_out.is_empty() {
                    let paths: Vec<String> =
                        gathered.left_out.iter().map(|path| path.display().to_string()).collect();
                    warnings.push(format!("skill `{}`: hidden from agents: {}", skill.id, paths.join(", ")));
                }
                let dir = self.cache.put(&gathered.bundle)?;
                Ok(Ok((gathered.bundle, dir)))
            }
            Err(why) => Ok(Err(why)),
        }
    }

    fn remote(&self, skill: &PlannedSkill, warnings: &mut Vec<String>) -> Result<Had> {
        let remote = match self.parsed(skill) {
            Ok(remote) => remote,
            Err(why) => return Ok(Err(why)),
        };
        let key = remote.key(skill);
        let known = self.cache.remembered(&key);
        let kept = known.as_ref().and_then(|known| Some((known, self.cache.get(&known.hash)?)));
        if let Some((known, bundle)) = &kept
            && (self.request.offline || remote.is_pinned() || known.is_younger_than(FRESH, self.request.host))
        {
            return Ok(Ok((bundle.clone(), self.cache.place(&known.hash))));
        }
        if self.request.offline {
            return Ok(Err(anyhow::anyhow!("it is not in the cache, and nothing is fetched offline")));
        }
        let scratch = self.cache.scratch()?;
        let around = Surroundings {
            host: self.request.host,
            scratch: scratch.path(),
            time: self.time,
            stop: self.request.stop,
        };
        match (remote.fetch(skill, &around), kept) {
            (Ok(bundle), _) => {
                let dir = self.cache.put(&bundle)?;
                let fetched_at = self.request.host.now().to_string();
                let source = git_source::without_password(&skill.source);
                self.cache.remember(&key, &Remembered { source, hash: bundle.hash(), fetched_at })?;
                Ok(Ok((bundle, dir)))
            }
            (Err(why), Some((known, bundle))) => {
                let day = known.fetched_at.chars().take(10).collect::<String>();
                warnings.push(format!(
                    "skill `{}` could not be fetched anew, so the copy of {day} is used: {}",
                    skill.id,
                    shown(skill, &why)
                ));
                Ok(Ok((bundle, self.cache.place(&known.hash))))
            }
            (Err(why), None) => Ok(Err(why)),
        }
    }

    fn parsed(&self, skill: &PlannedSkill) -> anyhow::Result<Remote> {
        match skill.kind {
            SkillKind::Git => {
                let mut source = GitSource::parse(&skill.source);
                // A repository on this disk is named like a local skill.
                if !source.url.contains("://") && !source.url.contains(':') {
                    let path = local::find(&source.url, &self.places)?;
                    source.url = path.to_str().context("its path is no text")?.to_owned();
                }
                Ok(Remote::Git(source))
            }
            SkillKind::Prpm => {
                let beside = local::find(&skill.source, &self.places).ok();
                Ok(Remote::Npx { installation: Installation::prpm(&skill.source)?, beside })
            }
            SkillKind::SkillsSh => {
                Ok(Remote::Npx { installation: Installation::skills_sh(&skill.source)?, beside: None })
            }
            SkillKind::Local | SkillKind::Unknown => bail!(
                "a source of no known form; use a path, a git address, a prpm package or a page of skills.sh"
            ),
        }
    }
}

/// A source that is fetched.
enum Remote {
    Git(GitSource),
    Npx {
        installation: Installation,
        /// What lies at the same words on this disk: perhaps that was meant.
        beside: Option<PathBuf>,
    },
}

impl Remote {
    fn fetch(&self, skill: &PlannedSkill, around: &Surroundings<'_>) -> anyhow::Result<Bundle> {
        match self {
            Remote::Git(source) => git::fetch(source, &skill.id, around),
            Remote::Npx { installation, beside } => {
                let fetched = npx::fetch(installation, &skill.id, around);
                fetched.map_err(|why| match beside {
                    Some(path) => {
                        let here = path.display();
                        anyhow::anyhow!("{why:#}; if `{here}` is meant, write `./{}`", skill.source)
                    }
                    None => why,
                })
            }
        }
    }

    fn is_pinned(&self) -> bool {
        matches!(self, Remote::Git(source) if source.is_pinned())
    }

    /// What the result depends on: the source, the id where it helps to choose, the place where that is on this disk.
    fn key(&self, skill: &PlannedSkill) -> String {
        match self {
            Remote::Git(source) if source.name.is_some() => format!("{} {}", source.url, skill.source),
            Remote::Git(source) => format!("{} {} {}", source.url, skill.source, skill.id),
            Remote::Npx { .. } => format!("{} {}", skill.source, skill.id),
        }
    }
}

/// The skill under a name that no other one has.
fn named(skill: &PlannedSkill, bundle: &Bundle, dir: PathBuf, others: &[ObtainedSkill]) -> ObtainedSkill {
    let text = bundle.text().unwrap_or_default();
    let own = frontmatter::name_in(text).and_then(|name| frontmatter::plain_name(&name));
    let base = own.or_else(|| frontmatter::plain_name(&skill.id)).unwrap_or_else(|| "skill".into());
    let is_free = |name: &String| others.iter().all(|other| other.name != *name);
    let numbered = |number: usize| match number {
        1 => base.clone(),
        number => format!("{}-{number}", base.chars().take(59).collect::<String>().trim_end_matches('-')),
    };
    // One more number than there are others: one of them is free.
    let name = (1..=others.len() + 1).map(numbered).find(is_free).unwrap_or_else(|| base.clone());
    let description = skill.description.clone().filter(|text| !text.trim().is_empty());
    let description =
        description.or_else(|| frontmatter::first_words(text)).unwrap_or_else(|| skill.id.clone());
    ObtainedSkill { id: skill.id.clone(), name, description, dir }
}
