//! What an agent leaves in the home at `project` in place of a file that the runner, or git for it, reads there.

use crate::support::mount::for_each_identity;
use crate::support::sessions::{BACKENDS, Did};
use std::process::{Command, Stdio};
use std::time::{Duration, Instant};

/// The command with little memory; it must end by itself within these seconds.
#[track_caller]
fn bounded(seconds: u64, command: &Command) -> Did {
    let mut limited = Command::new("timeout");
    limited.args(["-s", "KILL", &seconds.to_string(), "sh", "-c", "ulimit -v 4000000; exec \"$@\"", "sh"]);
    limited.arg(command.get_program()).args(command.get_args()).stdin(Stdio::null());
    limited.current_dir(command.get_current_dir().unwrap());
    for (name, value) in command.get_envs() {
        match value {
            Some(value) => limited.env(name, value),
            None => limited.env_remove(name),
        };
    }
    let began = Instant::now();
    let did = Did::of(&limited.output().unwrap());
    assert!(began.elapsed() < Duration::from_secs(seconds), "not within {seconds} s: {did:#?}");
    did
}

#[test]
fn what_an_agent_leaves_in_place_of_git_settings_stops_nothing() {
    // Each instead of a file in the home.
    const LEFT: [(&str, &str); 5] = [
        (".gitconfig", "mkfifo"),
        (".gitconfig", "ln -s /dev/zero"),
        (".config/git/config", "mkfifo"),
        (".config/git/ignore", "mkfifo"),
        (".config/git/attributes", "mkfifo"),
    ];
    const SECONDS: u64 = 15;
    for_each_identity(|world| {
        world.repository(&[("a.txt", "one\n"), (".gitignore", "*.log\n")]);
        for backend in BACKENDS {
            for (file, make) in LEFT {
                let what = format!("{backend}: {make} {file}");
                let place = world.home().join(file);
                let script = format!(
                    "mkdir -p $(dirname '{0}'); rm -f '{0}'; {make} '{0}'; echo two > a.txt; echo x > x.log",
                    place.display()
                );
                let flags =
                    ["--mount", backend, "--sandbox", if backend == "copy" { "off" } else { "project" }];
                let did = bounded(SECONDS, &world.mounted_command(&flags, &script));
                assert_eq!(did.code, 0, "{what}: {did:#?}");
                assert_eq!(world.outside("cat a.txt; ls x.log 2>/dev/null || true"), "two\n", "{what}");
                // The next run begins with it.
                let did = bounded(SECONDS, &world.mounted_command(&flags[..2], "echo one > a.txt"));
                assert_eq!(did.code, 0, "{what}: {did:#?}");
                std::fs::remove_file(&place).unwrap();
                assert_eq!(world.outside("cat a.txt; git checkout -q ."), "one\n", "{what}");
            }
        }
    });
}

/// The user's own patterns count, without a crate that opens whatever is in the home.
#[test]
fn the_users_own_ignore_file_counts_wherever_it_is() {
    for_each_identity(|world| {
        world.repository(&[("a.txt", "one\n")]);
        let home = world.home();
        let home = home.display();
        for (setup, undo) in [
            (
                format!("mkdir -p {home}/.config/git; echo '*.dat' > {home}/.config/git/ignore"),
                format!("rm -r {home}/.config"),
            ),
            (
                format!(
                    "printf '[core]\\n excludesFile = ~/mine\\n' > {home}/.gitconfig; echo '*.dat' > {home}/mine"
                ),
                format!("rm {home}/.gitconfig"),
            ),
            (
                format!(
                    "ln -s dotfiles {home}/.gitconfig; printf '[core]\\n excludesFile = {home}/mine\\n' > {home}/dotfiles"
                ),
                format!("rm {home}/.gitconfig"),
            ),
        ] {
            world.outside(&setup);
            for backend in BACKENDS {
                world.outside("echo mine > x.dat");
                let did = world
                    .mounted(&["--mount", backend], "echo evil > x.dat; echo new > y.dat; echo two > a.txt");
                did.ends(0).says("that git ignores");
                let now = world.outside("cat x.dat a.txt; ls y.dat 2>/dev/null || true; git checkout -q .");
                assert_eq!(now, "mine\ntwo\n", "{backend}: {setup}");
            }
            world.outside(&undo);
        }
    });
}
