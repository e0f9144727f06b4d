//! The three-way comparison of one path: the base, the project now, the agent's mount. Pure: the caller provides the function that
//! compares contents, which is only called if the answer depends on it.

use crate::model::change_kind::ChangeKind;
use crate::mount::changes::manifest::Entry;
use crate::mount::fs::stat::{Kind, PERMISSIONS, Stat};
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

/// What the path was at launch.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Base {
    Known(Entry),
    Absent,
    /// The manifest does not tell: it was not taken, was taken after a change, or the agent never had the path.
    Unknown,
}

/// What the path is in the project now.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Now {
    Present(Stat),
    Absent,
    /// Absent, because a directory that existed at launch is gone or is no longer a directory.
    ParentGone,
}

/// What the path is in the mount.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub enum After {
    #[default]
    Absent,
    File {
        mode: u32,
        size: u64,
    },
    Dir {
        mode: u32,
    },
    Symlink,
    Special,
}

impl After {
    /// What is there in the mount.
    pub(super) fn of(stat: &Stat) -> After {
        match stat.kind {
            Kind::File => After::File { mode: stat.mode, size: stat.size },
            Kind::Dir => After::Dir { mode: stat.mode },
            Kind::Symlink => After::Symlink,
            Kind::Special => After::Special,
        }
    }

    pub fn kind(&self) -> Option<Kind> {
        match self {
            After::Absent => None,
            After::File { .. } => Some(Kind::File),
            After::Dir { .. } => Some(Kind::Dir),
            After::Symlink => Some(Kind::Symlink),
            After::Special => Some(Kind::Special),
        }
    }

    /// The permission bits, if they have a meaning.
    pub fn permissions(&self) -> Option<u32> {
        match self {
            After::File { mode, .. } | After::Dir { mode } => Some(mode & PERMISSIONS),
            After::Absent | After::Symlink | After::Special => None,
        }
    }
}

/// Why a change cannot simply be applied.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "kebab-case")]
pub enum ConflictReason {
    /// Both sides changed it, differently.
    BothChanged,
    /// The user changed it, the agent deleted it.
    DeletedByAgent,
    /// The agent changed it, the user deleted it.
    DeletedByUser,
    /// The user removed or replaced the directory that contains it.
    ParentGone,
    /// Its state at launch is unknown.
    UnknownBase,
    /// A directory is to become a file, but contains paths that the agent may not delete.
    NotEmpty,
    /// The user changed it while it was being applied.
    ChangedDuringApply,
    /// It differs from what the user saw before deciding.
    ChangedSinceReview,
}

impl ConflictReason {
    pub fn text(self) -> &'static str {
        match self {
            ConflictReason::BothChanged => "changed in the project and by the agent",
            ConflictReason::DeletedByAgent => "changed in the project, deleted by the agent",
            ConflictReason::DeletedByUser => "deleted in the project, changed by the agent",
            ConflictReason::ParentGone => "its directory was removed or replaced in the project",
            ConflictReason::UnknownBase => "it is not known what it was when the run started",
            ConflictReason::NotEmpty => {
                "the agent replaced this directory, but it holds files that are not the agent's to delete"
            }
            ConflictReason::ChangedDuringApply => "changed in the project while the work was being applied",
            ConflictReason::ChangedSinceReview => "changed after you looked at it",
        }
    }
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Verdict {
    /// The project is as it was at launch; the agent's version may replace it.
    Apply(ChangeKind),
    /// The agent's side is as it was at launch: the user's version stays.
    KeepUsers,
    /// Both sides are already identical.
    Nothing,
    Conflict(ChangeKind, ConflictReason),
}

/// Compares one path. `same_content` tells whether the mount's file or symlink equals the project's; it is only called if both are
/// of the same kind.
pub fn compare<E>(
    base: &Base,
    now: &Now,
    after: &After,
    same_content: impl FnOnce() -> Result<bool, E>,
) -> Result<Verdict, E> {
    let stat = match now {
        Now::Present(stat) => Some(stat),
        Now::Absent | Now::ParentGone => None,
    };
    let Some(kind) = after.kind() else {
        return Ok(compare_deletion(base, stat));
    };
    let user_changed = match (base, now) {
        (Base::Known(entry), Now::Present(stat)) => !entry.is_unchanged(stat),
        (Base::Absent, Now::Absent) => false,
        _ => true,
    };
    let change = change_kind(base, stat, kind);
    let Some(stat) = stat else {
        return Ok(match (base, now) {
            (Base::Absent, Now::Absent) => Verdict::Apply(ChangeKind::Added),
            (Base::Known(entry), _) if is_same_directory(entry, after) => Verdict::KeepUsers,
            (_, Now::ParentGone) => Verdict::Conflict(change, ConflictReason::ParentGone),
            (Base::Known(_), _) => Verdict::Conflict(change, ConflictReason::DeletedByUser),
            _ => Verdict::Conflict(change, ConflictReason::UnknownBase),
        });
    };
    let same_kind = stat.kind == kind;
    let same_mode = after.permissions().is_none_or(|mode| mode == stat.permissions());
    let same_content = same_kind && (kind == Kind::Dir || same_content()?);
    if same_content && same_mode {
        return Ok(Verdict::Nothing);
    }
    if let Base::Known(entry) = base
        && is_same_directory(entry, after)
    {
        // A directory that the agent only passed through; any change in the project is the user's.
        return Ok(Verdict::KeepUsers);
    }
    Ok(match (user_changed, base) {
        (false, _) if same_content => Verdict::Apply(ChangeKind::Mode),
        (false, _) => Verdict::Apply(change),
        (true, Base::Unknown) => Verdict::Conflict(change, ConflictReason::UnknownBase),
        (true, _) => Verdict::Conflict(change, ConflictReason::BothChanged),
    })
}

fn compare_deletion(base: &Base, now: Option<&Stat>) -> Verdict {
    match (base, now) {
        (_, None) => Verdict::Nothing,
        // The user created it after launch; the agent's side is unchanged, without it.
        (Base::Absent, Some(_)) => Verdict::KeepUsers,
        (Base::Unknown, Some(_)) => Verdict::Conflict(ChangeKind::Deleted, ConflictReason::UnknownBase),
        // A directory is only ever removed when it is empty, so nothing of the user's can be lost.
        (Base::Known(entry), Some(stat)) if entry.kind == Kind::Dir && stat.kind == Kind::Dir => {
            Verdict::Apply(ChangeKind::Deleted)
        }
        (Base::Known(entry), Some(stat)) if entry.is_unchanged(stat) => Verdict::Apply(ChangeKind::Deleted),
        (Base::Known(_), Some(_)) => Verdict::Conflict(ChangeKind::Deleted, ConflictReason::DeletedByAgent),
    }
}

fn is_same_directory(entry: &Entry, after: &After) -> bool {
    entry.kind == Kind::Dir
        && matches!(after, After::Dir { mode } if mode & PERMISSIONS == entry.mode & PERMISSIONS)
}

fn change_kind(base: &Base, now: Option<&Stat>, kind: Kind) -> ChangeKind {
    let before = match base {
        Base::Known(entry) => Some(entry.kind),
        Base::Absent => None,
        Base::Unknown => now.map(|stat| stat.kind),
    };
    match before {
        None => ChangeKind::Added,
        Some(before) if before != kind => ChangeKind::TypeChange,
        Some(Kind::Symlink) => ChangeKind::Symlink,
        Some(Kind::Dir) => ChangeKind::Mode,
        Some(Kind::File | Kind::Special) => ChangeKind::Modified,
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::model::mount_record::Instant;
    use std::convert::Infallible;

    const OLD: Instant = Instant { seconds: 1, nanos: 0 };
    const NEW: Instant = Instant { seconds: 9, nanos: 0 };

    fn stat(kind: Kind, mode: u32, ctime: Instant) -> Stat {
        Stat {
            kind,
            mode,
            size: 5,
            mtime: ctime,
            ctime,
            ino: 7,
            dev: 1,
            uid: 0,
            gid: 0,
            rdev: 0,
            is_char_device: false,
        }
    }

    fn old(kind: Kind) -> Stat {
        stat(kind, 0o644, OLD)
    }

    fn known(kind: Kind) -> Base {
        Base::Known(Entry::from(&old(kind)))
    }

    fn file() -> After {
        After::File { mode: 0o644, size: 5 }
    }

    fn verdict(base: Base, now: Now, after: &After, same: bool) -> Verdict {
        compare(&base, &now, after, || Ok::<_, Infallible>(same)).unwrap()
    }

    #[test]
    fn an_unchanged_project_takes_the_agents_version() {
        let now = Now::Present(old(Kind::File));
        assert_eq!(verdict(known(Kind::File), now, &file(), false), Verdict::Apply(ChangeKind::Modified));
        let executable = After::File { mode: 0o755, size: 5 };
        assert_eq!(verdict(known(Kind::File), now, &executable, true), Verdict::Apply(ChangeKind::Mode));
        assert_eq!(
            verdict(known(Kind::File), now, &After::Absent, false),
            Verdict::Apply(ChangeKind::Deleted)
        );
        assert_eq!(
            verdict(known(Kind::File), now, &After::Symlink, false),
            Verdict::Apply(ChangeKind::TypeChange)
        );
        assert_eq!(verdict(Base::Absent, Now::Absent, &file(), false), Verdict::Apply(ChangeKind::Added));
        assert_eq!(verdict(known(Kind::File), now, &file(), true), Verdict::Nothing);
    }

    #[test]
    fn every_doubt_is_a_conflict() {
        use ConflictReason as R;
        let changed = Now::Present(stat(Kind::File, 0o644, NEW));
        let conflict = |base, now, after: &After| match verdict(base, now, after, false) {
            Verdict::Conflict(_, reason) => reason,
            other => panic!("{other:?}"),
        };
        assert_eq!(conflict(known(Kind::File), changed, &file()), R::BothChanged);
        assert_eq!(conflict(known(Kind::File), changed, &After::Absent), R::DeletedByAgent);
        assert_eq!(conflict(known(Kind::File), Now::Absent, &file()), R::DeletedByUser);
        assert_eq!(conflict(known(Kind::File), Now::ParentGone, &file()), R::ParentGone);
        assert_eq!(conflict(Base::Absent, Now::ParentGone, &file()), R::ParentGone);
        assert_eq!(conflict(Base::Absent, changed, &file()), R::BothChanged);
        assert_eq!(conflict(Base::Unknown, changed, &file()), R::UnknownBase);
        assert_eq!(conflict(Base::Unknown, Now::Absent, &file()), R::UnknownBase);
        assert_eq!(conflict(Base::Unknown, changed, &After::Absent), R::UnknownBase);
    }

    #[test]
    fn equal_on_both_sides_is_nothing_to_do_whatever_the_base() {
        let changed = Now::Present(stat(Kind::File, 0o644, NEW));
        for base in [known(Kind::File), Base::Absent, Base::Unknown] {
            assert_eq!(verdict(base, changed, &file(), true), Verdict::Nothing);
            assert_eq!(verdict(base, Now::Absent, &After::Absent, false), Verdict::Nothing);
        }
    }

    #[test]
    fn same_time_and_size_but_another_inode_is_a_change() {
        let mut moved = old(Kind::File);
        moved.ino = 8;
        let result = verdict(known(Kind::File), Now::Present(moved), &file(), false);
        assert_eq!(result, Verdict::Conflict(ChangeKind::Modified, ConflictReason::BothChanged));
    }

    #[test]
    fn what_the_user_did_stands_where_the_agent_did_nothing() {
        let changed = Now::Present(stat(Kind::File, 0o644, NEW));
        assert_eq!(verdict(Base::Absent, changed, &After::Absent, false), Verdict::KeepUsers);
        let through = After::Dir { mode: 0o644 };
        assert_eq!(verdict(known(Kind::Dir), Now::Absent, &through, false), Verdict::KeepUsers);
        let chmodded = Now::Present(stat(Kind::Dir, 0o700, NEW));
        assert_eq!(verdict(known(Kind::Dir), chmodded, &through, false), Verdict::KeepUsers);
    }
}
