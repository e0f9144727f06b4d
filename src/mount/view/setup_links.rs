//! Decides which links and plugins of the repository's own setup must not be shown. A harness reads these files unasked, so a link must
//! not lead to a secret, out of the project, to settings, or to an uncleaned command or skill. It reads links and changes nothing.

use crate::mount::fs::walk::Kind;
use crate::rules::inherit::{is_instruction_file, is_plugin, is_text};
use crate::rules::{Decision, PathRules};
use std::ffi::OsString;
use std::path::{Component, Path, PathBuf};

/// As many as the kernel would follow.
const MOST_LINKS: usize = 40;

pub(super) struct SetupLinks<'a> {
    root: &'a Path,
    rules: &'a PathRules,
}

impl<'a> SetupLinks<'a> {
    pub(super) fn new(root: &'a Path, rules: &'a PathRules) -> SetupLinks<'a> {
        SetupLinks { root, rules }
    }

    /// Whether something that the rules show is a plugin among commands and skills, or a link that leads to what is no part of the
    /// setup. Instructions may be any file of the project that the agent may see. Commands and skills are cleaned where they are:
    /// a link among them may lead to others that are, and under no name that makes more of a file than was cleaned.
    pub(super) fn must_be_hidden(&self, path: &Path, kind: Kind, decision: &Decision) -> bool {
        if !decision.is_inherited() {
            return false;
        }
        let is_cleaned = self.rules.is_cleaned(path);
        if is_cleaned && is_plugin(path) {
            return true;
        }
        kind == Kind::Symlink && !self.may_lead(path, is_cleaned)
    }

    fn may_lead(&self, link: &Path, is_cleaned: bool) -> bool {
        let Some(inside) = behind(self.root, link) else { return false };
        let Ok(found) = self.root.join(&inside).symlink_metadata() else { return false };
        let target = self.rules.decide(&inside, found.is_dir());
        if inside.components().any(|part| part.as_os_str() == ".git") {
            return false;
        }
        if is_cleaned {
            let keeps_its_kind = found.is_dir() || (found.is_file() && (is_text(&inside) || !is_text(link)));
            return target.is_inherited() && self.rules.is_cleaned(&inside) && keeps_its_kind;
        }
        target.is_inherited() || (is_instruction_file(link) && !target.is_hidden())
    }
}

/// Where a link leads, relative to the root, following only relative links that stay inside. In a copy, an absolute link leads to the
/// project itself, past everything that was hidden or cleaned.
fn behind(root: &Path, link: &Path) -> Option<PathBuf> {
    let parts = |path: &Path| -> Option<Vec<OsString>> {
        let name = |part: Component| match part {
            Component::Normal(name) => Some(name.to_owned()),
            Component::CurDir => Some(".".into()),
            Component::ParentDir => Some("..".into()),
            Component::RootDir | Component::Prefix(_) => None,
        };
        path.components().rev().map(name).collect()
    };
    let mut pending = parts(link)?;
    let mut real = PathBuf::new();
    let mut links = 0;
    while let Some(name) = pending.pop() {
        if name == "." {
            continue;
        }
        if name == ".." {
            if !real.pop() {
                return None;
            }
            continue;
        }
        let next = real.join(&name);
        if root.join(&next).symlink_metadata().ok()?.is_symlink() {
            links += 1;
            if links > MOST_LINKS {
                return None;
            }
            pending.extend(parts(&root.join(&next).read_link().ok()?)?);
        } else {
            real = next;
        }
    }
    Some(real)
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::fs;
    use std::os::unix::fs::symlink;

    #[test]
    fn a_link_is_followed_inside_of_the_root_only() {
        let dir = tempfile::tempdir().unwrap();
        let root = dir.path().join("root");
        fs::create_dir_all(root.join("a/b")).unwrap();
        fs::write(root.join("a/b/file"), "").unwrap();
        let link = |target: &str, name: &str| symlink(target, root.join(name)).unwrap();
        link("b/../b/file", "a/plain");
        link("a/b", "dir");
        link("dir/../plain", "chain");
        link("../root/a", "out-and-in");
        link(root.join("a").to_str().unwrap(), "absolute");
        link("absolute/plain", "behind-absolute");
        link("itself", "itself");
        link("nowhere", "nowhere-link");
        let to = |name: &str| behind(&root, Path::new(name));
        assert_eq!(to("a/plain"), Some("a/b/file".into()));
        assert_eq!(to("dir"), Some("a/b".into()));
        assert_eq!(to("chain"), Some("a/b/file".into()));
        for stray in ["out-and-in", "absolute", "behind-absolute", "itself", "nowhere-link"] {
            assert_eq!(to(stray), None, "{stray}");
        }
    }
}
