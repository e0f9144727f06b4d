//! The files that one persona or role names, each with its path in the directory `<id>__assets`. Writes nothing.

use super::references::{Reference, ReferenceKind, is_file_url};
use super::tree::{File, Tree, basename, clean_path, join, parent};
use sha2::{Digest, Sha256};
use std::collections::BTreeMap;

const SKILL_FILE: &str = "SKILL.md";

/// A single file (its path is empty), or the files of a directory by their relative paths.
type Content = BTreeMap<String, File>;

pub struct Assets<'a> {
    tree: &'a Tree,
    /// `<id>__assets`.
    dir: String,
    taken: Vec<(String, Content)>,
    /// The paths of these files in the pack.
    pub origins: Vec<String>,
}

/// The SHA-256 of the content in hexadecimal, for names and for the lock.
pub fn hash(bytes: &[u8]) -> String {
    format!("{:x}", Sha256::digest(bytes))
}

impl<'a> Assets<'a> {
    pub fn new(tree: &'a Tree, owner: &str) -> Assets<'a> {
        Assets { tree, dir: format!("{owner}__assets"), taken: Vec::new(), origins: Vec::new() }
    }

    /// Adds the file that a reference in this JSON names, and returns its new path.
    pub fn take(&mut self, reference: &Reference, json: &str) -> Result<String, String> {
        let path = path_in_pack(&reference.path).map_err(|reason| match self.suggestion(reference) {
            Some(path) => format!("{reason}; write `./{path}`, relative to the root of the pack"),
            None => reason,
        })?;
        let (name, content) = match reference.kind {
            ReferenceKind::Text => self.text(&join(parent(json), &path))?,
            ReferenceKind::Skill => self.skill(&path, json)?,
        };
        let is_directory = !content.contains_key("");
        let name = self.unique_name(&name, content);
        let place = join(&self.dir, &name);
        // Without the dot, `a/b` would be read as a package.
        Ok(if is_directory { format!("./{place}") } else { place })
    }

    /// The existing skill that a path starting with `..` would name if it were relative to the pack.
    fn suggestion(&self, reference: &Reference) -> Option<String> {
        let path = clean_path(reference.path.trim_start_matches("./").trim_start_matches("../")).ok()?;
        let is_there = self.tree.is_dir(&path) || self.tree.file(&path).is_some();
        (reference.kind == ReferenceKind::Skill
            && reference.path.contains("..")
            && !path.is_empty()
            && is_there)
            .then_some(path)
    }

    /// All files by their new paths.
    pub fn files(self) -> impl Iterator<Item = (String, File)> {
        let dir = self.dir;
        self.taken.into_iter().flat_map(move |(name, content)| {
            let place = join(&dir, &name);
            let files: Vec<(String, File)> = content
                .into_iter()
                .map(|(path, file)| (if path.is_empty() { place.clone() } else { join(&place, &path) }, file))
                .collect();
            files
        })
    }

    fn text(&mut self, path: &str) -> Result<(String, Content), String> {
        let Some(file) = self.tree.file(path) else {
            return Err(format!("there is no `{path}` in the pack"));
        };
        if std::str::from_utf8(&file.bytes).is_err() {
            return Err(format!("`{path}` is not UTF-8 text"));
        }
        self.origins.push(path.to_owned());
        Ok((basename(path).to_owned(), Content::from([(String::new(), file.clone())])))
    }

    /// Relative to the persona's file, else to the pack.
    fn skill(&mut self, path: &str, json: &str) -> Result<(String, Content), String> {
        if path.is_empty() {
            return Err("names the whole directory, not a skill".into());
        }
        let beside = join(parent(json), path);
        let exists = |path: &&String| self.tree.file(path).is_some() || self.tree.is_dir(path);
        let Some(found) = [&beside, &path.to_owned()].into_iter().find(exists).cloned() else {
            return Err(format!("there is no `{path}` in the pack"));
        };
        if self.tree.file(&found).is_none() {
            return self.skill_directory(&found);
        }
        if basename(&found).eq_ignore_ascii_case(SKILL_FILE) {
            // The files beside it belong to the skill, but at the root of the pack they do not.
            return match parent(&found) {
                "" => {
                    let (_, content) = self.text(&found)?;
                    let content = content.into_values().map(|file| (SKILL_FILE.to_owned(), file));
                    Ok(("skill".to_owned(), content.collect()))
                }
                dir => self.skill_directory(dir),
            };
        }
        if !found.to_ascii_lowercase().ends_with(".md") {
            return Err(format!("`{found}` is neither a directory with {SKILL_FILE} nor a `.md`"));
        }
        self.text(&found)
    }

    fn skill_directory(&mut self, dir: &str) -> Result<(String, Content), String> {
        if let Some(link) = self.tree.broken_link_below(dir) {
            return Err(format!("the link `{link}` does not lead to a file of the pack"));
        }
        let files = self.tree.files_below(dir).into_iter().map(|(path, file)| (path, file.clone()));
        let content: Content = files.collect();
        if !content.keys().any(|path| path.eq_ignore_ascii_case(SKILL_FILE)) {
            return Err(format!("`{dir}` has no {SKILL_FILE}"));
        }
        self.origins.extend(content.keys().map(|path| join(dir, path)));
        Ok((basename(dir).to_owned(), content))
    }

    /// The name itself; the same one for the same content, and with a part of the hash where it is taken.
    fn unique_name(&mut self, name: &str, content: Content) -> String {
        let mut digits = 0;
        loop {
            let name = suffixed(name, &content, digits);
            match self.taken.iter().find(|(taken, _)| taken.eq_ignore_ascii_case(&name)) {
                Some((taken, same)) if *same == content => return taken.clone(),
                Some(_) => digits += 8,
                None => {
                    self.taken.push((name.clone(), content));
                    return name;
                }
            }
        }
    }
}

fn suffixed(name: &str, content: &Content, digits: usize) -> String {
    if digits == 0 {
        return name.to_owned();
    }
    let hash = match content.get("") {
        Some(file) => hash(&file.bytes),
        None => {
            let lines: Vec<String> =
                content.iter().map(|(path, file)| format!("{} {path}\n", hash(&file.bytes))).collect();
            hash(lines.concat().as_bytes())
        }
    };
    let piece = &hash[..digits.min(hash.len())];
    match name.rsplit_once('.').filter(|_| content.contains_key("")) {
        Some((stem, ending)) => format!("{stem}-{piece}.{ending}"),
        None => format!("{name}-{piece}"),
    }
}

/// Checks that a path in a pack's JSON stays in the pack.
fn path_in_pack(path: &str) -> Result<String, String> {
    if path.starts_with('~') {
        return Err("must be a path in the pack, not in a home directory".into());
    }
    if is_file_url(path) {
        return Err("must be a path in the pack, not on somebody's machine".into());
    }
    clean_path(path).map_err(|error| error.to_string())
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::model::shape::KeyPath;

    fn tree(files: &[(&str, &str)]) -> Tree {
        let mut tree = Tree::default();
        for (path, text) in files {
            tree.add_file(path, text.as_bytes().to_vec(), false).unwrap();
        }
        tree
    }

    fn take(assets: &mut Assets<'_>, kind: ReferenceKind, path: &str) -> Result<String, String> {
        assets.take(&Reference { at: KeyPath::default(), path: path.into(), kind }, "personas/p.json")
    }

    #[test]
    fn equal_files_are_shared_and_others_get_unique_names() {
        let tree = tree(&[
            ("personas/a/x.md", "one"),
            ("personas/b/x.md", "one"),
            ("personas/c/x.md", "two"),
            ("personas/x-3fc4ccfe.md", "three"),
        ]);
        let mut assets = Assets::new(&tree, "p");
        let mut names = Vec::new();
        for path in ["a/x.md", "b/x.md", "x-3fc4ccfe.md", "c/x.md", "./c/x.md"] {
            names.push(take(&mut assets, ReferenceKind::Text, path).unwrap());
        }
        let long = format!("p__assets/x-{}.md", &hash(b"two")[..16]);
        assert_eq!(&hash(b"two")[..8], "3fc4ccfe");
        assert_eq!(names, ["p__assets/x.md", "p__assets/x.md", "p__assets/x-3fc4ccfe.md", &long, &long]);
        assert_eq!(assets.files().count(), 3);
    }

    #[test]
    fn a_skill_is_searched_beside_the_persona_and_then_in_the_pack() {
        let tree = tree(&[
            ("skills/s/SKILL.md", "s"),
            ("skills/s/run.sh", "r"),
            ("skills/other/a.txt", "a"),
            ("personas/skills/one.md", "1"),
            ("SKILL.md", "root"),
        ]);
        let mut assets = Assets::new(&tree, "p");
        assert_eq!(take(&mut assets, ReferenceKind::Skill, "./skills/s").unwrap(), "./p__assets/s");
        assert_eq!(take(&mut assets, ReferenceKind::Skill, "skills/s/SKILL.md").unwrap(), "./p__assets/s");
        assert_eq!(take(&mut assets, ReferenceKind::Skill, "skills/one.md").unwrap(), "p__assets/one.md");
        assert_eq!(take(&mut assets, ReferenceKind::Skill, "./SKILL.md").unwrap(), "./p__assets/skill");
        for bad in ["skills/other", "skills/other/a.txt", "skills/none", ".", "../x", "/etc", "~/x"] {
            assert!(take(&mut assets, ReferenceKind::Skill, bad).is_err(), "{bad}");
        }
        let files: Vec<String> = assets.files().map(|(path, _)| path).collect();
        let expected =
            ["p__assets/s/SKILL.md", "p__assets/s/run.sh", "p__assets/one.md", "p__assets/skill/SKILL.md"];
        assert_eq!(files, expected);
    }
}
