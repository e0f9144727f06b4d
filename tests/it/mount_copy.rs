//! The copy backend: everything preserved, nothing heavy, nothing hidden.

use crate::support::mount::{World, for_each_identity, read};
use agentworkforce::model::mount::{Backend, Sandbox};
use agentworkforce::model::mount_record::LeftOutReason;
use pretty_assertions::assert_eq;
use std::ffi::OsStr;
use std::fs;
use std::os::unix::ffi::OsStrExt;
use std::os::unix::fs::PermissionsExt;

const COPY: &[&str] = &["--backend", "copy"];

/// One line a path: type, mode, owner, time to the nanosecond, size (of files and links), target of a link.
const LISTING: &str = r"find . -path ./.git -prune -o \( -type d -printf '%y %m %U:%G %T@ %p\n' -o -printf '%y %m %U:%G %T@ %s %l %p\n' \) | LC_ALL=C sort";

#[test]
fn modes_times_links_empty_directories_and_odd_names_are_kept() {
    for_each_identity(|world| {
        world.files(&[("plain", "text"), ("dir/deep/x", "x"), ("exec", "#!/bin/sh\n")]);
        let odd = world.project().join(OsStr::from_bytes(b"odd\xff\n name"));
        fs::write(&odd, "odd").unwrap();
        fs::create_dir(world.project().join("empty")).unwrap();
        std::os::unix::fs::symlink("plain", world.project().join("link")).unwrap();
        std::os::unix::fs::symlink("nowhere", world.project().join("broken")).unwrap();
        std::os::unix::fs::symlink("dir", world.project().join("dirlink")).unwrap();
        std::os::unix::fs::symlink("loop", world.project().join("loop")).unwrap();
        std::os::unix::fs::symlink("/etc/hostname", world.project().join("out")).unwrap();
        fs::write(world.project().join("secret-mode"), "x").unwrap();
        for (path, mode) in [("exec", 0o755), ("secret-mode", 0o400), ("empty", 0o711), ("dir/deep", 0o555)] {
            fs::set_permissions(world.project().join(path), fs::Permissions::from_mode(mode)).unwrap();
        }
        world.give();
        world.outside("mkfifo fifo; touch -h -d '2001-02-03 04:05:06.123456789' plain link dir empty; touch -d 2002-02-02 .");
        let ran = world.run(COPY, LISTING).expect(0);
        let outside = world.outside(&format!("{LISTING} | grep -av fifo"));
        assert_eq!(ran.stdout, outside);
        let record = ran.record();
        assert_eq!(
            (record.backend, record.sandbox, record.skipped_special),
            (Backend::Copy, Sandbox::Off, 1)
        );
        assert_eq!(record.outward_links, ["out".into()]);
        assert_eq!(fs::read(ran.session.join("mount").join(odd.file_name().unwrap())).unwrap(), b"odd");
    });
}

#[test]
fn heavy_ignored_directories_are_left_out_but_never_tracked_files() {
    for_each_identity(|world| {
        world.files(&[
            (".gitignore", "node_modules/\nbuild/\n/dist\ntarget\n"),
            ("node_modules/m/index.js", ""),
            ("packages/p/node_modules/m/index.js", ""),
            ("build/tool.sh", "tracked"),
            ("build/made", "made"),
            ("dist/d", ""),
            ("target/t", ""),
            ("src/out/kept.rs", "a directory that git does not ignore"),
        ]);
        world.outside("git init -q; git add -A; git add -f build/tool.sh; git commit -qm one");
        let list = "find . -path ./.git -prune -o -type f -print | LC_ALL=C sort; git status --porcelain";
        let ran = world.run(COPY, list).expect(0);
        assert_eq!(ran.stdout, "./.gitignore\n./build/made\n./build/tool.sh\n./src/out/kept.rs\n");
        let left: Vec<_> = ran.record().left_out.into_iter().map(|one| (one.path.0, one.reason)).collect();
        let heavy = |path: &str| (path.into(), LeftOutReason::HeavyIgnored);
        assert_eq!(
            left,
            [heavy("dist"), heavy("node_modules"), heavy("packages/p/node_modules"), heavy("target")]
        );

        world.files(&[(".worktreeinclude", "# wanted\ndist\nnode_modules/m/\n")]);
        let ran = world
            .run(
                &[COPY, &["--include", "target"]].concat(),
                "ls -d dist node_modules target packages/p/node_modules",
            )
            .code;
        assert_eq!(ran, Some(2), "only the one that nobody asked for is missing");
        let ran = world
            .run(&[COPY, &["--include", "target"]].concat(), "cat dist/d node_modules/m/index.js target/t")
            .expect(0);
        let left: Vec<_> = ran.record().left_out.into_iter().map(|one| one.path.0).collect();
        assert_eq!(left, [std::path::PathBuf::from("packages/p/node_modules")]);
    });
}

#[test]
fn without_git_nothing_is_left_out() {
    for_each_identity(|world| {
        world.files(&[("node_modules/m/index.js", "x"), ("target/t", "y")]);
        let ran = world.run(COPY, "cat node_modules/m/index.js target/t").expect(0);
        assert_eq!(ran.stdout, "xy");
    });
}

#[test]
fn hidden_paths_are_not_copied_and_planted_ones_never_follow_a_link() {
    for_each_identity(|world| {
        world.files(&[(".env", "TOPSECRET"), ("keys/k", "TOPSECRET"), ("a", "old")]);
        std::os::unix::fs::symlink("../home", world.project().join("link")).unwrap();
        world.give();
        let flags =
            [COPY, &["--hide", ".env", "--hide", "keys", "--plant", "link/ours=x", "--plant", "keys/ours=y"]]
                .concat();
        let ran = world
            .run(&flags, "cat link/ours keys/ours; find . -type f | LC_ALL=C sort; echo new > a")
            .expect(0);
        assert_eq!(ran.stdout, "xy./a\n./keys/ours\n./link/ours\n");
        assert!(!world.home().join("ours").exists());
        assert_eq!(read(world.project().join("a")), "old");
        let found = std::process::Command::new("grep")
            .args(["-rls", "TOPSECRET"])
            .arg(&ran.session)
            .output()
            .unwrap();
        assert_eq!(String::from_utf8_lossy(&found.stdout), "");
    });
}

#[test]
fn a_large_file_costs_no_memory_and_holes_stay_holes() {
    let world = World::new(crate::support::mount::Identity::Own);
    world.outside("dd if=/dev/urandom of=big bs=1M count=40 2>/dev/null; truncate -s 400M holes; printf end >> holes; dd if=big of=holes bs=1M count=1 seek=100 conv=notrunc 2>/dev/null");
    let (small, _) = peak_kilobytes(&world, &["--hide", "big", "--hide", "holes"]);
    let (large, ran) = peak_kilobytes(&world, &[]);
    assert!(large < small + 8_000, "{small} kB without, {large} kB with");
    for name in ["big", "holes"] {
        let same = std::process::Command::new("cmp")
            .arg(world.project().join(name))
            .arg(ran.session.join("mount").join(name))
            .status()
            .unwrap();
        assert!(same.success(), "{name}");
    }
    let blocks =
        std::os::unix::fs::MetadataExt::blocks(&fs::metadata(ran.session.join("mount/holes")).unwrap());
    assert!(blocks * 512 < 50_000_000, "{blocks} blocks");
}

/// The largest memory that opening a copy took, as the kernel counts it for the runner.
fn peak_kilobytes(world: &World, flags: &[&str]) -> (u64, crate::support::mount::Ran) {
    let ran = world.run(&[COPY, flags].concat(), "grep VmHWM /proc/$PPID/status; true").expect(0);
    // The parent inside is init; the runner is asked through the time program instead.
    let mut command = world.program("/usr/bin/env");
    command.args(["python3", "-c", "import resource,subprocess,sys; subprocess.run(sys.argv[1:]); print(resource.getrusage(resource.RUSAGE_CHILDREN).ru_maxrss)"]);
    command.arg(world.mount_program()).args(COPY).args(flags).args(["--", "true"]);
    let output = command.output().unwrap();
    let peak = world.ran(&output).stdout.trim().parse().unwrap_or_else(|_| panic!("{output:?}"));
    (peak, ran)
}
