//! Tells what an overlay's upper directory says about one path. It reads marks and stats, and changes nothing.

use crate::model::mount_record::XattrNamespace;
use crate::mount::fs::stat::Kind;
use crate::mount::fs::tree::Tree;
use rustix::fs::fgetxattr;
use rustix::io::Errno;
use std::io;
use std::path::Path;

/// The state of a path in the result, according to the upper directory.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum UpperState {
    /// As in the project.
    Untouched,
    /// Deleted, whatever the project has.
    Absent,
    /// The upper directory has it.
    Present,
}

/// Whether the project shows through at a path.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Above {
    ShowsThrough,
    /// A directory above was removed, or replaced by a new one.
    Covered,
    /// A directory above has become a file or link.
    Blocked,
}

pub(super) fn state_of(upper: &Tree, xattrs: XattrNamespace, path: &Path) -> io::Result<UpperState> {
    let above = above(upper, xattrs, path)?;
    Ok(match upper.stat(path)? {
        Some(stat) if stat.is_whiteout() => UpperState::Absent,
        Some(_) => UpperState::Present,
        None if above == Above::ShowsThrough => UpperState::Untouched,
        None => UpperState::Absent,
    })
}

pub(super) fn above(upper: &Tree, xattrs: XattrNamespace, path: &Path) -> io::Result<Above> {
    let mut parents: Vec<&Path> =
        path.ancestors().skip(1).filter(|dir| !dir.as_os_str().is_empty()).collect();
    parents.reverse();
    let mut above = Above::ShowsThrough;
    for dir in parents {
        match upper.stat(dir)? {
            None => return Ok(above),
            Some(stat) if stat.is_whiteout() => return Ok(Above::Covered),
            Some(stat) if stat.kind != Kind::Dir => return Ok(Above::Blocked),
            Some(_) if is_opaque(upper, xattrs, dir)? => above = Above::Covered,
            Some(_) => {}
        }
    }
    Ok(above)
}

fn is_opaque(upper: &Tree, xattrs: XattrNamespace, dir: &Path) -> io::Result<bool> {
    let mut value = [0_u8; 8];
    match fgetxattr(upper.open_dir(dir)?, xattrs.opaque(), &mut value) {
        Ok(length) => Ok(value[..length] == *b"y"),
        Err(Errno::NODATA | Errno::OPNOTSUPP) => Ok(false),
        Err(error) => Err(error.into()),
    }
}
