//! What the personas of all layers name, whichever of them runs: local skills, instruction files and programs of MCP servers. What an
//! agent changes of them, the next run of another persona would take for its own. It reads files that say something of it.

use crate::model::persona::{Persona, Runtime};
use crate::model::plan::SkillKind;
use crate::model::skill_source::kind_of;
use crate::mount::git::harness_setup::Program;
use crate::workforce::Workforce;
use std::path::{Path, PathBuf};

#[derive(Debug, Default)]
pub(super) struct NamedByPersonas {
    /// Where skills and instruction files are, or would be.
    pub(super) files: Vec<PathBuf>,
    programs: Vec<Program>,
}

impl NamedByPersonas {
    pub(super) fn read(workforce: &Workforce, root: &Path) -> NamedByPersonas {
        let mut named = NamedByPersonas::default();
        for doc in workforce.catalogue.docs_that_name_files() {
            let Ok(persona) = Persona::from_object(&doc.object) else { continue };
            named.persona(workforce, &persona, doc.source.dir(), root);
        }
        named
    }

    fn persona(&mut self, workforce: &Workforce, persona: &Persona, dir: Option<&Path>, root: &Path) {
        for skill in persona.skills.iter().filter(|skill| kind_of(&skill.source) == SkillKind::Local) {
            let source = workforce.host.expand_tilde(&skill.source);
            self.files
                .extend([dir, Some(root)].into_iter().flatten().map(|anchor| skill_at(anchor, &source)));
        }
        let sidecars = |runtime: &Runtime| [runtime.claude_md.clone(), runtime.agents_md.clone()];
        let tiers = persona.tiers.values().map(|runtime| &**runtime);
        let sidecars = tiers.chain([&persona.runtime]).flat_map(sidecars).flatten();
        self.files.extend(sidecars.filter_map(|path| Some(dir?.join(path))));
        for (name, server) in &persona.mcp_servers {
            let origin = format!("MCP server `{name}` of persona {}", persona.id);
            self.programs.extend(Program::of_server(origin, server));
        }
    }

    pub(super) fn programs(&self) -> Vec<Program> {
        self.programs.clone()
    }
}

/// Where a local skill is, seen from a directory. One that is a file of that name has the directory with it.
pub(super) fn skill_at(anchor: &Path, source: &Path) -> PathBuf {
    let path = anchor.join(source);
    let is_named = path.file_name().is_some_and(|name| name.eq_ignore_ascii_case("SKILL.md"));
    path.parent().filter(|_| is_named).unwrap_or(&path).to_owned()
}
