//! Makes the private views read-only when everything inside has ended: a process outside that received a descriptor (over a socket, by
//! another run) cannot change the work after it was reviewed. It ends no process.

use super::protocol::HelperSpec;
use rustix::io::Errno;
use rustix::mount::{MountFlags, mount_remount};
use std::path::PathBuf;
use std::time::{Duration, Instant};

/// How long a file that is being closed may take.
const PATIENCE: Duration = Duration::from_secs(2);

/// Makes the overlays themselves read-only, not only their mounts: a nested namespace may have had further mounts. Returns the
/// overlay that is still being written to, if any.
pub(super) fn seal(spec: &HelperSpec) -> Option<(PathBuf, std::io::Error)> {
    let start = Instant::now();
    for overlay in &spec.overlays {
        loop {
            match mount_remount(&*overlay.target, MountFlags::RDONLY, "") {
                Ok(()) => break,
                Err(Errno::BUSY) if start.elapsed() < PATIENCE => {
                    std::thread::sleep(Duration::from_millis(20));
                }
                Err(errno) => return Some((overlay.target.to_path_buf(), errno.into())),
            }
        }
    }
    None
}
