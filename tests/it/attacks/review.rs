//! What an agent would like a reviewer to overlook.

use crate::support::mount::{World, for_each_identity};
use crate::support::sessions::BACKENDS;
use crate::support::terminal::Terminal;
use std::fmt::Write;

#[test]
fn every_changed_path_is_shown() {
    for_each_identity(|world| {
        world.repository(&[("a.txt", "one\n")]);
        for backend in BACKENDS {
            let script = "for i in $(seq 100 199); do echo x > file$i; done";
            let did = world.mounted(&["--mount", backend], script).ends(0);
            let mut expected = String::new();
            for number in 100..200 {
                let _ = writeln!(expected, "  added     file{number}");
            }
            assert!(did.stderr.contains(&expected), "{did:#?}");
            world.outside("rm file*");
        }
        world.mounted(&["--apply", "never"], "for i in $(seq 100 199); do echo x > file$i; done").ends(0);
        let held = world.listed().into_iter().find(|session| session["state"] == "held").unwrap();
        let shown = world.aw(["sessions", "show", held["id"].as_str().unwrap()]).ends(0);
        shown.says("file100").says("file150").says("file199");
    });
}

#[test]
fn names_that_look_like_another_are_shown_with_what_is_different() {
    for_each_identity(|world| {
        world.repository(&[("a.txt", "one\n")]);
        let names =
            ["a.txt ", "a\u{2800}.txt", "a\u{34f}.txt", "a\u{fe0f}.txt", "a\u{200d}.txt", "a\u{a0}.txt"];
        for backend in BACKENDS {
            let script: String = names.iter().map(|name| format!("echo x > '{name}'; ")).collect();
            world.mounted(&["--mount", backend, "--apply", "never"], &script).ends(0);
            let id = world.listed()[0]["id"].as_str().unwrap().to_owned();
            let diff = world.aw(["sessions", "diff", &id]).ends(0);
            let applied = world.aw(["sessions", "apply", &id]).ends(0);
            // A patch for git names them as git does.
            for (shown, quoted) in [
                ("a.txt\\u{20}", "a.txt "),
                ("a\\u{2800}.txt", "a\\342\\240\\200.txt"),
                ("a\\u{34f}.txt", "a\\315\\217.txt"),
                ("a\\u{fe0f}.txt", "a\\357\\270\\217.txt"),
                ("a\\u{200d}.txt", "a\\342\\200\\215.txt"),
                ("a\\u{a0}.txt", "a\\302\\240.txt"),
            ] {
                let line = format!("diff --git \"a/{quoted}\" \"b/{quoted}\"\n");
                assert!(diff.stdout.contains(&line), "{line} {diff:#?}");
                applied.says(&format!("added     {shown}\n"));
            }
            world.outside("git clean -qfd");
        }
    });
}

#[test]
fn a_repository_that_the_agent_makes_is_not_dropped_in_silence() {
    for_each_identity(|world| {
        world.repository(&[("a.txt", "one\n"), (".gitignore", "cache/\n"), ("vendor/x", "x\n")]);
        for backend in BACKENDS {
            let script = "git init -q made; echo evil > made/.git/hooks/pre-commit; echo x > made/file
                mkdir -p vendor/.GIT/hooks; echo x > vendor/.GIT/hooks/pre-commit; git init -q cache/ignored";
            let did = world.mounted(&["--mount", backend, "--json"], script).ends(0);
            let review = &did.json()["applied"]["outcome"]["review"];
            let dropped: Vec<&str> =
                review["droppedGit"].as_array().unwrap().iter().filter_map(|path| path.as_str()).collect();
            assert_eq!(dropped, ["made/.git", "vendor/.GIT"], "{review:#}");
            assert!(
                !world.project().join("made/.git").exists() && !world.project().join("vendor/.GIT").exists()
            );
            assert_eq!(world.outside("cat made/file; rm -r made"), "x\n");
        }
        let did = world.mounted(&[], "git init -q made").ends(0);
        did.says("not applied: made/.git is a repository that the agent made or changed");
    });
}

#[test]
fn picking_one_file_takes_no_other_along() {
    for_each_identity(|world| {
        world.files(&[("a", "base\n"), ("d/x", "x\n"), ("d/y", "y\n")]);
        for backend in BACKENDS {
            let script = "rm a; mkdir a; echo safe > a/safe; echo evil > a/evil; rm -r d; echo file > d";
            world.mounted(&["--mount", backend, "--apply", "never"], script).ends(0);
            let id = world.listed()[0]["id"].as_str().unwrap().to_owned();
            world.aw(["sessions", "apply", &id, "--only", "a/safe"]).ends(0);
            assert_eq!(world.outside("cat a/safe; ls a d"), "safe\na:\nsafe\n\nd:\nx\ny\n");
            // A directory that becomes a file needs all that is deleted in it.
            world.aw(["sessions", "apply", &id, "--only", "d"]).ends(0);
            assert_eq!(world.outside("cat d; ls a"), "file\nsafe\n");
            world.aw(["sessions", "discard", &id]).ends(0);
            world.outside("rm -r a d; echo base > a; mkdir d; echo x > d/x; echo y > d/y");
        }
    });
}

/// What git ignores is not shown, and may stop being ignored while the question is open.
#[test]
fn what_was_not_shown_is_not_applied() {
    for_each_identity(|world| {
        world.repository(&[("a.txt", "one\n"), (".gitignore", "build/\n")]);
        let terminal = Terminal::open(&world);
        terminal.line(
            "$AW mount -- sh -c 'echo nice > a.txt; mkdir build; echo EVIL > build/evil'; echo ended $?",
        );
        terminal.shows("[a]pply");
        world.outside("echo > .gitignore");
        terminal.line("a");
        terminal.shows("ended 0");
        assert_eq!(world.outside("cat a.txt; ls"), "nice\na.txt\n");
        // It is not lost.
        world.outside("rm -rf build");
        let id = world.listed()[0]["id"].as_str().unwrap().to_owned();
        world.aw(["sessions", "apply", &id]).ends(0);
        assert_eq!(world.outside("cat build/evil"), "EVIL\n");
    });
}

#[test]
fn a_submodule_of_the_project_is_not_reported() {
    let world = World::new(crate::support::mount::Identity::Own);
    world.repository(&[("a.txt", "one\n")]);
    world.outside("git init -q ../other; git -C ../other commit -q --allow-empty -m x; git -c protocol.file.allow=always submodule --quiet add ../other sub; git commit -qm sub");
    for backend in BACKENDS {
        let did = world.mounted(&["--mount", backend, "--json"], "echo x > sub/file; rm sub/file").ends(0);
        assert_eq!(
            did.json()["applied"]["outcome"]["review"]["droppedGit"],
            serde_json::json!([]),
            "{did:#?}"
        );
    }
}

#[test]
fn what_the_agent_wrote_does_not_get_the_setuid_bit_of_the_file_it_replaces() {
    for_each_identity(|world| {
        let names = ["suid", "sgid", "both", "merged", "markers", "mode", "plain", "linked"];
        let text = "one\ntwo\nthree\nfour\nfive\nsix\nseven\n";
        let files: Vec<(&str, &str)> = names.iter().map(|name| (*name, text)).collect();
        world.repository(&files);
        let modes = || {
            world.outside("stat -c '%n %a' suid sgid both merged markers mode plain linked | tr '\\n' ' '")
        };
        let users = "chmod 4755 suid merged markers mode linked; chmod 2755 sgid; chmod 6711 both; ln -f linked ../other-name";
        for backend in BACKENDS {
            eprintln!("{backend}");
            world.outside(&format!("git checkout -q .; {users}"));
            let before = modes();
            let attack = "for f in suid sgid both; do echo agent > $f; done
                sed -i s/one/ONE/ merged; sed -i s/four/FOUR/ markers
                chmod 700 mode linked; chmod 6755 plain; echo x > new; chmod 6755 new; mkdir d; chmod 2775 d";
            world.mounted(&["--mount", backend, "--apply", "never"], attack).ends(0);
            let id = world.listed().into_iter().find(|session| session["state"] == "held").unwrap();
            let id = id["id"].as_str().unwrap().to_owned();
            let shown = world.aw(["sessions", "show", &id]).ends(0);
            shown
                .says("modified  suid  (its setuid bit is dropped)")
                .says("sgid  (its setgid bit is dropped)");
            world.outside(
                "sed -i s/seven/SEVEN/ merged; sed -i s/four/mine/ markers; chmod 4755 merged markers",
            );
            world.aw(["sessions", "apply", &id, "--markers", "markers"]).ends(0);
            assert_eq!(world.outside("head -n1 merged; tail -n1 merged"), "ONE\nSEVEN\n");
            let expected =
                "suid 755 sgid 755 both 711 merged 755 markers 755 mode 4700 plain 755 linked 4700 ";
            assert_eq!(modes(), expected, "{backend}");
            assert_eq!(world.outside("stat -c %a new d ../other-name"), "755\n775\n4755\n");
            // The user's own files are what they were.
            world.aw(["sessions", "undo", &id]).ends(0);
            assert_eq!(modes(), before);
            world.outside("rm ../other-name");
        }
    });
}
