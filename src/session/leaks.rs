//! Looks for the values of secrets in what a run leaves behind: changed files, logs, texts of the report.
//! It says which variable and where, never the value, and changes nothing.

use crate::host::interruption;
use crate::model::mount_record::MountRecord;
use crate::model::secrets::Secrets;
use crate::mount::fs::data::DataReader;
use crate::mount::fs::stat::Kind;
use crate::mount::fs::tree::Tree;
use crate::mount::git::new_objects::read_new_objects;
use schemars::JsonSchema;
use serde::Serialize;
use std::fs::File;
use std::io::{self, Read};
use std::os::unix::ffi::OsStrExt;
use std::path::Path;

const CHUNK: usize = 128 * 1024;

/// A secret that got out.
#[derive(Debug, Clone, PartialEq, Eq, PartialOrd, Ord, Serialize, JsonSchema)]
pub struct Leak {
    /// The variable whose value it is.
    pub variable: String,
    /// A path of the project, a file of the session, or a field of the report.
    pub place: String,
}

/// What was found, and what could not be looked at: that is not the same as clean.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct Leaks {
    pub found: Vec<Leak>,
    pub unread: Vec<String>,
}

impl Leaks {
    /// Looks into a text of the report.
    pub fn look_into_text(&mut self, secrets: &Secrets, place: &str, text: &str) {
        self.add(secrets, place, secrets.found_in(text.as_bytes()));
    }

    /// Looks into a log or another file of ours.
    pub fn look_into_file(&mut self, secrets: &Secrets, place: &str, file: &Path) {
        if secrets.is_empty() {
            return;
        }
        match File::open(file).and_then(|file| names_in(secrets, file)) {
            Ok(names) => self.add(secrets, place, names),
            Err(error) if error.kind() == io::ErrorKind::NotFound => {}
            Err(error) => self.unread.push(format!("{}: {error}", secrets.redact(place))),
        }
    }

    /// Looks into what an agent changed: contents, targets of links, and the names themselves. `mount` is the upper
    /// directory or the copy; paths are relative to it, and no link of the agent's is followed.
    pub fn look_into_changes<'p>(
        &mut self,
        secrets: &Secrets,
        mount: &Tree,
        paths: impl IntoIterator<Item = &'p Path>,
    ) {
        if secrets.is_empty() {
            return;
        }
        for path in paths {
            let place = path.to_string_lossy();
            self.add(secrets, &place, secrets.found_in(path.as_os_str().as_bytes()));
            match names_at(secrets, mount, path) {
                Ok(names) => self.add(secrets, &place, names),
                Err(error) => self.unread.push(format!("{}: {error}", secrets.redact(&place))),
            }
        }
    }

    /// Looks into what the agent's commits add: files that it has removed again may be in there.
    pub fn look_into_commits(&mut self, secrets: &Secrets, session: &Path, record: &MountRecord) {
        if secrets.is_empty() {
            return;
        }
        let mut found = Vec::new();
        let unread = read_new_objects(session, record, &mut |place, content| {
            found.push((place.to_owned(), secrets.found_in(place.as_bytes())));
            found.push((place.to_owned(), names_in(secrets, content)?));
            Ok(())
        });
        for (place, names) in found {
            self.add(secrets, &place, names);
        }
        self.unread.extend(unread.iter().map(|place| secrets.redact(place)));
    }

    fn add(&mut self, secrets: &Secrets, place: &str, names: Vec<String>) {
        for variable in names {
            // The name of a file may be where the value is.
            let leak = Leak { variable, place: secrets.redact(place) };
            if !self.found.contains(&leak) {
                self.found.push(leak);
            }
        }
    }
}

fn names_at(secrets: &Secrets, mount: &Tree, path: &Path) -> io::Result<Vec<String>> {
    match mount.stat(path)?.map(|stat| stat.kind) {
        Some(Kind::File) => names_in(secrets, DataReader::new(&mount.open_file(path)?.0)?),
        Some(Kind::Symlink) => Ok(secrets.found_in(mount.read_link(path)?.as_bytes())),
        // A directory holds nothing of its own, and what was deleted is gone.
        _ => Ok(Vec::new()),
    }
}

/// Reads a file piece by piece, however large it is.
fn names_in(secrets: &Secrets, mut file: impl Read) -> io::Result<Vec<String>> {
    let mut scanner = secrets.scanner();
    let mut chunk = vec![0; CHUNK];
    while !scanner.has_all() {
        interruption::check()?;
        match file.read(&mut chunk) {
            Ok(0) => break,
            Ok(read) => scanner.write(&chunk[..read]),
            Err(error) if error.kind() == io::ErrorKind::Interrupted => {}
            Err(error) => return Err(error),
        }
    }
    Ok(scanner.found())
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::io::Write;
    use std::path::PathBuf;

    const VALUE: &str = "sk-0123456789abcdef";

    fn leak(place: &str) -> Leak {
        Leak { variable: "KEY".into(), place: place.into() }
    }

    #[test]
    fn changed_files_links_and_names_are_looked_into_and_no_link_is_followed() {
        let secrets = Secrets::new([("KEY", VALUE), ("OTHER", "not to be found")]);
        let dir = tempfile::tempdir().unwrap();
        let at = |name: &str| dir.path().join(name);
        std::fs::create_dir(at("d")).unwrap();
        std::fs::write(at("d/config"), format!("key = {VALUE}")).unwrap();
        std::fs::write(at("clean"), "nothing").unwrap();
        std::fs::write(at(VALUE), "nothing").unwrap();
        std::os::unix::fs::symlink(format!("/x/{VALUE}"), at("link")).unwrap();
        std::os::unix::fs::symlink("d", at("to-d")).unwrap();
        let tree = Tree::open(dir.path()).unwrap();
        let paths = ["d/config", "clean", VALUE, "link", "d", "deleted", "to-d/config"].map(PathBuf::from);
        let mut leaks = Leaks::default();
        leaks.look_into_changes(&secrets, &tree, paths.iter().map(PathBuf::as_path));
        assert_eq!(leaks.found, [leak("d/config"), leak("[redacted:KEY]"), leak("link")]);
        assert_eq!(leaks.unread, [""; 0]);
        assert!(!format!("{leaks:?}").contains(VALUE));
    }

    #[test]
    fn a_value_across_the_pieces_of_a_large_log_is_found() {
        let secrets = Secrets::new([("KEY", VALUE)]);
        let mut file = tempfile::NamedTempFile::new().unwrap();
        file.write_all(&vec![b'.'; CHUNK - 5]).unwrap();
        file.write_all(VALUE.as_bytes()).unwrap();
        let mut leaks = Leaks::default();
        leaks.look_into_file(&secrets, "harness.log", file.path());
        leaks.look_into_text(&secrets, "result", &format!("it is {VALUE}"));
        leaks.look_into_text(&secrets, "result", &format!("again {VALUE}"));
        leaks.look_into_file(&secrets, "gone.log", Path::new("/nonexistent/x"));
        leaks.look_into_file(&secrets, "a directory", Path::new("/"));
        assert_eq!(leaks.found, [leak("harness.log"), leak("result")]);
        assert_eq!(leaks.unread.len(), 1, "{leaks:?}");
    }
}
