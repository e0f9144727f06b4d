//! A whole tree as a value, so that two can be compared with one assertion.

use std::collections::BTreeMap;
use std::ffi::OsString;
use std::os::unix::fs::{FileTypeExt, MetadataExt, PermissionsExt};
use std::path::{Path, PathBuf};

#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) enum Node {
    File { bytes: Vec<u8>, mode: u32 },
    Dir { mode: u32 },
    Link { target: OsString },
    Fifo,
}

impl Node {
    pub(super) fn is_dir(&self) -> bool {
        matches!(self, Node::Dir { .. })
    }
}

pub(super) type Snapshot = BTreeMap<PathBuf, Node>;

/// Everything below a directory, never following a symlink.
pub(super) fn snapshot(root: &Path) -> Snapshot {
    let mut nodes = Snapshot::new();
    collect(root, Path::new(""), &mut nodes);
    nodes
}

fn collect(root: &Path, at: &Path, nodes: &mut Snapshot) {
    for entry in std::fs::read_dir(root.join(at)).unwrap() {
        let path = at.join(entry.unwrap().file_name());
        let full = root.join(&path);
        let metadata = std::fs::symlink_metadata(&full).unwrap();
        let mode = metadata.permissions().mode() & 0o7777;
        let kind = metadata.file_type();
        let node = if kind.is_dir() {
            collect(root, &path, nodes);
            Node::Dir { mode }
        } else if kind.is_symlink() {
            Node::Link { target: std::fs::read_link(&full).unwrap().into() }
        } else if kind.is_fifo() {
            Node::Fifo
        } else {
            Node::File { bytes: std::fs::read(&full).unwrap(), mode }
        };
        nodes.insert(path, node);
    }
}

/// Modification times and inodes of files, to see that an undo gives back the very files.
pub(super) fn identities(root: &Path) -> BTreeMap<PathBuf, (u64, i64, i64)> {
    snapshot(root)
        .iter()
        .filter(|(_, node)| matches!(node, Node::File { .. }))
        .map(|(path, _)| {
            let metadata = std::fs::symlink_metadata(root.join(path)).unwrap();
            (path.clone(), (metadata.ino(), metadata.mtime(), metadata.mtime_nsec()))
        })
        .collect()
}

/// Makes the nodes real.
pub(super) fn materialise(root: &Path, nodes: &Snapshot) {
    for (path, node) in nodes {
        write_node(&root.join(path), node);
    }
}

pub(super) fn write_node(full: &Path, node: &Node) {
    use std::fs::Permissions;
    match node {
        Node::File { bytes, mode } => {
            std::fs::write(full, bytes).unwrap();
            std::fs::set_permissions(full, Permissions::from_mode(*mode)).unwrap();
        }
        Node::Dir { mode } => {
            std::fs::create_dir(full).unwrap();
            std::fs::set_permissions(full, Permissions::from_mode(*mode)).unwrap();
        }
        Node::Link { target } => std::os::unix::fs::symlink(target, full).unwrap(),
        Node::Fifo => rustix::fs::mknodat(
            rustix::fs::CWD,
            full,
            rustix::fs::FileType::Fifo,
            rustix::fs::Mode::RUSR | rustix::fs::Mode::WUSR,
            0,
        )
        .unwrap(),
    }
}
