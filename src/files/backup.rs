//! Moves files aside instead of deleting them, so that a reset or a delete can be undone by hand.

use super::error::cannot_write;
use crate::host::Host;
use anyhow::Result;
use std::path::{Path, PathBuf};

/// Moves these files into a new directory under `<home>/backups`, each under its own name. Returns that directory.
pub fn move_aside(host: &Host, home: &Path, what: &str, files: &[PathBuf]) -> Result<PathBuf> {
    let time = host.now().strftime("%Y%m%dT%H%M%SZ").to_string();
    let dir = home.join("backups").join(format!("{time}-{what}-{}", host.random_hex(6)?));
    std::fs::create_dir_all(&dir).map_err(|error| cannot_write(&dir, error))?;
    for (index, file) in files.iter().enumerate() {
        let name = file.file_name().unwrap_or_default();
        let mut target = dir.join(name);
        if target.symlink_metadata().is_ok() {
            target = dir.join(format!("{index}-{}", name.to_string_lossy()));
        }
        move_path(file, &target).map_err(|error| cannot_write(file, error))?;
    }
    Ok(dir)
}

/// Copies files into such a directory, each under a path inside it. They stay where they are.
pub fn copy_aside(host: &Host, home: &Path, what: &str, files: &[(PathBuf, PathBuf)]) -> Result<PathBuf> {
    let time = host.now().strftime("%Y%m%dT%H%M%SZ").to_string();
    let dir = home.join("backups").join(format!("{time}-{what}-{}", host.random_hex(6)?));
    for (file, inside) in files {
        let target = dir.join(inside);
        let parent = target.parent().unwrap_or(&dir);
        let copied = std::fs::create_dir_all(parent).and_then(|()| std::fs::copy(file, &target));
        copied.map_err(|error| cannot_write(&target, error))?;
    }
    Ok(dir)
}

/// Across filesystems a rename is a copy and then a removal.
fn move_path(from: &Path, to: &Path) -> std::io::Result<()> {
    match std::fs::rename(from, to) {
        Err(error) if error.kind() == std::io::ErrorKind::CrossesDevices => {
            copy_all(from, to)?;
            if from.is_dir() { std::fs::remove_dir_all(from) } else { std::fs::remove_file(from) }
        }
        result => result,
    }
}

fn copy_all(from: &Path, to: &Path) -> std::io::Result<()> {
    if !from.is_dir() {
        return std::fs::copy(from, to).map(|_| ());
    }
    std::fs::create_dir_all(to)?;
    for entry in std::fs::read_dir(from)? {
        let entry = entry?;
        copy_all(&entry.path(), &to.join(entry.file_name()))?;
    }
    Ok(())
}
