//! The processes of a run: ended together, signalled together, never left behind.

use crate::support::mount::{
    BINARY, Identity, World, default_spec, for_each_identity, processes_with, read, soon,
};
use agentworkforce::exit::Exit;
use agentworkforce::host::Host;
use agentworkforce::mount::process::child::ChildEvent;
use agentworkforce::mount::process::inside::protocol::{Group, Report};
use agentworkforce::mount::{ChildCommand, ChildStdio, OpenRequest, ViewOf, open, probe};
use nix::sys::signal::{Signal, kill};
use nix::unistd::Pid;
use pretty_assertions::assert_eq;
use std::fs;
use std::io::Read;
use std::path::Path;
use std::process::{Child, Stdio};
use std::time::{Duration, Instant};

const MODES: [&[&str]; 3] = [&[], &["--subreaper"], &["--backend", "copy"]];

/// A number of seconds that nothing else on the machine sleeps: it finds the processes of one test again.
fn mark() -> String {
    let host = Host::of_this_process().unwrap();
    format!("3{}.5", u32::from_str_radix(&host.random_hex(6).unwrap(), 16).unwrap())
}

/// A run in the background; a test that fails does not leave it behind.
struct Background(Option<Child>);

impl Background {
    fn finish(mut self) -> std::process::Output {
        self.0.take().unwrap().wait_with_output().unwrap()
    }

    fn send(&self, signal: Signal) {
        kill(Pid::from_raw(self.0.as_ref().unwrap().id().cast_signed()), signal).unwrap();
    }
}

impl Drop for Background {
    fn drop(&mut self) {
        if let Some(mut child) = self.0.take() {
            let _ = child.kill();
            let _ = child.wait();
        }
    }
}

/// Starts a run in the background and waits until its script has made the file `ready` in the home directory.
fn start(world: &World, flags: &[&str], script: &str) -> Background {
    let ready = world.home().join("ready");
    let script = format!("{script}\ntouch {}\nwait", ready.display());
    let child = world
        .mount(flags, &script)
        .stdin(Stdio::null())
        .stdout(Stdio::piped())
        .stderr(Stdio::piped())
        .spawn()
        .unwrap();
    let child = Background(Some(child));
    assert!(soon(|| ready.exists()), "the script did not get ready");
    fs::remove_file(ready).unwrap();
    child
}

#[test]
fn the_code_or_signal_of_the_child_is_passed_on() {
    for_each_identity(|world| {
        for mode in MODES {
            let _ = world.run(mode, "exit 7").expect(7);
            // PID 1 would ignore both: the child must not be it.
            let _ = world.run(mode, "kill -TERM $$").expect(143);
            let _ = world.run(mode, "kill -KILL $$").expect(137);
        }
    });
}

#[test]
fn a_missing_or_unusable_program_has_its_own_code() {
    for_each_identity(|world| {
        world.files(&[("data", "no program")]);
        for (program, code) in [("no-such-program", Exit::NotFound), ("./data", Exit::NotExecutable)] {
            let output = world.program(&world.mount_program()).args(["--", program]).output().unwrap();
            let ran = world.ran(&output).expect(code.code().into());
            assert!(ran.stderr.contains(program), "{ran:#?}");
        }
    });
}

#[test]
fn nothing_that_a_command_starts_outlives_it() {
    for_each_identity(|world| {
        for mode in MODES {
            let mark = mark();
            let script = format!(
                "setsid sleep {mark} & (setsid sh -c 'trap \"\" TERM HUP; sleep {mark}' &) ; sleep 0.2"
            );
            let _ = world.run(mode, &script).expect(0);
            assert_eq!(processes_with(&mark), Vec::<i32>::new(), "{mode:?}");
        }
    });
}

#[test]
fn orphans_are_reaped_while_the_command_runs() {
    for_each_identity(|world| {
        let script = "for i in 1 2 3 4 5; do (sh -c 'sleep 0.05' &) ; done; sleep 0.5; grep -l '^State:.*zombie' /proc/[0-9]*/status; true";
        let ran = world.run(&[], script).expect(0);
        assert_eq!(ran.stdout, "");
    });
}

#[test]
fn a_killed_runner_leaves_no_process_and_frees_the_lock() {
    for_each_identity(|world| {
        for mode in MODES {
            let mark = mark();
            let script =
                format!("echo work > done; trap '' TERM HUP INT; setsid sleep {mark} & sleep {mark} &");
            let child = start(&world, mode, &script);
            assert!(processes_with(&mark).len() >= 2);
            let lock =
                fs::read_dir(world.sessions()).unwrap().flatten().map(|entry| entry.path().join("lock"));
            let lock = lock.max_by_key(|path| fs::metadata(path).unwrap().modified().unwrap()).unwrap();
            let lock = fs::File::open(lock).unwrap();
            assert!(lock.try_lock().is_err(), "the session is alive");
            // `setpriv` execs, so this is the runner itself.
            child.send(Signal::SIGKILL);
            let _ = child.finish();
            assert!(soon(|| processes_with(&mark).is_empty()), "{mode:?}: {:?}", processes_with(&mark));
            assert!(soon(|| lock.try_lock().is_ok()), "{mode:?}: the session looks alive");
            assert!(soon(|| processes_with(world.project().to_str().unwrap()).is_empty()), "{mode:?}");
        }
    });
}

#[test]
fn the_lock_is_held_by_the_inside_too() {
    // A runner that is gone and an inside that is not yet: the session must not look dead.
    let world = World::new(Identity::Own);
    let child = start(&world, &[], "sleep 300 &");
    let session = fs::read_dir(world.sessions()).unwrap().next().unwrap().unwrap().path();
    let inode = std::os::unix::fs::MetadataExt::ino(&fs::metadata(session.join("lock")).unwrap());
    let holders = processes_with("__init")
        .into_iter()
        .filter(|pid| {
            let fds = fs::read_dir(format!("/proc/{pid}/fd")).into_iter().flatten().flatten();
            fds.filter_map(|fd| fs::metadata(fd.path()).ok())
                .any(|meta| std::os::unix::fs::MetadataExt::ino(&meta) == inode)
        })
        .count();
    assert!(holders >= 1 || !crate::support::mount::is_root());
    child.send(Signal::SIGTERM);
    let _ = child.finish();
}

#[test]
fn sigterm_and_sighup_are_passed_on_and_the_work_is_kept() {
    for_each_identity(|world| {
        for mode in MODES {
            for (signal, code) in [(Signal::SIGTERM, 143), (Signal::SIGHUP, 129)] {
                let script = "trap 'echo saved > saved; exit 3' TERM HUP; sleep 300 &";
                let child = start(&world, mode, script);
                child.send(signal);
                let ran = world.ran(&child.finish()).expect(code);
                assert_eq!(read(ran.data("saved")), "saved\n", "{mode:?} {signal}");
                assert!(!world.project().join("saved").exists());
            }
        }
    });
}

#[test]
fn a_command_that_ignores_sigterm_is_killed_after_the_grace_period() {
    let world = World::new(Identity::Own);
    let mark = mark();
    let script =
        format!("echo work > work; trap '' TERM; (trap '' TERM; setsid sleep {mark}) & sleep {mark} &");
    let child = start(&world, &[], &script);
    let asked = Instant::now();
    child.send(Signal::SIGTERM);
    let ran = world.ran(&child.finish()).expect(143);
    assert!(asked.elapsed() < Duration::from_secs(9), "{:?}", asked.elapsed());
    assert_eq!(processes_with(&mark), Vec::<i32>::new());
    assert_eq!(read(ran.data("work")), "work\n");
}

#[test]
fn any_number_of_interrupts_keeps_the_work() {
    for_each_identity(|world| {
        let child = start(
            &world,
            &[],
            "echo work > work; trap 'sleep 0.3; echo more >> work; exit 0' INT; sleep 300 &",
        );
        for _ in 0..10 {
            child.send(Signal::SIGINT);
            std::thread::sleep(Duration::from_millis(20));
        }
        let ran = world.ran(&child.finish()).expect(130);
        assert!(read(ran.data("work")).starts_with("work\nmore\n"));
    });
}

#[test]
fn an_interrupt_while_a_copy_is_made_starts_nothing() {
    let world = World::new(Identity::Own);
    world.outside("mkdir d; cd d; seq 1 30000 | xargs -n 1000 touch");
    let ran = world.home().join("ran");
    let mut command = world.mount(&["--backend", "copy"], &format!("touch {}", ran.display()));
    let child = Background(Some(command.stdout(Stdio::piped()).stderr(Stdio::piped()).spawn().unwrap()));
    let copying = || {
        fs::read_dir(world.sessions())
            .is_ok_and(|mut all| all.any(|one| one.unwrap().path().join("mount/d").exists()))
    };
    assert!(soon(copying));
    child.send(Signal::SIGINT);
    let output = world.ran(&child.finish()).expect(130);
    assert!(output.stderr.contains("before anything was started"), "{output:#?}");
    assert!(!ran.exists());
}

#[test]
fn a_stopped_child_without_job_control_goes_on() {
    for_each_identity(|world| {
        // With pipes it is a script that runs us, which would wait for ever.
        let ran = world
            .ran(&world.mount(&[], "kill -STOP $$; echo on").stdin(Stdio::null()).output().unwrap())
            .expect(0);
        assert_eq!(ran.stdout, "on\n");
        // In a session of its own nobody could continue us.
        let mut command = world.program("setsid");
        command.args(["-w", &world.mount_program(), "--", "sh", "-c", "kill -STOP $$; echo on"]);
        let output = command.output().unwrap();
        let ran = world.ran(&output).expect(0);
        assert_eq!(ran.stdout, "on\n");
    });
}

#[test]
fn children_that_hold_the_pipes_do_not_hang_a_headless_caller() {
    let world = World::new(Identity::Own);
    world.files(&[("a", "old")]);
    let state = world.home().join("state");
    let session = state.join("sessions/one");
    fs::create_dir_all(&session).unwrap();
    let spec = default_spec(world.project());
    let helper = Path::new(BINARY);
    let facts = probe::facts(helper, &state, &spec.root).unwrap();
    let mount = open(&OpenRequest {
        spec: &spec,
        facts: &facts,
        helper,
        sessions_dir: &state.join("sessions"),
        session_dir: &session,
        injected: &[],
        expose: &[],
        lend: &[],
        writable: &[],
        signals: None,
        lock: None,
        crash_points: &agentworkforce::mount::CrashPoints::none(),
    })
    .unwrap();
    let run = |mount: &agentworkforce::mount::OpenMount, script: &str| {
        let argv = ["sh", "-c", script].map(Into::into).to_vec();
        let command = ChildCommand { argv, env: vec![("X".into(), Some("y".into()))], ends_at: None };
        let mut child = mount.spawn(&command, ChildStdio::piped(), Group::Own).unwrap();
        let mut out = child.take_stdout().unwrap();
        let mut reports = Vec::new();
        while let ChildEvent::Report(report) = child.next(Some(Duration::from_secs(10))).unwrap() {
            reports.push(report);
        }
        let mut text = String::new();
        out.read_to_string(&mut text).unwrap();
        (text, reports)
    };
    let (text, reports) = run(&mount, "echo $X; echo new > a; setsid sleep 300 & exit 4");
    assert_eq!((text.as_str(), reports), ("y\n", vec![Report::Started, Report::Exited(4), Report::Ended]));
    // A throwaway view sees the work and leaves no trace in it.
    let scratch = mount.view_of(ViewOf::Result, &session.join("scratch")).unwrap().mount;
    let (text, reports) = run(&scratch, "cat a; echo checked > a; rm -f b; cat a");
    assert_eq!(
        (text.as_str(), reports),
        ("new\nchecked\n", vec![Report::Started, Report::Exited(0), Report::Ended])
    );
    let (text, _) = run(&mount, "cat a");
    assert_eq!(text, "new\n");
    assert_eq!(read(world.project().join("a")), "old");
    mount.remove().unwrap();
    assert!(!session.join("upper").exists());
}
