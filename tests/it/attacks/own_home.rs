//! An agent that writes our own home: locks, caches, configuration, sessions.

use crate::support::mount::{BINARY, World, for_each_identity, read};
use crate::support::sessions::Did;
use std::fs;
use std::os::unix::fs::{MetadataExt, PermissionsExt};

/// The name of the lock of the world's project.
fn lock_name(world: &World) -> String {
    let root = fs::metadata(world.project()).unwrap();
    format!("{:x}-{:x}.lock", root.dev(), root.ino())
}

#[test]
fn nothing_that_is_written_to_our_home_from_inside_is_there_afterwards() {
    for_each_identity(|world| {
        world.repository(&[("a", "old\n")]);
        let home = world.workforce();
        for dir in ["cache/skills", "locks", "personas"] {
            fs::create_dir_all(home.join(dir)).unwrap();
        }
        fs::write(home.join("cache/skills/index.json"), "{\"sources\": {}}").unwrap();
        world.give();
        for level in ["project", "strict"] {
            let script = format!(
                "cd {home}; set +e
                 echo FORGED > locks/{lock}; echo FORGED > locks/other; rm -rf locks
                 echo FORGED > cache/mount-probe.json; echo FORGED > cache/skills/index.json; mkdir cache/FORGED
                 echo FORGED > config.json; mkdir -p personas; echo FORGED > personas/x.json
                 mkdir FORGED; mv cache moved; mv locks moved
                 cd - && echo new > a",
                home = home.display(),
                lock = lock_name(&world),
            );
            world.mounted(&["--sandbox", level], &script).ends(0);
            assert_eq!(read(world.project().join("a")), "new\n", "{level}: the work itself is applied");
            let found = world.outside(&format!(
                "cd {}; grep -rl FORGED --exclude-dir sessions . || true; find . -name FORGED",
                home.display()
            ));
            assert_eq!(found, "", "{level}");
            assert_eq!(read(home.join("cache/skills/index.json")), "{\"sources\": {}}", "{level}");
            assert!(!home.join("locks/other").exists() && home.join("locks").is_dir(), "{level}");
            world.outside("echo old > a");
        }
    });
}

/// What the harness is configured by during the run is in the session.
#[test]
fn the_files_of_the_session_cannot_be_replaced_from_inside() {
    for_each_identity(|base| {
        let script = "begins; P=$(pwd); cd ~/.agentworkforce/workforce/sessions; S=$(ls); ls $S > $P/listed; \
                      (mv $S old || mv $S/claude-settings.json $S/x || rm -f $S/* || echo x > $S/new) && echo $S > $P/changed; \
                      cd $P; answers done";
        let world = World::with_harness(base.who, script);
        for level in ["project", "strict"] {
            let (report, code) = world.report(&["--sandbox", level]);
            assert_eq!(code, 0, "{report:#}");
            assert!(read(world.project().join("listed")).contains("claude-settings.json"), "{level}");
            assert!(!world.project().join("changed").exists(), "{level}");
        }
    });
}

#[test]
fn a_forged_note_in_the_lock_does_not_make_the_runner_finish_the_agents_journal() {
    for_each_identity(|world| {
        world.repository(&[("a", "old\n"), ("victim/x", "precious")]);
        let forged = world.home().join("forged");
        world.mounted(&[], "echo first > a").ends(0);
        // What a killed apply leaves, except that the stage is a directory of the user's.
        let journal = serde_json::json!({
            "schemaVersion": 1, "number": 1, "purpose": "apply", "state": "staging",
            "root": world.project(), "rootDev": fs::metadata(world.project()).unwrap().dev(),
            "rootIno": fs::metadata(world.project()).unwrap().ino(),
            "stage": {"project": {"name": "victim"}}, "operations": []
        });
        let note = serde_json::json!({"session": forged, "number": 1});
        let script = format!(
            "mkdir -p {forged}/journal && echo '{journal}' > {forged}/journal/1.json
             (echo '{note}' > {home}/locks/{lock}) || true
             echo new > a",
            forged = forged.display(),
            home = world.workforce().display(),
            lock = lock_name(&world),
        );
        world.mounted(&["--sandbox", "project"], &script).ends(0);
        assert_eq!(read(world.project().join("victim/x")), "precious");
        assert_eq!(read(world.project().join("a")), "new\n");
        world.mounted(&[], "echo newer > a").ends(0);
        assert_eq!(read(world.project().join("victim/x")), "precious");
        assert_eq!(read(world.project().join("a")), "newer\n");
    });
}

#[test]
fn a_run_inside_of_a_run_applies_to_the_outer_mount() {
    for_each_identity(|world| {
        world.repository(&[("a", "old\n"), ("b", "old\n")]);
        let script = format!(
            "{BINARY} mount -- sh -ec 'echo inner > a'; cat a; {BINARY} sessions list; \
             {BINARY} mount --apply never -- sh -ec 'echo held > b'; cat b"
        );
        let did = world.mounted(&[], &script).ends(0);
        assert!(did.stdout.starts_with("inner\n"), "{did:#?}");
        assert!(did.stdout.ends_with("old\n"), "{did:#?}");
        assert_eq!(read(world.project().join("a")), "inner\n");
        assert_eq!(read(world.project().join("b")), "old\n");
        assert_eq!(world.listed().len(), 1, "the inner sessions went with the outer run");
    });
}

#[test]
fn our_home_is_closed_to_others_whoever_makes_it() {
    for_each_identity(|world| {
        let home = world.workforce();
        let above = home.parent().unwrap();
        let mode = |path: &std::path::Path| fs::metadata(path).unwrap().mode() & 0o777;
        let edits = ["config set limits.usd 5", "create foo --to user"];
        for edit in edits {
            if above.exists() {
                fs::remove_dir_all(above).unwrap();
            }
            world.outside(&format!("umask 0; {BINARY} {edit}"));
            assert_eq!((mode(&home), mode(above) & 0o022), (0o700, 0), "{edit}");
        }
        // One that was made open is closed by whatever comes next.
        for command in ["list", "show engineer", "mount -- true"] {
            for dir in [&home, above] {
                fs::set_permissions(dir, fs::Permissions::from_mode(0o777)).unwrap();
            }
            world.outside(&format!("{BINARY} {command}"));
            assert_eq!((mode(&home), mode(above) & 0o022), (0o700, 0), "{command}");
        }
        // A command that writes nothing leaves nothing.
        fs::remove_dir_all(above).unwrap();
        world.outside(&format!("{BINARY} config get limits.usd || true; {BINARY} list"));
        assert!(!above.exists());
    });
}

#[test]
fn a_home_that_others_can_write_is_refused() {
    for_each_identity(|world| {
        let home = world.path("shared-home");
        fs::create_dir(&home).unwrap();
        let planted = world.path("planted");
        fs::create_dir(&planted).unwrap();
        let persona = "{\"id\": \"engineer\", \"intent\": \"x\", \"systemPrompt\": \"PLANTED\", \"harness\": \"claude\"}";
        fs::write(planted.join("engineer.json"), persona).unwrap();
        let config = format!("{{\"personaDirs\": [\"{}\"]}}", planted.display());
        fs::write(home.join("config.json"), config).unwrap();
        world.give();
        let show = |home: &std::path::Path, arguments: &[&str]| {
            let mut command = world.aw_command(arguments.iter().copied());
            Did::of(&command.env("AGENT_WORKFORCE_HOME", home).output().unwrap())
        };
        for mode in [0o1777, 0o777, 0o702] {
            fs::set_permissions(&home, fs::Permissions::from_mode(mode)).unwrap();
            for arguments in [&["show", "engineer"][..], &["mount", "--", "true"], &["config", "list"]] {
                let did = show(&home, arguments).ends(2);
                let said = format!("{}{}", did.stdout, did.stderr);
                assert!(
                    said.contains("others may write") && said.contains("chmod go-w"),
                    "{mode:o}: {did:#?}"
                );
                assert!(!said.contains("PLANTED") && !said.contains("planted"), "{mode:o}: {did:#?}");
            }
        }
        fs::set_permissions(&home, fs::Permissions::from_mode(0o755)).unwrap();
        show(&home, &["show", "engineer"]).ends(0);
        assert_eq!(fs::metadata(&home).unwrap().mode() & 0o777, 0o755, "it keeps its mode");
        show(&world.path("none-yet"), &["show", "engineer"]).ends(0);
    });
}
