//! Why this machine lets nobody make a user namespace, and what allows it, as far as the kernel's settings tell.
//! It tries nothing: whoever was refused asks here.

use std::path::Path;

/// A setting that forbids user namespaces, or makes them useless.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Forbidden {
    /// The setting with its value: `user.max_user_namespaces=0`.
    pub by: &'static str,
    pub fix: &'static str,
}

const SETTINGS: [(&str, &str, Forbidden); 3] = [
    (
        "user/max_user_namespaces",
        "0",
        Forbidden { by: "user.max_user_namespaces=0", fix: "sudo sysctl -w user.max_user_namespaces=10000" },
    ),
    (
        "kernel/unprivileged_userns_clone",
        "0",
        Forbidden {
            by: "kernel.unprivileged_userns_clone=0",
            fix: "sudo sysctl -w kernel.unprivileged_userns_clone=1",
        },
    ),
    (
        "kernel/apparmor_restrict_unprivileged_userns",
        "1",
        Forbidden {
            by: "kernel.apparmor_restrict_unprivileged_userns=1",
            fix: "give agentworkforce an AppArmor profile with `userns,` (docs/containers.md has one), or \
                  `sudo sysctl -w kernel.apparmor_restrict_unprivileged_userns=0`",
        },
    ),
];

/// Container engines filter the system calls that make namespaces.
const SECCOMP: Forbidden = Forbidden {
    by: "a seccomp filter, as containers have it",
    fix: "in Docker: `--security-opt seccomp=unconfined --security-opt apparmor=unconfined --security-opt \
          systempaths=unconfined`, or `--privileged`",
};

/// The setting of this machine that is in the way, if one is known.
pub fn forbidden_here() -> Option<Forbidden> {
    forbidden(|path| std::fs::read_to_string(Path::new("/proc").join(path)).ok())
}

fn forbidden(read: impl Fn(&str) -> Option<String>) -> Option<Forbidden> {
    let is_set =
        |name: &str, value: &str| read(&format!("sys/{name}")).is_some_and(|text| text.trim() == value);
    let setting = SETTINGS.into_iter().find(|(name, value, _)| is_set(name, value));
    let status = read("self/status").unwrap_or_default();
    let is_filtered = || status.lines().any(|line| line.split_whitespace().eq(["Seccomp:", "2"]));
    setting.map(|(_, _, forbidden)| forbidden).or_else(|| is_filtered().then_some(SECCOMP))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_setting_that_is_in_the_way_is_named() {
        let by = |files: &[(&str, &str)]| {
            let read =
                |path: &str| files.iter().find(|(name, _)| *name == path).map(|(_, text)| (*text).into());
            forbidden(read).map(|forbidden| forbidden.by)
        };
        let fine = [("sys/user/max_user_namespaces", "96349\n"), ("self/status", "Seccomp:\t0\n")];
        assert_eq!(by(&fine), None);
        assert_eq!(by(&[]), None);
        assert_eq!(by(&[("sys/user/max_user_namespaces", "0\n")]), Some("user.max_user_namespaces=0"));
        let debian = ("sys/kernel/unprivileged_userns_clone", "0\n");
        assert_eq!(by(&[fine[0], debian]), Some("kernel.unprivileged_userns_clone=0"));
        let ubuntu = ("sys/kernel/apparmor_restrict_unprivileged_userns", "1\n");
        assert_eq!(by(&[fine[0], ubuntu]), Some("kernel.apparmor_restrict_unprivileged_userns=1"));
        let filtered = ("self/status", "Name:\tsh\nSeccomp:\t2\nSeccomp_filters:\t1\n");
        assert_eq!(by(&[fine[0], filtered]), Some(SECCOMP.by));
        // A setting says more than a filter, which need not be about namespaces.
        assert_eq!(by(&[debian, filtered]), Some("kernel.unprivileged_userns_clone=0"));
    }
}
