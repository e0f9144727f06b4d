//! The runner dies, the disk is full, the project is gone: the project is as before or as after, and the agent's work is there.

use crate::support::mount::{BINARY, Identity, World, identities, is_root, read, soon};
use crate::support::sessions::{BACKENDS, Did, Snapshot, fast_world, snapshot};
use nix::sys::signal::Signal;
use std::collections::BTreeMap;
use std::fs;
use std::io::{BufRead, BufReader};
use std::os::unix::fs::{PermissionsExt, symlink};
use std::process::{Command, Stdio};

/// A generated project: some tens of files, with hidden ones, links and empty directories; the same for the same seed.
fn tree(world: &World, seed: usize) {
    let project = world.project();
    for number in 0..24 {
        let dir = project.join(format!("d{}/e{}", (number * 7 + seed) % 5, number % 3));
        fs::create_dir_all(&dir).unwrap();
        let file = dir.join(format!("f{number}"));
        fs::write(&file, format!("base {seed} {number}\n").repeat(1 + (number * seed) % 40)).unwrap();
        fs::set_permissions(&file, fs::Permissions::from_mode([0o644, 0o755, 0o600][number % 3])).unwrap();
    }
    for dir in ["d0", "d1", "d2", "d3"] {
        fs::write(project.join(dir).join(".env"), "SECRET").unwrap();
        symlink("../nowhere", project.join(dir).join("link")).unwrap();
    }
    fs::create_dir(project.join("empty")).unwrap();
    fs::write(project.join("top"), "base\n").unwrap();
    world.give();
}

/// Every kind of change; the last line says that all of it was done.
fn edits(world: &World) -> String {
    format!(
        "i=0; for f in $(find . -name 'f*' -type f | sort); do i=$((i+1)); case $((i % 6)) in
           0) echo agent >> $f;; 1) rm $f;; 2) chmod 640 $f;; 3) mv $f $f.moved;; 4) rm $f; mkdir $f; echo in > $f/in;; *) ;;
         esac; done
         rm -f d1/link; ln -s top d0/new-link; rmdir empty; echo now-a-file > empty; mkdir made; echo new > made/new; echo agent > top
         echo done > '{}'",
        world.path("all-done").display()
    )
}

fn at_instant(world: &World, backend: &str, number: usize) -> Did {
    let mut command = world.mounted_command(&["--mount", backend], &edits(world));
    Did::of(&command.env("AGENTWORKFORCE_TEST_KILL_AT", number.to_string()).output().unwrap())
}

/// Ended, with nobody left; then recovered, twice, and settled. What the session's status said at the time of death.
#[track_caller]
fn after_death(world: &World, before: &Snapshot, after: &Snapshot, number: usize) -> String {
    world.nobody_is_left();
    let all_done = world.path("all-done").exists();
    let listed = world.listed();
    let Some(session) = listed.first() else {
        assert_eq!(&snapshot(&world.project()), before);
        return "none".into();
    };
    let id = session["id"].as_str().unwrap().to_owned();
    let said = session["status"]["state"].as_str().unwrap_or("none").to_owned();
    assert_eq!(session["live"], false, "no lock is stuck: {session:#}");
    world.aw(["sessions", "recover"]).ends(0);
    let now = snapshot(&world.project());
    let applied = &now == after;
    assert!(applied || &now == before, "neither before nor after: {now:#?}");
    world.aw(["sessions", "recover"]).ends(0).says("nothing to recover");
    assert_eq!(snapshot(&world.project()), now, "a second recover does nothing");
    let state = world.listed()[0]["state"].as_str().unwrap().to_owned();
    match (applied, all_done) {
        (true, _) => {
            assert_eq!(state, "applied");
            // Half of a mount that was being removed must not be taken for deletions of the agent's.
            let has_mount =
                ["upper", "mount"].iter().any(|data| world.sessions().join(&id).join(data).exists());
            world.aw(["sessions", "apply", &id]).ends(if has_mount { 0 } else { 2 });
            assert_eq!(&snapshot(&world.project()), after);
            world.aw(["sessions", "undo", &id]).ends(0);
            assert_eq!(&snapshot(&world.project()), before, "undo after a crash");
        }
        (false, true) => {
            assert_eq!(state, "held", "the agent's work is intact");
            if number.is_multiple_of(5) {
                world.aw(["sessions", "discard", &id]).ends(0);
                assert_eq!(&snapshot(&world.project()), before);
            } else {
                world.aw(["sessions", "apply", &id]).ends(0);
                assert_eq!(&snapshot(&world.project()), after, "the work is intact");
            }
        }
        (false, false) => {
            let shown = world.aw(["sessions", "show", &id, "--json"]).ends(0).json();
            let has_work = shown["review"]["changes"].as_array().is_some_and(|changes| !changes.is_empty());
            assert_eq!(state, if has_work { "held" } else { "nothing" }, "{shown:#}");
            world.aw(["sessions", "discard", &id]).ends(0);
            assert_eq!(&snapshot(&world.project()), before);
        }
    }
    said
}

/// Every so many crash points are tried: all of them, but where the same has been tried as another user already.
fn crash_step() -> usize {
    std::env::var("AGENTWORKFORCE_CRASH_STEP").map_or(1, |step| step.parse().expect("a number"))
}

fn killed_everywhere(backend: &str, who: Identity) -> BTreeMap<String, usize> {
    let reference = fast_world(who);
    tree(&reference, 3);
    let before = snapshot(&reference.project());
    reference.mounted(&["--mount", backend], &edits(&reference)).ends(0);
    let after = snapshot(&reference.project());
    assert!(before != after);
    let mut phases = BTreeMap::new();
    for number in (1..).step_by(crash_step()) {
        let world = fast_world(who);
        tree(&world, 3);
        let ended = at_instant(&world, backend, number);
        if ended.code == 0 {
            assert_eq!(snapshot(&world.project()), after);
            break;
        }
        assert_eq!(ended.code, -9, "{ended:?}");
        let caught = std::panic::catch_unwind(|| after_death(&world, &before, &after, number));
        let said = caught.unwrap_or_else(|panic| {
            eprintln!("killed at instant {number} with {backend}");
            std::panic::resume_unwind(panic)
        });
        *phases.entry(said).or_default() += 1;
    }
    phases
}

/// Killed while the command runs, after each of its steps.
fn killed_while_running(backend: &str, who: Identity, steps: usize) -> usize {
    for step in 1..=steps {
        let world = fast_world(who);
        tree(&world, step);
        let before = snapshot(&world.project());
        let script = "i=0; while :; do i=$((i+1)); echo work > step$i; echo $i; sleep 0.005; done";
        let mut command = world.mounted_command(&["--mount", backend], script);
        let mut child = command.stdout(Stdio::piped()).stderr(Stdio::null()).spawn().unwrap();
        let lines = BufReader::new(child.stdout.take().unwrap()).lines();
        assert_eq!(lines.take(step).last().unwrap().unwrap(), step.to_string());
        child.kill().unwrap();
        child.wait().unwrap();
        world.nobody_is_left();
        let id = world.only_session();
        world.aw(["sessions", "recover"]).ends(0).says("held");
        world.aw(["sessions", "recover"]).ends(0).says("nothing to recover");
        assert_eq!(snapshot(&world.project()), before, "not applied");
        let shown = world.aw(["sessions", "show", &id, "--json"]).ends(0).json();
        let count = shown["review"]["changes"].as_array().unwrap().len();
        assert!(count >= step, "step {step}: {shown:#}");
        // Without the base, which is taken in the background, every change would be a conflict.
        let applied = world.aw(["sessions", "apply", &id]);
        if applied.code == 0 {
            assert_eq!(read(world.project().join(format!("step{step}"))), "work\n");
            world.aw(["sessions", "undo", &id]).ends(0);
        } else {
            assert_eq!(applied.code, 3, "{applied:?}");
        }
        assert_eq!(snapshot(&world.project()), before);
    }
    steps
}

#[test]
fn killed_at_any_instant_of_open_run_and_apply_the_work_is_applied_or_held() {
    let runs: Vec<(Identity, &str)> =
        identities().into_iter().flat_map(|who| BACKENDS.map(|backend| (who, backend))).collect();
    // As root the ordinary user takes one backend and root the other; the reasons to fail do not depend on the pair.
    let runs: Vec<(Identity, &str)> = if runs.len() > 2 { vec![runs[0], runs[3]] } else { runs };
    let mut total = 0;
    std::thread::scope(|scope| {
        let handles: Vec<_> = runs
            .into_iter()
            .map(|(who, backend)| {
                scope.spawn(move || {
                    let mut phases = killed_everywhere(backend, who);
                    *phases.entry("running".into()).or_default() += killed_while_running(backend, who, 12);
                    println!("{backend} as {who:?}: {phases:?}");
                    phases
                })
            })
            .collect();
        for handle in handles {
            let phases = handle.join().unwrap();
            for phase in ["opening", "running", "held"] {
                let expected = 3_usize.div_ceil(crash_step());
                assert!(phases.get(phase).is_some_and(|count| *count >= expected), "{phase}: {phases:?}");
            }
            total += phases.values().sum::<usize>();
        }
    });
    println!("killed at {total} crash_points");
    assert!(total >= 200 / crash_step(), "{total}");
}

#[test]
fn an_undo_and_a_recovery_that_are_killed_too_end_the_same() {
    let who = *identities().last().unwrap();
    let mut total = 0;
    for verb in ["undo", "recover", "discard"] {
        for number in (1..).step_by(4 * crash_step()) {
            let world = fast_world(who);
            tree(&world, 3);
            let before = snapshot(&world.project());
            let id = if verb == "recover" {
                // Somewhere in the middle of the exchanges.
                assert_eq!(at_instant(&world, "overlay", 130).code, -9);
                world.nobody_is_left();
                world.only_session()
            } else {
                let policy = if verb == "undo" { "auto" } else { "never" };
                world.mounted(&["--mount", "overlay", "--apply", policy], &edits(&world)).ends(0);
                world.only_session()
            };
            let mut command = world.aw_command(["sessions", verb, &id]);
            let ended =
                Did::of(&command.env("AGENTWORKFORCE_TEST_KILL_AT", number.to_string()).output().unwrap());
            if ended.code == 0 {
                break;
            }
            assert_eq!(ended.code, -9, "{ended:?}");
            total += 1;
            world.aw(["sessions", "recover"]).ends(0);
            world.aw(["sessions", "recover"]).ends(0).says("nothing to recover");
            match verb {
                "undo" => {
                    if snapshot(&world.project()) != before {
                        world.aw(["sessions", "undo", &id]).ends(0);
                    }
                }
                "recover" => {
                    let state = world.listed()[0]["state"].as_str().unwrap().to_owned();
                    if state == "applied" {
                        world.aw(["sessions", "undo", &id]).ends(0);
                    }
                }
                _ => world.aw(["sessions", "discard", &id]).ends(0).says("discarded").ends_well(),
            }
            assert_eq!(snapshot(&world.project()), before, "{verb} killed at {number}");
        }
    }
    println!("undo, recover and discard killed at {total} crash_points");
    assert!(total >= 15 / crash_step(), "{total}");
}

#[test]
fn commits_survive_a_runner_that_is_killed_at_any_instant() {
    let who = *identities().last().unwrap();
    let mut kept = 0;
    for backend in BACKENDS {
        for number in (1..).step_by(crash_step()) {
            let world = fast_world(who);
            world.repository(&[("f", "base\n")]);
            let done = world.path("all-done");
            let script = format!("echo agent > f; git commit -qam 'agent work'; touch '{}'", done.display());
            let mut command = world.mounted_command(&["--mount", backend], &script);
            let ended = command.env("AGENTWORKFORCE_TEST_KILL_AT", number.to_string()).output().unwrap();
            if ended.status.success() {
                break;
            }
            world.nobody_is_left();
            if !done.exists() {
                continue;
            }
            let id = world.only_session();
            world.aw(["sessions", "recover"]).ends(0);
            if !world.sessions().join(&id).join("manifest").exists() {
                // The agent was quicker than the base: without one every change is a conflict, and held.
                world.aw(["sessions", "apply", &id]).ends(3).says("not known what it was");
                continue;
            }
            if world.listed()[0]["state"] == "held" {
                world.aw(["sessions", "apply", &id]).ends(0);
            }
            assert_eq!(world.listed()[0]["state"], "applied");
            world.aw(["sessions", "prune", "--older-than", "0s"]).ends(0);
            let log =
                world.outside(&format!("git log --format=%s refs/agentworkforce/{id}/heads/main; cat f"));
            assert_eq!(log, "agent work\nbase\nagent\n", "{backend} {number}");
            kept += 1;
        }
    }
    println!("commits kept after {kept} deaths");
    assert!(kept >= 20 / crash_step(), "{kept}");
}

#[test]
fn commits_on_another_branch_survive_although_no_file_has_changed() {
    for who in identities() {
        for (backend, is_killed) in [("overlay", true), ("copy", true), ("overlay", false), ("copy", false)] {
            let world = World::new(who);
            world.repository(&[("f", "base\n")]);
            let commit =
                "git checkout -qb side; echo agent > f; git commit -qam 'agent work'; git checkout -q main";
            let run = world.waiting(&["--mount", backend, "--apply", "never"], commit, "");
            let id = world.only_session();
            if is_killed {
                assert!(soon(|| world.sessions().join(&id).join("manifest").exists()));
                run.signal(Signal::SIGKILL);
                run.end().ends(-9);
                world.nobody_is_left();
                world.aw(["sessions", "recover"]).ends(0);
            } else {
                run.go().ends(0);
            }
            world.aw(["sessions", "prune", "--older-than", "0s"]).ends(0).says("removed");
            let log = world.outside(&format!("git log --format=%s refs/agentworkforce/{id}/heads/side"));
            assert_eq!(log, "agent work\nbase\n", "{backend} killed: {is_killed}");
        }
    }
}

#[test]
fn what_the_agent_made_unreadable_is_not_removed_with_the_mount() {
    let world = World::new(*identities().last().unwrap());
    world.files(&[("f", "base\n")]);
    let script = "echo agent > f; mkdir closed; echo work > closed/in; chmod 000 closed";
    let ran = world.mounted(&["--mount", "copy", "--json"], script);
    let report = ran.json();
    let in_project = fs::symlink_metadata(world.project().join("closed/in")).is_ok();
    let session = world.sessions().join(report["session"].as_str().unwrap()).join("mount/closed");
    let _ = fs::set_permissions(&session, fs::Permissions::from_mode(0o700));
    // Root can read it all the same, so for root it is applied like any other.
    assert!(!in_project, "{report:#}");
    assert_eq!(read(session.join("in")), "work\n", "{report:#}");
}

impl Did {
    #[track_caller]
    fn ends_well(&self) {
        assert_eq!(self.code, 0, "{self:#?}");
    }
}

/// A shell script in a mount namespace of its own, where a small tmpfs can be mounted.
fn in_own_mounts(world: &World, script: &str) -> Did {
    let mut command = Command::new("unshare");
    command.arg("-m");
    if !is_root() {
        command.args(["-r", "--map-root-user"]);
    }
    command.args(["sh", "-ec", script]).current_dir(world.path("")).stdin(Stdio::null());
    command.env("HOME", world.home()).env("AW", BINARY).env_remove("AGENT_WORKFORCE_HOME");
    Did::of(&command.output().unwrap())
}

#[test]
fn as_root_a_full_disk_under_the_sessions_is_told_and_the_project_is_as_before() {
    for backend in BACKENDS {
        let world = World::new(Identity::Own);
        tree(&world, 3);
        let before = snapshot(&world.project());
        fs::create_dir_all(world.home().join(".agentworkforce")).unwrap();
        let script = format!(
            "mount -t tmpfs -o size=512k none home/.agentworkforce; cd project; rc=0
             $AW mount --mount {backend} -- sh -c 'echo small > top; sleep 0.5; head -c 2000000 /dev/zero > big' || rc=$?
             echo rc $rc; rc=0; $AW sessions recover || rc=$?; echo rc $rc; $AW sessions list --json
             mount -o remount,size=8m ../home/.agentworkforce; $AW sessions recover; $AW sessions recover
             $AW sessions apply mount-; cat top; rm big"
        );
        let did = in_own_mounts(&world, &script);
        let did = did.ends(0);
        // Not even the state can be written: that is said, and the work waits for room.
        did.says("No space left on device").says("rc 125").says("its work is kept").says("sessions recover");
        assert!(
            did.stdout.contains("held") && did.stdout.ends_with("nothing to recover\nsmall\n"),
            "{did:#?}"
        );
        let mut now = snapshot(&world.project());
        now.insert("top".into(), before[std::path::Path::new("top")].clone());
        assert_eq!(now, before, "{did:?}");
    }
}

#[test]
fn a_full_disk_while_opening_is_told_and_leaves_no_session() {
    let world = World::new(Identity::Own);
    tree(&world, 3);
    fs::write(world.project().join("large"), vec![1; 2_000_000]).unwrap();
    let before = snapshot(&world.project());
    fs::create_dir_all(world.home().join(".agentworkforce")).unwrap();
    let script = "mount -t tmpfs -o size=512k none home/.agentworkforce; cd project; rc=0
         $AW mount --mount copy -- true || rc=$?
         echo rc $rc; $AW sessions list --json; ls -A ../home/.agentworkforce/workforce/sessions";
    let did = in_own_mounts(&world, script);
    did.says("No space left on device").says("rc 125").says("\"sessions\": []");
    assert_eq!(snapshot(&world.project()), before, "{did:?}");
}

#[test]
fn as_root_a_full_disk_under_the_project_is_told_and_the_project_is_as_before() {
    for backend in BACKENDS {
        let world = World::new(Identity::Own);
        let script = format!(
            "mount -t tmpfs -o size=512k none project; cd project; echo base > top; echo base > other; ls -lAR > ../before
             rc=0; $AW mount --mount {backend} -- sh -c 'echo agent > top; rm other; head -c 2000000 /dev/zero > big' || rc=$?
             echo rc $rc; cat top other; ls -A; $AW sessions recover; cat top other; ls -A; $AW sessions list
             mount -o remount,size=8m ../project
             $AW sessions apply mount-; wc -c < big; cat top; test ! -e other; $AW sessions undo mount-; cat top other; ls -A"
        );
        let did = in_own_mounts(&world, &script);
        let did = did.ends(0);
        did.says("No space left on device").says("rc 125");
        let listing = "base\nbase\nother\ntop\n";
        let rest = did.stdout.split_once("rc 125\n").unwrap().1;
        assert!(rest.starts_with(listing), "{did:#?}");
        did.says("held").says("2000000\nagent\n");
        assert!(did.stdout.ends_with(listing), "{did:#?}");
    }
}

#[test]
fn a_read_only_file_and_a_read_only_directory_are_no_reason_to_lose_anything() {
    for who in identities() {
        for backend in BACKENDS {
            let world = World::new(who);
            world.files(&[("locked", "base\n"), ("dir/f", "base\n"), ("z", "base\n")]);
            world.outside("chmod 444 locked dir/f; chmod 555 dir");
            let before = snapshot(&world.project());
            let script = "rm -f locked; echo agent > locked; chmod 755 dir; rm -f dir/f; echo agent > dir/f; chmod 555 dir; echo agent > z";
            let ran = world.mounted(&["--mount", backend], script);
            let now = snapshot(&world.project());
            let id = world.only_session();
            // Only root may replace a file in a directory that is closed to writing.
            if is_root() && who == Identity::Own {
                ran.ends(0);
                assert_eq!(read(world.project().join("dir/f")), "agent\n");
                assert_eq!(read(world.project().join("z")), "agent\n");
                world.aw(["sessions", "undo", &id]).ends(0);
                assert_eq!(snapshot(&world.project()), before);
            } else {
                // Refused as a whole, and said where.
                assert_eq!(now, before, "{ran:?}");
                ran.ends(125).says("dir");
                assert_eq!(world.listed()[0]["state"], "held");
            }
            world.outside("chmod -R u+w .");
        }
    }
}

#[test]
fn a_project_that_vanishes_is_told_and_the_work_stays() {
    for who in identities() {
        for backend in BACKENDS {
            let world = World::new(who);
            tree(&world, 3);
            let run = world.waiting(&["--mount", backend], "echo agent > top; echo new > new", "");
            let id = world.only_session();
            assert!(soon(|| world.sessions().join(&id).join("manifest").exists()));
            fs::rename(world.project(), world.path("elsewhere")).unwrap();
            let moved = snapshot(&world.path("elsewhere"));
            let ended = run.go();
            assert!(![0, -9].contains(&ended.code) && !ended.stderr.contains("panicked"), "{ended:?}");
            ended.says(&world.project().display().to_string());
            assert_eq!(snapshot(&world.path("elsewhere")), moved);
            // Something else at its place is not the project.
            fs::create_dir(world.project()).unwrap();
            fs::write(world.project().join("top"), "another project\n").unwrap();
            let refused = world.aw(["sessions", "apply", &id]);
            assert_ne!(refused.code, 0, "{refused:?}");
            assert_eq!(read(world.project().join("top")), "another project\n");
            assert!(!world.project().join("new").exists());
            fs::remove_dir_all(world.project()).unwrap();
            fs::rename(world.path("elsewhere"), world.project()).unwrap();
            let _ = world.aw(["sessions", "recover"]);
            world.aw(["sessions", "apply", &id]).ends(0);
            assert_eq!(read(world.project().join("new")), "new\n");
        }
    }
}

#[test]
fn signals_before_anything_started_leave_nothing() {
    let world = fast_world(Identity::Own);
    tree(&world, 3);
    for signal in [Signal::SIGTERM, Signal::SIGHUP, Signal::SIGINT] {
        for delay in [0, 1, 3, 6, 10, 20, 40] {
            let before = snapshot(&world.project());
            let mut command = world.mounted_command(&["--mount", "overlay", "--apply", "never"], "sleep 30");
            let child = command.stdout(Stdio::null()).stderr(Stdio::null()).spawn().unwrap();
            std::thread::sleep(std::time::Duration::from_millis(delay));
            let pid = nix::unistd::Pid::from_raw(i32::try_from(child.id()).unwrap());
            nix::sys::signal::kill(pid, signal).unwrap();
            let ended = Did::of(&child.wait_with_output().unwrap());
            // Before we catch it, it is the kernel that ends us.
            assert!(
                [128 + signal as i32, -(signal as i32)].contains(&ended.code),
                "{signal} {delay}: {ended:?}"
            );
            world.nobody_is_left();
            assert_eq!(snapshot(&world.project()), before);
        }
    }
    world.aw(["sessions", "recover"]).ends(0);
    assert!(world.listed().iter().all(|session| session["live"] == false));
}

#[test]
fn a_disk_that_is_full_before_the_start_is_told_and_leaves_no_session() {
    let world = World::new(Identity::Own);
    tree(&world, 3);
    fs::create_dir_all(world.home().join(".agentworkforce")).unwrap();
    let script = "mount -t tmpfs -o size=64k none home/.agentworkforce; cd project
         mkdir -p ../home/.agentworkforce/workforce/sessions
         cat /dev/zero > ../home/.agentworkforce/filler 2>/dev/null || true
         rc=0; $AW mount --mount overlay -- true || rc=$?
         echo rc $rc; ls -A ../home/.agentworkforce/workforce/sessions; echo listed";
    let did = in_own_mounts(&world, script);
    did.says("No space left on device").says("rc 125\nlisted\n");
}
