//! Decides from the mount alone whether the agent created a path. Needed where the base does not know what was at the path, because its
//! directory changed while the base was taken.

use super::three_way::ThreeWay;
use crate::model::mount::Backend;
use crate::mount::fs::stat::Kind;
use rustix::io::Errno;
use std::os::fd::OwnedFd;
use std::path::Path;

/// Whether the agent created this path and the project had nothing there. In doubt, no.
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
