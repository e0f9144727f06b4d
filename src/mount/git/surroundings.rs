//! What git takes from the environment and the home of the user: configuration files, settings, commands, and files that variables
//! name. Whoever has them in this shell has them for the git that follows. It looks at no repository and judges nothing.

use super::config_file;
use super::repository::LARGEST_SETTINGS;
use crate::files::regular;
use crate::git;
use crate::host::Host;
use std::collections::BTreeMap;
use std::path::{Path, PathBuf};

/// Variables whose value is a command line, or a program, that git or what it starts runs.
const COMMANDS: [&str; 11] = [
    "GIT_SSH",
    "GIT_MAN_VIEWER",
    "GIT_DIFFTOOL_EXTCMD",
    "SSH_ASKPASS",
    "PAGER",
    "MANPAGER",
    "EDITOR",
    "VISUAL",
    "BROWSER",
    "LESSOPEN",
    "LESSCLOSE",
];

/// How the names of such variables end, those of later versions of git too.
const COMMAND_ENDS: [&str; 9] =
    ["_COMMAND", "_EDITOR", "_PAGER", "_ASKPASS", "_DIFF", "_HELPER", "_PROGRAM", "_HOOK", "_CMD"];

/// Those of them that are run without a shell, blanks and all.
const PROGRAMS: [&str; 4] = ["GIT_SSH", "GIT_ASKPASS", "SSH_ASKPASS", "GIT_PROXY_COMMAND"];

/// Variables that name a file or directory that git reads settings, programs or trust from.
const PATHS: [&str; 16] = [
    "GIT_CONFIG",
    "GIT_TEMPLATE_DIR",
    "GIT_EXEC_PATH",
    "GIT_SSL_CAINFO",
    "GIT_SSL_CAPATH",
    "GIT_SSL_CERT",
    "GIT_SSL_KEY",
    "GIT_PROXY_SSL_CAINFO",
    "GIT_PROXY_SSL_CERT",
    "GIT_PROXY_SSL_KEY",
    "GIT_GRAFT_FILE",
    "GIT_SHALLOW_FILE",
    "GNUPGHOME",
    "MERGE_TOOLS_DIR",
    "LESSKEY",
    "LESSKEYIN",
];

/// Where git's own files of the user and of the machine are, and what the environment says.
#[derive(Debug, Clone, Default)]
pub struct GitSurroundings {
    pub home: Option<PathBuf>,
    /// Where relative paths may begin, as in a work tree.
    pub cwd: Option<PathBuf>,
    /// Configuration files outside every repository.
    pub config_files: Vec<PathBuf>,
    /// Settings that are in no file, with keys in lower case.
    pub settings: Vec<(String, String)>,
    /// Command lines, by the names of their variables.
    pub commands: Vec<(String, String)>,
    /// Files and directories, by the names of their variables.
    pub paths: Vec<(String, String)>,
    /// `GIT_DIR` and `GIT_COMMON_DIR`.
    pub git_dirs: Vec<PathBuf>,
    /// `GIT_WORK_TREE`.
    pub work_tree: Option<PathBuf>,
}

impl GitSurroundings {
    /// As the user has them who runs this program, and will run git after it.
    pub(crate) fn of_process() -> GitSurroundings {
        let env = git::environment();
        let home = env.get("HOME").map(PathBuf::from).filter(|home| home.is_absolute());
        // A working directory that is gone is nowhere.
        let cwd = Host::of_this_process().ok().map(|host| host.cwd);
        GitSurroundings::of(&env, home, cwd)
    }

    pub fn of(
        env: &BTreeMap<String, String>,
        home: Option<PathBuf>,
        cwd: Option<PathBuf>,
    ) -> GitSurroundings {
        let said = |name: &str| env.get(name).filter(|value| !value.is_empty()).map(PathBuf::from);
        let mut config_files = match said("GIT_CONFIG_SYSTEM") {
            Some(system) => vec![system],
            // There may be more than one git on a machine.
            None => [Path::new("/etc/gitconfig").to_owned()]
                .into_iter()
                .chain(git::system_config().iter().cloned())
                .collect(),
        };
        config_files.extend(users_config(env, home.as_deref()));
        let all = || env.iter().filter(|(_, value)| !value.is_empty());
        let owned = |(name, value): (&String, &String)| (name.clone(), value.clone());
        let mut paths: Vec<(String, String)> =
            all().filter(|(name, value)| names_path(name, value)).map(owned).collect();
        let libraries = env.get("GITPERLLIB").into_iter().flat_map(|list| list.split(':'));
        let libraries = libraries.filter(|path| !path.is_empty());
        paths.extend(libraries.map(|path| ("GITPERLLIB".to_owned(), path.to_owned())));
        GitSurroundings {
            cwd: cwd.and_then(|cwd| cwd.canonicalize().ok()),
            config_files,
            settings: git::settings_in(env),
            commands: all().filter(|(name, _)| names_command(name)).map(owned).collect(),
            paths,
            git_dirs: ["GIT_DIR", "GIT_COMMON_DIR"].iter().filter_map(|name| said(name)).collect(),
            work_tree: said("GIT_WORK_TREE"),
            home,
        }
    }
}

/// The user's own configuration files, the stronger one last.
fn users_config(env: &BTreeMap<String, String>, home: Option<&Path>) -> Vec<PathBuf> {
    let said = |name: &str| env.get(name).filter(|value| !value.is_empty()).map(PathBuf::from);
    if let Some(global) = said("GIT_CONFIG_GLOBAL") {
        return vec![global];
    }
    let Some(home) = home else { return Vec::new() };
    let xdg = said("XDG_CONFIG_HOME").unwrap_or_else(|| home.join(".config"));
    vec![xdg.join("git/config"), home.join(".gitconfig")]
}

/// The file with the patterns that the user has for all repositories, as far as it can be said without git: it knows what settings
/// include, and where the machine has its own.
pub(crate) fn users_excludes_file() -> Option<PathBuf> {
    const KEY: &str = "core.excludesfile";
    let env = git::environment();
    let home = env.get("HOME").map(PathBuf::from).filter(|home| home.is_absolute());
    let mut found = None;
    for file in users_config(&env, home.as_deref()) {
        // Whatever an agent has put there is not waited for.
        let Ok(bytes) = regular::read(&file, LARGEST_SETTINGS) else { continue };
        let settings = config_file::settings(&String::from_utf8_lossy(&bytes));
        found = settings.into_iter().rfind(|(key, _)| key == KEY).map(|(_, value)| value).or(found);
    }
    found = git::settings_in(&env).into_iter().rfind(|(key, _)| key == KEY).map(|(_, value)| value).or(found);
    match (found, &home) {
        (Some(value), Some(home)) => Some(home.join(value.strip_prefix("~/").unwrap_or(&value))),
        (Some(value), None) => Some(PathBuf::from(value)),
        (None, _) => {
            let xdg = env.get("XDG_CONFIG_HOME").filter(|value| !value.is_empty()).map(PathBuf::from);
            Some(xdg.or_else(|| Some(home.as_ref()?.join(".config")))?.join("git/ignore"))
        }
    }
}

fn names_command(name: &str) -> bool {
    COMMANDS.contains(&name)
        || (name.starts_with("GIT_") && COMMAND_ENDS.iter().any(|end| name.ends_with(end)))
}

/// Whether the file that such a variable names is run.
pub(super) fn is_program(name: &str) -> bool {
    PROGRAMS.contains(&name)
}

/// Git appends a trace to whatever is at its path, be it a link; other values of such a variable are no paths.
fn names_path(name: &str, value: &str) -> bool {
    PATHS.contains(&name)
        || (is_program(name) && value.contains('/'))
        || (name.starts_with("GIT_TRACE") && value.starts_with('/'))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn settings_and_commands_of_an_environment_are_found() {
        let env: BTreeMap<String, String> = [
            ("GIT_CONFIG_SYSTEM", "/nowhere"),
            ("GIT_CONFIG_COUNT", "2"),
            ("GIT_CONFIG_KEY_0", "core.hooksPath"),
            ("GIT_CONFIG_VALUE_0", ".hooks"),
            ("GIT_CONFIG_KEY_1", "alias.x"),
            ("GIT_CONFIG_VALUE_1", "!./x"),
            ("GIT_CONFIG_PARAMETERS", r"'core.editor=./e'\''f' 'diff.external'='./d' 'core.bare'"),
            ("GIT_SSH_COMMAND", "ssh -F./conf"),
            ("GIT_LATER_PAGER", "./p"),
            ("GIT_AUTHOR_NAME", "./n"),
            ("GIT_TRACE", "1"),
            ("GIT_TRACE_SETUP", "/x/trace"),
            ("EDITOR", ""),
        ]
        .map(|(name, value)| (name.to_owned(), value.to_owned()))
        .into();
        let found = GitSurroundings::of(&env, None, None);
        let pairs = |list: &[(String, String)]| {
            list.iter().map(|(key, value)| format!("{key}={value}")).collect::<Vec<_>>()
        };
        let settings = ["core.editor=./e'f", "diff.external=./d", "core.hookspath=.hooks", "alias.x=!./x"];
        assert_eq!(pairs(&found.settings), settings);
        assert_eq!(pairs(&found.commands), ["GIT_LATER_PAGER=./p", "GIT_SSH_COMMAND=ssh -F./conf"]);
        assert_eq!(pairs(&found.paths), ["GIT_TRACE_SETUP=/x/trace"]);
        assert_eq!(found.config_files, [Path::new("/nowhere")]);
    }
}
