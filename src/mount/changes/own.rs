//! Whether the mount itself shows that a path is of the agent's own making. Asked where the base cannot say what was at the path,
//! because its directory changed while the base was taken.

use super::three_way::ThreeWay;
use crate::model::mount::Backend;
use crate::mount::fs::stat::Kind;
use rustix::io::Errno;
use std::os::fd::OwnedFd;
use std::path::Path;

/// Whether the agent made what is at this path, out of nothing that the project had. In doubt it did not.
pub(super) fn is_agents_own(sides: &ThreeWay<'_>, path: &Path) -> anyhow::Result<bool> {
    let Some(stat) = sides.mount.stat(path)? else { return Ok(false) };
    match sides.record.backend {
        Backend::Copy => match sides.made {
            Some(made) => Ok(made.get(path)?.is_none()),
            None => Ok(false),
        },
        Backend::Overlay => {
            let opened: OwnedFd = match stat.kind {
                Kind::File => match sides.mount.open_file(path) {
                    Ok((file, _)) => file.into(),
                    Err(_) => return Ok(false),
                },
                Kind::Dir => match sides.mount.open_dir(path) {
                    Ok(dir) => dir,
                    Err(_) => return Ok(false),
                },
                Kind::Symlink | Kind::Special => return Ok(false),
            };
            // The kernel marks what it has copied up.
            let Some(namespace) = sides.record.xattrs else { return Ok(false) };
            let marked = rustix::fs::fgetxattr(&opened, namespace.origin(), &mut [0_u8; 256]);
            Ok(marked == Err(Errno::NODATA))
        }
        Backend::Auto | Backend::None => Ok(false),
    }
}
