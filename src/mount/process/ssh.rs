//! Keeps ssh working in a user namespace, where root's files appear to belong to `nobody`. Pure; it runs nothing.

use std::path::Path;

/// The `GIT_SSH_COMMAND` that lets git reach a server, if the default would fail: ssh refuses files included by the system's
/// configuration that belong neither to root nor to the user ("Bad owner or permissions").
pub(super) fn command_for_git(system_config: &str, user_config: Option<&Path>) -> Option<String> {
    let includes = system_config.lines().any(|line| {
        let word = line.trim_start().split([' ', '\t', '=']).next().unwrap_or_default();
        word.eq_ignore_ascii_case("include")
    });
    if !includes {
        return None;
    }
    let config = user_config.map_or("none".into(), |path| path.to_string_lossy().into_owned());
    shlex::try_quote(&config).ok().map(|config| format!("ssh -F {config}"))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn only_an_include_needs_help() {
        assert_eq!(command_for_git("Host *\n  SendEnv LANG\n# Include x\n", None), None);
        assert_eq!(command_for_git("include /etc/x\n", None).as_deref(), Some("ssh -F none"));
        let user = Path::new("/home/a b/.ssh/config");
        assert_eq!(
            command_for_git("  Include=/etc/x\n", Some(user)).as_deref(),
            Some("ssh -F '/home/a b/.ssh/config'")
        );
    }
}
