//! The problems of one persona that only show when it is taken for what it is: merged, with its role, sidecars and rules.

use crate::harness::adapter;
use crate::load::file::FileProblem;
use crate::model::deprecations::deprecation;
use crate::model::plan::SkillKind;
use crate::model::shape::{KeyPath, Problem, Severity};
use crate::model::skill_source as skill;
use crate::model::tier::{Harness, Tier};
use crate::model::words::nearest;
use crate::plan::mount::{self, MountFlags, MountPersona, MountPlace};
use crate::resolve::chain::same_id;
use crate::resolve::persona::ResolvedPersona;
use crate::resolve::references::names_in;
use crate::resolve::select::{Levels, select};
use crate::resolve::sidecar::{self, SidecarText};
use crate::rules::{self, PathRules};
use crate::workforce::{Found, RoleOf, Workforce, not_used};
use std::collections::BTreeSet;

/// How hard a model may be asked to think, in the words of any harness.
const REASONING: [&str; 7] = ["none", "minimal", "low", "medium", "high", "xhigh", "max"];

pub fn problems(workforce: &Workforce, found: &Found) -> Vec<FileProblem> {
    let resolved = &found.resolved;
    let role = workforce.role_of(resolved);
    let mut lint = Lint { workforce, resolved, role: &role, found: Vec::new() };
    lint.sidecars();
    lint.overlay_of_nothing();
    lint.use_of_it();
    lint.legacy_role();
    lint.skills();
    lint.sidecars_of_other_harnesses();
    lint.words();
    lint.path_rules();
    let source = resolved.source();
    let path = source.file.clone().unwrap_or_else(|| format!("<library>/{}.json", resolved.id()).into());
    let text = workforce.catalogue.text_of(source);
    lint.found.into_iter().map(|problem| FileProblem::located(&path, &text, problem)).collect()
}

struct Lint<'a> {
    workforce: &'a Workforce,
    resolved: &'a ResolvedPersona,
    role: &'a RoleOf,
    found: Vec<Problem>,
}

/// A key path as it is written: `tiers.best.model`.
fn at(path: &str) -> KeyPath {
    path.split('.').fold(KeyPath::default(), |at, key| at.key(key))
}

impl Lint<'_> {
    fn add(&mut self, severity: Severity, key: KeyPath, message: impl Into<String>) -> &mut Problem {
        self.found.push(Problem::new(severity, key, message));
        let last = self.found.len() - 1;
        &mut self.found[last]
    }

    fn sidecars(&mut self) {
        for sidecar in sidecar::all(self.resolved) {
            match &sidecar.text {
                SidecarText::File(_) => {
                    if let Err(problem) = self.workforce.sidecar_text(&sidecar) {
                        let message = format!("{} ({})", problem.message, problem.file.display());
                        self.add(Severity::Error, at(&sidecar.key), message).fix = problem.fix;
                    }
                }
                SidecarText::Pack(_) => {
                    let text = "inlined text is for packs; a file next to this one is easier to edit";
                    let fix = format!("write it to a `.md` and set `{}`", sidecar.channel.key());
                    self.add(Severity::Note, at(&sidecar.key), text).fix = Some(fix);
                }
                SidecarText::Builtin(_) => {}
            }
        }
    }

    /// A file that says neither what it is for nor what it is wants to be an overlay.
    fn overlay_of_nothing(&mut self) {
        let (resolved, id) = (self.resolved, self.resolved.id());
        if resolved.sources.len() > 1 || resolved.persona.intent.is_some() || resolved.persona.role.is_some()
        {
            return;
        }
        let others = self.workforce.catalogue.entries.iter().map(|entry| entry.header.id.as_str());
        if let Some(near) = nearest(id, others.filter(|other| !same_id(other, id))) {
            let text = format!("there is no `{id}` in a lower layer, so this file has no base");
            let fix = format!("did you mean `{near}`? Else say what it is for with `intent`");
            self.add(Severity::Warning, at("id"), text).fix = Some(fix);
        }
    }

    fn use_of_it(&mut self) {
        let resolved = self.resolved;
        if let Some(warning) = not_used(resolved) {
            self.add(Severity::Note, KeyPath::default(), warning.message);
        }
        if let Some(reason) = resolved.not_runnable() {
            self.add(Severity::Note, KeyPath::default(), format!("not runnable: {reason}"));
            return;
        }
        if let Some(tier) = resolved.persona.default_tier.filter(|tier| !resolved.tiers().contains(tier)) {
            let text = format!("there is no tier `{tier}` in this persona");
            self.add(Severity::Warning, at("defaultTier"), text);
        }
    }

    fn legacy_role(&mut self) {
        if self.role.legacy_label {
            let entry = deprecation("role-label");
            let key = self.role.part.as_ref().and_then(|part| part.key.clone()).unwrap_or_default();
            let text = format!(
                "{} is a legacy spelling [role-label], read until {} at least",
                entry.what, entry.target
            );
            self.add(Severity::Note, at("role"), text).fix = Some(format!("write `\"role\": \"{key}\"`"));
        }
        if self.role.legacy_charter {
            let entry = deprecation("charter-directory");
            let text = format!(
                "{} is a legacy place [charter-directory], read until {} at least",
                entry.what, entry.target
            );
            self.add(Severity::Note, at("role"), text).fix = Some(format!("use {}", entry.instead));
        }
        for warning in &self.role.warnings {
            self.add(Severity::Warning, at("role"), warning.message.clone());
        }
    }

    fn skills(&mut self) {
        for (index, entry) in self.resolved.persona.skills.iter().enumerate() {
            if skill::kind_of(&entry.source) == SkillKind::Unknown {
                let key = KeyPath::default().key("skills").index(index).key("source");
                self.add(Severity::Warning, key, format!("`{}` is a source of no known form", entry.source));
            }
        }
    }

    fn sidecars_of_other_harnesses(&mut self) {
        let mut reported = BTreeSet::new();
        for tier in self.resolved.tiers() {
            if let Some(text) = self.lost_sidecar(tier)
                && reported.insert(text.clone())
            {
                let fix = "declare both `claudeMd` and `agentsMd`; they may name the same file";
                self.add(Severity::Warning, KeyPath::default(), text).fix = Some(fix.into());
            }
        }
    }

    fn lost_sidecar(&self, tier: Tier) -> Option<String> {
        let levels = Levels {
            role: self.role.role.as_ref(),
            config_harness: self.workforce.config.settings.default_harness.as_deref(),
            ..Levels::default()
        };
        let selection = select(self.resolved, Some(tier), &levels).ok()?;
        sidecar::only_for_others(self.resolved, &selection, adapter(selection.harness.value).sidecar)
    }

    /// Words that are as good as misspelt, and a persona that has none to say.
    fn words(&mut self) {
        let persona = &self.resolved.persona;
        let tiers = persona.tiers.iter().map(|(tier, own)| (format!("tiers.{tier}."), &**own));
        let all: Vec<_> = tiers.chain([(String::new(), &persona.runtime)]).collect();
        let inputs: Vec<&str> = persona.inputs.keys().map(String::as_str).collect();
        for (prefix, runtime) in &all {
            let prompt = runtime.system_prompt.as_deref().unwrap_or_default();
            for name in names_in(prompt).into_iter().filter(|name| !inputs.contains(name)) {
                if let Some(near) = nearest(name, inputs.iter().copied()) {
                    let text = format!("`${name}` is not an input of this persona and stays as it is");
                    let fix = format!("did you mean `${near}`?");
                    self.add(Severity::Warning, at(&format!("{prefix}systemPrompt")), text).fix = Some(fix);
                }
            }
            let reasoning = runtime.harness_settings.reasoning.as_deref().unwrap_or_default();
            if !REASONING.contains(&reasoning)
                && let Some(near) = nearest(reasoning, REASONING.into_iter())
            {
                let key = at(&format!("{prefix}harnessSettings.reasoning"));
                let text = format!("no harness is known to understand `{reasoning}`");
                self.add(Severity::Warning, key, text).fix = Some(format!("did you mean `{near}`?"));
            }
        }
        let has_charter = self.role.part.as_ref().is_some_and(|part| part.charter.is_some());
        let says = all.iter().any(|(_, runtime)| {
            let texts = [&runtime.system_prompt, &runtime.claude_md_content, &runtime.agents_md_content];
            texts.into_iter().flatten().any(|text| !text.trim().is_empty())
        });
        let has_sidecar = !sidecar::all(self.resolved).is_empty();
        if !(has_charter || says || has_sidecar) && self.resolved.not_runnable().is_none() {
            let text = "it has neither prompt nor charter nor sidecar: it runs as the bare harness";
            let fix = "say what it does with `systemPrompt`, or give it a `role`";
            self.add(Severity::Warning, KeyPath::default(), text).fix = Some(fix.into());
        }
    }

    fn path_rules(&mut self) {
        let spec = mount::spec(
            Some(&MountPersona {
                id: self.resolved.id(),
                harness: Harness::DEFAULT,
                inherit: &[],
                inherit_origin: String::new(),
            }),
            &self.resolved.persona.mount,
            &self.workforce.config.settings.mount,
            &MountFlags::default(),
            &MountPlace::default(),
        );
        for warning in rules::unmatchable_patterns(&spec.rules) {
            self.add(Severity::Warning, at("mount"), warning.message);
        }
        for pattern in &self.resolved.persona.mount.reveal_patterns {
            if let Some(why) = rules::inherit::refused_reveal(pattern) {
                self.add(Severity::Warning, at("mount"), format!("mount.revealPatterns: {why}"));
            }
        }
        if let Err(error) = PathRules::compile(&spec.rules) {
            let rule = &spec.rules[error.index];
            let text =
                format!("{}: pattern `{}` cannot be used: {}", rule.origin, rule.pattern, error.message);
            self.add(Severity::Error, at("mount"), text);
        }
    }
}
