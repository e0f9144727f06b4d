//! An agent that changes what the next run is decided by, outside of the project: layers and configuration that are elsewhere, and
//! places above the project that a run looks at.

use crate::support::mount::{World, for_each_identity, read, soon};
use std::fs;
use std::path::Path;
use std::process::{Command, Stdio};

const EVIL: &str = r#"{"id":"weaver","systemPrompt":"EVIL","mount":{"revealPatterns":[".env"]}}"#;

/// Writes what decides, and what leads there; then tells what it can read.
fn attack(file: &str) -> String {
    format!(
        "begins; cd ~; for f in {file}; do echo '{EVIL}' > $f; rm -f $f; (echo '{EVIL}' > new && mv new $f); done 2> /dev/null
         for d in team dotfiles; do [ -e $d ] && mv $d gone; rm -rf $d; mkdir -p $d/personas; echo '{EVIL}' > $d/personas/weaver.json; \
         echo '{EVIL}' > $d/weaver.json; done 2> /dev/null
         cd - > /dev/null; cat .env >> \"$record/read\" 2>&1; answers done"
    )
}

fn run_twice(world: &World, deciding: &Path) {
    let before = read(deciding);
    for level in ["project", "strict", "project"] {
        let did = world.agent(&["weaver", "-p", "x", "--sandbox", level, "--apply", "never"]);
        assert_eq!(did.code, 0, "{level}: {did:#?}");
        assert_eq!(read(deciding), before, "{level}");
    }
    assert!(!world.recorded("read").contains("TOKEN"), "{}", world.recorded("read"));
}

#[test]
fn layers_and_configuration_outside_of_the_project_are_not_written() {
    for_each_identity(|base| {
        let personas = ".agentworkforce/workforce/personas";
        let config = ".agentworkforce/workforce/config.json";
        for (prepare, deciding) in [
            (
                format!("mv {personas} team; {{ echo '{{\"personaDirs\": [\"~/team\"]}}'; }} > {config}"),
                "team/weaver.json",
            ),
            (
                format!("mkdir dotfiles; mv {personas} dotfiles; ln -s ~/dotfiles/personas {personas}"),
                "dotfiles/personas/weaver.json",
            ),
            (
                format!("mkdir dotfiles; echo '{{}}' > dotfiles/aw.json; ln -s ~/dotfiles/aw.json {config}"),
                "dotfiles/aw.json",
            ),
            (
                format!(
                    "mkdir dotfiles; mv {personas}/weaver.json dotfiles; ln -s ../../../dotfiles/weaver.json {personas}"
                ),
                "dotfiles/weaver.json",
            ),
        ] {
            let world = World::with_harness(base.who, &attack(deciding));
            world.files(&[(".env", "TOKEN=1\n")]);
            world.outside(&format!("cd ~; {prepare}"));
            run_twice(&world, &world.home().join(deciding));
        }
    });
}

#[test]
fn rule_files_that_links_lead_to_outside_are_not_written() {
    for_each_identity(|base| {
        for level in ["project", "strict"] {
            let world = World::new(base.who);
            world.repository(&[("keys.txt", "KEYS-SECRET\n"), ("lib/x", "x\n")]);
            world.outside(
                "mkdir ~/dotfiles; echo keys.txt > ~/dotfiles/ai; echo lib > ~/dotfiles/other
                 ln -s ~/dotfiles/ai .agentignore; ln -s ~/dotfiles/other .other.agentreadonly",
            );
            let script =
                "cd ~/dotfiles; for f in ai other; do (echo > $f) || rm -f $f || mv new $f || true; done
                 cd ~; mv dotfiles gone || rm -rf dotfiles || true";
            world.mounted(&["--sandbox", level], script).ends(0);
            assert_eq!(world.outside("cat ~/dotfiles/ai ~/dotfiles/other"), "keys.txt\nlib\n", "{level}");
            let seen = world.mounted(&[], "cat keys.txt || echo hidden").ends(0);
            assert!(!seen.stdout.contains("KEYS"), "{level}: {seen:#?}");
        }
    });
}

#[test]
fn a_link_on_the_way_to_a_layer_that_was_replaced_is_noticed() {
    for_each_identity(|base| {
        let script = "begins; mkdir -p ~/evil/personas; ln -sfn ~/evil ~/current; touch made; answers done";
        let world = World::with_harness(base.who, script);
        let personas = ".agentworkforce/workforce/personas";
        world.outside(&format!(
            "cd ~; mkdir v1; mv {personas} v1; ln -s v1 current; ln -s ~/current/personas {personas}"
        ));
        let did = world.agent(&["weaver", "-p", "x", "--sandbox", "project"]);
        assert_eq!(did.code, 3, "{did:#?}");
        assert!(did.stderr.contains("leads elsewhere"), "{did:#?}");
        assert!(!world.project().join("made").exists());
    });
}

/// A directory that is no repository, in another one.
fn inner(world: &World) -> std::path::PathBuf {
    world.files(&[
        ("inner/keys.txt", "KEYS-SECRET\n"),
        ("inner/.agentignore", "keys.txt\n"),
        ("other", "x\n"),
    ]);
    world.project().join("inner")
}

fn notes(world: &World) -> usize {
    fs::read_dir(world.workforce().join("watch")).map_or(0, |entries| entries.flatten().count())
}

#[test]
fn what_appears_above_the_project_does_not_decide_about_the_next_run() {
    for_each_identity(|base| {
        for made in ["git init -q ..", "mkdir -p ../.agentworkforce/workforce/personas"] {
            let world = World::new(base.who);
            let inner = inner(&world);
            let run = |script: &str| {
                let mut command = world.mounted_command(&[], script);
                let output = command.current_dir(&inner).output().unwrap();
                let text = |bytes: &[u8]| String::from_utf8_lossy(bytes).into_owned();
                (output.status.code().unwrap(), text(&output.stdout), text(&output.stderr))
            };
            assert_eq!(run("echo x > y").0, 0, "{made}");
            assert_eq!(notes(&world), 0, "{made}");
            let (code, _, said) = run(&format!("echo new > z; {made}"));
            assert_eq!(code, 3, "{made}: {said}");
            assert!(said.contains("has appeared during the run"), "{made}: {said}");
            assert!(!inner.join("z").exists(), "{made}: the work is held");
            let (code, seen, said) = run("cat keys.txt");
            assert_eq!((code, seen.as_str()), (4, ""), "{made}: {said}");
            assert!(said.contains("appeared during an earlier run"), "{made}: {said}");
            // A directory that it does not decide about is not affected.
            world.outside("mkdir -p ~/elsewhere");
            let mut command = world.mounted_command(&[], "true");
            assert!(command.current_dir(world.home().join("elsewhere")).status().unwrap().success());
            // A person's word: either it goes, or the note.
            world.outside("rm -rf .git .agentworkforce");
            let (code, seen, said) = run("cat keys.txt || echo hidden");
            assert_eq!((code, seen.as_str()), (0, "hidden\n"), "{made}: {said}");
            assert_eq!(notes(&world), 0, "{made}");
            assert_eq!(run(made).0, 3, "{made}");
            world.outside(&format!("rm {}/watch/*", world.workforce().display()));
            let (code, seen, said) = run("pwd; ls ..");
            assert_eq!(code, 0, "{made}: {said}");
            assert!(seen.contains("other"), "{made}: {seen}");
        }
    });
}

#[test]
fn links_that_would_become_a_layer_or_a_repository_later_do_not_decide_about_the_next_run() {
    for_each_identity(|base| {
        for made in [
            "mkdir -p ../.agentworkforce; ln -s $PWD/tools ../.agentworkforce/workforce; mkdir -p tools/personas",
            "ln -s $PWD/tools ../.agentworkforce; mkdir -p tools/workforce/personas",
            "mkdir ../.git; echo 'ref: refs/heads/main' > ../.git/HEAD; ln -s $PWD/o ../.git/objects
             ln -s $PWD/r ../.git/refs; mkdir o r; touch o/x r/x",
            "echo \"gitdir: $PWD/g\" > ../.git; mkdir -p g/objects g/refs; echo 'ref: refs/heads/main' > g/HEAD",
            "ln -s $PWD/tools ~/team; mkdir tools; echo '{}' > tools/engineer.json",
        ] {
            let world = World::new(base.who);
            let inner = inner(&world);
            world.write("home/.agentworkforce/workforce/config.json", r#"{"personaDirs": ["~/team"]}"#);
            world.give();
            let run = |flags: &[&str], script: &str| {
                let output = world.mounted_command(flags, script).current_dir(&inner).output().unwrap();
                let text = |bytes: &[u8]| String::from_utf8_lossy(bytes).into_owned();
                (output.status.code().unwrap(), text(&output.stdout), text(&output.stderr))
            };
            let (code, _, said) = run(&["--apply", "never"], made);
            assert_eq!(code, 3, "{made}: {said}");
            assert!(said.contains("has appeared during the run"), "{made}: {said}");
            let id = world.listed()[0]["id"].as_str().unwrap().to_owned();
            world.aw(["sessions", "apply", &id]).ends(4).says("appeared during an earlier run");
            let (code, seen, said) = run(&[], "cat keys.txt");
            assert_eq!((code, seen.as_str()), (4, ""), "{made}: {said}");
        }
    });
}

#[test]
fn a_link_of_the_users_that_comes_to_life_by_an_apply_does_not_decide_about_the_next_run() {
    for_each_identity(|world| {
        let inner = inner(&world);
        world.outside("ln -s inner/tools .agentworkforce");
        let run = |flags: &[&str], script: &str| {
            let output = world.mounted_command(flags, script).current_dir(&inner).output().unwrap();
            let text = |bytes: &[u8]| String::from_utf8_lossy(bytes).into_owned();
            (output.status.code().unwrap(), text(&output.stdout), text(&output.stderr))
        };
        let made = "mkdir -p tools/workforce/personas; echo '{}' > tools/workforce/personas/engineer.json";
        assert_eq!(run(&["--apply", "never"], made).0, 0);
        assert_eq!(notes(&world), 0);
        let id = world.listed()[0]["id"].as_str().unwrap().to_owned();
        world
            .aw(["sessions", "apply", &id])
            .ends(0)
            .says("has appeared by this, and would decide about the next run");
        let (code, seen, said) = run(&[], "cat keys.txt");
        assert_eq!((code, seen.as_str()), (4, ""), "{said}");
        world.aw(["sessions", "undo", &id]).ends(0);
        assert_eq!(run(&[], "! cat keys.txt").0, 0);
        assert_eq!(notes(&world), 0);
        world
            .aw(["sessions", "redo", &id])
            .ends(0)
            .says("has appeared by this, and would decide about the next run");
    });
}

#[test]
fn what_appeared_during_a_run_that_was_killed_is_not_forgotten() {
    for_each_identity(|world| {
        let inner = inner(&world);
        let made = world.project().join(".agentworkforce/workforce");
        let mut command = world.mounted_command(&[], "mkdir -p ../.agentworkforce/workforce; sleep 100");
        let mut run = command.current_dir(&inner).stderr(Stdio::null()).spawn().unwrap();
        assert!(soon(|| made.is_dir()), "the command does not start");
        for pid in world.processes() {
            let _ = Command::new("kill").args(["-9", &pid.to_string()]).stderr(Stdio::null()).status();
        }
        run.wait().unwrap();
        let mut command = world.mounted_command(&[], "cat keys.txt");
        let output = command.current_dir(&inner).output().unwrap();
        assert_eq!(output.status.code(), Some(4), "{}", String::from_utf8_lossy(&output.stderr));
        fs::remove_dir_all(world.project().join(".agentworkforce")).unwrap();
        let mut command = world.mounted_command(&[], "! cat keys.txt");
        let output = command.current_dir(&inner).output().unwrap();
        assert_eq!(output.status.code(), Some(0), "{}", String::from_utf8_lossy(&output.stderr));
        assert_eq!(notes(&world), 0);
    });
}
