//! What fetching needs of the world, and what the programs that fetch are given of it.

use crate::host::Host;
use crate::tool::{Bounds, ToolError};
use anyhow::{Result, anyhow};
use std::path::Path;
use std::process::Command;
use std::time::Duration;

/// Where and how long a fetch may work.
pub struct Surroundings<'a> {
    pub host: &'a Host,
    /// An empty directory that is thrown away afterwards.
    pub scratch: &'a Path,
    pub time: Duration,
    pub stop: &'a dyn Fn() -> bool,
}

/// Variables that a fetching program needs. It runs other people's code (npx) or talks to other people's servers
/// (git), so the user's keys for models are none of its business.
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

impl Surroundings<'_> {
    /// The program with a small environment.
    pub fn command(&self, program: &Path) -> Command {
        let mut command = Command::new(program);
        command.env_clear().envs(self.host.env.iter().filter(|(name, _)| is_needed(name)));
        command
    }

    pub fn program(&self, name: &str) -> Result<std::path::PathBuf> {
        crate::tool::find(self.host, name)
            .ok_or_else(|| anyhow!("`{name}` is not on the PATH; `agentworkforce doctor` says how to get it"))
    }

    pub fn run(
        &self,
        command: &mut Command,
        stdin: Option<std::fs::File>,
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

/// What a program gave as its reason, in one line: npm says it first, everybody else last.
pub fn last_words(text: &str) -> String {
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
    fn keys_for_models_are_not_handed_on() {
        for name in ["ANTHROPIC_API_KEY", "OPENAI_API_KEY", "AWS_SECRET_ACCESS_KEY", "MY_TOKEN", "GIT_DIR"] {
            assert!(!is_needed(name), "{name}");
        }
        for name in ["PATH", "https_proxy", "npm_config_registry", "LC_ALL", "SSH_AUTH_SOCK"] {
            assert!(is_needed(name), "{name}");
        }
    }

    #[test]
    fn last_words_are_short_and_one_line() {
        assert_eq!(last_words("a\n\nb\nc\nd\n"), "b; c; d");
        assert_eq!(last_words(&"é".repeat(1000)).chars().count(), 400);
        assert_eq!(
            last_words("npm error code E404\nnpm error\nnpm notice new\nnpm error A log\n"),
            "code E404; A log"
        );
        assert_eq!(last_words("\u{1b}[31mred\u{1b}[0m"), "red");
        assert_eq!(last_words(""), "");
    }
}
