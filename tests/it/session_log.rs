//! `sessions log` and `sessions stop`: what an agent said and did, also while it does it, and the end of a run from elsewhere.

use crate::support::harness::weaver;
use crate::support::mount::{Identity, World, identities, read, soon};
use crate::support::sessions::Did;
use nix::sys::signal::{Signal, kill};
use nix::unistd::Pid;
use pretty_assertions::assert_eq;
use serde_json::{Value, json};
use std::fs;
use std::process::{Child, Stdio};

/// Says something and waits in a tool until the test says `go`.
const AT_WORK: &str = r#"begins
printf '%s\n' '{"type":"assistant","message":{"id":"m1","content":[{"type":"text","text":"I begin\nwith \u001b[2J this."}]}}'
printf '%s\n' '{"type":"assistant","message":{"id":"m2","content":[{"type":"tool_use","id":"t1","name":"Bash","input":{"command":"make all"}}]}}'
echo made > made.txt; touch "$record/ready"
until [ -e "$record/go" ]; do sleep 0.05; done
printf '%s\n' '{"type":"user","message":{"content":[{"type":"tool_result","tool_use_id":"t1","content":"built\nall of it"}]}}'
answers "all done""#;

fn log_of(world: &World, id: &str, flags: &[&str]) -> Did {
    world.aw(["sessions", "log", id].iter().chain(flags))
}

fn go(world: &World) {
    fs::write(world.record("go"), "").unwrap();
}

/// A `sessions log -f` whose output can be read while it runs.
struct Following {
    child: Child,
    out: std::path::PathBuf,
}

impl Following {
    fn start(world: &World, id: &str, flags: &[&str]) -> Following {
        let number = fs::read_dir(world.path("")).unwrap().count();
        let out = world.path(&format!("followed-{number}"));
        let mut command = world.aw_command(["sessions", "log", id, "--follow"].iter().chain(flags));
        let file = fs::File::create(&out).unwrap();
        let child = command.stdout(file.try_clone().unwrap()).stderr(file).spawn().unwrap();
        Following { child, out }
    }

    #[track_caller]
    fn shows(&self, text: &str) {
        assert!(soon(|| read(&self.out).contains(text)), "{text} is not in {}", read(&self.out));
    }

    #[track_caller]
    fn ends(mut self, code: i32) -> String {
        assert!(soon(|| self.child.try_wait().unwrap().is_some()), "it goes on: {}", read(&self.out));
        assert_eq!(self.child.wait().unwrap().code(), Some(code), "{}", read(&self.out));
        read(&self.out)
    }
}

#[test]
fn the_transcript_of_a_headless_run_can_be_read() {
    let world = World::with_harness(Identity::Own, AT_WORK);
    go_first(&world);
    world.agent(&["weaver", "-p", "make it\nall", "--apply", "never"]).ends(0);
    let id = world.only_session();
    let did = log_of(&world, &id[..10], &[]).ends(0);
    let expected = [
        "> make it",
        "> all",
        "• I begin",
        "  with \\u{1b}[2J this.",
        "  Bash make all",
        "    built",
        "    all of it",
        "completed",
    ];
    assert_eq!(did.stdout.lines().collect::<Vec<_>>(), expected, "{did:#?}");
    assert_eq!(did.stderr, "");
    let raw = log_of(&world, &id, &["--raw"]).ends(0);
    let recorded = read(world.sessions().join(&id).join("attempts/1/events.jsonl"));
    assert!(raw.stdout.ends_with(&recorded), "{raw:#?}");
    let json = log_of(&world, &id, &["--json"]).ends(0).json();
    assert_eq!(
        (&json["session"], &json["live"], &json["state"]),
        (&json!(id), &json!(false), &json!("held"))
    );
    let attempt = &json["attempts"][0];
    assert_eq!(
        (&attempt["source"]["kind"], &attempt["outcome"]["status"]),
        (&json!("events"), &json!("completed"))
    );
    let types: Vec<&str> =
        attempt["events"].as_array().unwrap().iter().map(|event| event["type"].as_str().unwrap()).collect();
    let expected = ["task", "session.started", "message", "tool.started", "tool.finished", "usage", "ended"];
    assert_eq!(types, expected);
    assert!(attempt["events"][2]["at"].as_str().unwrap().starts_with("20"), "{attempt:#}");
    log_of(&world, &id, &["--json", "-f"]).ends(2).says("`--json` is one object");
}

fn go_first(world: &World) {
    fs::create_dir_all(world.path("record")).unwrap();
    go(world);
}

#[test]
fn a_session_of_an_earlier_version_and_one_without_an_agent() {
    let world = World::with_harness(Identity::Own, AT_WORK);
    go_first(&world);
    world.agent(&["weaver", "-p", "make it", "--apply", "never"]).ends(0);
    let id = world.only_session();
    let (dir, attempt) = (world.sessions().join(&id), world.sessions().join(&id).join("attempts/1"));
    let new = read(attempt.join("events.jsonl"));
    let old = new.lines().map(|line| {
        let mut event: Value = serde_json::from_str(line).unwrap();
        for key in ["at", "output", "seconds"] {
            event.as_object_mut().unwrap().remove(key);
        }
        format!("{event}\n")
    });
    fs::write(dir.join("events.jsonl"), old.collect::<String>()).unwrap();
    fs::rename(attempt.join("task.md"), dir.join("task.md")).unwrap();
    fs::remove_dir_all(dir.join("attempts")).unwrap();
    let did = log_of(&world, &id, &[]).ends(0);
    assert_eq!(
        did.stdout.lines().collect::<Vec<_>>(),
        ["> make it", "• I begin", "  with \\u{1b}[2J this.", "  Bash make all", "completed"],
        "{did:#?}"
    );
    world.mounted(&["--apply", "never"], "echo x > x.txt").ends(0);
    log_of(&world, "mount-", &[]).ends(2).says("it ran a command, not an agent");
    let waiting = world.waiting(&["--apply", "never"], "", "");
    // At once, and not only when it has ended.
    log_of(&world, "last", &["-f"]).ends(2).says("it ran a command, not an agent");
    waiting.go().ends(0);
    log_of(&world, "nobody", &[]).ends(2).says("there is no session `nobody`");
}

#[test]
fn a_run_is_followed_from_elsewhere_until_it_ends() {
    for who in identities() {
        let world = World::with_harness(who, AT_WORK);
        let mut run = world.agent_at_work(&["--apply", "never"]);
        let id = world.only_session();
        let followed = Following::start(&world, &id, &[]);
        let raw = Following::start(&world, &id, &["--raw"]);
        followed.shows("• I begin");
        raw.shows("\"type\":\"tool.started\"");
        // What takes long is shown before its end.
        followed.shows("  Bash make all  running\n");
        let now = log_of(&world, &id, &[]).ends(0);
        assert!(now.stdout.contains("• I begin") && now.stderr.contains("it is running"), "{now:#?}");
        assert!(now.stdout.ends_with("  Bash make all  running\n"), "{now:#?}");
        go(&world);
        let text = followed.ends(0);
        assert!(
            text.contains("running\n  Bash make all  ") && text.matches("running").count() == 1,
            "{text}"
        );
        assert!(text.ends_with("\n    built\n    all of it\ncompleted\n"), "{text}");
        assert!(raw.ends(0).contains("\"type\":\"ended\""));
        assert!(run.wait().unwrap().success());
    }
}

#[test]
fn several_attempts_are_told_one_after_the_other() {
    let world = World::with_harness(Identity::Own, "begins; answers first");
    world.agent(&["weaver", "-p", "one", "--apply", "never"]).ends(0);
    world.harness("claude", "begins; echo x > x.txt; answers second");
    let (report, _) = world.report(&["--apply", "never"]);
    let id = report["session"].as_str().unwrap();
    world.harness(
        "claude",
        r#"begins; printf '%s\n' '{"type":"assistant","message":{"id":"m9","content":[{"type":"text","text":"again"}]}}'; answers again"#,
    );
    world.agent(&["weaver", "-p", "once more", "--resume", id, "--apply", "never"]).ends(0);
    let did = log_of(&world, id, &["-f"]).ends(0);
    let expected = ["> do it", "completed", "attempt 2", "> once more", "• again", "completed"];
    assert_eq!(did.stdout.lines().collect::<Vec<_>>(), expected, "{did:#?}");
}

#[test]
fn a_killed_runner_ends_what_follows_it() {
    let world = World::with_harness(Identity::Own, AT_WORK);
    let mut run = world.agent_at_work(&[]);
    let id = world.only_session();
    let followed = Following::start(&world, &id, &[]);
    followed.shows("• I begin");
    kill(runner(&world, &id), Signal::SIGKILL).unwrap();
    run.wait().unwrap();
    let text = followed.ends(0);
    assert!(text.contains("  Bash make all  not finished\n"), "{text}");
    assert!(text.contains("it was killed before it ended"), "{text}");
}

/// The process that the session names.
fn runner(world: &World, id: &str) -> Pid {
    let status: Value = serde_json::from_str(&read(world.sessions().join(id).join("status.json"))).unwrap();
    Pid::from_raw(i32::try_from(status["pid"].as_i64().unwrap()).unwrap())
}

#[test]
fn a_run_is_stopped_from_elsewhere_and_its_changes_are_held() {
    for who in identities() {
        let world = World::with_harness(who, AT_WORK);
        let run = world.agent_at_work(&[]);
        let id = world.only_session();
        let followed = Following::start(&world, &id, &[]);
        let did = world.aw(["sessions", "stop", &id, "--json"]).ends(0);
        let answer = did.json();
        assert_eq!(
            (&answer["session"], &answer["stopped"], &answer["state"]),
            (&json!(id), &json!(true), &json!("held")),
            "{answer:#}"
        );
        let output = run.wait_with_output().unwrap();
        let report: Value = serde_json::from_slice(&output.stdout).unwrap();
        assert_eq!(report["outcome"]["status"], "interrupted", "{report:#}");
        let text = followed.ends(0);
        assert!(text.contains("interrupted: ended by signal 15"), "{text}");
        world.aw(["sessions", "apply", &id]).ends(0);
        assert_eq!(read(world.project().join("made.txt")), "made\n");
        world.aw(["sessions", "stop", &id]).ends(2).says("is not running: its state is `applied`");
    }
}

#[test]
fn a_run_that_goes_on_with_a_session_is_the_one_that_is_stopped() {
    let world = World::with_harness(Identity::Own, "begins; echo x > x.txt; answers done");
    let (report, _) = world.report(&["--apply", "never"]);
    let id = report["session"].as_str().unwrap().to_owned();
    world.harness("claude", AT_WORK);
    let mut command = world.agent_command(&["weaver", "-p", "more", "--resume", &id, "--quiet"]);
    let run = command.stdout(Stdio::piped()).stderr(Stdio::piped()).spawn().unwrap();
    assert!(soon(|| world.record("ready").exists()), "the harness does not start");
    let did = world.aw(["sessions", "stop", &id]).ends(0);
    assert!(did.stdout.starts_with(&format!("stopped session {id}: its changes are held")), "{did:#?}");
    assert!(did.stderr.contains("sessions apply"), "{did:#?}");
    assert!(!run.wait_with_output().unwrap().status.success());
}

#[test]
fn only_the_runner_of_the_session_is_ever_told_to_end() {
    let world = World::with_harness(Identity::Own, AT_WORK);
    let mut run = world.agent_at_work(&[]);
    let id = world.only_session();
    let file = world.sessions().join(&id).join("status.json");
    let mut status: Value = serde_json::from_str(&read(&file)).unwrap();
    let right = status["pid"].clone();
    let mut other = std::process::Command::new("sleep").arg("600").spawn().unwrap();
    status["pid"] = json!(other.id());
    fs::write(&file, status.to_string()).unwrap();
    world.aw(["sessions", "stop", &id]).ends(2).says("by a process that is not its runner");
    assert_eq!(other.try_wait().unwrap(), None);
    other.kill().unwrap();
    other.wait().unwrap();
    status["pid"] = right;
    fs::write(&file, status.to_string()).unwrap();
    world.aw(["sessions", "stop", &id]).ends(0);
    run.wait().unwrap();
    // A runner that was killed is not running, whoever has its number now.
    world.aw(["sessions", "discard", &id, "--yes"]).ends(0);
    let world = World::with_harness(Identity::Own, AT_WORK);
    let mut run = world.agent_at_work(&[]);
    let id = world.only_session();
    kill(runner(&world, &id), Signal::SIGKILL).unwrap();
    run.wait().unwrap();
    assert!(soon(|| world.listed()[0]["live"] == false));
    world.aw(["sessions", "stop", &id]).ends(2).says("sessions recover");
}

#[test]
fn a_runner_that_takes_its_time_is_waited_for_only_so_long() {
    // It does not end at the signal, and the grace period is longer than what is waited here.
    let stubborn = format!("trap '' TERM INT; {AT_WORK}");
    let world = World::with_harness(Identity::Own, &stubborn);
    let mut run = world.agent_at_work(&[]);
    let id = world.only_session();
    let did = world.aw(["sessions", "stop", &id, "--timeout", "0.2"]).ends(124);
    assert!(did.stderr.contains("has not ended yet"), "{did:#?}");
    go(&world);
    run.wait().unwrap();
}

/// What claude keeps of a conversation, as far as it is read. `$i` is its id.
const KEEPS: &str = r#"for a in "$@"; do case $a in --session-id=*) i=${a#*=};; --resume=*) i=${a#*=};; esac; done
file=~/.claude/projects/p/$i.jsonl; mkdir -p ~/.claude/projects/p
now() { date -u +%Y-%m-%dT%H:%M:%S.%3NZ; }
says() { printf '{"type":"user","timestamp":"%s","message":{"role":"user","content":"%s"}}\n' "$(now)" "$1" >> $file; }
answers_with() { printf '{"type":"assistant","timestamp":"%s","message":{"id":"%s","role":"assistant","content":[{"type":"text","text":"%s"}]}}\n' "$(now)" "$1" "$1" >> $file; }
"#;

#[test]
fn an_interactive_run_is_told_from_what_the_harness_keeps() {
    let script = format!(
        "{KEEPS}\nprintf '{{\"type\":\"user\",\"timestamp\":\"2020-01-01T00:00:00.000Z\",\"message\":{{\"content\":\"long ago\"}}}}\\n' > $file\n\
         says 'hello there'; answers_with 'hi, with '\"$TOKEN\"; touch \"$record/ready\"; until [ -e \"$record/go\" ]; do sleep 0.05; done; answers_with bye"
    );
    let world = World::with_harness(Identity::Own, &script);
    let mut persona = weaver();
    persona["env"] = json!({"TOKEN": "$MY_TOKEN"});
    world.persona(&persona);
    let mut command = world.agent_command(&["weaver", "--apply", "never", "--", "hello"]);
    command.env("MY_TOKEN", "very-secret-value-of-a-token");
    let mut run = command.stdout(Stdio::null()).stderr(Stdio::null()).spawn().unwrap();
    assert!(soon(|| world.record("ready").exists()), "the harness does not start");
    let id = world.only_session();
    let mut follow = world.aw_command(["sessions", "log", &id, "-f"]);
    let out = world.path("followed");
    let child = follow
        .env("MY_TOKEN", "very-secret-value-of-a-token")
        .stdout(fs::File::create(&out).unwrap())
        .spawn()
        .unwrap();
    let followed = Following { child, out };
    followed.shows("• hi");
    go(&world);
    run.wait().unwrap();
    let text = followed.ends(0);
    let lines: Vec<&str> = text.lines().collect();
    assert_eq!(lines[0], "> hello there");
    assert!(lines[1].starts_with("• hi, with ") && !text.contains("very-secret"), "{text}");
    assert_eq!(lines[2..], ["• bye", "completed"]);
    let json = log_of(&world, &id, &["--json"]).ends(0).json();
    let source = &json["attempts"][0]["source"];
    assert_eq!(source["kind"], "conversation", "{json:#}");
    assert!(source["file"].as_str().unwrap().contains("/.claude/projects/p/"), "{json:#}");
    // It is claude's to remove.
    fs::remove_dir_all(world.home().join(".claude")).unwrap();
    let did = log_of(&world, &id, &[]).ends(1);
    assert!(did.stderr.contains("claude has no record of the conversation any more"), "{did:#?}");
    let json = log_of(&world, &id, &["--json"]).ends(1).json();
    assert_eq!(json["attempts"][0]["source"]["kind"], "nothing", "{json:#}");
}

#[test]
fn a_tool_of_an_interactive_run_is_shown_while_it_runs() {
    let script = format!(
        "{KEEPS}\nsays hello; printf '{{\"type\":\"assistant\",\"timestamp\":\"%s\",\"message\":{{\"id\":\"m7\",\"content\":[{{\"type\":\"tool_use\",\"id\":\"t\",\"name\":\"Bash\",\"input\":{{\"command\":\"sleep 40\"}}}}]}}}}\n' \"$(now)\" >> $file; touch \"$record/ready\"; until [ -e \"$record/go\" ]; do sleep 0.05; done"
    );
    let world = World::with_harness(Identity::Own, &script);
    let mut command = world.agent_command(&["weaver", "--apply", "never", "--", "hello"]);
    let mut run = command.stdout(Stdio::null()).stderr(Stdio::null()).spawn().unwrap();
    assert!(soon(|| world.record("ready").exists()), "the harness does not start");
    let followed = Following::start(&world, &world.only_session(), &[]);
    followed.shows("  Bash sleep 40  running\n");
    go(&world);
    run.wait().unwrap();
    assert!(followed.ends(0).contains("  Bash sleep 40  not finished\n"));
}

#[test]
fn what_can_be_read_only_at_the_end_cannot_be_followed() {
    let script = "touch \"$record/ready\"; until [ -e \"$record/go\" ]; do sleep 0.05; done";
    let world = World::with_harness(Identity::Own, "answers done");
    world.harness("opencode", script);
    let mut persona = weaver();
    persona["harness"] = json!("opencode");
    world.persona(&persona);
    let mut command = world.agent_command(&["weaver", "--apply", "never", "--", "hello"]);
    let mut run = command.stdout(Stdio::null()).stderr(Stdio::null()).spawn().unwrap();
    assert!(soon(|| world.record("ready").exists()), "the harness does not start");
    let id = world.only_session();
    let followed = Following::start(&world, &id, &[]);
    followed.shows(
        "a conversation with opencode at a terminal cannot be followed: it is shown once the run has ended",
    );
    let now = log_of(&world, &id, &[]).ends(0);
    assert!(now.stderr.contains("cannot be followed") && !now.stderr.contains("--follow"), "{now:#?}");
    go(&world);
    run.wait().unwrap();
    followed.ends(1);
}

#[test]
fn short_values_of_secrets_are_left_out_as_the_config_says() {
    let script = format!("{KEEPS}\nsays hello; answers_with 'hi, with '\"$TOKEN\"");
    let world = World::with_harness(Identity::Own, &script);
    let mut persona = weaver();
    persona["env"] = json!({"TOKEN": "$SHORT_TOKEN"});
    world.persona(&persona);
    world.aw(["config", "set", "secrets.minLength", "6"]).ends(0);
    let mut command = world.agent_command(&["weaver", "--apply", "never", "--", "hello"]);
    Did::of(&command.env("SHORT_TOKEN", "s3cr3t99").output().unwrap()).ends(0);
    for flags in [&[][..], &["--raw"], &["--json"]] {
        let mut command = world.aw_command([&["sessions", "log", "last"], flags].concat());
        let did = Did::of(&command.env("SHORT_TOKEN", "s3cr3t99").output().unwrap()).ends(0);
        assert!(did.stdout.contains("hi, with [redacted") && !did.stdout.contains("s3cr3t99"), "{did:#?}");
    }
}

#[test]
fn a_transcript_does_not_depend_on_the_times_of_files() {
    let script = format!("{KEEPS}\nsays hello; answers_with hi");
    let world = World::with_harness(Identity::Own, &script);
    world.agent(&["weaver", "--apply", "never", "--", "hello"]).ends(0);
    let attempt = world.sessions().join(world.only_session()).join("attempts/1");
    let command = fs::File::options().append(true).open(attempt.join("command.json")).unwrap();
    command.set_modified(std::time::SystemTime::now() + std::time::Duration::from_hours(1)).unwrap();
    let did = log_of(&world, "last", &[]).ends(0);
    assert!(did.stdout.contains("> hello\n") && did.stdout.contains("• hi\n"), "{did:#?}");
    // One of an earlier version says at least that something is missing.
    fs::write(attempt.join("command.json"), "{}").unwrap();
    let command = fs::File::options().append(true).open(attempt.join("command.json")).unwrap();
    command.set_modified(std::time::SystemTime::now() + std::time::Duration::from_hours(1)).unwrap();
    log_of(&world, "last", &[]).ends(0).says("from the time of this attempt");
}

#[test]
fn an_answer_that_claude_wrote_down_first_comes_after_its_question() {
    let script = format!(
        "{KEEPS}\nsays later; sleep 0.05; answers_with hi; tac $file > $file.new; mv $file.new $file"
    );
    let world = World::with_harness(Identity::Own, &script);
    world.agent(&["weaver", "--apply", "never", "--", "hello"]).ends(0);
    let did = log_of(&world, "last", &[]).ends(0);
    assert!(did.stdout.starts_with("> later\n• hi\n"), "{did:#?}");
}

#[test]
fn each_harness_is_stopped_by_the_signal_that_ends_it() {
    let script = "begins; trap 'echo TERM > $record/signal; exit 1' TERM; trap 'echo INT > $record/signal; exit 1' INT\n\
                  touch \"$record/ready\"; while :; do sleep 0.05; done";
    for (harness, signal) in [("claude", "INT\n"), ("codex", "TERM\n"), ("opencode", "TERM\n")] {
        let world = World::with_harness(Identity::Own, script);
        world.harness(harness, script);
        let mut run = world.agent_at_work(&["--harness", harness, "--apply", "never"]);
        world.aw(["sessions", "stop", "last"]).ends(0);
        assert_eq!(run.wait().unwrap().code(), Some(143), "{harness}");
        assert_eq!(world.recorded("signal"), signal, "{harness}");
        let (report, code) = world.report(&["--harness", harness, "--timeout", "0.5"]);
        assert_eq!((code, world.recorded("signal")), (124, signal.to_owned()), "{report:#}");
    }
}

/// Half a secret would not be recognised: what a tool answered is whole until the secrets are out.
#[test]
fn a_long_output_in_the_harness_record_is_shortened_once_and_has_no_half_secret() {
    let script = format!(
        "{KEEPS}\nprintf '{{\"type\":\"user\",\"timestamp\":\"%s\",\"message\":{{\"content\":[{{\"type\":\"tool_result\",\"tool_use_id\":\"t\",\"content\":\"%01990d%s%09000d\"}}]}}}}\\n' \"$(now)\" 0 \"$TOKEN\" 0 > $file"
    );
    let world = World::with_harness(Identity::Own, &script);
    let mut persona = weaver();
    persona["env"] = json!({"TOKEN": "$MY_TOKEN"});
    world.persona(&persona);
    let token = "very-secret-value-of-a-token";
    let mut command = world.agent_command(&["weaver", "--apply", "never", "--", "hello"]);
    Did::of(&command.env("MY_TOKEN", token).output().unwrap()).ends(0);
    let mut command = world.aw_command(["sessions", "log", "last", "--json"]);
    let json = Did::of(&command.env("MY_TOKEN", token).output().unwrap()).ends(0).json();
    let output = json["attempts"][0]["events"][0]["output"].as_str().unwrap_or_else(|| panic!("{json:#}"));
    let left_out = output.split_once("\n[").unwrap().1.split_once(" bytes are left out").unwrap().0;
    assert!(left_out.parse::<usize>().unwrap() > 6000, "{output}");
    assert!(!output.contains("very"), "{output}");
}
