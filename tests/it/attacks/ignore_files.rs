//! Patterns that are made to cost: ignore files of an agent, rule files of a pull request.

use crate::support::mount::for_each_identity;
use crate::support::sessions::{BACKENDS, Did};
use std::process::{Command, Stdio};
use std::time::{Duration, Instant};

/// A script that writes an ignore file of a megabyte that costs seconds to understand.
const EXPENSIVE: &str =
    "python3 -c 'for i in range(333): print(\"x%d\" % i + \"*a?\" * 1000)' > .gitignore; ";

#[track_caller]
fn within(seconds: u64, mut command: Command, what: &str) -> Did {
    let began = Instant::now();
    let did = Did::of(&command.output().unwrap());
    assert!(began.elapsed() < Duration::from_secs(seconds), "{what}: {:?}", began.elapsed());
    did
}

#[test]
fn very_many_ignore_files_do_not_stop_the_review() {
    for_each_identity(|world| {
        world.repository(&[("a.txt", "one\n")]);
        for backend in BACKENDS {
            // By the hundred, as other names of one file and as files of their own.
            let script = format!(
                "{EXPENSIVE} for i in $(seq 1 120); do mkdir d$i; ln .gitignore d$i/; echo 1 > d$i/z; done
                 for i in $(seq 1 20); do mkdir e$i; (cat .gitignore; echo $i) > e$i/.gitignore; echo 1 > e$i/z; done
                 rm .gitignore; echo two > a.txt; mkdir plain; echo '*.o' > plain/.gitignore; echo 1 > plain/x.o"
            );
            let did = within(100, world.mounted_command(&["--mount", backend], &script), backend).ends(0);
            did.says("that git ignores");
            let now = world.outside(
                "cat a.txt e20/z; ls plain/x.o 2>/dev/null || true; git checkout -q .; git clean -qfdx",
            );
            assert_eq!(now, "two\n1\n", "{backend}");
        }
    });
}

#[test]
fn a_signal_while_ignore_files_are_read_is_answered() {
    for_each_identity(|world| {
        world.repository(&[("a.txt", "one\n")]);
        let ready = world.path("ready");
        let script = format!(
            "mkdir deep; cd deep; python3 -c '
import os
for number in range(1500):
    os.mkdir(\"d%d\" % number)
    open(\"d%d/.gitignore\" % number, \"w\").write(\"\".join(\"%d-%d\" % (number, k) + \"*a?[bc]\" * 60 + \"\\n\" for k in range(40)))
    open(\"d%d/z\" % number, \"w\").write(\"x\")
'; touch {}",
            ready.display()
        );
        let mut command = world.mounted_command(&["--apply", "never"], &script);
        let mut child = command.stdout(Stdio::null()).stderr(Stdio::null()).spawn().unwrap();
        let began = Instant::now();
        while !ready.exists() {
            assert!(began.elapsed() < Duration::from_mins(2), "the script does not end");
            std::thread::sleep(Duration::from_millis(50));
        }
        // By now it has found what there is.
        std::thread::sleep(Duration::from_secs(4));
        let pid = rustix::process::Pid::from_raw(i32::try_from(child.id()).unwrap()).unwrap();
        // The review may be over.
        let _ = rustix::process::kill_process(pid, rustix::process::Signal::TERM);
        let began = Instant::now();
        while child.try_wait().unwrap().is_none() {
            if began.elapsed() > Duration::from_secs(15) {
                child.kill().unwrap();
                panic!("the signal is not answered");
            }
            std::thread::sleep(Duration::from_millis(20));
        }
    });
}

#[test]
fn expensive_rules_of_a_pull_request_are_refused_at_once() {
    for_each_identity(|world| {
        world.repository(&[("a.txt", "one\n")]);
        let many: String = (0..2000).map(|_| "*a?".repeat(1330) + "\n").collect();
        let some: String = (0..2000).map(|number| format!("{number}{}\n", "*a?".repeat(20))).collect();
        for (text, says) in [(many, "wildcards"), (some, "wildcards")] {
            world.files(&[(".agentignore", &text)]);
            let did = within(10, world.mounted_command(&[], "echo ran > a.txt"), says).ends(2);
            did.says(says).says(".agentignore");
            assert_eq!(world.outside("cat a.txt"), "one\n");
        }
        // As many as anybody needs.
        let plain: String =
            (0..1500).map(|number| format!("*.x{number}\n/build/[Dd]ebug{number}/\n")).collect();
        world.files(&[(".agentignore", &plain)]);
        within(30, world.mounted_command(&[], "echo two > a.txt"), "plain").ends(0);
    });
}
