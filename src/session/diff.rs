//! What a session changes, or what it has applied: for people, or as a patch for git. It reads and changes nothing.

use super::sessions::{Sessions, ignored};
use super::store::Session;
use super::work::Work;
use crate::model::raw_path::RawPath;
use crate::mount::apply::{AppliedPatch, applied_patches};
use crate::mount::changes::diff::{FileDiff, diff};
use crate::mount::changes::{Change, Review, patch, review};
use anyhow::Result;
use std::io::Write;
use std::path::{Path, PathBuf};

/// How many paths that were undone are named.
const MOST_NAMED: usize = 100;

/// The files of a diff.
#[derive(Debug)]
pub struct SessionDiff {
    pub files: Vec<FileDiff>,
    /// No change waits: this is what was applied.
    pub applied: bool,
    /// What the project has without an apply, where that is all.
    pub already: Vec<RawPath>,
    /// What a patch says besides, one line each.
    pub comments: Vec<String>,
}

/// Why a patch is empty.
#[derive(Debug, Default)]
pub struct NoPatch {
    /// What the agent changed and the project has without an apply.
    pub already: Vec<RawPath>,
}

enum Source {
    Pending(Box<(Work, Review)>),
    Applied(Vec<AppliedPatch>),
}

impl Sessions<'_> {
    /// The diffs of a session, or of what is at or below one path.
    pub fn diff(&self, wanted: &str, below: Option<&PathBuf>, include_ignored: bool) -> Result<SessionDiff> {
        let below = below.map(PathBuf::as_path);
        match self.source(&self.store.find(wanted)?, include_ignored)? {
            Source::Pending(pending) => {
                let (work, review) = *pending;
                let files = diff(&work.three_way(self.merging)?, &review, below)?;
                let already = if review.changes.is_empty() { review.already } else { Vec::new() };
                Ok(SessionDiff { files, applied: false, already, comments: Vec::new() })
            }
            Source::Applied(applied) => {
                let (mut files, mut comments) = (Vec::new(), Vec::new());
                for one in &applied {
                    let sections = one.sections();
                    let wanted =
                        sections.iter().filter(|part| below.is_none_or(|below| part.is_below(below)));
                    files.extend(wanted.map(patch::Section::for_people));
                    let text = String::from_utf8_lossy(patch::comments(&one.patch)).into_owned();
                    comments.extend(text.lines().map(str::to_owned));
                    comments.extend(undone(one).lines().map(str::to_owned));
                }
                Ok(SessionDiff { files, applied: true, already: Vec::new(), comments })
            }
        }
    }

    /// The same as a patch, byte by byte; the reason if there is nothing in it.
    pub fn patch(
        &self,
        wanted: &str,
        below: Option<&PathBuf>,
        include_ignored: bool,
        out: &mut dyn Write,
    ) -> Result<Option<NoPatch>> {
        let is_wanted = |path: &Path| below.is_none_or(|below| path.starts_with(below));
        match self.source(&self.store.find(wanted)?, include_ignored)? {
            Source::Pending(pending) => {
                let (work, review) = *pending;
                let changes: Vec<&Change> =
                    review.changes.iter().filter(|change| is_wanted(&change.path)).collect();
                let special: Vec<_> = review.special.iter().filter(|path| is_wanted(path)).cloned().collect();
                patch::write(&work.three_way(self.merging)?, &changes, &special, out)?;
                let why = if review.changes.is_empty() { review.already } else { Vec::new() };
                Ok(changes.is_empty().then_some(NoPatch { already: why }))
            }
            Source::Applied(applied) => {
                let mut is_any = false;
                for one in &applied {
                    out.write_all(patch::comments(&one.patch))?;
                    out.write_all(undone(one).as_bytes())?;
                    for section in one.sections() {
                        if below.is_none_or(|below| section.is_below(below)) {
                            out.write_all(section.bytes)?;
                            is_any = true;
                        }
                    }
                }
                Ok((!is_any).then(NoPatch::default))
            }
        }
    }

    /// What waits to be applied, or, if nothing does, what was.
    fn source(&self, session: &Session, include_ignored: bool) -> Result<Source> {
        let applied = || applied_patches(&session.dir);
        let Some(work) = session.work()? else {
            let applied = applied()?;
            if applied.is_empty() {
                return Err(session.no_mount().into());
            }
            return Ok(Source::Applied(applied));
        };
        let found = review(&work.three_way(self.merging)?, ignored(include_ignored))?;
        if found.changes.is_empty() {
            let applied = applied()?;
            if !applied.is_empty() {
                return Ok(Source::Applied(applied));
            }
        }
        Ok(Source::Pending(Box::new((work, found))))
    }
}

/// Says what of an apply is not in the project any more.
fn undone(applied: &AppliedPatch) -> String {
    let names = applied.undone.iter().take(MOST_NAMED);
    let mut text: String =
        names.map(|path| patch::comment(&format!("undone since: {}", patch::name(path)))).collect();
    if let Some(more) = applied.undone.len().checked_sub(MOST_NAMED).filter(|more| *more > 0) {
        text += &patch::comment(&format!("undone since: {more} more"));
    }
    text
}
