//! Gets the skills of a plan into the cache, each from its kind of source. Does not put them anywhere else.

use super::bundle::Bundle;
use super::cache::{Cache, IndexEntry};
use super::git::FetchedSkill;
use super::local::SearchPaths;
use super::npx::Installation;
use super::{frontmatter, git, local, npx};
use crate::host::Host;
use crate::model::mount::{PathRule, RuleSource};
use crate::model::plan::{PlannedSkill, SkillKind};
use crate::model::warning::{Warning, WarningCode};
use crate::remote::fetch_context::FetchContext;
use crate::remote::git_source::{self, GitSource};
use crate::rules::PathRules;
use anyhow::{Context, Result, bail};
use std::path::{Path, PathBuf};
use std::time::Duration;

/// How long one fetch may take.
const FETCH_TIME: Duration = Duration::from_mins(3);
/// How long a fetched skill is used before it is fetched again.
const MAX_AGE: Duration = Duration::from_hours(24);

/// The skills to get, and where they may come from.
pub struct SkillRequest<'a> {
    pub skills: &'a [PlannedSkill],
    /// The directory of the file that declares the skills, `RunPlan::skills_dir`. Relative sources are searched here
    /// first, then in the project.
    pub persona_dir: Option<&'a Path>,
    pub project_root: &'a Path,
    /// The rules of the mount. Files that they hide are left out of local skills, too.
    pub rules: &'a [PathRule],
    /// `<home>/cache/skills`.
    pub cache: &'a Path,
    /// Use only the cache and local sources.
    pub offline: bool,
    /// Fetch again, however young the copy in the cache is.
    pub refresh: bool,
    /// Use no copy from the cache that nothing vouches for: only of sources that name a commit.
    pub strict: bool,
    pub host: &'a Host,
    /// Called during a fetch; `true` stops it.
    pub stop: &'a dyn Fn() -> bool,
}

/// A skill in the cache.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct ObtainedSkill {
    pub id: String,
    /// The directory name for the harness, unique in the run.
    pub name: String,
    /// Used where SKILL.md has none.
    pub description: String,
    /// The directory in the cache.
    pub dir: PathBuf,
}

#[derive(Debug, Default, PartialEq, Eq)]
pub struct Skills {
    pub obtained: Vec<ObtainedSkill>,
    /// The ids of unavailable skills; each has a warning.
    pub missing: Vec<String>,
    pub warnings: Vec<Warning>,
}

/// Gets the skills of a plan into the cache. Fails only where the cache itself cannot be used.
pub fn obtain(request: &SkillRequest<'_>) -> Result<Skills> {
    obtain_within(request, FETCH_TIME)
}

pub(super) fn obtain_within(request: &SkillRequest<'_>, time: Duration) -> Result<Skills> {
    let mut skills = Skills::default();
    if request.skills.is_empty() {
        return Ok(skills);
    }
    // A skill may be in a harness's own configuration, which is hidden from agents otherwise.
    let rules = request.rules.iter().filter(|rule| rule.source != RuleSource::BuiltinHarness);
    let rules = PathRules::compile(&rules.cloned().collect::<Vec<_>>())?;
    let places = SearchPaths {
        host: request.host,
        persona_dir: request.persona_dir,
        project_root: request.project_root,
        rules: &rules,
    };
    let obtainer = Obtainer { request, cache: Cache::open(request.cache)?, places, time };
    for skill in request.skills {
        match obtainer.obtain(skill, &mut skills.warnings)? {
            Ok((bundle, dir)) => {
                let obtained = with_unique_name(skill, &bundle, dir, &skills.obtained);
                skills.obtained.push(obtained);
            }
            Err(why) => {
                skills.warnings.push(warning(format!(
                    "skill `{}` is left out: {}",
                    skill.id,
                    shown(skill, &why)
                )));
                skills.missing.push(skill.id.clone());
            }
        }
    }
    Ok(skills)
}

fn warning(text: String) -> Warning {
    Warning::new(WarningCode::Skill, text)
}

/// The source and the reason, without a password.
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
    places: SearchPaths<'a>,
    time: Duration,
}

/// The skill and its directory in the cache, or why this skill is not available.
type Obtained = Result<(Bundle, PathBuf)>;

impl Obtainer<'_> {
    /// The inner error is about this skill, the outer one about the cache.
    fn obtain(&self, skill: &PlannedSkill, warnings: &mut Vec<Warning>) -> Result<Obtained> {
        if skill.kind != SkillKind::Local {
            return self.remote(skill, warnings);
        }
        match local::fetch(&skill.source, &self.places) {
            Ok(collected) => {
                if !collected.hidden.is_empty() {
                    let paths: Vec<String> =
                        collected.hidden.iter().map(|path| path.display().to_string()).collect();
                    let text = format!("skill `{}`: hidden from agents: {}", skill.id, paths.join(", "));
                    warnings.push(warning(text));
                }
                let dir = self.cache.put(&collected.bundle)?;
                Ok(Ok((collected.bundle, dir)))
            }
            Err(why) => Ok(Err(why)),
        }
    }

    fn remote(&self, skill: &PlannedSkill, warnings: &mut Vec<Warning>) -> Result<Obtained> {
        let remote = match self.parsed(skill) {
            Ok(remote) => remote,
            Err(why) => return Ok(Err(why)),
        };
        let key = remote.key(skill);
        let known = self.cache.entry(&key);
        let kept = known.as_ref().and_then(|known| Some((known, self.cache.get(&known.hash)?)));
        let vouched = kept.as_ref().map(|(_, bundle)| self.vouch(&remote, skill, &key, bundle));
        let kept = kept.filter(|_| matches!(vouched, Some(Ok(()))));
        if let Some((known, bundle)) = &kept
            && (self.request.offline
                || remote.is_pinned()
                || !self.request.refresh && known.is_younger_than(MAX_AGE, self.request.host))
        {
            return Ok(Ok((bundle.clone(), self.cache.path_of(&known.hash))));
        }
        if self.request.offline {
            return Ok(Err(match vouched {
                Some(Err(why)) => {
                    why.context("the copy in the cache is not used, and nothing is fetched offline")
                }
                _ => anyhow::anyhow!("it is not in the cache, and nothing is fetched offline"),
            }));
        }
        let scratch = self.cache.scratch()?;
        let context = FetchContext {
            host: self.request.host,
            scratch: scratch.path(),
            time: self.time,
            stop: self.request.stop,
        };
        match (remote.fetch(skill, &context), kept) {
            (Ok(FetchedSkill { bundle, proof }), _) => {
                let dir = self.cache.put(&bundle)?;
                if let Some(proof) = proof {
                    self.cache.keep_proof(&key, &proof)?;
                }
                let fetched_at = self.request.host.now().to_string();
                let source = git_source::without_password(&skill.source);
                self.cache.record(&key, &IndexEntry { source, hash: bundle.hash(), fetched_at })?;
                Ok(Ok((bundle, dir)))
            }
            (Err(why), Some((known, bundle))) => {
                let day = known.fetched_at.chars().take(10).collect::<String>();
                warnings.push(warning(format!(
                    "skill `{}` could not be updated, so the copy of {day} is used: {}",
                    skill.id,
                    shown(skill, &why)
                )));
                Ok(Ok((bundle, self.cache.path_of(&known.hash))))
            }
            (Err(why), None) => Ok(Err(why)),
        }
    }

    /// Whether a copy is what its source has. A commit says so itself, whoever may have written to the cache; for any other source
    /// there is only our own note, which is not enough for a strict run.
    fn vouch(&self, remote: &Remote, skill: &PlannedSkill, key: &str, bundle: &Bundle) -> Result<()> {
        match remote {
            Remote::Git(source) if source.is_pinned() => {
                let proof = self.cache.proof(key).context("nothing shows that it is from that commit")?;
                proof.check(source, &skill.id, bundle)
            }
            _ if self.request.strict => bail!("with `--strict` its source has to name a commit"),
            _ => Ok(()),
        }
    }

    fn parsed(&self, skill: &PlannedSkill) -> Result<Remote> {
        match skill.kind {
            SkillKind::Git => {
                let mut source = GitSource::parse(&skill.source);
                // A local repository is found like a local skill.
                if !source.url.contains("://") && !source.url.contains(':') {
                    let path = local::find(&source.url, &self.places)?;
                    source.url = path.to_str().context("its path is not UTF-8")?.to_owned();
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
            SkillKind::Local | SkillKind::Unknown => {
                bail!("unknown kind of source; use a path, a git url, a prpm package or a page of skills.sh")
            }
        }
    }
}

/// A remote source.
enum Remote {
    Git(GitSource),
    Npx {
        installation: Installation,
        /// A local path of the same name, which may be what the user meant.
        beside: Option<PathBuf>,
    },
}

impl Remote {
    fn fetch(&self, skill: &PlannedSkill, context: &FetchContext<'_>) -> Result<FetchedSkill> {
        match self {
            Remote::Git(source) => git::fetch(source, &skill.id, context),
            Remote::Npx { installation, beside } => {
                let fetched = npx::fetch(installation, &skill.id, context);
                let fetched = fetched.map(|bundle| FetchedSkill { bundle, proof: None });
                fetched.map_err(|why| match beside {
                    Some(path) => {
                        let here = path.display();
                        anyhow::anyhow!("{why:#}; for `{here}` write `./{}`", skill.source)
                    }
                    None => why,
                })
            }
        }
    }

    fn is_pinned(&self) -> bool {
        matches!(self, Remote::Git(source) if source.is_pinned())
    }

    /// What the result depends on: the source, the id where it selects the skill, and the path of a local repository.
    fn key(&self, skill: &PlannedSkill) -> String {
        match self {
            Remote::Git(source) if source.name.is_some() => format!("{} {}", source.url, skill.source),
            Remote::Git(source) => format!("{} {} {}", source.url, skill.source, skill.id),
            Remote::Npx { .. } => format!("{} {}", skill.source, skill.id),
        }
    }
}

/// The skill with a name that no other one has.
fn with_unique_name(
    skill: &PlannedSkill,
    bundle: &Bundle,
    dir: PathBuf,
    others: &[ObtainedSkill],
) -> ObtainedSkill {
    let text = bundle.text().unwrap_or_default();
    let own = frontmatter::name_in(text).and_then(|name| frontmatter::plain_name(&name));
    let base = own.or_else(|| frontmatter::plain_name(&skill.id)).unwrap_or_else(|| "skill".into());
    let is_free = |name: &String| others.iter().all(|other| other.name != *name);
    let numbered = |number: usize| match number {
        1 => base.clone(),
        number => format!("{}-{number}", base.chars().take(59).collect::<String>().trim_end_matches('-')),
    };
    // With one more number than other skills, one of them is free.
    let name = (1..=others.len() + 1).map(numbered).find(is_free).unwrap_or_else(|| base.clone());
    let description = skill.description.clone().filter(|text| !text.trim().is_empty());
    let description =
        description.or_else(|| frontmatter::first_words(text)).unwrap_or_else(|| skill.id.clone());
    ObtainedSkill { id: skill.id.clone(), name, description, dir }
}
