//! Resolves by content what stats leave open: files that were only touched, identical changes on both sides, and edits of different
//! lines, which are merged. It reads the three versions of a file and changes none.

use super::base_content::{BaseContent, converted};
use super::change::{Merged, MergedText};
use super::compare::{After, Base, ConflictReason, Now, Verdict};
use super::content::unreadable;
use super::manifest::Entry;
use super::merge::{Merge, merge};
use super::three_way::{Merging, ThreeWay};
use super::touched::Touched;
use super::versions::{agents_text, base_content, open_ours, our_text};
use crate::model::change_kind::ChangeKind;
use crate::model::mount::Backend;
use crate::mount::fs::stat::{Kind, PERMISSIONS, Stat};
use anyhow::Context;
use std::collections::HashSet;
use std::fs::File;
use std::path::{Path, PathBuf};
use std::sync::Arc;

/// One path with the verdict of the comparison of stats.
pub(super) struct Judged {
    pub(super) one: Touched,
    pub(super) base: Base,
    pub(super) now: Now,
    pub(super) verdict: Verdict,
}

/// The resolution.
pub(super) struct Settled {
    pub(super) verdict: Verdict,
    /// What an apply writes to the path.
    pub(super) after: After,
    pub(super) merged: Option<Arc<Merged>>,
    pub(super) touched: bool,
}

impl Judged {
    /// The verdict of the stats stands.
    pub(super) fn as_it_is(&self) -> Settled {
        self.with(self.verdict)
    }

    fn with(&self, verdict: Verdict) -> Settled {
        Settled { verdict, after: self.one.after.clone(), merged: None, touched: false }
    }
}

/// The conflicts of one review, and the paths among them that git converts.
pub(super) struct Settling<'a> {
    sides: &'a ThreeWay<'a>,
    converted: HashSet<PathBuf>,
}

impl<'a> Settling<'a> {
    /// Asks git once for all conflicts.
    pub(super) fn of(sides: &'a ThreeWay<'a>, conflicts: &[Judged]) -> Settling<'a> {
        let mut settling = Settling { sides, converted: HashSet::new() };
        let Some(contents) = sides.contents else { return settling };
        let blobs: Vec<PathBuf> = conflicts
            .iter()
            .filter(|judged| {
                let known = base_content(sides, &judged.one.path, &judged.base);
                matches!(known, Some((_, BaseContent::Blob { .. })))
            })
            .map(|judged| judged.one.path.clone())
            .collect();
        settling.converted = converted(contents, sides.project.path(), &blobs);
        settling
    }

    pub(super) fn settle(&self, judged: &Judged) -> anyhow::Result<Settled> {
        let Some((entry, content)) = self.base_content(judged) else { return Ok(judged.as_it_is()) };
        let Verdict::Conflict(kind, _) = judged.verdict else { return Ok(judged.as_it_is()) };
        let path = judged.one.path.as_path();
        match (judged.now, &judged.one.after) {
            (Now::Present(now), After::File { mode, size }) if now.kind == Kind::File => {
                let (ours, is_as_found) = open_ours(self.sides, path, &now)?;
                let versions = Versions {
                    base_mode: entry.mode & PERMISSIONS,
                    our_mode: now.permissions(),
                    agents_mode: mode & PERMISSIONS,
                    ours_is_base: is_as_found && content.is_in(&ours, now.size)?,
                    agents_is_base: self.agents_is(path, &content, *size)?,
                };
                self.settle_files(judged, kind, &entry, &content, &versions)
            }
            // The user's side is unchanged, whatever the agent did to the path.
            (Now::Present(now), _) if now.kind == Kind::File => {
                let (ours, is_as_found) = open_ours(self.sides, path, &now)?;
                let is_base = is_as_found
                    && now.permissions() == entry.mode & PERMISSIONS
                    && content.is_in(&ours, now.size)?;
                Ok(judged.with(if is_base { Verdict::Apply(kind) } else { judged.verdict }))
            }
            // The agent's side is unchanged, whatever the user did to the path.
            (_, After::File { mode, size }) => {
                let is_base = mode & PERMISSIONS == entry.mode & PERMISSIONS
                    && self.agents_is(path, &content, *size)?;
                Ok(judged.with(if is_base { Verdict::KeepUsers } else { judged.verdict }))
            }
            _ => Ok(judged.as_it_is()),
        }
    }

    fn settle_files(
        &self,
        judged: &Judged,
        kind: ChangeKind,
        entry: &Entry,
        content: &BaseContent,
        versions: &Versions,
    ) -> anyhow::Result<Settled> {
        let conflict = || Ok(judged.with(Verdict::Conflict(kind, ConflictReason::BothChanged)));
        let path = judged.one.path.as_path();
        let Now::Present(now) = judged.now else { return conflict() };
        if versions.is_ours_unchanged() {
            let kind = if versions.agents_is_base { ChangeKind::Mode } else { kind };
            if versions.agents_is_base && versions.agents_mode == versions.base_mode {
                return Ok(judged.with(Verdict::Nothing));
            }
            let touched = !versions.agents_is_base && self.may_hold_a_state_in_between(path, entry, &now)?;
            return Ok(Settled { touched, ..judged.with(Verdict::Apply(kind)) });
        }
        if versions.agents_is_base && versions.agents_mode == versions.base_mode {
            return Ok(judged.with(Verdict::KeepUsers));
        }
        let Some(mode) = versions.merged_mode().filter(|_| self.sides.merging == Merging::On) else {
            return conflict();
        };
        let agents = judged.one.after.clone();
        let After::File { size, .. } = agents else { return conflict() };
        // The bytes come from one side, and the mode may come from the other.
        let one_sided = |verdict: Verdict, size: u64, is_agents: bool| {
            let merged = (!is_agents).then(|| Arc::new(Merged { agents: agents.clone(), text: None }));
            Settled { verdict, after: After::File { mode, size }, merged, touched: false }
        };
        let with_our_bytes = |are_agents_too: bool| {
            if mode == versions.our_mode {
                return judged.with(Verdict::KeepUsers);
            }
            one_sided(Verdict::Apply(ChangeKind::Mode), now.size, are_agents_too)
        };
        let with_agents_bytes = || one_sided(Verdict::Apply(kind), size, mode == versions.agents_mode);
        if versions.agents_is_base {
            return Ok(with_our_bytes(false));
        }
        if versions.ours_is_base {
            return Ok(with_agents_bytes());
        }
        let (Some(ours), Some(theirs)) =
            (our_text(self.sides, path, &now)?, agents_text(self.sides, path, size)?)
        else {
            return conflict();
        };
        if ours == theirs {
            return Ok(with_our_bytes(true));
        }
        let contents = self.sides.contents.context("there is a base")?;
        let base = content.bytes(contents, self.sides.project.path());
        let merged = base.as_ref().map(|base| merge(base, &ours, &theirs));
        let (Some(base), Some(Merge::Clean(result))) = (base, merged) else { return conflict() };
        if result == ours {
            return Ok(with_our_bytes(false));
        }
        if result == theirs {
            return Ok(with_agents_bytes());
        }
        let after = After::File { mode, size: result.len() as u64 };
        let merged = Some(Arc::new(Merged {
            agents,
            text: Some(MergedText { result, agents: theirs, base: Some(base) }),
        }));
        Ok(Settled { verdict: Verdict::Apply(kind), after, merged, touched: false })
    }

    /// The content at launch or when it was applied, if it is known for certain.
    fn base_content(&self, judged: &Judged) -> Option<(Entry, BaseContent)> {
        let is_converted = self.converted.contains(&judged.one.path);
        base_content(self.sides, &judged.one.path, &judged.base).filter(|_| !is_converted)
    }

    fn agents_is(&self, path: &Path, content: &BaseContent, size: u64) -> anyhow::Result<bool> {
        let mount = self.sides.mount;
        let (file, _) = mount.open_file(path).with_context(|| unreadable(mount, path))?;
        content.is_in(&file, size).with_context(|| unreadable(mount, path))
    }

    /// An overlay shows the user's saves until the agent writes the file. If the user has restored the file since, the agent's version
    /// may be based on what was saved in between.
    fn may_hold_a_state_in_between(&self, path: &Path, base: &Entry, now: &Stat) -> anyhow::Result<bool> {
        // What was applied earlier has been in the mount since then.
        if self.sides.record.backend != Backend::Overlay || self.sides.earlier.applied.contains_key(path) {
            return Ok(false);
        }
        let only_mode =
            base.mode != now.mode && base.ino == now.ino && base.size == now.size && base.mtime == now.mtime;
        if only_mode {
            return Ok(false);
        }
        let (file, _) =
            self.sides.mount.open_file(path).with_context(|| unreadable(self.sides.mount, path))?;
        Ok(born(&file).is_none_or(|born| born <= (now.ctime.seconds, now.ctime.nanos)))
    }
}

/// When a file was created, in seconds and nanoseconds, if the filesystem records it.
#[cfg(target_os = "linux")]
fn born(file: &File) -> Option<(i64, u32)> {
    use rustix::fs::{AtFlags, StatxFlags};
    let stat = rustix::fs::statx(file, "", AtFlags::EMPTY_PATH, StatxFlags::BTIME).ok()?;
    let is_told = stat.stx_mask & StatxFlags::BTIME.bits() != 0;
    is_told.then_some((stat.stx_btime.tv_sec, stat.stx_btime.tv_nsec))
}

#[cfg(not(target_os = "linux"))]
fn born(_: &File) -> Option<(i64, u32)> {
    None
}

/// How the versions of a file relate.
struct Versions {
    base_mode: u32,
    our_mode: u32,
    agents_mode: u32,
    ours_is_base: bool,
    agents_is_base: bool,
}

impl Versions {
    /// Bytes and mode are unchanged; only times or the inode differ.
    fn is_ours_unchanged(&self) -> bool {
        self.ours_is_base && self.our_mode == self.base_mode
    }

    /// `None` if both sides changed the mode, differently.
    fn merged_mode(&self) -> Option<u32> {
        if self.our_mode == self.agents_mode || self.agents_mode == self.base_mode {
            Some(self.our_mode)
        } else if self.our_mode == self.base_mode {
            Some(self.agents_mode)
        } else {
            None
        }
    }
}
