//! Attacks of processes that mean to outlive their run: they would change the work after it was looked at.

use crate::support::mount::{for_each_identity, processes_with, soon};
use agentworkforce::host::Host;
use agentworkforce::model::mount_record::Containment;
use pretty_assertions::assert_eq;
use std::time::Duration;

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
