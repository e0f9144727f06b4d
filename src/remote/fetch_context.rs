//! The limits of a fetch, and the environment of the programs that fetch. Knows nothing about what is fetched.

use super::error::RemoteError;
use crate::host::Host;
use crate::tool::{Bounds, ToolError};
use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};
use std::time::Duration;

/// Where and how long a fetch may run.
pub struct FetchContext<'a> {
    pub host: &'a Host,
    /// An empty directory that is removed afterwards.
    pub scratch: &'a Path,
    pub time: Duration,
    /// Called repeatedly; `true` stops the fetch.
    pub stop: &'a dyn Fn() -> bool,
}

/// Variables that these programs need. They run other people's code (npx) or talk to other people's servers (git), so
/// they do not get the user's API keys.
const NEEDED: [&str; 25] = [
    "PATH",
    "HOME",
    "USER",
    "LOGNAME",
    "LANG",
    "TMPDIR",
    "TZ",
    "SHELL",
    "SSH_AUTH_SOCK",
    "SSH_AGENT_PID",
    "DBUS_SESSION_BUS_ADDRESS",
    "SSL_CERT_FILE",
    "SSL_CERT_DIR",
    "CURL_CA_BUNDLE",
    "NODE_EXTRA_CA_CERTS",
    "NODE_OPTIONS",
    "NVM_DIR",
    "GIT_SSH",
    "GIT_SSH_COMMAND",
    "GIT_SSH_VARIANT",
    "GIT_EXEC_PATH",
    "GIT_SSL_CAINFO",
    "GIT_SSL_CAPATH",
    "GIT_PROXY_SSL_CAINFO",
    "GH_HOST",
];
const NEEDED_STARTS: [&str; 5] = ["XDG_", "LC_", "NPM_CONFIG_", "GIT_CONFIG_", "PRPM_"];
const NEEDED_ENDS: [&str; 1] = ["_PROXY"];

impl FetchContext<'_> {
    /// The program with a minimal environment.
    pub fn command(&self, program: &Path) -> Command {
        let mut command = Command::new(program);
        command.env_clear().envs(self.host.env.iter().filter(|(name, _)| is_needed(name)));
        command
    }

    pub fn program(&self, name: &str) -> Result<PathBuf, RemoteError> {
        let missing = || RemoteError::MissingProgram { program: name.to_owned() };
        crate::tool::find(self.host, name).ok_or_else(missing)
    }

    pub fn run(
        &self,
        command: &mut Command,
        stdin: Option<Stdio>,
        most_output: u64,
    ) -> Result<crate::tool::Finished, ToolError> {
        let bounds = Bounds { time: self.time, output: most_output, stop: self.stop };
        crate::tool::run(command, stdin, bounds)
    }
}

fn is_needed(name: &str) -> bool {
    let upper = name.to_ascii_uppercase();
    NEEDED.contains(&name)
        || NEEDED_STARTS.iter().any(|start| upper.starts_with(start))
        || NEEDED_ENDS.iter().any(|end| upper.ends_with(end))
}

/// The reason in a program's error output, in one line: npm prints it first, others last.
pub fn failure_reason(text: &str) -> String {
    let text = anstream::adapter::strip_str(text).to_string();
    let lines =
        text.lines().map(str::trim).filter(|line| !line.is_empty() && !line.starts_with("npm notice"));
    let lines: Vec<&str> = lines.collect();
    let of_npm = lines.iter().filter_map(|line| line.strip_prefix("npm error ")).take(3);
    let of_npm: Vec<&str> = of_npm.collect();
    let last = &lines[lines.len().saturating_sub(3)..];
    let reason = if of_npm.is_empty() { last.join("; ") } else { of_npm.join("; ") };
    let start = reason.char_indices().rev().nth(399).map_or(0, |(at, _)| at);
    reason[start..].to_owned()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn api_keys_are_not_passed_on() {
        for name in ["ANTHROPIC_API_KEY", "OPENAI_API_KEY", "AWS_SECRET_ACCESS_KEY", "MY_TOKEN", "GIT_DIR"] {
            assert!(!is_needed(name), "{name}");
        }
        for name in ["PATH", "https_proxy", "npm_config_registry", "LC_ALL", "SSH_AUTH_SOCK"] {
            assert!(is_needed(name), "{name}");
        }
    }

    #[test]
    fn the_reason_is_short_and_one_line() {
        assert_eq!(failure_reason("a\n\nb\nc\nd\n"), "b; c; d");
        assert_eq!(failure_reason(&"é".repeat(1000)).chars().count(), 400);
        assert_eq!(
            failure_reason("npm error code E404\nnpm error\nnpm notice new\nnpm error A log\n"),
            "code E404; A log"
        );
        assert_eq!(failure_reason("\u{1b}[31mred\u{1b}[0m"), "red");
        assert_eq!(failure_reason(""), "");
    }
}
