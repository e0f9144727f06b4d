//! Attacks on the machine's resources: fork bombs, memory, a full disk, and ways out of the control group that limits them.

use crate::support::mount::{Identity, ORDINARY_ID, World, for_each_identity, is_root, soon};
use crate::support::require;
use crate::support::sessions::Did;
use pretty_assertions::assert_eq;
use serde_json::{Value, json};
use std::fs;
use std::path::{Path, PathBuf};
use std::process::Command;
use std::time::{Duration, Instant};

/// Tries to leave its control group for the one that it is given, and says in which group that ended.
const WAY_OUT: &str = r#"
my ($dir, $way) = @ARGV;
sub told { open my $own, '<', '/proc/self/cgroup'; print "$way: ", grep(/^0::/, <$own>); exit }
if ($way eq 'write') {
  if (open my $procs, '>', "$dir/cgroup.procs") { syswrite $procs, "0"; close $procs }
  told();
}
if ($way eq 'clone3') {
  opendir(my $group, $dir) or told();
  # CLONE_INTO_CGROUP and SIGCHLD.
  my $args = pack('Q11', 0x200000000, 0, 0, 0, 17, 0, 0, 0, 0, 0, fileno $group);
  my $pid = syscall(435, $args, length $args);
  if ($pid > 0) { waitpid $pid, 0; exit }
  told();
}
"#;

/// A group of control groups that is delegated to somebody, as a service manager does it.
struct Delegated {
    dir: PathBuf,
    /// As `/proc/self/cgroup` says it.
    name: String,
}

impl Delegated {
    /// `None` for an ordinary user whose own group is not delegated: only root can do that.
    fn to(world: &World) -> Option<Delegated> {
        let table = fs::read_to_string("/proc/self/mountinfo").unwrap();
        let mounted = table.lines().find(|line| line.contains(" - cgroup2 ")).expect("cgroup2 is mounted");
        let top = mounted.split(' ').nth(4).unwrap();
        let own = fs::read_to_string("/proc/self/cgroup").unwrap();
        let own = own.lines().find_map(|line| line.strip_prefix("0::")).expect("a group");
        let mark = world.root().file_name().unwrap().to_string_lossy().replace('.', "");
        let name = format!("{}/aw-test-{mark}", own.trim_end_matches('/'));
        let dir = PathBuf::from(format!("{top}{name}"));
        match fs::create_dir(&dir) {
            Err(_) if !is_root() => return None,
            made => made.unwrap(),
        }
        if world.who == Identity::Ordinary {
            for file in [&*dir, &dir.join("cgroup.procs"), &dir.join("cgroup.subtree_control")] {
                std::os::unix::fs::chown(file, Some(ORDINARY_ID), Some(ORDINARY_ID)).unwrap();
            }
        }
        Some(Delegated { dir, name })
    }

    /// The same command, started in this group.
    fn started(&self, inner: &Command) -> Did {
        let mut command = Command::new("sh");
        command.args(["-ec", "echo $$ > \"$0\"/cgroup.procs; exec \"$@\""]).arg(&self.dir);
        command.arg(inner.get_program()).args(inner.get_args());
        for (name, value) in inner.get_envs() {
            match value {
                Some(value) => command.env(name, value),
                None => command.env_remove(name),
            };
        }
        Did::of(&command.current_dir(inner.get_current_dir().unwrap()).output().unwrap())
    }
}

impl Drop for Delegated {
    fn drop(&mut self) {
        let is_gone = soon(|| fs::remove_dir(&self.dir).is_ok());
        assert!(is_gone || std::thread::panicking(), "{} is left", self.dir.display());
    }
}

#[test]
fn nothing_inside_leaves_its_control_group() {
    require::program("perl");
    for_each_identity(|world| {
        world.files(&[("way-out.pl", WAY_OUT), ("dir/keep", "")]);
        let Some(group) = Delegated::to(&world) else {
            // A run that needs a group is not started without one.
            let ran = world.run(&["--control-group"], "echo started");
            assert!(ran.code != Some(0) && !ran.stdout.contains("started"), "{ran:#?}");
            return;
        };
        let script = format!(
            "perl way-out.pl {dir} write; perl way-out.pl {dir} clone3
             unshare -UrCm sh -c 'mount -t cgroup2 none dir && mkdir dir/aw-attack && rmdir dir/aw-attack && echo made' 2>/dev/null
             cp /bin/true copied && ./copied && unshare -Ur true && echo works",
            dir = group.dir.display()
        );
        let told = |at: &str| format!("write: 0::{at}\nclone3: 0::{at}\n");
        let outside =
            format!("mkdir {0}/below; echo $$ > {0}/below/cgroup.procs; {script}", group.dir.display());
        let mut command = world.program("sh");
        let outside = group.started(command.args(["-c", &outside]));
        assert!(outside.stdout.starts_with(&told(&group.name)), "the attack does not work: {outside:#?}");
        assert!(soon(|| fs::remove_dir(group.dir.join("below")).is_ok()));

        let inside = told(&format!("{}/agentworkforce-test", group.name));
        for flags in [&["--sandbox", "project"][..], &["--sandbox", "strict"], &["--subreaper"]] {
            let all = [flags, &["--backend", "overlay", "--control-group"]].concat();
            let did = group.started(&world.mount(&all, &script));
            let said = did.stdout.replace(crate::mount_program::PREAMBLE, "");
            assert_eq!(said, format!("{inside}works\n"), "{flags:?} {did:#?}");
            assert!(!group.dir.join("agentworkforce-test").exists(), "{flags:?}");
        }
    });
}

#[test]
fn at_strict_nobody_writes_the_control_group_that_the_runner_is_in() {
    for_each_identity(|world| {
        world.files(&[("dir/keep", "")]);
        // An ordinary user has one where the session is delegated, as it is on desktops.
        let Some(group) = Delegated::to(&world) else { return };
        let script = "unshare -UrCm sh -c 'mount -t cgroup2 none dir && mkdir dir/aw-attack && rmdir dir/aw-attack && echo made' 2>/dev/null || true
            unshare -Urm true && echo nests";
        let mut outside = world.program("sh");
        let outside = group.started(outside.args(["-c", script]));
        assert_eq!(outside.stdout, "made\nnests\n", "the attack does not work: {outside:#?}");
        let did = group.started(&world.mounted_command(&["--sandbox", "strict"], script));
        assert_eq!(did.stdout, "nests\n", "{did:#?}");
    });
}

/// What `doctor` says about a limit here, and what the plan of a persona does.
fn promised(world: &World, limit: &str) -> bool {
    let doctor = world.aw(["doctor", "--json"]).json();
    let limits = doctor["limits"].as_array().unwrap();
    let row = limits.iter().find(|row| row["limit"] == limit).unwrap_or_else(|| panic!("{limits:#?}"));
    let available = row["available"].as_bool().unwrap();
    assert_eq!(row["reason"].is_null(), available, "{row:#}");
    let plan = world.aw(["agent", "limited", "-p", "x", "--dry-run", "--json"]).json();
    let rows = plan["enforcement"].as_array().unwrap();
    let field = format!("limits.{limit}");
    let planned = rows.iter().find(|row| row["field"] == *field).unwrap_or_else(|| panic!("{rows:#?}"));
    let level = if available { "enforced" } else { "advisory" };
    assert_eq!(planned["level"], level, "{planned:#} {row:#}");
    if let Some(reason) = row["reason"].as_str() {
        assert_eq!(planned["how"], reason);
        // `--strict` takes no advice for an answer.
        let strict = world.aw(["agent", "limited", "-p", "x", "--dry-run", "--strict"]);
        strict.ends(4).says(&format!("{field}: advisory"));
    }
    available
}

fn limited(world: &World, limits: &Value) {
    world.persona(&json!({
        "id": "limited", "intent": "x", "harness": "claude", "systemPrompt": "x", "limits": limits,
    }));
}

fn warned(report: &Value, text: &str) -> bool {
    let warnings = report["warnings"].as_array().unwrap();
    warnings
        .iter()
        .any(|warning| warning["code"] == "limit" && warning["message"].as_str().unwrap().contains(text))
}

#[test]
fn a_fork_bomb_stops_at_the_limit_or_the_matrix_says_that_it_does_not() {
    for_each_identity(|world| {
        limited(&world, &json!({"processes": 30}));
        // Bounded, for where nothing else bounds it.
        let script =
            "i=0; while [ $i -lt 60 ]; do (sleep 2 & echo started) 2>/dev/null || true; i=$((i+1)); done";
        let did = world.aw(["mount", "--json", "--persona", "limited", "--", "sh", "-c", script]);
        let (report, started) = (did.json(), did.stderr.matches("started").count());
        if promised(&world, "processes") {
            assert!(started < 40, "{started} {report:#}");
            assert!(warned(&report, "the limit of 30 processes was reached"), "{report:#}");
        } else {
            assert_eq!(started, 60, "{report:#}");
            assert!(!warned(&report, "was reached"), "{report:#}");
        }
        world.nobody_is_left();
    });
}

#[test]
fn a_process_that_takes_memory_is_ended_or_the_matrix_says_that_it_is_not() {
    require::program("perl");
    for_each_identity(|world| {
        limited(&world, &json!({"memoryMb": 64}));
        let script =
            "perl -e 'my $x = \"x\" x (160 << 20); print STDERR \"took \", length $x' && echo went on >&2";
        let did = world.aw(["mount", "--json", "--persona", "limited", "--", "sh", "-c", script]);
        let (report, went_on) = (did.json(), did.stderr.contains("went on"));
        if promised(&world, "memoryMb") {
            assert!(!went_on, "{did:#?}");
            assert!(warned(&report, "the memory limit of 64 MB was reached"), "{report:#}");
            assert_eq!(did.code, 137, "{did:#?}");
        } else {
            assert!(went_on, "{did:#?}");
            assert!(!warned(&report, "was reached"), "{report:#}");
        }
        world.nobody_is_left();
    });
}

#[test]
fn a_run_that_fills_the_disk_is_ended_and_its_work_is_held() {
    for_each_identity(|world| {
        world.files(&[("a", "base\n")]);
        limited(&world, &json!({"diskMb": 20}));
        assert!(promised(&world, "diskMb"), "the overlay works wherever these tests run");
        // In pieces, in a hidden place, with a signal that it does not listen to.
        let script = "trap '' TERM; mkdir -p x/.y; i=0
            while [ $i -lt 600 ]; do head -c 1048576 /dev/zero > x/.y/$i; i=$((i+1)); sleep 0.05; done";
        let began = Instant::now();
        let did = world.aw(["mount", "--persona", "limited", "--", "sh", "-c", script]).ends(124);
        assert!(began.elapsed() < Duration::from_secs(25), "{:?}", began.elapsed());
        did.says("the disk limit of 20 MB was reached (`limits.diskMb`)");
        assert!(!world.project().join("x").exists());
        let written = fs::read_dir(session(&world).join("upper/x/.y")).unwrap().count();
        assert!((20..600).contains(&written), "{written}");
        world.nobody_is_left();
        // Within the limit nothing is different.
        let did =
            world.aw(["mount", "--persona", "limited", "--", "sh", "-c", "echo b > b; sleep 3"]).ends(0);
        assert!(!did.stderr.contains("was reached"), "{did:#?}");
        assert!(world.project().join("b").exists());
    });
}

/// The directory of the session that is held.
fn session(world: &World) -> PathBuf {
    let held = world.listed().into_iter().find(|session| session["state"] == "held").expect("a session");
    world.sessions().join(Path::new(held["id"].as_str().unwrap()))
}

#[test]
fn a_signal_is_answered_while_a_huge_tree_is_measured() {
    for_each_identity(|world| {
        limited(&world, &json!({"diskMb": 100_000}));
        let make = "mkdir d; cd d; seq 60000 | xargs touch";
        let script = format!("{make}; echo ready; sleep 60");
        let command = world.aw_command(["mount", "--persona", "limited", "--", "sh", "-c", &script]);
        let did = interrupted(command);
        assert!(did < Duration::from_secs(30), "{did:?}");
        world.nobody_is_left();
    });
}

/// How long a run takes to end after it was asked to, in the middle of a measurement.
fn interrupted(mut command: Command) -> Duration {
    use std::io::BufRead;
    let mut child = command.stdout(std::process::Stdio::piped()).spawn().unwrap();
    let mut output = std::io::BufReader::new(child.stdout.take().unwrap());
    let mut line = String::new();
    while line != "ready\n" {
        line.clear();
        assert_ne!(output.read_line(&mut line).unwrap(), 0, "it is not ready");
    }
    std::thread::sleep(Duration::from_millis(2100));
    let began = Instant::now();
    let pid = nix::unistd::Pid::from_raw(i32::try_from(child.id()).unwrap());
    nix::sys::signal::kill(pid, nix::sys::signal::Signal::SIGTERM).unwrap();
    assert!(!child.wait().unwrap().success());
    began.elapsed()
}
