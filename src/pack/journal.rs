//! The content of files before they are changed one by one, stored beside the personas until the change is complete. After
//! a killed process the next one restores them. The journal is in the project, so anybody may have written it: it is
//! followed only to places where packs write, and only where a file is what the killed process made of it.

use super::contents::ROLES_PREFIX;
use super::decide::OnDisk;
use super::edits::{Edits, remove, replace};
use super::lockfile::fingerprint_of;
use super::target::Target;
use super::tree::{File, clean_path};
use serde::{Deserialize, Serialize};
use std::io;
use std::os::unix::fs::PermissionsExt;

pub const JOURNAL: &str = ".agentworkforce-journal";

#[derive(Debug, Default, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub struct Journal {
    schema_version: u64,
    changes: Vec<Change>,
}

#[derive(Debug, Serialize, Deserialize)]
struct Change {
    path: String,
    /// The old content; `None`: there was no file.
    before: Option<Content>,
    /// The fingerprint of the new content; `None`: the file is removed.
    after: Option<String>,
}

#[derive(Debug, Serialize, Deserialize)]
struct Content {
    hex: String,
    executable: bool,
}

impl Journal {
    /// The state before these edits.
    pub fn of(target: &Target, edits: &[&Edits]) -> io::Result<Journal> {
        let mut journal = Journal { schema_version: 1, changes: Vec::new() };
        let writes = edits.iter().flat_map(|edits| &edits.writes);
        let writes = writes.map(|(path, file)| (path, Some(fingerprint_of(file))));
        let removes = edits.iter().flat_map(|edits| &edits.removes).map(|path| (path, None));
        for (path, after) in writes.chain(removes) {
            let place = target.path(path);
            let before = match std::fs::read(&place) {
                Ok(bytes) => {
                    let executable = place.metadata()?.permissions().mode() & 0o111 != 0;
                    Some(Content { hex: to_hex(&bytes), executable })
                }
                Err(error) if error.kind() == io::ErrorKind::NotFound => None,
                Err(error) => return Err(error),
            };
            journal.changes.push(Change { path: path.clone(), before, after });
        }
        Ok(journal)
    }

    /// Writes it to disk. Called before any of the files is changed.
    pub fn write(&self, target: &Target) -> io::Result<()> {
        let bytes = serde_json::to_vec(self).map_err(io::Error::other)?;
        replace(&target.personas.join(JOURNAL), &File { bytes: bytes.into(), executable: false })?;
        std::fs::File::open(&target.personas)?.sync_all()
    }

    /// Restores every file that is still as it was changed. What somebody else wrote since then is left alone.
    pub fn roll_back(&self, target: &Target) {
        for Change { path, before, after } in self.changes.iter().rev() {
            let expected = after.clone().map_or(OnDisk::Missing, OnDisk::File);
            if !is_inside(path) || target.on_disk(path) != expected {
                continue;
            }
            let (dir, inside) = target.split(path);
            // Nothing else can be tried where this fails.
            let _ = match before {
                Some(Content { hex, executable }) => {
                    let place = dir.join(inside);
                    let parent = place.parent().unwrap_or(dir);
                    let file =
                        from_hex(hex).map(|bytes| File { bytes: bytes.into(), executable: *executable });
                    std::fs::create_dir_all(parent)
                        .and_then(|()| file.map_or(Ok(()), |file| replace(&place, &file)))
                }
                None => remove(dir, inside),
            };
        }
        // Removes the directory only if it is empty, because it was made for these roles.
        let _ = std::fs::remove_dir(&target.roles);
    }

    pub fn remove(target: &Target) -> io::Result<()> {
        std::fs::remove_file(target.personas.join(JOURNAL))
    }

    /// The journal of a killed process, if there is one.
    pub fn read(target: &Target) -> Option<Journal> {
        let path = target.personas.join(JOURNAL);
        let is_file = path.symlink_metadata().is_ok_and(|found| found.is_file());
        let bytes = is_file.then(|| std::fs::read(&path).ok()).flatten()?;
        // Ours are written in one step, so an invalid one is not ours.
        Some(serde_json::from_slice(&bytes).unwrap_or_default())
    }
}

/// Whether a pack may write to this path.
fn is_inside(path: &str) -> bool {
    let inside = path.strip_prefix(ROLES_PREFIX).unwrap_or(path);
    clean_path(inside).is_ok_and(|clean| clean == inside && !clean.is_empty())
}

fn to_hex(bytes: &[u8]) -> String {
    const DIGITS: &[u8; 16] = b"0123456789abcdef";
    let digit = |value: u8| char::from(DIGITS[usize::from(value)]);
    bytes.iter().flat_map(|byte| [digit(byte >> 4), digit(byte & 15)]).collect()
}

fn from_hex(text: &str) -> Option<Vec<u8>> {
    let digits: Option<Vec<u8>> =
        text.chars().map(|c| c.to_digit(16).and_then(|digit| u8::try_from(digit).ok())).collect();
    let digits = digits.filter(|digits| digits.len().is_multiple_of(2))?;
    Some(digits.chunks(2).map(|pair| pair[0] << 4 | pair[1]).collect())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn bytes_survive_the_encoding() {
        let all: Vec<u8> = (0..=255).collect();
        assert_eq!(from_hex(&to_hex(&all)), Some(all));
        assert_eq!((from_hex("a"), from_hex("zz")), (None, None));
    }

    #[test]
    fn only_paths_of_packs_are_followed() {
        for good in ["a.json", "a__assets/x.md", "../roles/r.json"] {
            assert!(is_inside(good), "{good}");
        }
        for bad in ["../x", "/etc/passwd", "a/../../x", "../roles/../x", "", "../roles/"] {
            assert!(!is_inside(bad), "{bad}");
        }
    }
}
