//! Writes a pack as the archive that npm would make of it: the same bytes for the same files, whenever and by whom.

use super::tree::Tree;
use anyhow::{Context, Result};
use flate2::{Compression, GzBuilder};
use std::io::Write;

/// The files at these paths of the pack, and `made` ones that it has not.
pub fn write(tree: &Tree, paths: &[String], made: &[(String, Vec<u8>)]) -> Result<Vec<u8>> {
    let zipped = GzBuilder::new().mtime(0).write(Vec::new(), Compression::best());
    let mut archive = tar::Builder::new(zipped);
    for (path, bytes) in made {
        add(&mut archive, path, bytes, false)?;
    }
    for path in paths {
        let file = tree.file(path).with_context(|| format!("there is no `{path}` in the pack"))?;
        add(&mut archive, path, &file.bytes, file.executable)?;
    }
    Ok(archive.into_inner()?.finish()?)
}

/// What an install would read out of it.
pub fn read_back(bytes: &[u8]) -> Result<Tree> {
    super::archive::read(bytes)
}

fn add(archive: &mut tar::Builder<impl Write>, path: &str, bytes: &[u8], executable: bool) -> Result<()> {
    let mut header = tar::Header::new_gnu();
    header.set_size(bytes.len() as u64);
    header.set_mode(if executable { 0o755 } else { 0o644 });
    header.set_mtime(0);
    archive.append_data(&mut header, format!("package/{path}"), bytes)?;
    Ok(())
}
