//! An agent that moves our home, the project or a directory above them out of the way and makes another one in its place.

use crate::support::mount::{World, for_each_identity, identities, read};
use crate::support::require;
use std::fs;
use std::os::unix::fs::MetadataExt;
use std::path::Path;

const SECRET: &str = "TOP-SECRET-VALUE";

/// A project with a secret, and a script that makes a home in which nothing is hidden.
fn world_with_secret(world: &World) -> String {
    world.repository(&[("a", "old\n"), (".env", SECRET)]);
    world.outside("mkdir -p ~/.agentworkforce/workforce");
    format!(
        "mkdir -p {home}/.agentworkforce/workforce && \
         echo '{{\"mount\": {{\"revealPatterns\": [\".env\"]}}}}' > {home}/.agentworkforce/workforce/config.json",
        home = world.home().display()
    )
}

#[test]
fn no_directory_above_our_home_can_be_renamed() {
    for_each_identity(|world| {
        let forge = world_with_secret(&world);
        let root = world.root();
        let identity = fs::metadata(world.workforce()).unwrap().ino();
        let script = format!(
            "set +e; moved=0
             mv {home}/.agentworkforce/workforce {home}/.agentworkforce/x && moved=1
             mv {home}/.agentworkforce {home}/.x && moved=1
             mv {home} {root}/elsewhere && moved=1
             mv {root} {root}.elsewhere && moved=1
             rm -rf {home}/.agentworkforce 2>/dev/null
             {forge}
             echo new > a; echo moved=$moved",
            home = world.home().display(),
            root = root.display(),
        );
        let did = world.mounted(&["--sandbox", "project"], &script).ends(0);
        assert!(did.stdout.contains("moved=0"), "{did:#?}");
        assert_eq!(fs::metadata(world.workforce()).unwrap().ino(), identity);
        assert!(!world.workforce().join("config.json").exists());
        assert_eq!(read(world.project().join("a")), "new\n");
        let next = world.mounted(&[], "cat .env || true; ls -A").ends(0);
        assert!(!next.stdout.contains(SECRET), "{next:#?}");
        // What is not in the way of anything can still be renamed.
        world.mounted(&[], "mkdir ~/own && mv ~/own ~/renamed && mv ~/renamed . && ls -d renamed").ends(0);
    });
}

#[test]
fn the_directory_above_the_project_cannot_be_renamed_at_strict_either() {
    for_each_identity(|world| {
        world.files(&[("a", "old\n")]);
        let root = world.root();
        let identity = fs::metadata(world.project()).unwrap().ino();
        let script = format!(
            "mv {root} {root}.moved && mkdir -p {root}/project && echo forged > {root}/project/a
             mv {root}/project {root}/elsewhere
             echo new > a",
            root = root.display()
        );
        let above = root.parent().unwrap().to_str().unwrap().to_owned();
        let ran = world.run(&["--sandbox", "strict", "--writable", &above], &script).expect(0);
        assert_eq!(fs::metadata(world.project()).unwrap().ino(), identity, "{ran:#?}");
        assert_eq!(read(world.project().join("a")), "old\n");
        assert_eq!(read(ran.data("a")), "new\n");
    });
}

/// Moves a directory into another one from a mount namespace in which neither is a mount point, looks at it through a mount of
/// that other directory, and moves it back.
const MOVE_FROM_UNDER_ITS_MOUNT: &str = r#"
import ctypes, os, sys
libc = ctypes.CDLL(None, use_errno=True)
def check(result, what):
    if result < 0: sys.exit(what + ": " + os.strerror(ctypes.get_errno()))
above, name, wanted = sys.argv[1:]
above_fd = os.open(above, os.O_RDONLY | os.O_DIRECTORY)
uid, gid = os.getuid(), os.getgid()
check(libc.unshare(0x10000000 | 0x20000), "namespaces")
open("/proc/self/setgroups", "w").write("deny")
open("/proc/self/uid_map", "w").write("%d %d 1" % (uid, uid))
open("/proc/self/gid_map", "w").write("%d %d 1" % (gid, gid))
beside = "beside-" + name
os.mkdir(beside, dir_fd=above_fd)
check(libc.mount(b"none", b"/mnt", b"tmpfs", 0, None), "memory")
os.mkdir("/mnt/beside")
check(libc.mount((above + "/" + beside).encode(), b"/mnt/beside", None, 4096, None), "bind")
beside_fd = os.open("/mnt/beside", os.O_RDONLY | os.O_DIRECTORY)
os.chdir("/mnt")
os.mkdir("old")
check(libc.syscall(155 if os.uname().machine == "x86_64" else 41, b".", b"old"), "pivot_root")
os.chdir("/")
check(libc.umount2(b"/old", 2), "umount")
os.rename(name, beside + "/" + name, src_dir_fd=above_fd, dst_dir_fd=above_fd)
print("moved", open(os.open(name + "/" + wanted, os.O_RDONLY, dir_fd=beside_fd)).read())
open(os.open(name + "/forged", os.O_WRONLY | os.O_CREAT, dir_fd=beside_fd), "w").write("forged")
os.rename(beside + "/" + name, name, src_dir_fd=above_fd, dst_dir_fd=above_fd)
os.rmdir(beside, dir_fd=above_fd)
"#;

#[test]
fn no_mount_namespace_moves_a_directory_from_under_its_mount() {
    require::program("python3");
    for_each_identity(|world| {
        world.repository(&[("a", "old\n"), (".env", SECRET)]);
        world.outside(&format!(
            "mkdir -p ~/.agentworkforce/workforce; echo {SECRET} > ~/.agentworkforce/workforce/x"
        ));
        let attack = world.path("attack.py");
        fs::write(&attack, MOVE_FROM_UNDER_ITS_MOUNT).unwrap();
        let (attack, root, home) = (attack.display(), world.root(), world.home());
        let attempt =
            |above: &Path, rest: &str| format!("python3 {attack} {} {rest} || true\n", above.display());
        let within = attempt(&root, "project .env") + &attempt(&home, ".agentworkforce workforce/x");
        // At strict that is a temporary directory of the run's own.
        let above =
            attempt(root.parent().unwrap(), &format!("{} project/.env", root.file_name().unwrap().display()));
        let after = "echo new > a; unshare -U true && echo other namespaces can be made";
        for (level, attempts) in [("project", within.clone() + &above), ("strict", within)] {
            let did = world.mounted(&["--sandbox", level], &(attempts + after)).ends(0);
            assert!(!did.stdout.contains("moved"), "{level} {did:#?}");
            assert!(!did.stdout.contains(SECRET), "{level} {did:#?}");
            assert!(did.stdout.contains("other namespaces can be made"), "{level} {did:#?}");
            assert_eq!(world.outside("find . ~/.agentworkforce -name forged"), "", "{level}");
            assert_eq!(read(world.project().join("a")), "new\n");
        }
    });
}

#[test]
fn a_link_to_our_home_that_was_replaced_is_noticed_and_nothing_is_applied() {
    for_each_identity(|world| {
        let forge = world_with_secret(&world);
        world.outside("mv ~/.agentworkforce ~/real && ln -s real ~/.agentworkforce");
        world.mounted(&[], "true").ends(0);
        // The list of what there was at launch is written meanwhile; without it the work would be kept, but as a conflict.
        let script = format!("echo new > a; sleep 1; rm ~/.agentworkforce; {forge}");
        let did = world.mounted(&[], &script).ends(3);
        did.says("was moved or replaced during the run: nothing was applied").says("hint:");
        assert_eq!(read(world.project().join("a")), "old\n");
        // The work is kept where it was.
        world.outside("rm -r ~/.agentworkforce && ln -s real ~/.agentworkforce");
        let held = world.listed()[0]["id"].as_str().unwrap().to_owned();
        world.aw(["sessions", "recover", &held]).ends(0);
        world.aw(["sessions", "apply", &held]).ends(0);
        assert_eq!(read(world.project().join("a")), "new\n");
    });
}

#[test]
fn in_a_copy_a_home_or_project_that_was_replaced_is_noticed_and_nothing_is_applied() {
    for who in identities() {
        for victim in ["home/.agentworkforce", "project"] {
            let world = World::new(who);
            world_with_secret(&world);
            let victim = world.path(victim);
            // The project as it is at launch is noted meanwhile.
            let script = format!("sleep 0.5; echo new > a; mv {0} {0}.x; cp -a {0}.x {0}", victim.display());
            let did = world.mounted(&["--mount", "copy"], &script).ends(3);
            did.says("was moved or replaced during the run: nothing was applied");
            did.says(&format!("{}.x", victim.display()));
            assert_eq!(read(world.project().join("a")), "old\n");
            world.outside(&format!("rm -rf {0} && mv {0}.x {0}", victim.display()));
            assert_eq!(read(world.project().join("a")), "old\n");
            let held = world.listed()[0]["id"].as_str().unwrap().to_owned();
            let _ = world.aw(["sessions", "recover", &held]);
            world.aw(["sessions", "apply", &held]).ends(0);
            assert_eq!(read(world.project().join("a")), "new\n");
        }
    }
}
