//! The process's world as a value: environment, working directory, home, terminals, clock, random ids.
//! The only reader of process state; everything else is handed a `Host`.

pub mod interruption;
pub mod own_project;
pub mod terminal;

use std::collections::BTreeMap;
use std::ffi::OsString;
use std::io::IsTerminal;
use std::path::{Path, PathBuf};

/// What a process needs from its surroundings and does not have.
#[derive(Debug, thiserror::Error)]
pub enum HostError {
    #[error("the working directory cannot be read")]
    NoWorkingDirectory(#[source] std::io::Error),
    #[error("there is no home directory: `HOME` is not set to an absolute path")]
    NoHome,
}

#[derive(Debug, Clone)]
pub struct Host {
    /// Every variable whose name and value are Unicode; the others are passed to children untouched.
    pub env: BTreeMap<String, String>,
    pub cwd: PathBuf,
    pub stdin_is_terminal: bool,
    pub stderr_is_terminal: bool,
}

impl Host {
    pub fn of_this_process() -> Result<Host, HostError> {
        let cwd = std::env::current_dir().map_err(HostError::NoWorkingDirectory)?;
        let unicode =
            |(key, value): (OsString, OsString)| Some((key.into_string().ok()?, value.into_string().ok()?));
        Ok(Host {
            env: std::env::vars_os().filter_map(unicode).collect(),
            cwd,
            stdin_is_terminal: std::io::stdin().is_terminal(),
            stderr_is_terminal: std::io::stderr().is_terminal(),
        })
    }

    /// Whether somebody sees a line that is drawn again and again: a terminal that cannot erase would keep every one.
    pub fn shows_progress(&self) -> bool {
        self.stderr_is_terminal && self.var("TERM") != Some("dumb")
    }

    /// A variable that is set and not blank.
    pub fn var(&self, name: &str) -> Option<&str> {
        self.env.get(name).map(|value| value.trim()).filter(|value| !value.is_empty())
    }

    /// The user's home directory, if the environment names one.
    pub fn home_dir(&self) -> Option<PathBuf> {
        // What is not absolute would be another place in every directory.
        self.var("HOME").map(PathBuf::from).filter(|home| home.is_absolute())
    }

    /// Where our own config, personas, roles and sessions live: `AGENT_WORKFORCE_HOME`, else `~/.agentworkforce/workforce`.
    pub fn workforce_home(&self) -> Result<PathBuf, HostError> {
        if let Some(home) = self.var("AGENT_WORKFORCE_HOME") {
            return Ok(self.absolute(&self.expand_tilde(home)));
        }
        match self.home_dir() {
            Some(home) => Ok(home.join(".agentworkforce/workforce")),
            None => Err(HostError::NoHome),
        }
    }

    /// `~` and `~/x` stand for the home directory, everywhere that a user writes a path.
    pub fn expand_tilde(&self, text: &str) -> PathBuf {
        let rest = match text.strip_prefix('~') {
            Some("") => Some(""),
            Some(rest) => rest.strip_prefix(['/', '\\']),
            None => None,
        };
        match (rest, self.home_dir()) {
            (Some(rest), Some(home)) => home.join(rest),
            _ => PathBuf::from(text),
        }
    }

    /// The path seen from the working directory, with `.` and `..` taken out by name.
    pub fn absolute(&self, path: &Path) -> PathBuf {
        normalised(&self.cwd.join(path))
    }

    pub fn now(&self) -> jiff::Timestamp {
        jiff::Timestamp::now()
    }

    /// A time where the user is: `TZ`, else the system's time zone.
    pub fn local(&self, time: jiff::Timestamp) -> jiff::Zoned {
        time.to_zoned(jiff::tz::TimeZone::system())
    }

    /// Random lower-case hexadecimal digits, for names that must not collide.
    pub fn random_hex(&self, digits: usize) -> std::io::Result<String> {
        let mut bytes = vec![0_u8; digits.div_ceil(2)];
        rustix::rand::getrandom(&mut bytes, rustix::rand::GetRandomFlags::empty())
            .map_err(|error| std::io::Error::other(format!("no random bytes: {error}")))?;
        let mut hex: String = bytes.iter().map(|byte| format!("{byte:02x}")).collect();
        hex.truncate(digits);
        Ok(hex)
    }
}

/// Takes `.` and `..` out of an absolute path by name, without looking at the disk.
pub fn normalised(path: &Path) -> PathBuf {
    use std::path::Component;
    let mut result = PathBuf::new();
    for component in path.components() {
        match component {
            Component::CurDir => {}
            Component::ParentDir => {
                result.pop();
            }
            other => result.push(other),
        }
    }
    result
}

#[cfg(test)]
mod tests {
    use super::*;

    fn host(home: &str) -> Host {
        Host {
            env: BTreeMap::from([("HOME".into(), home.into())]),
            cwd: "/work/here".into(),
            stdin_is_terminal: false,
            stderr_is_terminal: false,
        }
    }

    #[test]
    fn tilde_stands_for_home_only_at_the_start() {
        let host = host("/home/u");
        assert_eq!(host.expand_tilde("~"), Path::new("/home/u"));
        assert_eq!(host.expand_tilde("~/a"), Path::new("/home/u/a"));
        assert_eq!(host.expand_tilde("~other/a"), Path::new("~other/a"));
        assert_eq!(host.expand_tilde("a/~"), Path::new("a/~"));
    }

    #[test]
    fn absolute_paths_have_no_dots() {
        let host = host("/home/u");
        assert_eq!(host.absolute(Path::new("../a/./b")), Path::new("/work/a/b"));
        assert_eq!(host.absolute(Path::new("/x/../../y")), Path::new("/y"));
    }

    #[test]
    fn a_blank_home_is_no_home() {
        assert!(host("  ").workforce_home().is_err());
    }
}
