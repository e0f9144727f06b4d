//! `lint`: every problem of persona, role and config files, with its place and what to do about it.

use super::workforce::{Found, Workforce};
use crate::cli::LintArgs;
use crate::error::{CommandError, Result};
use crate::exit::Exit;
use crate::host::Host;
use crate::load::catalogue::{Catalogue, Reading};
use crate::load::file::FileProblem;
use crate::load::folder::json_files;
use crate::load::layers::Layer;
use crate::load::roles;
use crate::model::deprecations::deprecation;
use crate::model::plan::SkillKind;
use crate::model::role::Charter;
use crate::model::shape::{KeyPath, Problem, Severity};
use crate::model::tier::Tier;
use crate::model::words::nearest;
use crate::plan::rules::PathRules;
use crate::plan::skill;
use crate::resolve::chain::same_id;
use crate::resolve::select::{Levels, select};
use crate::resolve::sidecar::{self, SidecarText};
use crate::ui::{Ui, printable};
use serde_json::json;
use std::collections::BTreeSet;
use std::path::{Path, PathBuf};

pub fn run(args: &LintArgs, host: &Host, ui: &mut Ui) -> Result<Exit> {
    let mut workforce = Workforce::open_whole(host, args.from.persona_ref())?;
    workforce.say_persona_ref(ui);
    let targets = Targets::of(&args.targets, &mut workforce)?;
    let mut problems = all_problems(&workforce, &targets);
    problems.retain(|problem| targets.includes(problem));
    problems
        .sort_by(|a, b| (&a.file, a.place, &a.key, &a.message).cmp(&(&b.file, b.place, &b.key, &b.message)));
    problems.dedup();

    let count = |severity: Severity| problems.iter().filter(|problem| problem.severity == severity).count();
    let (errors, warnings, notes) = (count(Severity::Error), count(Severity::Warning), count(Severity::Note));
    let failed = errors > 0 || (args.strict && warnings > 0);
    if ui.is_json() {
        ui.json(&json!({
            "schemaVersion": 1, "ok": !failed, "errors": errors, "warnings": warnings, "notes": notes, "problems": problems,
        }));
    } else {
        for problem in &problems {
            let word = match problem.severity {
                Severity::Error => "error",
                Severity::Warning => "warning",
                Severity::Note => "note",
            };
            ui.line(printable(&format!("{problem} [{word}]")));
            if let Some(fix) = &problem.fix {
                ui.line(printable(&format!("    fix: {fix}")));
            }
        }
        if !problems.is_empty() {
            ui.line("");
        }
        ui.line(format!("{errors} error(s), {warnings} warning(s), {notes} note(s)"));
    }
    Ok(if failed { Exit::Failed } else { Exit::Done })
}

/// Every problem of every layer, for those who only count them.
pub fn problems_everywhere(workforce: &Workforce) -> Vec<FileProblem> {
    all_problems(workforce, &Targets { files: None, ids: Vec::new() })
}

/// What to lint: everything, or the files of these personas and directories.
struct Targets {
    files: Option<Vec<PathBuf>>,
    ids: Vec<String>,
}

impl Targets {
    fn of(words: &[String], workforce: &mut Workforce) -> Result<Targets> {
        let mut targets = Targets { files: None, ids: Vec::new() };
        if words.is_empty() {
            return Ok(targets);
        }
        let mut files = Vec::new();
        for word in words {
            let path = workforce.host.absolute(&workforce.host.expand_tilde(word));
            if path.exists() && !is_id(workforce, word) {
                if workforce.persona_ref().is_some() {
                    return Err(CommandError::usage(format!("`{word}` is a path of the working tree"))
                        .hint("with `--persona-ref`, name personas by their ids"));
                }
                add_path(workforce, &path);
                if !has_something(workforce, &path) {
                    return Err(CommandError::usage(format!(
                        "{} has no persona or role file",
                        path.display()
                    ))
                    .hint("name a `.json` file, or a directory of them"));
                }
                files.push(path);
                continue;
            }
            let found = workforce.find(word).map(|found| found.resolved.id().to_owned());
            match found {
                Ok(id) => targets.ids.push(id),
                // A broken one is what lint is for.
                Err(error)
                    if error.message.contains("is not valid") || error.message.contains("is ambiguous") =>
                {
                    targets.ids.push(word.clone());
                }
                Err(_) => {
                    return Err(CommandError::usage(format!("`{word}` is neither a path nor a persona"))
                        .hint("`agentworkforce list` shows the personas"));
                }
            }
        }
        // A file need not be named after its id.
        let of_ids = workforce
            .catalogue
            .entries
            .iter()
            .filter(|entry| targets.ids.iter().any(|id| same_id(id, &entry.header.id)));
        files.extend(of_ids.filter_map(|entry| entry.source.file.clone()));
        targets.files = Some(files);
        Ok(targets)
    }

    fn includes(&self, problem: &FileProblem) -> bool {
        let Some(files) = &self.files else { return true };
        let under = files.iter().any(|file| problem.file.starts_with(file));
        let stem = problem.file.file_stem().and_then(|stem| stem.to_str()).unwrap_or_default();
        under || self.ids.iter().any(|id| same_id(id, stem))
    }

    /// Whether this persona is meant.
    fn wants(&self, found: &Found) -> bool {
        let Some(files) = &self.files else { return true };
        let by_file = found.resolved.sources.iter().filter_map(|source| source.file.as_ref());
        self.ids.iter().any(|id| same_id(id, found.resolved.id()))
            || by_file.into_iter().any(|file| files.iter().any(|target| file.starts_with(target)))
    }
}

/// Whether a named path has anything to lint: a promise of "no problems" must rest on something.
fn has_something(workforce: &Workforce, path: &Path) -> bool {
    let under = |file: &Path| file.starts_with(path);
    let entries = workforce.catalogue.entries.iter().filter_map(|entry| entry.source.file.as_deref());
    let problems = workforce.catalogue.problems.iter().map(|problem| problem.file.as_path());
    let role_dirs = workforce.layers.all.iter().filter_map(|layer| layer.roles.as_deref());
    let roles: Vec<PathBuf> = role_dirs.flat_map(|dir| json_files(dir).unwrap_or_default()).collect();
    entries.chain(problems).chain(roles.iter().map(PathBuf::as_path)).any(under)
}

fn is_id(workforce: &Workforce, word: &str) -> bool {
    workforce.catalogue.entries.iter().any(|entry| same_id(&entry.header.id, word))
}

/// Files that are in no layer are looked at as if they were the highest one.
fn add_path(workforce: &mut Workforce, path: &Path) {
    let dir =
        if path.is_dir() { path.to_owned() } else { path.parent().unwrap_or(Path::new("/")).to_owned() };
    let known = workforce.layers.all.iter().any(|layer| {
        [&layer.personas, &layer.roles, &layer.root].into_iter().flatten().any(|known| *known == dir)
    });
    if known {
        return;
    }
    let nested = dir.join("personas");
    let layer = Layer {
        label: "lint".into(),
        personas: Some(if nested.is_dir() { nested } else { dir.clone() }),
        roles: Some(dir.join("roles")),
        has_agents: dir.join("agents").is_dir(),
        root: Some(dir),
    };
    workforce.layers.all.insert(0, layer);
    workforce.catalogue = Catalogue::scan(&workforce.layers, Reading::Everything);
}

fn all_problems(workforce: &Workforce, targets: &Targets) -> Vec<FileProblem> {
    let mut problems = workforce.config.problems.clone();
    problems.extend(workforce.catalogue.problems.iter().cloned());
    let mut resolved_all: Vec<Found> = Vec::new();
    for index in 0..workforce.catalogue.entries.len() {
        match workforce.resolve(index) {
            Ok(found) => resolved_all.push(found),
            Err(met) => problems.extend(met),
        }
    }
    for found in &resolved_all {
        if found.resolved.source().is_library() && targets.files.is_none() {
            continue;
        }
        problems.extend(found.problems.iter().cloned());
        if targets.wants(found) || targets.files.is_none() {
            problems.extend(persona_problems(workforce, found));
        }
    }
    problems.extend(role_problems(workforce, &resolved_all));
    problems
}

/// What only shows when a persona is taken for what it is.
fn persona_problems(workforce: &Workforce, found: &Found) -> Vec<FileProblem> {
    let resolved = &found.resolved;
    let mut problems = Vec::new();
    let source = resolved.source();
    let path = source.file.clone().unwrap_or_else(|| format!("<library>/{}.json", resolved.id()).into());
    let text = workforce.catalogue.text_of(source);
    let mut add = |problem: Problem| problems.push(FileProblem::located(&path, &text, problem));
    let at = |path: &str| path.split('.').fold(KeyPath::default(), |at, key| at.key(key));

    for sidecar in sidecar::all(resolved) {
        match &sidecar.text {
            SidecarText::File(_) => {
                if let Err(problem) = workforce.sidecar_text(&sidecar) {
                    let message = format!("{} ({})", problem.message, problem.file.display());
                    let mut problem_here = Problem::new(Severity::Error, at(&sidecar.key), message);
                    problem_here.fix = problem.fix;
                    add(problem_here);
                }
            }
            SidecarText::Pack(_) => add(Problem::new(
                Severity::Note,
                at(&sidecar.key),
                "inlined text is for packs; a file beside this one is easier to edit",
            )
            .fix(format!("write it to a `.md` and set `{}`", sidecar.channel.key()))),
            SidecarText::Builtin(_) => {}
        }
    }
    // A file that says neither what it is for nor what it is wants to be an overlay.
    if resolved.sources.len() == 1 && resolved.persona.intent.is_none() && resolved.persona.role.is_none() {
        let others = workforce.catalogue.entries.iter().map(|entry| entry.header.id.as_str());
        if let Some(near) = nearest(resolved.id(), others.filter(|id| !same_id(id, resolved.id()))) {
            let text = format!("there is no `{}` in a lower layer, so this file stands alone", resolved.id());
            let fix = format!("did you mean `{near}`? Else say what it is for with `intent`");
            add(Problem::new(Severity::Warning, at("id"), text).fix(fix));
        }
    }
    if let Some(reason) = resolved.not_runnable() {
        add(Problem::new(Severity::Note, KeyPath::default(), format!("not runnable: {reason}")));
    }
    if let Some(text) = super::workforce::not_used(resolved) {
        add(Problem::new(Severity::Note, KeyPath::default(), text));
    }
    if let Some(tier) = resolved.persona.default_tier.filter(|tier| !resolved.tiers().contains(tier))
        && resolved.not_runnable().is_none()
    {
        add(Problem::new(
            Severity::Warning,
            at("defaultTier"),
            format!("there is no tier `{tier}` in this persona"),
        ));
    }
    let role = workforce.role_of(resolved);
    if role.legacy_label {
        let entry = deprecation("role-label");
        let key = role.part.as_ref().and_then(|part| part.key.clone()).unwrap_or_default();
        add(Problem::new(
            Severity::Note,
            at("role"),
            format!("{} is a legacy spelling [role-label], read until {} at least", entry.what, entry.target),
        )
        .fix(format!("write `\"role\": \"{key}\"`")));
    }
    if role.legacy_charter {
        let entry = deprecation("charter-directory");
        add(Problem::new(
            Severity::Note,
            at("role"),
            format!(
                "{} is a legacy place [charter-directory], read until {} at least",
                entry.what, entry.target
            ),
        )
        .fix(format!("use {}", entry.instead)));
    }
    for warning in &role.warnings {
        add(Problem::new(Severity::Warning, at("role"), warning.clone()));
    }
    for (index, skill_entry) in resolved.persona.skills.iter().enumerate() {
        if skill::kind_of(&skill_entry.source) == SkillKind::Unknown {
            let at = KeyPath::default().key("skills").index(index).key("source");
            add(Problem::new(
                Severity::Warning,
                at,
                format!("`{}` is a source of no known form", skill_entry.source),
            ));
        }
    }
    let mut told = BTreeSet::new();
    for tier in resolved.tiers() {
        if let Some(text) = lost_sidecar(workforce, resolved, &role, tier)
            && told.insert(text.clone())
        {
            add(Problem::new(Severity::Warning, KeyPath::default(), text)
                .fix("declare both `claudeMd` and `agentsMd`; they may name the same file"));
        }
    }
    let place = crate::plan::mount::MountPlace::default();
    let spec = crate::plan::mount::spec(
        resolved.id(),
        Some(crate::model::tier::Harness::Claude),
        &resolved.persona.mount,
        &workforce.config.settings.mount,
        &crate::plan::mount::MountFlags::default(),
        &place,
    );
    if let Err(error) = PathRules::compile(&spec.rules) {
        let rule = &spec.rules[error.index];
        let text = format!("{}: pattern `{}` cannot be used: {}", rule.origin, rule.pattern, error.message);
        add(Problem::new(Severity::Error, at("mount"), text));
    }
    problems
}

fn lost_sidecar(
    workforce: &Workforce,
    resolved: &crate::resolve::persona::ResolvedPersona,
    role: &super::workforce::RoleOf,
    tier: Tier,
) -> Option<String> {
    let settings = &workforce.config.settings;
    let levels = Levels {
        role: role.role.as_ref(),
        config_harness: settings.default_harness.as_deref(),
        ..Levels::default()
    };
    let selection = select(resolved, Some(tier), &levels).ok()?;
    sidecar::only_for_others(resolved, &selection)
}

fn role_problems(workforce: &Workforce, personas: &[Found]) -> Vec<FileProblem> {
    let (keys, mut problems) = roles::keys(&workforce.layers);
    let names: Vec<&str> =
        personas.iter().filter_map(|found| found.resolved.persona.name.as_deref()).collect();
    for key in keys {
        let (role, found) = workforce.role(&key);
        problems.extend(found);
        let Some(Charter::Text { text, source }) = role.and_then(|role| role.charter) else { continue };
        let Some(file) = source.file.clone() else { continue };
        for name in names.iter().filter(|name| contains_word(&text, name)) {
            let mut problem = FileProblem::whole_file(
                &file,
                format!("the charter names `{name}`, which a rename would make stale"),
            );
            problem.severity = Severity::Warning;
            problems.push(problem.with_fix("speak of peers by role: \"hand off to the architect\""));
        }
    }
    problems
}

/// Whether a text has this word between word boundaries, in this case.
pub fn contains_word(text: &str, word: &str) -> bool {
    let boundary = |c: Option<char>| c.is_none_or(|c| !c.is_alphanumeric() && c != '_');
    !word.is_empty()
        && text.match_indices(word).any(|(at, _)| {
            boundary(text[..at].chars().next_back()) && boundary(text[at + word.len()..].chars().next())
        })
}

#[cfg(test)]
mod tests {
    use super::contains_word;

    #[test]
    fn names_count_between_word_boundaries_and_in_their_case() {
        assert!(contains_word("ask Ripley.", "Ripley"));
        assert!(!contains_word("ask ripley", "Ripley"));
        assert!(!contains_word("Ripleys", "Ripley"));
        assert!(contains_word("Ripleys and Ripley", "Ripley"));
    }
}
