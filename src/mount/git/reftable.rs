//! Reads branches out of the tables of a repository that keeps its refs in the format `reftable`, as files. It never runs git there,
//! and reads neither logs nor indexes.

use super::refs::Refs;
use crate::files::regular;
use crate::mount::fs::tree::Tree;
use std::collections::BTreeMap;
use std::ffi::{OsStr, OsString};
use std::fmt::Write;
use std::os::unix::ffi::OsStringExt;
use std::path::{Component, Path};

/// Git merges tables, so that there are few.
const MOST_TABLES: usize = 1024;
/// All tables in sum, and their list.
pub(super) const LARGEST: u64 = 64 << 20;
const LARGEST_LIST: u64 = 256 * 1024;
/// What follows the copy of the header at the end of a table.
pub(super) const FOOTER: usize = 44;
/// Names share their beginnings, so that a small table can have very long ones.
const LONGEST_NAME: usize = 1024;
const MOST_REFS: usize = 200_000;

/// What a name in a table stands for.
#[derive(Debug, Clone, PartialEq, Eq)]
enum Value {
    Deleted,
    Object(String),
    Other,
}

type Records = BTreeMap<Vec<u8>, Value>;

/// What there is to know of the refs of one side.
#[derive(Debug, Default, PartialEq, Eq)]
pub(crate) struct Tables {
    /// Those below `refs/`, by their whole names.
    pub(crate) refs: Refs,
    /// The commit that a detached `HEAD` is at.
    pub(crate) head: Option<String>,
}

impl Tables {
    fn stash(&self) -> Option<&String> {
        self.refs.get(OsStr::new("refs/stash"))
    }
}

/// The refs in the directory `reftable` below `dir`: tables that the agent's side does not have are those of the real one. `None` where
/// the agent's side has none of its own; an error where they cannot be read.
pub(crate) fn tables(agents: &Tree, real: Option<&Tree>, dir: &Path) -> Option<Result<Tables, String>> {
    let dir = dir.join("reftable");
    let list = agents.open_file(&dir.join("tables.list"));
    let Ok((file, _)) = list else {
        // Something else than a file is no list, and not nothing either.
        let is_there = agents.stat(&dir.join("tables.list")).ok().flatten().is_some();
        return is_there.then(|| Err("tables.list is not a file".to_owned()));
    };
    Some(regular::content(file, LARGEST_LIST).map_err(|error| error.to_string()).and_then(|list| {
        let list = String::from_utf8(list).map_err(|error| error.to_string())?;
        read_all(&list, |name| {
            let path = dir.join(name);
            let open = |tree: &Tree| tree.open_file(&path).ok();
            open(agents).or_else(|| real.and_then(open)).map(|(file, _)| file)
        })
    }))
}

/// Whether the agent's side has a stash that the real one does not have, or may have one.
pub(crate) fn has_new_stash(agents: &Tree, real: &Tree) -> bool {
    match tables(agents, Some(real), Path::new("")) {
        None => false,
        Some(Ok(found)) => {
            let theirs = tables(real, None, Path::new("")).and_then(Result::ok).unwrap_or_default();
            found.stash().is_some() && found.stash() != theirs.stash()
        }
        Some(Err(_)) => true,
    }
}

fn read_all(list: &str, open: impl Fn(&str) -> Option<std::fs::File>) -> Result<Tables, String> {
    let mut records = Records::new();
    let mut left = LARGEST;
    for (number, name) in list.lines().enumerate() {
        let is_name = matches!(Path::new(name).components().collect::<Vec<_>>()[..], [Component::Normal(_)]);
        if number >= MOST_TABLES || !is_name {
            return Err("tables.list is not one of git's".to_owned());
        }
        let file = open(name).ok_or_else(|| format!("{name} is missing"))?;
        let table = regular::content(file, left).map_err(|error| format!("{name}: {error}"))?;
        left -= table.len() as u64;
        read_table(&table, &mut records).ok_or_else(|| format!("{name} is not a table"))?;
    }
    let head = match records.get(&b"HEAD"[..]) {
        Some(Value::Object(object)) => Some(object.clone()),
        _ => None,
    };
    let refs = records.into_iter().filter_map(|(name, value)| match value {
        Value::Object(object) if name.starts_with(b"refs/") => Some((OsString::from_vec(name), object)),
        _ => None,
    });
    Ok(Tables { refs: refs.collect(), head })
}

/// How long the header of a table is, and a name of an object. `None` if it is no table.
pub(super) fn lengths(table: &[u8]) -> Option<(usize, usize)> {
    match table.get(..5)? {
        [b'R', b'E', b'F', b'T', 1] => Some((24, 20)),
        [b'R', b'E', b'F', b'T', 2] => match table.get(24..28)? {
            b"sha1" => Some((28, 20)),
            b"s256" => Some((28, 32)),
            _ => None,
        },
        _ => None,
    }
}

/// Adds what one table says to what older ones say. `None` if it is not one.
fn read_table(table: &[u8], refs: &mut Records) -> Option<()> {
    let (header, object) = lengths(table)?;
    let block_size = number(table.get(5..8)?);
    let end = table.len().checked_sub(header + FOOTER)?;
    let mut start = 0;
    // Blocks of refs come first; then those of indexes, objects and logs. The first one has the header in it.
    while start < end {
        let at = if start == 0 { header } else { start };
        if at >= end || table.get(at)? != &b'r' {
            break;
        }
        let length = number(table.get(at + 1..at + 4)?);
        let block = table.get(start..start.checked_add(length)?)?;
        let restarts = number(block.get(block.len().checked_sub(2)?..)?);
        let records = block.get(at - start + 4..block.len().checked_sub(2 + 3 * restarts)?)?;
        read_records(records, object, refs)?;
        // A block that is shorter is filled with zeros, or the next one follows at once.
        let is_filled = table.get(start + length).is_none_or(|byte| *byte == 0);
        start += if length < block_size && is_filled { block_size } else { length };
    }
    Some(())
}

fn read_records(mut records: &[u8], object: usize, refs: &mut Records) -> Option<()> {
    let mut name: Vec<u8> = Vec::new();
    while !records.is_empty() {
        let shared = varint(&mut records)?;
        let kind = varint(&mut records)?;
        let suffix = take(&mut records, kind >> 3)?;
        name.truncate(shared);
        if name.len() != shared || shared + suffix.len() > LONGEST_NAME || refs.len() >= MOST_REFS {
            return None;
        }
        name.extend_from_slice(suffix);
        varint(&mut records)?;
        let value = match kind & 7 {
            0 => Value::Deleted,
            1 => Value::Object(hex(take(&mut records, object)?)),
            // A tag and what it is a tag of.
            2 => {
                let value = hex(take(&mut records, object)?);
                take(&mut records, object)?;
                Value::Object(value)
            }
            3 => {
                let target = varint(&mut records)?;
                take(&mut records, target)?;
                Value::Other
            }
            _ => return None,
        };
        refs.insert(name.clone(), value);
    }
    Some(())
}

fn take<'a>(bytes: &mut &'a [u8], count: usize) -> Option<&'a [u8]> {
    let (taken, rest) = bytes.split_at_checked(count)?;
    *bytes = rest;
    Some(taken)
}

fn varint(bytes: &mut &[u8]) -> Option<usize> {
    let mut value: usize = 0;
    loop {
        let byte = usize::from(*take(bytes, 1)?.first()?);
        value |= byte & 0x7f;
        if byte & 0x80 == 0 {
            return Some(value);
        }
        value = value.checked_add(1)?.checked_mul(128)?;
    }
}

pub(super) fn number(bytes: &[u8]) -> usize {
    bytes.iter().fold(0, |value, byte| value << 8 | usize::from(*byte))
}

fn hex(bytes: &[u8]) -> String {
    bytes.iter().fold(String::new(), |mut text, byte| {
        let _ = write!(text, "{byte:02x}");
        text
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_is_no_table_is_refused_and_reading_it_ends() {
        let mut table = b"REFT\x01\x00\x10\x00".to_vec();
        table.extend([0; 16]);
        // A block that says that it is empty, over and over.
        table.extend(b"r\x00\x00\x00".repeat(40));
        for length in 0..table.len() {
            let _ = read_table(&table[..length], &mut Records::new());
        }
        assert_eq!(read_table(&table, &mut Records::new()), None);
        assert_eq!(read_table(b"REFT\x03", &mut Records::new()), None);
        assert_eq!(varint(&mut &[0xff; 20][..]), None);
    }
}
