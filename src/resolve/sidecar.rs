//! Decides which sidecar a harness gets: whose path or content, in which mode. Nothing is read here.

use super::persona::ResolvedPersona;
use super::select::Selection;
use crate::model::persona::{Runtime, SidecarMode};
use crate::model::source::Source;
use std::path::PathBuf;
use std::sync::Arc;

/// The two instruction files that harnesses read by themselves.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Channel {
    ClaudeMd,
    AgentsMd,
}

impl Channel {
    pub fn other(self) -> Channel {
        match self {
            Channel::ClaudeMd => Channel::AgentsMd,
            Channel::AgentsMd => Channel::ClaudeMd,
        }
    }

    /// The key in a persona file.
    pub fn key(self) -> &'static str {
        match self {
            Channel::ClaudeMd => "claudeMd",
            Channel::AgentsMd => "agentsMd",
        }
    }

    /// The file in the mount.
    pub fn file_name(self) -> &'static str {
        match self {
            Channel::ClaudeMd => "CLAUDE.md",
            Channel::AgentsMd => "AGENTS.md",
        }
    }

    fn path(self, runtime: &Runtime) -> Option<&String> {
        match self {
            Channel::ClaudeMd => runtime.claude_md.as_ref(),
            Channel::AgentsMd => runtime.agents_md.as_ref(),
        }
    }

    fn content(self, runtime: &Runtime) -> Option<&String> {
        match self {
            Channel::ClaudeMd => runtime.claude_md_content.as_ref(),
            Channel::AgentsMd => runtime.agents_md_content.as_ref(),
        }
    }

    fn mode(self, runtime: &Runtime) -> Option<SidecarMode> {
        match self {
            Channel::ClaudeMd => runtime.claude_md_mode,
            Channel::AgentsMd => runtime.agents_md_mode,
        }
    }

    fn declared(self, runtime: &Runtime) -> bool {
        self.path(runtime).is_some() || self.content(runtime).is_some()
    }
}

#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Sidecar {
    pub channel: Channel,
    pub mode: SidecarMode,
    pub text: SidecarText,
    /// The key that declared it, such as `tiers.best.claudeMd`.
    pub key: String,
    /// The file that declared it.
    pub source: Arc<Source>,
}

#[derive(Debug, Clone, PartialEq, Eq)]
pub enum SidecarText {
    /// Anchored to the directory of the JSON that declared it.
    File(PathBuf),
    /// Inlined by a pack: inputs are filled in.
    Pack(String),
    /// Inlined by our build: behaves like its file.
    Builtin(String),
}

/// The sidecar of this run, if the persona has one for the file that the harness reads.
pub fn choose(resolved: &ResolvedPersona, selection: &Selection, channel: Channel) -> Option<Sidecar> {
    let top = &resolved.persona.runtime;
    let (owner, prefix) = if channel.declared(&selection.own) {
        (&selection.own, format!("tiers.{}.", selection.tier))
    } else if channel.declared(top) {
        (top, String::new())
    } else {
        return None;
    };
    let mode = channel.mode(&selection.own).or(channel.mode(top)).unwrap_or_default();
    sidecar_of(resolved, channel, owner, &prefix, mode)
}

/// Every sidecar that a persona declares, at any level: for lint and for packing.
pub fn all(resolved: &ResolvedPersona) -> Vec<Sidecar> {
    let mut found = Vec::new();
    for channel in [Channel::ClaudeMd, Channel::AgentsMd] {
        let top = &resolved.persona.runtime;
        let mut levels = vec![(top, String::new())];
        levels.extend(
            resolved.persona.tiers.iter().map(|(tier, runtime)| (&**runtime, format!("tiers.{tier}."))),
        );
        for (runtime, prefix) in levels.into_iter().filter(|(runtime, _)| channel.declared(runtime)) {
            let mode = channel.mode(runtime).or(channel.mode(top)).unwrap_or_default();
            found.extend(sidecar_of(resolved, channel, runtime, &prefix, mode));
        }
    }
    found
}

fn sidecar_of(
    resolved: &ResolvedPersona,
    channel: Channel,
    owner: &Runtime,
    prefix: &str,
    mode: SidecarMode,
) -> Option<Sidecar> {
    let content = channel.content(owner);
    let suffix = if content.is_some() { "Content" } else { "" };
    let key = format!("{prefix}{}{suffix}", channel.key());
    let source = resolved.sources_of(&key).pop()?;
    let text = match (content, channel.path(owner)) {
        (Some(text), _) if source.is_library() => SidecarText::Builtin(text.clone()),
        (Some(text), _) => SidecarText::Pack(text.clone()),
        (None, Some(path)) => SidecarText::File(source.dir()?.join(path).components().collect()),
        (None, None) => return None,
    };
    Some(Sidecar { channel, mode, text, key, source })
}

/// The persona has instructions, but only for the other kind of harness: it would start without any.
pub fn only_for_others(
    resolved: &ResolvedPersona,
    selection: &Selection,
    channel: Channel,
) -> Option<String> {
    let top = &resolved.persona.runtime;
    let declared = |channel: Channel| channel.declared(&selection.own) || channel.declared(top);
    (!declared(channel) && declared(channel.other())).then(|| {
        format!(
            "persona `{}` has only `{}`, which {} does not read: it gets no {}",
            resolved.id(),
            channel.other().key(),
            selection.harness.value,
            channel.file_name()
        )
    })
}
