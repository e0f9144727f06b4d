//! Attacks on the machine below the mount: raw devices, the kernel's own files, capabilities.

use crate::support::mount::{Identity, World, for_each_identity, identities, is_unprivileged};
use crate::support::require;
use crate::support::sessions::Did;
use crate::support::terminal::Terminal;
use pretty_assertions::assert_eq;
use std::collections::BTreeSet;
use std::path::Path;

/// Every device outside, one a line.
fn devices_outside(world: &World) -> String {
    world.outside("find /dev -xdev \\( -type b -o -type c \\) 2>/dev/null || true")
}

#[test]
fn no_disk_kernel_log_or_console_can_be_opened_at_strict() {
    for_each_identity(|world| {
        let outside = devices_outside(&world);
        assert!(outside.lines().count() >= 6, "there is nothing to attack: {outside}");
        world.files(&[("devices", &outside)]);
        let script = "while read -r name; do
              if [ -e \"$name\" ] && dd if=\"$name\" of=/dev/null count=0 2>/dev/null; then echo \"$name\"; fi
            done < devices";
        let did = world.mounted(&["--sandbox", "strict"], script).ends(0);
        let opened: BTreeSet<&str> = did.stdout.lines().collect();
        let harmless = ["/dev/full", "/dev/null", "/dev/ptmx", "/dev/random", "/dev/urandom", "/dev/zero"];
        assert!(opened.is_subset(&BTreeSet::from(harmless)) && opened.contains("/dev/null"), "{did:#?}");
        let script = "find /dev -path /dev/shm -prune -o -type b -print; ls /dev";
        let did = world.mounted(&["--sandbox", "strict"], script).ends(0);
        let names: BTreeSet<&str> = did.stdout.lines().collect();
        let expected = [
            "fd", "full", "null", "ptmx", "pts", "random", "shm", "stderr", "stdin", "stdout", "tty",
            "urandom", "zero",
        ];
        assert_eq!(names, BTreeSet::from(expected), "{did:#?}");
    });
}

#[test]
fn as_root_a_file_that_is_hidden_cannot_be_read_from_the_disk_below() {
    require::root();
    require::program("losetup");
    require::program("mkfs.ext4");
    require::program("debugfs");
    // The project is on a filesystem of its own, on a loop device.
    let outer = World::new(Identity::Own);
    outer.outside("truncate -s 64M ../disk; mkfs.ext4 -q ../disk; mkdir ../at");
    let device = outer.outside("losetup --find --show ../disk").trim().to_owned();
    let detached = Detached { device: &device, at: outer.path("at") };
    outer.outside(&format!("mount {device} ../at; mkdir ../at/proj"));
    outer.outside("cd ../at/proj; git init -q .; echo SECRET=abc > .env; sync -f .env");
    let read = |level: &str| {
        let script = format!("debugfs -R 'cat /proj/.env' {device} 2>&1; cat .env 2>&1; true");
        let mut command =
            outer.aw_command(["mount", "--sandbox", level, "--apply", "never", "--", "sh", "-c", &script]);
        let output = command.current_dir(outer.path("at/proj")).output().unwrap();
        assert!(output.status.success(), "{output:?}");
        String::from_utf8_lossy(&output.stdout).into_owned()
    };
    let outside = outer.outside(&format!("debugfs -R 'cat /proj/.env' {device} 2>/dev/null"));
    assert!(outside.contains("SECRET=abc"), "the attack does not work: this test shows nothing");
    for level in ["project", "strict"] {
        assert!(!read(level).contains("SECRET"), "{level}");
    }
    drop(detached);
}

/// Takes the disk away again, whatever became of the test.
struct Detached<'a> {
    device: &'a str,
    at: std::path::PathBuf,
}

impl Drop for Detached<'_> {
    fn drop(&mut self) {
        let _ = std::process::Command::new("umount").arg("-l").arg(&self.at).status();
        let _ = std::process::Command::new("losetup").args(["-d", self.device]).status();
    }
}

#[test]
fn the_kernels_own_files_cannot_be_written_at_strict() {
    for_each_identity(|world| {
        // Opened for writing and closed again: nothing is written, whoever may.
        let script =
            "for name in /proc/sys/kernel/core_pattern /proc/sys/kernel/modprobe /proc/sys/vm/drop_caches \
              /proc/sysrq-trigger /proc/irq/default_smp_affinity /sys/kernel/uevent_helper /sys/power/state \
              /sys/module/*/parameters/*; do
              if [ -e \"$name\" ] && (: >> \"$name\") 2>/dev/null; then echo \"$name\"; fi
            done
            unshare -Urmpf --mount-proc sh -c ': >> /proc/sys/kernel/core_pattern && echo nested' 2>/dev/null || true
            echo 500 > /proc/self/oom_score_adj && echo own";
        let did = world.mounted(&["--sandbox", "strict"], script).ends(0);
        assert_eq!(did.stdout, "own\n", "{did:#?}");
    });
}

#[test]
fn as_root_disks_and_the_kernels_files_are_out_of_reach_below_strict_too() {
    let world = World::new(Identity::Own);
    world.files(&[("a", "")]);
    // What is covered is `/dev/null` (1:3), whatever its name.
    let script = "for name in $(find /dev -xdev -type b) /dev/mem /dev/kmsg /dev/fuse; do
          if [ -e $name ] && [ $(stat -c %t:%T $name) != 1:3 ]; then echo $name; fi
        done
        for name in /proc/sys/kernel/core_pattern /proc/sysrq-trigger /sys/kernel/uevent_helper; do
          if [ -e $name ] && (: >> $name) 2>/dev/null; then echo $name; fi
        done
        for dir in /sys/fs/cgroup /sys/fs/cgroup/*; do
          if mkdir $dir/aw-attack 2>/dev/null; then rmdir $dir/aw-attack; echo $dir; fi
        done
        dd if=/dev/zero of=/dev/null count=1 2>/dev/null && echo works";
    let did = world.mounted(&["--sandbox", "project"], script).ends(0);
    assert_eq!(did.stdout, "works\n", "{did:#?}");
}

/// Runs a script in a mount on a machine that was prepared by another script, as root and in a mount namespace of its own.
fn prepared(world: &World, before: &str, level: &str, script: &str) -> Did {
    let run = world.mounted_command(&["--sandbox", level], script);
    let mut command = std::process::Command::new("unshare");
    command.args(["-m", "sh", "-ec", &format!("{before}\nexec \"$@\""), "sh"]);
    command.arg(run.get_program()).args(run.get_args()).current_dir(world.project());
    for (name, value) in run.get_envs() {
        match value {
            Some(value) => command.env(name, value),
            None => command.env_remove(name),
        };
    }
    Did::of(&command.output().unwrap()).ends(0)
}

#[test]
fn as_root_a_chroots_mounts_of_the_kernels_files_and_device_nodes_open_nothing() {
    require::root();
    for who in identities() {
        // Not in `/dev/shm`, which is below what is looked at.
        let world = World::new_in(who, Path::new("/tmp"));
        world.files(&[("a", "")]);
        let root = world.path("chroot");
        // A node of a device that has no end, on an ordinary filesystem.
        let before = format!(
            "cd {root}; mount -t proc proc proc; mount --rbind /dev dev; mount --rbind /sys sys
            touch file; mount --bind /proc/sys/kernel/core_pattern file
            mknod ../node c 1 5; chmod 666 ../node; cd - > /dev/null",
            root = root.display()
        );
        for name in ["proc", "dev", "sys"] {
            std::fs::create_dir_all(root.join(name)).unwrap();
        }
        let script = format!(
            "ls {root}/proc {root}/dev {root}/sys; cat {root}/file {root}/../node 2> /dev/null | head -c 1 | wc -c
            (: >> {root}/proc/sys/kernel/core_pattern) 2> /dev/null && echo core
            head -c 1 /dev/zero | wc -c; test -d /proc/self/fd
            if unshare -Urmpf --mount-proc true 2> /dev/null; then echo nests; fi",
            root = root.display()
        )
        .replace("&& echo core", "&& echo core || true");
        for level in ["project", "strict"] {
            // What root could do with them, an ordinary user cannot.
            if level == "project" && is_unprivileged(world.who) {
                continue;
            }
            let _ = std::fs::remove_file(world.path("node"));
            let did = prepared(&world, &before, level, &script);
            let dir = root.display();
            let empty = format!("{dir}/dev:\n\n{dir}/proc:\n\n{dir}/sys:\n");
            let nests = if level == "strict" { "nests\n" } else { "" };
            assert_eq!(did.stdout, format!("{empty}0\n1\n{nests}"), "{level} {did:#?}");
        }
    }
}

#[test]
fn as_root_a_disk_that_appears_during_the_run_is_not_there() {
    require::root();
    // Not in `/dev/shm`, which is below what is replaced.
    let world = World::new_in(Identity::Own, Path::new("/tmp"));
    world.files(&[("a", "")]);
    let dev = world.path("dev");
    std::fs::create_dir(&dev).unwrap();
    // A `/dev` to which a device is added (1:5) when the run says that it has begun.
    let before = format!(
        "mount -t tmpfs -o mode=755 none {dev}; cp -a /dev/null /dev/zero /dev/tty /dev/urandom {dev}; ln -s /proc/self/fd {dev}/fd
        mount --rbind {dev} /dev
        (for i in $(seq 400); do [ ! -e {root}/began ] || break; sleep 0.05; done; mknod {dev}/sdz c 1 5; touch {root}/added) &",
        dev = dev.display(),
        root = world.root().display()
    );
    let script = format!(
        "touch {root}/began; for i in $(seq 400); do [ ! -e {root}/added ] || break; sleep 0.05; done; [ -e {root}/added ]; ls -d /dev/fd /dev/null /dev/sd*",
        root = world.root().display()
    );
    let did = prepared(&world, &before, "project", &format!("{script} 2> /dev/null || true"));
    assert_eq!(did.stdout, "/dev/fd\n/dev/null\n", "{did:#?}");
}

#[test]
fn as_root_the_raw_devices_of_disks_are_covered_by_their_real_names() {
    require::root();
    let world = World::new_in(Identity::Own, Path::new("/tmp"));
    world.files(&[("a", "")]);
    let dev = world.path("dev");
    std::fs::create_dir(&dev).unwrap();
    // Stand-ins (1:5).
    let before = format!(
        "mount -t tmpfs -o mode=755 none {dev}; cp -a /dev/null /dev/zero /dev/tty /dev/random /dev/urandom {dev}
        for name in ng0n1 ng1n12 mmcblk0rpmb mtd0 mtd0ro ubi0_0 watchdog0 sg0 other0; do mknod {dev}/$name c 1 5; done
        mount --rbind {dev} /dev",
        dev = dev.display()
    );
    let script = "cd /dev; stat -c '%n %t:%T' * | grep 1:5";
    assert_eq!(prepared(&world, &before, "project", script).stdout, "other0 1:5\nzero 1:5\n");
}

#[test]
fn shared_memory_of_the_user_is_out_of_reach_at_strict() {
    for_each_identity(|world| {
        require::program("ipcmk");
        world.files(&[("a", "")]);
        let made = world.outside("ipcmk -M 4096");
        let id = made.split_whitespace().last().unwrap().to_owned();
        let did = world.mounted(&["--sandbox", "strict"], &format!("ipcrm -m {id} || echo gone"));
        let left = world.outside(&format!("ipcrm -m {id} && echo left"));
        assert_eq!((did.stdout.as_str(), left.trim()), ("gone\n", "left"), "{did:#?}");
    });
}

#[test]
fn control_groups_cannot_be_made_or_written_at_strict() {
    for_each_identity(|world| {
        world.files(&[("dir/keep", "")]);
        // A group that is made shows that those above can be frozen.
        let script = "unshare -UrCm sh -c '
              mount -t cgroup2 none dir || exit 0
              mkdir dir/aw-attack && rmdir dir/aw-attack && echo made' 2>/dev/null || true
            for dir in /sys/fs/cgroup /sys/fs/cgroup/*; do
              if mkdir $dir/aw-attack 2>/dev/null; then rmdir $dir/aw-attack; echo $dir; fi
            done
            unshare -Urm true && echo nests";
        let did = world.mounted(&["--sandbox", "strict"], script).ends(0);
        assert_eq!(did.stdout, "nests\n", "{did:#?}");
    });
}

/// The bits of a line of `/proc/self/status`.
fn bits(status: &str, name: &str) -> u64 {
    let line = status.lines().find_map(|line| line.strip_prefix(name)).unwrap();
    u64::from_str_radix(line.trim(), 16).unwrap()
}

#[test]
fn root_has_a_short_list_of_capabilities_and_an_ordinary_user_none() {
    const MACHINE: [(&str, u32); 14] = [
        ("LINUX_IMMUTABLE", 9),
        ("NET_RAW", 13),
        ("NET_ADMIN", 12),
        ("SYS_MODULE", 16),
        ("SYS_RAWIO", 17),
        ("SYS_PTRACE", 19),
        ("SYS_ADMIN", 21),
        ("SYS_BOOT", 22),
        ("SYS_TIME", 25),
        ("MKNOD", 27),
        ("SYSLOG", 34),
        ("PERFMON", 38),
        ("BPF", 39),
        ("DAC_READ_SEARCH", 2),
    ];
    // CHOWN DAC_OVERRIDE FOWNER FSETID KILL SETGID SETUID SETPCAP NET_BIND_SERVICE SYS_CHROOT AUDIT_WRITE SETFCAP
    let few = [0, 1, 3, 4, 5, 6, 7, 8, 10, 18, 29, 31].iter().fold(0_u64, |set, bit| set | 1 << bit);
    for_each_identity(|world| {
        for level in ["project", "strict"] {
            let did = world.mounted(&["--sandbox", level], "cat /proc/self/status").ends(0);
            for name in ["CapEff:", "CapPrm:", "CapBnd:", "CapInh:", "CapAmb:"] {
                let has = bits(&did.stdout, name);
                if is_unprivileged(world.who) {
                    assert_eq!(has, 0, "{level} {name}");
                } else if level == "strict" {
                    assert_eq!(has & !few, 0, "{name} {has:x}");
                }
                for (capability, bit) in MACHINE {
                    assert_eq!(has & (1 << bit), 0, "{level} {name} {capability}");
                }
            }
        }
    });
}

#[test]
fn ordinary_work_goes_on_with_the_few_devices_of_strict() {
    require::program("perl");
    for_each_identity(|world| {
        world.repository(&[("a", "base\n")]);
        let script = "echo x > /dev/null; head -c 4 /dev/urandom > /dev/shm/mine; test -s /dev/shm/mine
            echo piped | cat /dev/stdin
            script -qec 'tty; echo in-a-terminal' /dev/null < /dev/null; git status --short; git log --oneline | wc -l
            touch mine; chown $(id -u):$(id -g) mine; chmod 600 mine; ls /dev/pts > /dev/null";
        let mut command = world.mounted_command(&["--sandbox", "strict"], script);
        let did = Did::of(&command.env("TMPDIR", "/tmp").output().unwrap()).ends(0);
        assert!(did.stdout.starts_with("piped\n"), "{did:#?}");
        assert!(did.stdout.contains("/dev/pts/0") && did.stdout.contains("in-a-terminal"), "{did:#?}");
        assert!(!std::path::Path::new("/dev/shm/mine").exists(), "the shared memory is the machine's");
        let terminal = Terminal::open(&world);
        terminal.line("$AW mount --sandbox strict --apply never -- sh -c 'tty; echo x > /dev/tty; stty size'; echo ended $?");
        terminal.shows("ended 0");
        assert!(terminal.screen().contains("/dev/console"), "{}", terminal.screen());
    });
}

#[test]
fn a_device_is_let_in_by_the_config() {
    for_each_identity(|world| {
        let listed = |world: &World| world.mounted(&["--sandbox", "strict"], "ls /dev").ends(0).stdout;
        assert!(!listed(&world).lines().any(|name| name == "fuse"));
        world.aw(["config", "set", "mount.devices", "fuse", "ttyUSB*"]).ends(0);
        let exists = std::path::Path::new("/dev/fuse").exists();
        assert_eq!(listed(&world).lines().any(|name| name == "fuse"), exists);
        world.aw(["config", "set", "mount.devices", "vda"]).ends(2).says("is not one of");
    });
}

/// Whoever may read a file can have a lease on it, and everybody else who opens it waits.
#[test]
fn no_lease_keeps_the_user_from_a_file_at_strict() {
    for_each_identity(|world| {
        world.outside("echo x > ~/.profile");
        let lease = "PATH=/usr/local/bin:/usr/bin:/bin python3 -c 'import fcntl, os
file = os.open(os.environ[\"HOME\"] + \"/.profile\", os.O_RDONLY)
try: fcntl.fcntl(file, fcntl.F_SETLEASE, fcntl.F_RDLCK); print(\"lease\")
except PermissionError: print(\"denied\")
fcntl.lockf(os.open(\"own\", os.O_RDWR | os.O_CREAT), fcntl.LOCK_EX); print(\"lock\")'";
        assert_eq!(world.mounted(&["--sandbox", "strict"], lease).ends(0).stdout, "denied\nlock\n");
        assert_eq!(world.mounted(&["--sandbox", "project"], lease).ends(0).stdout, "lease\nlock\n");
    });
}

/// No mount covers keyrings, and they are inherited.
#[test]
fn keyrings_are_out_of_reach_at_strict() {
    for_each_identity(|world| {
        let look = "PATH=/usr/local/bin:/usr/bin:/bin python3 -c 'import ctypes, os
libc = ctypes.CDLL(None, use_errno=True)
for call in [248, 249, 250]:
    print(libc.syscall(call, 0, 0, 0, 0, 0) < 0 and os.strerror(ctypes.get_errno()))'";
        let did = world.mounted(&["--sandbox", "strict"], look).ends(0);
        assert_eq!(did.stdout, "Function not implemented\n".repeat(3), "{did:#?}");
        let did = world.mounted(&["--sandbox", "project"], look).ends(0);
        assert!(!did.stdout.contains("not implemented"), "{did:#?}");
    });
}
