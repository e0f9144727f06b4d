//! Writes a pack as an archive like npm's. The same files always give the same bytes.

use super::tree::Tree;
use anyhow::{Context, Result};
use flate2::{Compression, GzBuilder};
use std::io::Write;

/// The archive of these paths of the pack and of `generated` files.
pub fn write(tree: &Tree, paths: &[String], generated: &[(String, Vec<u8>)]) -> Result<Vec<u8>> {
    let zipped = GzBuilder::new().mtime(0).write(Vec::new(), Compression::best());
    let mut archive = tar::Builder::new(zipped);
    for (path, bytes) in generated {
        add(&mut archive, path, bytes, false)?;
    }
    for path in paths {
        let file = tree.file(path).with_context(|| format!("there is no `{path}` in the pack"))?;
        add(&mut archive, path, &file.bytes, file.executable)?;
    }
    Ok(archive.into_inner()?.finish()?)
}

/// Reads the archive as an install does.
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
