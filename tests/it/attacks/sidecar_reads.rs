//! Files of the project that the runner reads itself, made into links to hidden files, devices and pipes.

use crate::support::harness::weaver;
use crate::support::mount::{World, for_each_identity, read};
use crate::support::sessions::{BACKENDS, Did};
use serde_json::json;
use std::process::{Command, Stdio};
use std::time::{Duration, Instant};

fn extending(world: &World) {
    let more =
        json!({"claudeMd": null, "agentsMd": null, "claudeMdContent": "PERSONA", "claudeMdMode": "extend"});
    world.persona(&crate::support::with(weaver(), &more));
}

/// Runs to its end, which must come soon.
#[track_caller]
fn soon(mut command: Command, what: &str) -> Did {
    let mut child = command.stdout(Stdio::piped()).stderr(Stdio::piped()).spawn().unwrap();
    let began = Instant::now();
    while child.try_wait().unwrap().is_none() {
        if began.elapsed() > Duration::from_secs(20) {
            child.kill().unwrap();
            panic!("{what}: does not end");
        }
        std::thread::sleep(Duration::from_millis(20));
    }
    Did::of(&child.wait_with_output().unwrap())
}

#[test]
fn a_sidecar_that_is_a_link_shows_nothing_that_is_hidden() {
    for_each_identity(|world| {
        world.repository(&[
            ("a.txt", "one\n"),
            ("docs/REAL.md", "LEGITIMATE\n"),
            ("AGENTS.md", "AGENTS-TEXT\n"),
        ]);
        world.files(&[(".env", "K=TOPSECRET\n"), ("secrets/x.key", "K=TOPSECRET\n")]);
        world.outside("mkdir sub; echo OUTSIDE > ../outside.md; ln -s secrets linked");
        extending(&world);
        for backend in BACKENDS {
            let run = |link: &str| {
                world.outside(&format!("rm -f CLAUDE.md; {link}"));
                soon(
                    world.mounted_command(&["--mount", backend, "--persona", "weaver"], "cat CLAUDE.md"),
                    link,
                )
            };
            for link in [
                "ln -s .env CLAUDE.md",
                "ln -s secrets/x.key CLAUDE.md",
                "ln -s linked/x.key CLAUDE.md",
                "ln -s \"$PWD/.env\" CLAUDE.md",
                "ln -s ../outside.md CLAUDE.md",
                "ln -s /etc/hostname CLAUDE.md",
                "ln -s /dev/zero CLAUDE.md",
                "mkfifo CLAUDE.md",
                "mkfifo sub/pipe; ln -s sub/pipe CLAUDE.md",
            ] {
                let did = run(link);
                assert!(
                    !did.stdout.contains("TOPSECRET") && !did.stdout.contains("OUTSIDE"),
                    "{link}: {did:#?}"
                );
                assert_ne!(did.code, 0, "{link}: {did:#?}");
                did.says("CLAUDE.md");
                world.outside("rm -f sub/pipe");
            }
            // A link to a file that an agent may see, or to the other instruction file, is fine.
            for (link, text) in [
                ("ln -s docs/REAL.md CLAUDE.md", "LEGITIMATE"),
                ("ln -s AGENTS.md CLAUDE.md", "AGENTS-TEXT"),
                ("echo PLAIN > CLAUDE.md", "PLAIN"),
                ("true", ""),
            ] {
                let did = run(link).ends(0);
                assert!(did.stdout.contains(text) && did.stdout.contains("PERSONA"), "{link}: {did:#?}");
            }
        }
    });
}

#[test]
fn a_large_sidecar_is_refused() {
    for_each_identity(|world| {
        world.repository(&[("a.txt", "one\n")]);
        extending(&world);
        world.outside("truncate -s 3G CLAUDE.md");
        let did = soon(world.mounted_command(&["--persona", "weaver"], "true"), "a large file");
        assert_ne!(did.code, 0, "{did:#?}");
        did.says("too large");
    });
}

#[test]
fn pipes_and_devices_in_place_of_files_that_the_runner_reads_do_not_stop_it() {
    for_each_identity(|world| {
        world.repository(&[("a.txt", "one\n"), (".env", "K=x\n")]);
        extending(&world);
        world.outside("mkdir -p .agentworkforce/workforce/personas nested node_modules");
        let places = [
            ".agentignore",
            ".agentreadonly",
            ".weaver.agentignore",
            ".worktreeinclude",
            ".gitignore",
            "nested/.git",
            ".git/info/exclude",
            ".git/config.worktree",
            ".git/commondir",
            ".agentworkforce/workforce/personas/other.json",
            ".agentworkforce/workforce/personas/weaver.json",
        ];
        for place in places {
            for make in ["mkfifo", "ln -s /dev/zero"] {
                world.outside(&format!("mv {place} ../saved 2>/dev/null || true; {make} {place}"));
                for backend in BACKENDS {
                    let script = "echo two > a.txt";
                    // Whether it runs or is refused, it ends.
                    let flags = ["--mount", backend, "--persona", "weaver", "--apply", "never"];
                    let did = soon(world.mounted_command(&flags, script), &format!("{make} {place}"));
                    assert!(matches!(did.code, 0 | 1 | 2 | 3 | 4 | 125), "{place}: {did:#?}");
                }
                world.outside(&format!("rm -f {place}; mv ../saved {place} 2>/dev/null || true"));
            }
        }
        world.mounted(&["--persona", "weaver"], "echo three > a.txt").ends(0);
        assert_eq!(read(world.project().join("a.txt")), "three\n");
    });
}
