//! What the root of a project has, as far as contracts depend on it: for the choice of commands, and of what prepares a view.

use crate::files::regular;
use crate::model::contract::Contract;
use crate::work::contract::{ProjectFiles, changes_dependencies, setup_commands, setup_reason};
use crate::work::evidence::ChangeSet;
use std::path::Path;

const LARGEST: u64 = 4 << 20;
const MOST_NAMES: usize = 20_000;
/// Directories of dependencies, where no lock file says which.
const HEAVY: [&str; 5] = ["node_modules", ".venv", "venv", "vendor", "target"];

/// The names and the few texts that are needed.
pub fn project_files(root: &Path) -> ProjectFiles {
    let mut files = ProjectFiles::default();
    let entries = std::fs::read_dir(root).into_iter().flatten().flatten().take(MOST_NAMES);
    files.names.extend(entries.filter_map(|entry| entry.file_name().into_string().ok()));
    for name in ProjectFiles::WANTED {
        let bytes = regular::read(&root.join(name), LARGEST).ok();
        if let Some(text) = bytes.and_then(|bytes| String::from_utf8(bytes).ok()) {
            files.texts.insert(name.to_owned(), text);
        }
    }
    files
}

/// The commands that prepare a view with these changes; none if it has what the contract's commands need.
pub fn setup(contract: &Contract, root: &Path, changes: &ChangeSet) -> Vec<String> {
    let changed: Vec<String> = changes
        .files
        .iter()
        .filter(|file| changes_dependencies(&file.name(), file.text_before(), file.text_after()))
        .map(|file| file.name().into_owned())
        .collect();
    let changed: Vec<&str> = changed.iter().map(String::as_str).collect();
    let is_there = |directory: &str| root.join(directory).exists();
    let defaults = setup_commands(&project_files(root));
    let wanted = |setup: &_| setup_reason(setup, &changed, &is_there).is_some();
    if contract.setup.is_empty() {
        return defaults.iter().filter(|setup| wanted(setup)).map(|setup| setup.command.to_owned()).collect();
    }
    let is_missing = if defaults.is_empty() {
        !HEAVY.iter().any(|directory| is_there(directory))
    } else {
        defaults.iter().any(wanted)
    };
    if is_missing || !changed.is_empty() { contract.setup.clone() } else { Vec::new() }
}
