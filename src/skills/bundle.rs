//! The files of one skill in memory, within limits. They are only data: nothing is executed.

use anyhow::{Context, Result, bail};
use std::collections::BTreeMap;
use std::fs;
use std::io::{Read, Write};
use std::os::unix::fs::{DirBuilderExt, OpenOptionsExt, PermissionsExt};
use std::path::{Component, Path, PathBuf};

pub const SKILL_FILE: &str = "SKILL.md";

/// Skills are texts with a few scripts; anything larger is a mistake.
const MAX_FILES: usize = 1_000;
pub const MAX_BYTES: u64 = 20 * 1024 * 1024;
const MAX_DEPTH: usize = 16;

#[allow(clippy::cast_possible_wrap, reason = "small bits")]
const OPEN_FLAGS: i32 = rustix::fs::OFlags::NOFOLLOW.union(rustix::fs::OFlags::NONBLOCK).bits() as i32;

#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct Bundle {
    pub files: BTreeMap<PathBuf, BundledFile>,
    bytes: u64,
}

#[derive(Debug, Clone, PartialEq, Eq)]
pub struct BundledFile {
    pub bytes: Vec<u8>,
    pub executable: bool,
}

/// A bundle, and the files that were left out because they are hidden from agents.
#[derive(Debug)]
pub struct CollectedFiles {
    pub bundle: Bundle,
    pub hidden: Vec<PathBuf>,
}

impl Bundle {
    /// A skill that is a single text.
    pub fn of_text(bytes: Vec<u8>) -> Result<Bundle> {
        let mut bundle = Bundle::default();
        bundle.add(PathBuf::from(SKILL_FILE), bytes, false)?;
        Ok(bundle)
    }

    /// Everything below a directory. Links are followed inside of it and refused outside; `is_hidden` gets the real
    /// path of every file and directory.
    pub fn of_directory(dir: &Path, is_hidden: &dyn Fn(&Path, bool) -> bool) -> Result<CollectedFiles> {
        let root = dir.canonicalize().with_context(|| dir.display().to_string())?;
        let mut walk = Walk { root: &root, is_hidden, bundle: Bundle::default(), hidden: Vec::new() };
        walk.directory(&root, Path::new(""), 0)?;
        walk.bundle.normalise_skill_file();
        Ok(CollectedFiles { bundle: walk.bundle, hidden: walk.hidden })
    }

    pub fn add(&mut self, path: PathBuf, bytes: Vec<u8>, executable: bool) -> Result<()> {
        let is_plain = path.components().all(|part| matches!(part, Component::Normal(_)));
        if !is_plain || path.as_os_str().is_empty() {
            bail!("`{}` is not a path in the skill", path.display());
        }
        self.bytes += bytes.len() as u64;
        if self.files.len() >= MAX_FILES {
            bail!("it has more than {MAX_FILES} files");
        }
        if self.bytes > MAX_BYTES {
            bail!("it is larger than {} MB", MAX_BYTES / 1024 / 1024);
        }
        self.files.insert(path, BundledFile { bytes, executable });
        Ok(())
    }

    /// Renames `skill.md` and the like to the exact name that harnesses require.
    pub fn normalise_skill_file(&mut self) {
        if self.files.contains_key(Path::new(SKILL_FILE)) {
            return;
        }
        let other = self.files.keys().find(|path| is_skill_file(path)).cloned();
        if let Some(file) = other.and_then(|path| self.files.remove(&path)) {
            self.files.insert(PathBuf::from(SKILL_FILE), file);
        }
    }

    /// The content of SKILL.md.
    pub fn text(&self) -> Option<&[u8]> {
        self.files.get(Path::new(SKILL_FILE)).map(|file| file.bytes.as_slice())
    }

    /// The hash of the content: paths, executable bits and bytes, each with its length.
    pub fn hash(&self) -> String {
        let mut hasher = blake3::Hasher::new();
        for (path, file) in &self.files {
            let path = path.as_os_str().as_encoded_bytes();
            for part in [path, &[u8::from(file.executable)], &file.bytes] {
                hasher.update(&(part.len() as u64).to_le_bytes());
                hasher.update(part);
            }
        }
        hasher.finalize().to_hex().to_string()
    }

    /// Writes the files below a directory that only this user can read.
    pub fn write_to(&self, dir: &Path) -> std::io::Result<()> {
        let make = |dir: &Path| fs::DirBuilder::new().recursive(true).mode(0o700).create(dir);
        make(dir)?;
        for (path, file) in &self.files {
            let target = dir.join(path);
            make(target.parent().unwrap_or(dir))?;
            let mode = if file.executable { 0o700 } else { 0o600 };
            let mut out = fs::OpenOptions::new().write(true).create_new(true).mode(mode).open(&target)?;
            out.write_all(&file.bytes)?;
        }
        Ok(())
    }
}

/// Whether a path relative to a skill is its SKILL.md, in whatever case.
pub fn is_skill_file(path: &Path) -> bool {
    path.to_str().is_some_and(|name| name.eq_ignore_ascii_case(SKILL_FILE))
}

struct Walk<'a> {
    root: &'a Path,
    is_hidden: &'a dyn Fn(&Path, bool) -> bool,
    bundle: Bundle,
    hidden: Vec<PathBuf>,
}

impl Walk<'_> {
    fn directory(&mut self, real: &Path, relative: &Path, depth: usize) -> Result<()> {
        if depth > MAX_DEPTH {
            bail!("`{}` is more than {MAX_DEPTH} directories deep", relative.display());
        }
        let mut names: Vec<_> = fs::read_dir(real)
            .and_then(|entries| entries.map(|entry| entry.map(|entry| entry.file_name())).collect())
            .with_context(|| format!("`{}` cannot be read", real.display()))?;
        names.sort();
        for name in names {
            // The history of a repository is not a part of the skill.
            if name == ".git" {
                continue;
            }
            self.entry(&real.join(&name), &relative.join(&name), depth)?;
        }
        Ok(())
    }

    fn entry(&mut self, path: &Path, relative: &Path, depth: usize) -> Result<()> {
        let shown = relative.display();
        let mut real = path.to_owned();
        let mut metadata = path.symlink_metadata().with_context(|| format!("`{shown}` cannot be read"))?;
        if metadata.is_symlink() {
            real = path.canonicalize().with_context(|| format!("the link `{shown}` leads nowhere"))?;
            if !real.starts_with(self.root) {
                bail!("the link `{shown}` leads out of the skill");
            }
            if path.starts_with(&real) {
                bail!("the link `{shown}` leads back to a directory that it is in");
            }
            metadata = real.symlink_metadata()?;
        }
        if (self.is_hidden)(&real, metadata.is_dir()) {
            self.hidden.push(relative.to_owned());
            return Ok(());
        }
        if metadata.is_dir() {
            return self.directory(&real, relative, depth + 1);
        }
        let (bytes, mode) = read_file(&real).with_context(|| format!("`{shown}` cannot be read"))?;
        self.bundle.add(relative.to_owned(), bytes, mode & 0o111 != 0)
    }
}

/// Reads a regular file up to the size limit.
pub fn read_file(path: &Path) -> Result<(Vec<u8>, u32)> {
    let mut options = fs::OpenOptions::new();
    let file = options.read(true).custom_flags(OPEN_FLAGS).open(path)?;
    let metadata = file.metadata()?;
    if !metadata.is_file() {
        bail!("it is neither a file nor a directory");
    }
    let mut bytes = Vec::new();
    file.take(MAX_BYTES + 1).read_to_end(&mut bytes)?;
    Ok((bytes, metadata.permissions().mode()))
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::os::unix::fs::symlink;

    fn all(dir: &Path) -> Result<Bundle> {
        Bundle::of_directory(dir, &|_, _| false).map(|collected| collected.bundle)
    }

    fn skill() -> tempfile::TempDir {
        let dir = tempfile::tempdir().unwrap();
        fs::create_dir_all(dir.path().join("references")).unwrap();
        fs::write(dir.path().join("SKILL.md"), "# s").unwrap();
        fs::write(dir.path().join("references/a.md"), "a").unwrap();
        dir
    }

    fn names(bundle: &Bundle) -> Vec<String> {
        bundle.files.keys().map(|path| path.display().to_string()).collect()
    }

    #[test]
    fn a_directory_comes_back_as_it_was_written() {
        let dir = skill();
        fs::set_permissions(dir.path().join("references/a.md"), fs::Permissions::from_mode(0o755)).unwrap();
        fs::create_dir(dir.path().join(".git")).unwrap();
        fs::write(dir.path().join(".git/config"), "x").unwrap();
        let bundle = all(dir.path()).unwrap();
        assert_eq!(names(&bundle), ["SKILL.md", "references/a.md"]);
        let copy = dir.path().join("copy");
        bundle.write_to(&copy).unwrap();
        let again = all(&copy).unwrap();
        assert_eq!((again.hash(), &again), (bundle.hash(), &bundle));
        assert!(again.files[Path::new("references/a.md")].executable);
    }

    #[test]
    fn the_hash_tells_every_difference() {
        let mut hashes = Vec::new();
        for (path, bytes, executable) in
            [("a", "bc", false), ("ab", "c", false), ("a", "bc", true), ("a", "bd", false)]
        {
            let mut bundle = Bundle::default();
            bundle.add(path.into(), bytes.into(), executable).unwrap();
            hashes.push(bundle.hash());
        }
        hashes.sort();
        hashes.dedup();
        assert_eq!(hashes.len(), 4);
    }

    #[test]
    fn links_are_followed_inside_and_refused_outside() {
        let dir = skill();
        symlink("references/a.md", dir.path().join("in.md")).unwrap();
        assert_eq!(all(dir.path()).unwrap().files[Path::new("in.md")].bytes, b"a");
        for (target, says) in [
            ("/etc/passwd", "leads out of the skill"),
            ("../..", "leads out of the skill"),
            ("nowhere", "leads nowhere"),
            (".", "leads back"),
        ] {
            let link = dir.path().join("link");
            symlink(target, &link).unwrap();
            let error = format!("{:#}", all(dir.path()).unwrap_err());
            assert!(error.contains(says), "{target}: {error}");
            fs::remove_file(&link).unwrap();
        }
    }

    #[test]
    fn a_fifo_is_refused_and_not_waited_for() {
        let dir = skill();
        let fifo = dir.path().join("fifo");
        rustix::fs::mknodat(
            rustix::fs::CWD,
            &fifo,
            rustix::fs::FileType::Fifo,
            rustix::fs::Mode::from_raw_mode(0o600),
            0,
        )
        .unwrap();
        assert!(format!("{:#}", all(dir.path()).unwrap_err()).contains("neither a file nor a directory"));
    }

    #[test]
    fn hidden_files_are_left_out_and_listed() {
        let dir = skill();
        fs::write(dir.path().join(".env"), "x").unwrap();
        let hides = |path: &Path, _: bool| path.file_name().is_some_and(|name| name == ".env");
        let collected = Bundle::of_directory(dir.path(), &hides).unwrap();
        assert_eq!(names(&collected.bundle), ["SKILL.md", "references/a.md"]);
        assert_eq!(collected.hidden, [PathBuf::from(".env")]);
    }

    #[test]
    fn limits_hold() {
        let mut bundle = Bundle::default();
        let large = vec![0; usize::try_from(MAX_BYTES).unwrap()];
        bundle.add("a".into(), large, false).unwrap();
        assert!(bundle.add("b".into(), vec![0], false).is_err());
        for path in ["../a", "/a", ""] {
            assert!(Bundle::default().add(path.into(), Vec::new(), false).is_err(), "{path}");
        }
        let mut bundle = Bundle::default();
        for number in 0..MAX_FILES {
            bundle.add(number.to_string().into(), Vec::new(), false).unwrap();
        }
        assert!(bundle.add("more".into(), Vec::new(), false).is_err());
    }

    #[test]
    fn the_case_of_the_skill_file_is_settled() {
        let dir = tempfile::tempdir().unwrap();
        fs::write(dir.path().join("Skill.md"), "x").unwrap();
        assert_eq!(all(dir.path()).unwrap().text(), Some(&b"x"[..]));
    }
}
