//! The part of a patch that is about one file: names, modes, ids, and the way from one content to the other.

use super::names::quoted;
use super::{binary, hunks};
use crate::mount::git::blob::{Blob, ObjectFormat};
use std::io::{self, Write};
use std::path::Path;
use std::time::Instant;

/// One side of a file.
pub(super) struct Side {
    /// As git has it: one of three.
    mode: &'static str,
    pub(super) blob: Blob,
}

const LINK: &str = "120000";

impl Side {
    /// Of the permissions git has one bit.
    pub(super) fn file(blob: Blob, mode: u32) -> Side {
        Side { mode: if mode & 0o100 == 0 { "100644" } else { "100755" }, blob }
    }

    pub(super) fn link(target: Vec<u8>) -> Side {
        Side { mode: LINK, blob: Blob::Bytes(target) }
    }

    pub(super) fn is_link(&self) -> bool {
        self.mode == LINK
    }
}

/// From nothing, to nothing, or from one to the other. Writes nothing if git sees no difference. After the deadline lines are
/// compared in a coarser way.
pub(super) fn write_section(
    format: ObjectFormat,
    old: Option<(&Path, &Side)>,
    new: Option<(&Path, &Side)>,
    deadline: Instant,
    out: &mut dyn Write,
) -> io::Result<()> {
    let id = |side: Option<(&Path, &Side)>| side.map_or(Ok(format.null()), |(_, side)| side.blob.id(format));
    let (old_id, new_id) = (id(old)?, id(new)?);
    let (Some((old_path, _)), Some((new_path, _))) = (old.or(new), new.or(old)) else { return Ok(()) };
    let (is_moved, is_same) = (old_path != new_path, old_id == new_id);
    let mut kept_mode = None;
    let mut head = format!("diff --git {} {}\n", quoted("a/", old_path), quoted("b/", new_path));
    match (old, new) {
        (None, Some((_, new))) => head += &format!("new file mode {}\n", new.mode),
        (Some((_, old)), None) => head += &format!("deleted file mode {}\n", old.mode),
        (Some((_, old)), Some((_, new))) if old.mode != new.mode => {
            head += &format!("old mode {}\nnew mode {}\n", old.mode, new.mode);
        }
        _ if is_same && !is_moved => return Ok(()),
        (Some((_, old)), _) => kept_mode = Some(old.mode),
        (None, None) => {}
    }
    if is_moved {
        head += &format!(
            "similarity index 100%\nrename from {}\nrename to {}\n",
            quoted("", old_path),
            quoted("", new_path)
        );
    }
    if !is_same {
        let mode = kept_mode.map(|mode| format!(" {mode}")).unwrap_or_default();
        head += &format!("index {old_id}..{new_id}{mode}\n");
    }
    out.write_all(head.as_bytes())?;
    if is_same {
        return Ok(());
    }
    let nothing = Blob::Bytes(Vec::new());
    let old_blob = old.map_or(&nothing, |(_, side)| &side.blob);
    let new_blob = new.map_or(&nothing, |(_, side)| &side.blob);
    match (old_blob.text(), new_blob.text()) {
        // An empty file comes or goes with its header alone.
        (Some(b""), Some(b"")) => Ok(()),
        (Some(before), Some(after)) => {
            let label = |side: Option<(&Path, &Side)>, prefix: &str| {
                side.map_or("/dev/null".to_owned(), |(path, _)| quoted(prefix, path))
            };
            writeln!(out, "--- {}\n+++ {}", label(old, "a/"), label(new, "b/"))?;
            hunks::write(before, after, deadline, out)
        }
        _ => binary::write(old_blob, new_blob, out),
    }
}
