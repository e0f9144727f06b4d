//! The overlay backend: what the agent sees and can reach, and what lands in the upper directory.

use crate::support::mount::{World, for_each_identity, is_unprivileged, read};
use crate::support::require;
use agentworkforce::model::mount::{Backend, Sandbox};
use agentworkforce::model::mount_record::{Containment, XattrNamespace};
use pretty_assertions::assert_eq;
use std::fs;
use std::os::unix::fs::{MetadataExt, PermissionsExt};

#[test]
fn writes_by_relative_and_absolute_path_stay_in_the_mount() {
    for_each_identity(|world| {
        world.files(&[("a", "old"), ("sub/b", "old")]);
        let script = format!(
            "test \"$PWD\" = {root} && echo new > a && echo new > {root}/sub/b && echo new > c && rm -r sub/b",
            root = world.project().display()
        );
        let ran = world.run(&[], &script).expect(0);
        assert_eq!(ran.record().backend, Backend::Overlay);
        assert_eq!(read(world.project().join("a")), "old");
        assert_eq!(read(world.project().join("sub/b")), "old");
        assert!(!world.project().join("c").exists());
        assert_eq!(read(ran.data("a")), "new\n");
        let expected =
            if is_unprivileged(world.who) { XattrNamespace::User } else { XattrNamespace::Trusted };
        assert_eq!(ran.record().xattrs, Some(expected));
    });
}

#[test]
fn the_child_starts_in_the_same_relative_directory() {
    for_each_identity(|world| {
        world.files(&[("sub/deep/x", "")]);
        world.outside("git init -q");
        let mut command = world.mount(&[], "pwd; echo new > made; ls ../..");
        let ran =
            world.ran(&command.current_dir(world.project().join("sub/deep")).output().unwrap()).expect(0);
        assert_eq!(ran.stdout, format!("{}\nsub\n", world.project().join("sub/deep").display()));
        assert!(!world.project().join("sub/deep/made").exists());
        assert_eq!(read(ran.data("sub/deep/made")), "new\n");
    });
}

#[test]
fn the_upper_directory_holds_whole_files_after_chmod_and_rename() {
    for_each_identity(|world| {
        world.files(&[("script", "content"), ("dir/in/file", "content")]);
        let ran =
            world.run(&[], "chmod 755 script && mv dir moved && mv moved/in/file moved/in/renamed").expect(0);
        assert_eq!(ran.record().backend, Backend::Overlay);
        assert_eq!(read(ran.data("script")), "content");
        assert_eq!(fs::metadata(ran.data("script")).unwrap().mode() & 0o777, 0o755);
        assert_eq!(read(ran.data("moved/in/renamed")), "content");
    });
}

#[test]
fn hidden_files_cannot_be_reached_in_any_way() {
    for_each_identity(|world| {
        world.files(&[
            (".env", "TOPSECRET"),
            ("deep/er/.env", "TOPSECRET"),
            ("keys/id", "TOPSECRET"),
            ("x", ""),
        ]);
        std::os::unix::fs::symlink(".env", world.project().join("link")).unwrap();
        world.give();
        let script = format!(
            r"
            cd {root}
            ls -AR . | grep -E 'env|keys' && echo LISTED
            cat .env link deep/er/.env keys/id {root}/.env
            cat /proc/self/root{root}/.env /proc/self/cwd/.env /proc/thread-self/root{root}/.env
            for p in /proc/[0-9]*; do cat $p/root{root}/.env $p/cwd/.env $p/cwd/../project/.env $p/fd/*/.env; done
            grep -rs TOPSECRET {sessions} {root}
            find {sessions} -name '.env' -exec rm {{}} \;
            cat .env
            rm -f .env; cat .env
            mkdir keys; cat keys/id
            mount -t tmpfs x {root} ; umount {root}; umount -l {sessions}
            cat {root}/.env
            unshare -Urm sh -c 'umount -l {root}; umount -l {sessions}; cat {root}/.env; grep -rs TOPSECRET {sessions}'
            nsenter -t 1 -m cat {root}/.env
            cp -r {root} {home}/copied; grep -rs TOPSECRET {home}/copied; rm -rf {home}/copied
            true",
            root = world.project().display(),
            sessions = world.sessions().display(),
            home = world.home().display(),
        );
        for mode in [
            &["--hide", ".env", "--hide", "keys/"][..],
            &["--hide", ".env", "--hide", "keys/", "--subreaper"],
        ] {
            let ran = world.run(mode, &script).expect(0);
            if mode.contains(&"--subreaper") && !is_unprivileged(world.who) {
                // Root's other processes are in sight, and with them their view: nothing is promised.
                assert_eq!(ran.record().sandbox, Sandbox::Off);
                let _ = world.run(&[mode, &["--sandbox", "project"]].concat(), "true").expect(4);
                continue;
            }
            assert_eq!(ran.record().sandbox, Sandbox::Project);
            assert!(!ran.stdout.contains("TOPSECRET"), "{mode:?} {ran:#?}");
            assert!(!ran.stdout.contains("LISTED"), "{mode:?} {ran:#?}");
            let hidden: Vec<_> =
                ran.record().hidden.into_iter().map(|hidden| (hidden.path.0, hidden.is_dir)).collect();
            assert_eq!(
                hidden,
                [(".env".into(), false), ("deep/er/.env".into(), false), ("keys".into(), true)]
            );
        }
        assert_eq!(read(world.project().join(".env")), "TOPSECRET");
    });
}

#[test]
fn descriptors_of_the_callers_shell_do_not_lead_to_the_project() {
    for_each_identity(|world| {
        world.files(&[(".env", "TOPSECRET")]);
        let program = world.mount_program();
        let script = format!(
            "exec 9< . 8< .env; {program} --hide .env -- sh -c 'cat <&8; cat /proc/self/fd/9/.env; ls /proc/self/fd'"
        );
        let ran = world.ran(&world.program("sh").args(["-c", &script]).output().unwrap());
        assert!(!ran.stdout.contains("TOPSECRET"), "{ran:#?}");
        // The last is that of `ls` on the directory.
        assert_eq!(ran.stdout.split_whitespace().collect::<Vec<_>>(), ["0", "1", "2", "3"]);
    });
}

#[test]
fn the_sessions_directory_is_covered_and_only_generated_files_show_read_only() {
    for_each_identity(|world| {
        world.files(&[("a", "")]);
        let script = format!(
            "cd {sessions} && find . -type f && cat */generated/prompt && (echo forged > */generated/prompt; rm */generated/prompt)
             test -e */mount.json && echo REACHABLE; true",
            sessions = world.sessions().display()
        );
        let ran = world.run(&["--expose", "prompt=be kind"], &script).expect(0);
        let name = ran.session.file_name().unwrap().to_str().unwrap();
        assert_eq!(ran.stdout, format!("./{name}/generated/prompt\nbe kind"));
        assert_eq!(read(ran.session.join("generated/prompt")), "be kind");
    });
}

#[test]
fn capabilities_are_gone_before_the_child_starts() {
    for_each_identity(|world| {
        let ran = world.run(&[], "grep -E '^Cap' /proc/self/status").expect(0);
        let sets: Vec<u64> = ran
            .stdout
            .lines()
            .map(|line| u64::from_str_radix(line.split_whitespace().nth(1).unwrap(), 16).unwrap())
            .collect();
        assert_eq!(sets.len(), 5);
        if is_unprivileged(world.who) {
            assert_eq!(sets, [0; 5]);
        } else {
            // DAC_READ_SEARCH, SYS_MODULE, SYS_RAWIO, SYS_PTRACE, SYS_ADMIN, MKNOD.
            let dropped = [2, 16, 17, 19, 21, 27].iter().fold(0_u64, |set, bit| set | 1 << bit);
            assert!(sets.iter().all(|set| set & dropped == 0), "{}", ran.stdout);
            assert!(sets[2] & 1 != 0, "CHOWN stays: {}", ran.stdout);
        }
    });
}

#[test]
fn planted_files_are_there_and_parents_keep_their_looks() {
    for_each_identity(|world| {
        world.files(&[("docs/a", ""), ("CLAUDE.md", "the user's"), (".claude/settings.json", "{}")]);
        fs::set_permissions(world.project().join("docs"), fs::Permissions::from_mode(0o750)).unwrap();
        world.outside("touch -d 2001-02-03 docs . ");
        let flags = [
            "--hide",
            "CLAUDE.md",
            "--hide",
            ".claude",
            "--plant",
            "CLAUDE.md=ours",
            "--plant",
            "docs/AGENTS.md=ours",
        ];
        let ran = world
            .run(
                &[&flags[..], &["--plant", ".claude/skills/s/SKILL.md=s"]].concat(),
                "cat CLAUDE.md; find .claude -type f; stat -c '%a %Y' docs .",
            )
            .expect(0);
        let time = fs::metadata(world.project()).unwrap().mtime();
        assert_eq!(ran.stdout, format!("ours.claude/skills/s/SKILL.md\n750 {time}\n755 {time}\n"));
        let injected: Vec<_> =
            ran.record().injected.into_iter().map(|file| (file.path.0, file.replaces)).collect();
        assert_eq!(
            injected,
            [
                ("CLAUDE.md".into(), true),
                ("docs/AGENTS.md".into(), false),
                (".claude/skills/s/SKILL.md".into(), false)
            ]
        );
        assert_eq!(read(world.project().join("CLAUDE.md")), "the user's");
    });
}

#[test]
fn strict_leaves_only_the_named_places_writable() {
    for_each_identity(|world| {
        world.files(&[("a", "old")]);
        fs::create_dir_all(world.home().join(".cache")).unwrap();
        world.give();
        let cache = world.home().join(".cache");
        std::os::unix::fs::symlink(".cache", world.home().join("link")).unwrap();
        let script = format!(
            "echo x > a; echo x > {home}/link/ok; echo x > {home}/no; echo x > /tmp/aw-it-{id}; echo x > /dev/null; \
             unshare -Ur true && echo nests; cat a; ls {home} {sessions}",
            id = std::process::id(),
            home = world.home().display(),
            sessions = world.sessions().display()
        );
        let ran = world
            .run(&["--sandbox", "strict", "--writable", world.home().join("link").to_str().unwrap()], &script)
            .expect(0);
        assert_eq!(ran.record().sandbox, Sandbox::Strict);
        assert!(ran.stdout.starts_with("nests\nx\n"), "{ran:#?}");
        assert_eq!(ran.stderr.matches("Read-only file system").count(), 1, "{ran:#?}");
        assert!(!std::path::Path::new("/tmp").join(format!("aw-it-{}", std::process::id())).exists());
        assert_eq!(read(cache.join("ok")), "x\n");
        assert!(!world.home().join("no").exists());
        assert_eq!(read(world.project().join("a")), "old");
    });
}

#[test]
fn strict_with_a_writable_directory_above_the_project_still_protects_the_project() {
    for_each_identity(|world| {
        world.files(&[("a", "old"), (".env", "TOPSECRET")]);
        let above = world.path("");
        let script = "echo new > a; echo new > $PWD/a; echo x > ../beside; cat .env; cat a";
        let flags = ["--sandbox", "strict", "--hide", ".env", "--writable", above.to_str().unwrap()];
        let ran = world.run(&flags, script).expect(0);
        assert_eq!(ran.stdout, "new\n");
        assert_eq!(read(world.project().join("a")), "old");
        assert_eq!(read(world.path("beside")), "x\n");
    });
}

#[test]
fn a_level_that_cannot_be_had_is_refused() {
    for_each_identity(|world| {
        for level in ["project", "strict"] {
            let ran = world.run(&["--backend", "copy", "--sandbox", level], "true").expect(4);
            assert!(ran.stderr.contains("hint:"), "{ran:#?}");
        }
    });
}

#[test]
fn another_mount_below_the_root_means_copy_with_the_reason() {
    let world = World::new(crate::support::mount::Identity::Own);
    world.files(&[("sub/x", ""), ("a", "")]);
    let program = world.mount_program();
    let script = format!("mount -t tmpfs t sub && echo y > sub/y && exec {program} -- cat sub/y");
    let ran =
        world.ran(&world.program("unshare").args(["-Urm", "sh", "-ec", &script]).output().unwrap()).expect(0);
    assert_eq!(ran.stdout, "y\n");
    let record = ran.record();
    assert_eq!(record.backend, Backend::Copy);
    assert!(record.fallback.unwrap().contains("another filesystem is mounted"));
}

#[test]
fn as_root_a_foreign_owner_means_copy_with_the_reason() {
    require::root();
    let world = World::new(crate::support::mount::Identity::Ordinary);
    world.files(&[("sub/mine", ""), ("a", "")]);
    fs::write(world.project().join("sub/foreign"), "root's").unwrap();
    let ran = world.run(&[], "cat sub/foreign; echo new > a").expect(0);
    assert_eq!(ran.stdout, "root's");
    let record = ran.record();
    assert_eq!(record.backend, Backend::Copy);
    let reason = record.fallback.unwrap();
    assert!(reason.contains("sub/foreign") && reason.contains("another user"), "{reason}");
    assert_eq!(read(world.project().join("a")), "");
    let refused = world.run(&["--backend", "overlay"], "true").expect(2);
    assert!(refused.stderr.contains("sub/foreign"), "{refused:#?}");
}

#[test]
fn a_covered_proc_means_a_subreaper_and_the_record_says_so() {
    let world = World::new(crate::support::mount::Identity::Own);
    world.files(&[("a", "old")]);
    // As in a container: part of `/proc` is covered, so the kernel refuses a fresh one in a further user namespace.
    let program = world.mount_program();
    let script = format!(
        "mount -t tmpfs t /proc/tty && exec setpriv --bounding-set=-sys_admin --inh-caps=-all {program} -- \
         sh -c 'echo new > a; (setsid sleep 300.25 &); cat a'"
    );
    let ran =
        world.ran(&world.program("unshare").args(["-Urm", "sh", "-ec", &script]).output().unwrap()).expect(0);
    assert_eq!(ran.stdout, "new\n");
    assert_eq!(ran.record().containment, Containment::Subreaper);
    assert_eq!(ran.record().backend, Backend::Overlay);
    assert_eq!(read(world.project().join("a")), "old");
    assert_eq!(crate::support::mount::processes_with("300.25"), Vec::<i32>::new());
}

#[test]
fn a_root_that_contains_the_state_directory_is_refused() {
    for_each_identity(|world| {
        for root in [world.path(""), world.home(), "/".into()] {
            let ran = world.run(&["--root", root.to_str().unwrap()], "true").expect(2);
            assert!(ran.stderr.contains("cannot be mounted") && ran.stderr.contains("hint:"), "{ran:#?}");
        }
    });
}

#[test]
fn runs_nest_to_depth_two() {
    for_each_identity(|world| {
        world.files(&[("a", "old"), (".env", "TOPSECRET")]);
        let program = world.mount_program();
        let inner =
            format!("{program} --hide .env -- sh -c 'cat .env; echo inner > a; cat a' 2>/dev/null; cat a");
        let ran = world.run(&["--hide", ".env"], &inner).expect(0);
        assert_eq!(ran.stdout, "inner\nold");
        assert_eq!(read(world.project().join("a")), "old");
    });
}

#[test]
fn odd_paths_can_be_mounted() {
    for_each_identity(|world| {
        let name = "a,b:c\\d e\"f".to_owned() + &"long".repeat(40);
        let root = world.path(&name).join("x".repeat(200));
        fs::create_dir_all(&root).unwrap();
        fs::write(root.join("a"), "old").unwrap();
        world.give();
        let ran = world.run(&["--root", root.to_str().unwrap()], "echo new > a; cat a").expect(0);
        assert_eq!(ran.stdout, "new\n");
        assert_eq!(ran.record().backend, Backend::Overlay);
        assert_eq!(read(root.join("a")), "old");
    });
}

#[test]
fn a_session_can_be_removed_by_its_owner() {
    for_each_identity(|world| {
        world.files(&[("d/a", "")]);
        let ran = world.run(&[], "rm -r d; mkdir d; chmod 000 d").expect(0);
        assert_eq!(fs::metadata(ran.session.join("work/work")).unwrap().mode() & 0o777, 0);
        let gone = world.program(&world.mount_program()).arg("--remove").arg(&ran.session).status().unwrap();
        assert!(gone.success());
        assert!(!ran.session.exists());
    });
}

#[test]
fn mounts_do_not_spread_to_the_host() {
    let world = World::new(crate::support::mount::Identity::Own);
    world.files(&[("a", "")]);
    let program = world.mount_program();
    let script = format!(
        "mount --make-rshared /; {program} -- sh -c 'echo > a; sleep 1' & sleep 0.5; grep -c agentworkforce /proc/self/mountinfo; wait"
    );
    let ran =
        world.ran(&world.program("unshare").args(["-Urm", "sh", "-c", &script]).output().unwrap()).expect(0);
    assert_eq!(ran.stdout, "0\n", "{ran:#?}");
    assert_eq!(ran.record().backend, Backend::Overlay);
}

#[test]
fn sandboxes_of_the_harness_nest() {
    for_each_identity(|world| {
        world.files(&[("a", "old")]);
        // What bubblewrap does: its own user, mount and PID namespaces, a fresh `/proc`, read-only binds with the flags there are.
        let script = |own_proc: &str| {
            format!(
                "unshare -Urmpf {own_proc} sh -ec 'mount --bind -o ro,nodev . . ; ls /proc | grep -c \"^[0-9]*$\"; cat a'"
            )
        };
        for args in [&["--sandbox", "project", "--nested-sandbox"][..], &["--sandbox", "strict"]] {
            // A fresh `/proc` would give root the kernel's files back that are read-only.
            let own_proc = if is_unprivileged(world.who) { "--mount-proc" } else { "" };
            let ran = world.run(args, &script(own_proc)).expect(0);
            assert!(ran.stdout.ends_with("old"), "{ran:#?}");
        }
    });
}

#[test]
fn as_root_git_can_use_ssh_in_a_user_namespace() {
    require::root();
    require::program("ssh");
    let world = World::new(crate::support::mount::Identity::Own);
    let id = crate::support::mount::ORDINARY_ID;
    let ordinary = World::new(crate::support::mount::Identity::Ordinary);
    let passwd = world.path("passwd");
    let home = ordinary.home();
    fs::write(&passwd, format!("t:x:{id}:{id}::{}:/bin/sh\n", home.display())).unwrap();
    // ssh wants a user with a name; he is made up in a mount namespace of the test's own, with an included file of root's.
    let program = world.mount_program();
    let script = format!(
        "mount --bind {passwd} /etc/passwd; mkdir -p {dir}/d; echo 'Include /etc/ssh/d/x.conf' > {dir}/ssh_config; \
         echo 'Compression no' > {dir}/d/x.conf; mount --bind {dir} /etc/ssh; cd {project}; \
         export HOME={home}; exec setpriv --reuid {id} --regid {id} --clear-groups {program} -- \
         sh -c 'ssh -G host.invalid > /dev/null || echo plain ssh fails; $GIT_SSH_COMMAND -G host.invalid > /dev/null && echo git can'",
        passwd = passwd.display(),
        dir = world.path("ssh").display(),
        project = ordinary.project().display(),
        home = home.display(),
    );
    let ran =
        world.ran(&world.program("unshare").args(["-m", "sh", "-ec", &script]).output().unwrap()).expect(0);
    assert_eq!(ran.stdout, "plain ssh fails\ngit can\n", "{ran:#?}");
}

#[test]
fn an_ssh_command_of_the_users_own_is_kept() {
    for_each_identity(|world| {
        let mut command = world.mount(&[], "echo $GIT_SSH_COMMAND");
        let ran = world.ran(&command.env("GIT_SSH_COMMAND", "mine").output().unwrap()).expect(0);
        assert_eq!(ran.stdout, "mine\n");
    });
}

#[test]
fn forbidden_user_namespaces_mean_copy_with_the_reason_and_are_not_remembered() {
    let world = World::new(crate::support::mount::Identity::Own);
    world.files(&[("a", "old")]);
    let program = world.mount_program();
    let script = format!(
        "echo 0 > /proc/sys/user/max_user_namespaces; exec setpriv --bounding-set=-sys_admin --inh-caps=-all {program} -- sh -c 'echo new > a; cat a'"
    );
    let ran =
        world.ran(&world.program("unshare").args(["-Ur", "sh", "-ec", &script]).output().unwrap()).expect(0);
    assert_eq!(ran.stdout, "new\n");
    let record = ran.record();
    assert_eq!(record.backend, Backend::Copy);
    assert!(
        record
            .fallback
            .as_ref()
            .unwrap()
            .contains("user namespaces are disabled here (user.max_user_namespaces=0)"),
        "{record:?}"
    );
    assert_eq!(record.containment, Containment::Subreaper);
    // Bad news that an agent may have written must not weaken the next run.
    let cache = world.home().join(".agentworkforce/workforce/cache/mount-probe.json");
    assert!(!cache.exists());
    assert_eq!(world.run(&[], "true").expect(0).record().backend, Backend::Overlay);
    assert!(cache.exists());
}

#[test]
fn a_state_directory_on_an_overlay_means_copy_with_the_reason() {
    for_each_identity(|world| {
        world.files(&[("inner/a", "old"), ("state/x", "")]);
        let program = world.mount_program();
        let script = format!(
            "cd inner; export AGENT_WORKFORCE_HOME=$PWD/../state; {program} -- cat a 2>/dev/null; cat ../state/sessions/*/mount.json"
        );
        let ran = world.run(&["--nested-sandbox"], &script).expect(0);
        assert!(ran.stdout.starts_with("old{"), "{ran:#?}");
        assert!(ran.stdout.contains("is on overlay"), "{ran:#?}");
    });
}
