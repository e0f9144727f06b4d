//! Reads the JSON of one persona and the files that it names as a pack with one persona.

use super::contents::MANIFEST;
use super::directory;
use super::references::of_persona;
use super::tree::{Tree, clean_path};
use crate::load::file::{parse_object, text_of};
use anyhow::{Context, Result, bail};
use std::collections::BTreeSet;
use std::io::Read;
use std::path::Path;

/// The manifest of a pack with its personas at the top level.
const FLAT: &str = "{\"agentworkforce\": {\"personas\": \".\"}}";

pub fn read(file: &Path) -> Result<Tree> {
    let name = file.file_name().and_then(|name| name.to_str()).context("its name is not UTF-8")?;
    if name == MANIFEST {
        bail!("it is the manifest of a pack: name its directory instead");
    }
    let mut tree = Tree::default();
    let mut bytes = Vec::new();
    directory::open_file(file)?.take(tree.left() + 1).read_to_end(&mut bytes)?;
    // Problems of the JSON are reported later, with all others.
    let object = text_of(file, bytes.clone()).and_then(|text| parse_object(file, &text)).ok();
    let named = object.iter().flat_map(of_persona).filter_map(|reference| clean_path(&reference.path).ok());
    let named: BTreeSet<String> = named.filter(|path| !path.is_empty() && path != name).collect();
    let is_inside = |path: &&String| path.match_indices('/').any(|(at, _)| named.contains(&path[..at]));
    let whole: BTreeSet<String> = named.iter().filter(|path| !is_inside(path)).cloned().collect();
    tree.add_file(MANIFEST, FLAT.into(), false)?;
    tree.add_file(name, bytes, false)?;
    directory::read_some(file.parent().unwrap_or(Path::new("/")), &whole, &mut tree)?;
    tree.check()?;
    Ok(tree)
}
