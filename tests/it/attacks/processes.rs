//! Attacks of processes that mean to outlive their run: they would change the work after it was looked at.

use crate::support::mount::{World, for_each_identity, identities, processes_with, read, soon};
use crate::support::sessions::BACKENDS;
use agentworkforce::host::Host;
use agentworkforce::model::mount_record::Containment;
use nix::sys::signal::{Signal, kill};
use nix::unistd::Pid;
use pretty_assertions::assert_eq;
use std::process::Stdio;
use std::time::{Duration, Instant};

/// A number of seconds that nothing else on the machine sleeps.
fn mark() -> String {
    let host = Host::of_this_process().unwrap();
    format!("4{}.5", u32::from_str_radix(&host.random_hex(6).unwrap(), 16).unwrap())
}

#[test]
fn nothing_outlives_a_run_whose_init_it_has_killed() {
    for_each_identity(|world| {
        for mode in [&[][..], &["--subreaper"], &["--backend", "copy"], &["--backend", "copy", "--subreaper"]]
        {
            let mark = mark();
            // Ignores what can be ignored, has a session of its own, and its parent is gone.
            let script = format!(
                "(setsid sh -c 'trap \"\" TERM HUP INT; while :; do sleep {mark}; done' > /dev/null 2>&1 &); sleep 0.3; kill -9 $PPID; sleep 1"
            );
            let ran = world.run(mode, &script);
            assert!(
                soon(|| processes_with(&mark).is_empty()),
                "{mode:?}: {:?} {ran:#?}",
                processes_with(&mark)
            );
        }
    });
}

#[test]
fn the_work_of_a_copy_that_is_held_does_not_change_any_more() {
    for_each_identity(|world| {
        world.files(&[("a", "base\n")]);
        let mark = mark();
        let script = format!(
            "echo seen > a; (setsid sh -c 'trap \"\" TERM HUP INT; sleep 1; echo evil > a; sleep {mark}' > /dev/null 2>&1 &); kill -9 $PPID; sleep 0.3; true"
        );
        let _ = world.mounted(&["--mount", "copy", "--apply", "never"], &script);
        let session = world.only_session();
        let diff = || world.aw(["sessions", "diff", &session]).stdout;
        let first = diff();
        assert!(first.contains("+seen"), "{first}");
        std::thread::sleep(Duration::from_millis(1500));
        assert_eq!(diff(), first);
        assert_eq!(processes_with(&mark), Vec::<i32>::new());
    });
}

#[test]
fn a_copy_has_a_pid_namespace_for_everybody() {
    for_each_identity(|world| {
        world.files(&[("a", "base\n")]);
        let ran = world.run(&["--backend", "copy"], "echo $PPID; id -u; echo new > a; ls -l a").expect(0);
        assert_eq!(ran.record().containment, Containment::PidNamespace);
        assert!(ran.stdout.starts_with("1\n"), "{ran:#?}");
    });
}

/// Takes a descriptor over a socket, and uses it when it is told to.
const RECEIVER: &str = "
import os, socket, sys, time
server = socket.socket(socket.AF_UNIX)
server.bind(sys.argv[1])
server.listen(1)
print('ready', flush=True)
connection, _ = server.accept()
_, fds, _, _ = socket.recv_fds(connection, 1, 1)
while not os.path.exists(sys.argv[2]):
    time.sleep(0.02)
for name, how in [('deploy.sh', os.O_WRONLY), ('unseen.sh', os.O_WRONLY | os.O_CREAT)]:
    try:
        os.write(os.open(name, how, dir_fd=fds[0]), b'evil')
        print('wrote', name)
    except OSError as error:
        print('refused', error.errno)
";

#[test]
fn a_descriptor_that_was_handed_to_another_process_changes_nothing_after_the_run() {
    for_each_identity(|world| {
        world.files(&[(
            "pass.py",
            "import os, socket, sys
client = socket.socket(socket.AF_UNIX)
client.connect(sys.argv[1])
socket.send_fds(client, [b'x'], [os.open('.', os.O_RDONLY)])
",
        )]);
        let (socket, go) = (world.home().join("socket"), world.home().join("go"));
        // A python of somebody's home is nothing for everybody.
        let path = "/usr/local/bin:/usr/bin:/bin";
        let receiver = world
            .program("python3")
            .env("PATH", path)
            .args(["-c", RECEIVER])
            .args([&socket, &go])
            .stdout(Stdio::piped())
            .spawn()
            .unwrap();
        assert!(soon(|| socket.exists()));
        std::thread::sleep(Duration::from_millis(200));
        let script = format!("echo harmless > deploy.sh; PATH={path} python3 pass.py {}", socket.display());
        world.mounted(&["--apply", "never"], &script).ends(0);
        std::fs::write(&go, "").unwrap();
        let said = receiver.wait_with_output().unwrap();
        let read_only = rustix::io::Errno::ROFS.raw_os_error();
        let expected = format!("ready\nrefused {read_only}\nrefused {read_only}\n");
        assert_eq!(String::from_utf8_lossy(&said.stdout), expected);
        let applied = world.aw(["sessions", "apply", &world.only_session()]).ends(0);
        assert_eq!(read(world.project().join("deploy.sh")), "harmless\n", "{applied:#?}");
        assert!(!world.project().join("unseen.sh").exists());
    });
}

/// Takes a descriptor over a socket, and writes lines that take long to read to it, for a minute at most.
const WRITER: &str = "
import os, socket, sys, time
server = socket.socket(socket.AF_UNIX)
server.bind(sys.argv[1])
server.listen(1)
connection, _ = server.accept()
_, fds, _, _ = socket.recv_fds(connection, 1, 1)
os.set_blocking(fds[0], False)
connection.send(b'x')
end = time.time() + 60
while not os.path.exists(sys.argv[2]) and time.time() < end:
    try:
        os.write(fds[0], b'{\\n' * 30000)
    except OSError:
        time.sleep(0.0001)
";

/// Hands its output over and waits until it was taken.
const HANDS_OVER: &str = "
import socket, sys
client = socket.socket(socket.AF_UNIX)
client.connect(sys.argv[1])
socket.send_fds(client, [b'x'], [1])
client.recv(1)
";

#[test]
fn an_output_that_was_handed_to_another_process_is_not_waited_for() {
    for who in identities() {
        let path = "/usr/local/bin:/usr/bin:/bin";
        // Of a harness, which the runner reads, and of a command, whose output it carries into a file.
        let harness = format!("PATH={path} python3 hand.py \"$HOME/socket\" && begins && answers done");
        let world = World::with_harness(who, &harness);
        world.files(&[("hand.py", HANDS_OVER)]);
        let (socket, go) = (world.home().join("socket"), world.home().join("go"));
        let command = format!(
            "timeout 90 {} mount --apply never -- sh -c 'echo inside; PATH={path} python3 hand.py {}' > log",
            crate::support::mount::BINARY,
            socket.display()
        );
        let runs: [&dyn Fn(); 2] = [&|| drop(world.report(&["--apply", "never"])), &|| {
            assert!(world.outside(&format!("{command}; head -1 log")).contains("inside"));
        }];
        for (number, run) in runs.into_iter().enumerate() {
            let mut writer = world.program("python3");
            writer.env("PATH", path).args(["-c", WRITER]).args([&socket, &go]);
            let mut writer = writer.stdout(Stdio::null()).spawn().unwrap();
            assert!(soon(|| socket.exists()));
            std::thread::sleep(Duration::from_millis(200));
            let began = Instant::now();
            run();
            let took = began.elapsed();
            let is_held = writer.try_wait().unwrap().is_none();
            std::fs::write(&go, "").unwrap();
            writer.wait().unwrap();
            assert!(took < Duration::from_secs(40), "{number}: {took:?}");
            assert!(is_held, "{number}: the attack does not work");
            for used in [&socket, &go] {
                std::fs::remove_file(used).unwrap();
            }
        }
    }
}

/// Who started it.
fn parent_of(pid: i32) -> i32 {
    let status = std::fs::read_to_string(format!("/proc/{pid}/status")).unwrap();
    let parent = status.lines().find_map(|line| line.strip_prefix("PPid:")).unwrap();
    parent.trim().parse().unwrap()
}

/// A process that waits in the kernel for good keeps init from ending, and init the helper. A helper that is stopped looks the
/// same to the runner: everything was killed, and nobody says that it is gone.
#[test]
fn what_cannot_be_ended_is_not_waited_for_and_nothing_of_it_is_applied() {
    for_each_identity(|world| {
        world.files(&[("a", "base\n")]);
        for backend in BACKENDS {
            let mark = mark();
            let script = format!("echo new > a; touch started; trap '' TERM; sleep {mark}; sleep {mark}");
            let flags = ["--mount", backend, "--apply", "auto"];
            let mut command = world.mounted_command(&flags, &script);
            let (out, err) = (world.path("out"), world.path("err"));
            command.stdout(std::fs::File::create(&out).unwrap()).stderr(std::fs::File::create(&err).unwrap());
            let mut runner = command.spawn().unwrap();
            let sleeping = || {
                let is_sleep = |pid: &i32| {
                    std::fs::read_to_string(format!("/proc/{pid}/comm")).is_ok_and(|name| name == "sleep\n")
                };
                processes_with(&mark).into_iter().find(is_sleep)
            };
            assert!(soon(|| sleeping().is_some()), "it does not start");
            // From there up to the child of the runner, which is the helper.
            let inside = sleeping().unwrap();
            let mut line = vec![inside];
            while parent_of(line[line.len() - 1]) != i32::try_from(runner.id()).unwrap() {
                line.push(parent_of(line[line.len() - 1]));
            }
            let helper = Pid::from_raw(line[line.len() - 1]);
            kill(helper, Signal::SIGSTOP).unwrap();
            for _ in 0..2 {
                kill(Pid::from_raw(i32::try_from(runner.id()).unwrap()), Signal::SIGTERM).unwrap();
                std::thread::sleep(Duration::from_millis(300));
            }
            let began = Instant::now();
            let status = loop {
                if let Some(status) = runner.try_wait().unwrap() {
                    break status;
                }
                if began.elapsed() > Duration::from_secs(30) {
                    kill(helper, Signal::SIGCONT).unwrap();
                    panic!("{flags:?}: the runner waits for it");
                }
                std::thread::sleep(Duration::from_millis(20));
            };
            let said = std::fs::read_to_string(&err).unwrap();
            let session = world.listed().remove(0);
            let id = session["id"].as_str().unwrap().to_owned();
            // Nobody applies it as long as it could go on to write.
            let apply = world.aw(["sessions", "apply", &id]);
            let _ = world.aw(["sessions", "show", &id]);
            kill(helper, Signal::SIGCONT).unwrap();
            assert_eq!(status.code(), Some(125), "{flags:?}: {said}");
            assert!(said.contains("cannot be ended"), "{said}");
            assert_ne!(apply.code, 0, "{apply:#?}");
            assert_eq!(world.outside("cat a"), "base\n", "{flags:?}");
            assert!(soon(|| processes_with(&mark).is_empty()));
            // It is gone: the work is whole and can be had.
            assert!(soon(|| world.listed()[0]["state"] == "held"), "{:#?}", world.listed());
            assert!(world.aw(["sessions", "diff", &id]).ends(0).stdout.contains("+new"));
            world.aw(["sessions", "discard", &id]).ends(0);
        }
    });
}
