//! The project at launch as evidence: its paths, and the texts that checks look at besides the changed files.

use crate::work::evidence::{Base, ChangeSet};
use crate::work::path_kind::{extension, is_cache, is_code, is_dependency_manifest, is_runner_configuration};
use std::collections::{BTreeMap, BTreeSet};
use std::sync::Arc;

/// Longer files are not looked at.
const LARGEST_TEXT: u64 = 512 << 10;
/// Configuration files, and files of code.
const MOST_CONFIGURATIONS: usize = 400;
const MOST_CODE: usize = 1500;

/// Reads the texts of paths, up to a length.
pub type ReadTexts<'a> = &'a dyn Fn(&[&str], u64) -> BTreeMap<String, Arc<str>>;

/// Reads what is needed with `read`, which leaves out what is no text. `named` are the paths of spec and plan file.
pub fn base(paths: BTreeSet<String>, named: &[&str], changes: &ChangeSet, read: ReadTexts<'_>) -> Base {
    let is_configuration = |path: &&String| is_dependency_manifest(path) || is_runner_configuration(path);
    let mut wanted: BTreeSet<&str> =
        paths.iter().filter(is_configuration).take(MOST_CONFIGURATIONS).map(String::as_str).collect();
    wanted.extend(named.iter().filter(|path| paths.contains(**path)));
    let changed: BTreeSet<_> = changes.files.iter().map(|file| file.name().into_owned()).collect();
    wanted.extend(paths.iter().filter(|path| changed.contains(*path)).map(String::as_str));
    let languages: BTreeSet<String> = changes
        .files
        .iter()
        .filter(|file| file.after.is_some() && is_code(&file.name()))
        .map(|file| extension(&file.name()))
        .collect();
    let code: Vec<&str> = paths
        .iter()
        .filter(|path| languages.contains(&extension(path)) && !is_cache(path))
        .map(String::as_str)
        .collect();
    let is_readable = code.len() <= MOST_CODE;
    if is_readable {
        wanted.extend(&code);
    }
    let wanted: Vec<&str> = wanted.into_iter().collect();
    let texts = read(&wanted, LARGEST_TEXT);
    let has_all_code = is_readable && code.iter().all(|path| texts.contains_key(*path));
    Base { paths: Arc::new(paths), texts, has_all_code }
}
