//! Other paths to a protected directory or a part of it: bind mounts, and further mounts of the same filesystem. They get the same
//! view, or nothing where the view has nothing. The probe refuses overlays that use the directory as a layer.

use super::binds::{cover_file, hold, mount_id, mount_memory, put};
use crate::mount::process::mount_table::{Mounted, parse};
use rustix::mount::MountFlags;
use std::io;
use std::path::{Path, PathBuf};

/// One of these places.
#[derive(Debug, PartialEq, Eq)]
struct Alias {
    place: PathBuf,
    /// Which path of the protected directory it shows.
    shows: PathBuf,
}

/// All of them, as found before anything was mounted.
#[derive(Debug)]
pub(super) struct Aliases(Vec<Alias>);

impl Aliases {
    /// The places that can be reached now.
    pub(super) fn find<'a>(protected: impl Iterator<Item = &'a Path>) -> io::Result<Aliases> {
        let table = parse(&std::fs::read("/proc/self/mountinfo")?);
        let mut found = Vec::new();
        for path in protected {
            let real = path.canonicalize()?;
            let id = mount_id(&real)?;
            for (alias, mount) in candidates(&table, &real, id) {
                // Another mount may cover it. A place that cannot be reached now cannot be reached inside either.
                if mount_id(&alias.place).is_ok_and(|id| id == mount) {
                    found.push(alias);
                }
            }
        }
        // From the top down: what lies below an alias then becomes part of its view.
        found.sort_by(|a, b| a.place.cmp(&b.place));
        Ok(Aliases(found))
    }

    /// Mounts the view on each place. The protected directories are complete by now.
    pub(super) fn cover(&self) -> Result<(), (PathBuf, io::Error)> {
        for Alias { place, shows } in &self.0 {
            cover(place, shows).map_err(|error| (place.clone(), error))?;
        }
        Ok(())
    }
}

fn cover(place: &Path, shows: &Path) -> io::Result<()> {
    if shows.symlink_metadata().is_ok() {
        return put(&hold(shows)?, place);
    }
    // It is hidden.
    if place.is_dir() { mount_memory(place, 0o700, MountFlags::empty()) } else { cover_file(place) }
}

/// Possible aliases, each with the mount that it would be on. Comparing device numbers of files would not do: some filesystems
/// have several.
fn candidates(table: &[Mounted], protected: &Path, id: u64) -> Vec<(Alias, u64)> {
    let Some(own) = table.iter().find(|mounted| mounted.id == id) else { return Vec::new() };
    let Ok(below) = protected.strip_prefix(&own.path) else { return Vec::new() };
    // Where the directory is in its filesystem, whatever part of that is mounted.
    let inside = own.root.join(below);
    let others = table.iter().filter(|other| other.device == own.device && other.id != id);
    others
        .filter_map(|other| {
            let alias = if let Ok(rest) = inside.strip_prefix(&other.root) {
                Alias { place: joined(&other.path, rest), shows: protected.to_path_buf() }
            } else if let Ok(rest) = other.root.strip_prefix(&inside) {
                Alias { place: other.path.clone(), shows: joined(protected, rest) }
            } else {
                return None;
            };
            (alias.place != protected).then_some((alias, other.id))
        })
        .collect()
}

/// Joining an empty path would add a slash.
fn joined(dir: &Path, rest: &Path) -> PathBuf {
    dir.join(rest).components().collect()
}

#[cfg(test)]
mod tests {
    use super::*;
    use pretty_assertions::assert_eq;

    fn found(table: &str, protected: &str, id: u64) -> Vec<(String, String, u64)> {
        let text = |path: PathBuf| path.display().to_string();
        candidates(&parse(table.as_bytes()), Path::new(protected), id)
            .into_iter()
            .map(|(alias, mount)| (text(alias.place), text(alias.shows), mount))
            .collect()
    }

    #[test]
    fn mounts_of_the_same_filesystem_above_at_and_below_are_aliases() {
        let table = "1 0 8:1 / / rw - ext4 d rw\n2 1 8:2 /home /home rw - ext4 e rw\n\
            3 1 8:2 / /mnt rw - ext4 e rw\n4 1 8:2 /home/u/p /alias rw - ext4 e rw\n\
            5 1 8:2 /home/u/p/.env /etc/x rw - ext4 e rw\n6 1 8:2 /home/u/q /other rw - ext4 e rw\n\
            7 1 8:3 /home/u/p /same-name rw - ext4 f rw\n";
        let text = |place: &str, shows: &str, id| (place.to_owned(), shows.to_owned(), id);
        assert_eq!(
            found(table, "/home/u/p", 2),
            [
                text("/mnt/home/u/p", "/home/u/p", 3),
                text("/alias", "/home/u/p", 4),
                text("/etc/x", "/home/u/p/.env", 5)
            ]
        );
        assert_eq!(found(table, "/etc", 1), []);
    }
}
