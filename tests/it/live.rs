//! What a headless run shows while it works: who starts, a line for each step, how it ended; on a terminal with a status line.

use crate::support::harness::weaver;
use crate::support::mount::{Identity, World, identities, read, soon};
use crate::support::terminal::Terminal;
use pretty_assertions::assert_eq;
use serde_json::{Value, json};
use std::fs;

/// Says something, makes a file, fails with a command, and answers.
const STEPS: &str = r#"begins
printf '%s\n' '{"type":"assistant","message":{"id":"m1","content":[{"type":"text","text":"I look\nat it first."}]}}'
printf '{"type":"assistant","message":{"id":"m2","content":[{"type":"tool_use","id":"t1","name":"Write","input":{"file_path":"%s/src/made.txt"}}]}}\n' "$PWD"
mkdir -p src; echo made > src/made.txt
printf '%s\n' '{"type":"user","message":{"content":[{"type":"tool_result","tool_use_id":"t1","content":"File created"}]}}'
printf '%s\n' '{"type":"assistant","message":{"id":"m3","content":[{"type":"tool_use","id":"t2","name":"Bash","input":{"command":"make test"}}]}}'
printf '%s\n' '{"type":"user","message":{"content":[{"type":"tool_result","tool_use_id":"t2","is_error":true,"content":"make: *** no rule\nmore"}]}}'
printf '%s\n' '{"type":"assistant","message":{"id":"m4","content":[{"type":"text","text":"all done"}]}}'
answers "all done"
"#;

fn own_world(script: &str) -> World {
    World::with_harness(Identity::Own, script)
}

/// Without the warnings that come first.
fn lines(text: &str) -> Vec<&str> {
    text.lines().filter(|line| !line.starts_with("warning: ")).collect()
}

#[test]
fn without_a_terminal_every_step_is_a_line_on_stderr_and_stdout_is_the_result() {
    let world = own_world(STEPS);
    let mut persona = weaver();
    persona["emoji"] = json!("🔧");
    persona["name"] = json!("Dallas");
    persona["model"] = json!("sonnet");
    world.persona(&persona);
    fs::write(world.project().join(".env"), "A=b\n").unwrap();
    let did = world.agent(&["weaver", "-p", "do it", "--mount", "copy"]).ends(0);
    assert_eq!(did.stdout, "all done\n");
    let stderr = lines(&did.stderr);
    assert_eq!(stderr[0], "🔧 Dallas (weaver) [best-value] via claude (sonnet)", "{stderr:#?}");
    assert!(
        stderr[1].starts_with("in a private copy of ") && stderr[1].ends_with(" (copy, sandbox off)"),
        "{stderr:#?}"
    );
    assert!(stderr[2].starts_with("hidden from weaver: CLAUDE.md"), "{stderr:#?}");
    assert_eq!(stderr[3], "hidden secrets: .env", "{stderr:#?}");
    let steps =
        ["• I look at it first.", "  Write src/made.txt", "  Bash make test  failed: make: *** no rule"];
    assert_eq!(stderr[4..7], steps, "{stderr:#?}");
    let last = stderr.last().unwrap();
    assert!(last.starts_with("completed in "), "{stderr:#?}");
    assert!(last.contains("s, 2 turns, $0.50, 1 file changed, applied, session weaver-"), "{last}");
    // The result is not a step besides.
    assert!(!did.stderr.contains("all done"), "{stderr:#?}");

    let quiet = world.agent(&["weaver", "-p", "do it", "--quiet", "--apply", "never"]).ends(0);
    assert_eq!(quiet.stdout, "all done\n");
    for shown in ["Dallas", "private", "hidden from", "I look", "Bash", "completed in"] {
        assert!(!quiet.stderr.contains(shown), "{shown}: {}", quiet.stderr);
    }
    assert!(quiet.stderr.contains("nothing to apply"), "{}", quiet.stderr);
}

#[test]
fn in_json_stdout_is_nothing_else_and_a_stream_has_the_steps_only_once() {
    let world = own_world(STEPS);
    let whole = world.agent(&["weaver", "-p", "do it", "--json", "--apply", "never"]).ends(0);
    assert_eq!(whole.json()["result"], "all done");
    assert!(
        whole.stderr.contains("  Write src/made.txt\n") && whole.stderr.contains("• all done\n"),
        "{}",
        whole.stderr
    );
    let stream = world.agent(&["weaver", "-p", "do it", "--stream-json", "--apply", "never"]).ends(0);
    let events: Vec<Value> =
        stream.stdout.lines().map(|line| serde_json::from_str(line).expect("a JSON line")).collect();
    assert_eq!(events.last().unwrap()["type"], "report");
    let failed =
        events.iter().find(|event| event["type"] == "tool.finished" && event["ok"] == false).unwrap();
    assert_eq!(failed["output"], "make: *** no rule\nmore");
    assert!(failed["seconds"].is_number(), "{failed}");
    assert!(
        stream.stderr.contains("via claude") && stream.stderr.contains("completed in "),
        "{}",
        stream.stderr
    );
    assert!(!stream.stderr.contains("src/made.txt\n"), "{}", stream.stderr);
}

#[test]
fn what_a_tool_answered_is_kept_shortened_and_without_secrets() {
    let script = r#"begins
printf '%s\n' '{"type":"assistant","message":{"id":"m2","content":[{"type":"tool_use","id":"t1","name":"Bash","input":{"command":"env"}}]}}'
long=$(head -c 1990 /dev/zero | tr '\0' x)
printf '{"type":"user","message":{"content":[{"type":"tool_result","tool_use_id":"t1","content":"first %s %s %s%s%s last"}]}}\n' "$long" "$TOKEN" "$long" "$long" "$long"
answers done"#;
    let world = own_world(script);
    let mut persona = weaver();
    persona["env"] = json!({"TOKEN": "$MY_TOKEN"});
    world.persona(&persona);
    let secret = "very-secret-value-of-a-token";
    let mut command = world.agent_command(&["weaver", "-p", "do it", "--stream-json"]);
    let output = command.env("MY_TOKEN", secret).output().unwrap();
    assert!(output.status.success(), "{output:?}");
    let recorded = read(world.sessions().join(world.only_session()).join("attempts/1/events.jsonl"));
    for text in [recorded.as_str(), &String::from_utf8_lossy(&output.stdout)] {
        let finished = text.lines().find(|line| line.contains("tool.finished")).expect("the tool ended");
        let finished: Value = serde_json::from_str(finished).unwrap();
        let kept = finished["output"].as_str().unwrap();
        assert!(kept.starts_with("first xxx") && kept.ends_with("xxx last"), "{kept}");
        assert!(kept.contains("bytes are left out here") && kept.len() < 4100, "{}", kept.len());
        // The cut is where the secret is: no part of it may be left.
        assert!(!text.contains("very-secret") && !text.contains("of-a-token"), "{kept}");
    }
    assert!(recorded.lines().all(|line| line.starts_with("{\"at\":\"20")), "{recorded}");
}

#[test]
fn an_interactive_run_says_first_who_works_where() {
    let world = own_world("echo harness-speaks");
    let did = world.agent(&["weaver", "--mount", "copy", "--", "hello"]).ends(0);
    assert!(did.stdout.contains("harness-speaks"), "{did:#?}");
    let stderr = lines(&did.stderr);
    assert_eq!(stderr[0], "weaver [best-value] via claude (the harness's own model)");
    assert!(stderr[1].starts_with("in a private copy of "), "{stderr:#?}");
    assert!(!did.stderr.contains("completed in"), "{stderr:#?}");
    let none = world.agent(&["weaver", "--mount", "none", "--", "hello"]).ends(0);
    assert!(none.stderr.contains(" itself (no mount): every change is final\n"), "{}", none.stderr);
}

fn small(world: &World) -> Terminal {
    Terminal::open_with(world, 80, 24)
}

/// A tool that takes until the test says `go`.
fn long_command() -> String {
    let command = "a long command ".repeat(20);
    format!(
        r#"begins; printf '%s\n' '{{"type":"assistant","message":{{"id":"m1","usage":{{"input_tokens":1,"output_tokens":1}},"content":[{{"type":"text","text":"First I look."}},{{"type":"tool_use","id":"t1","name":"Bash","input":{{"command":"{command}"}}}}]}}}}'
echo new > new.txt; touch "$record/ready"; until [ -e "$record/go" ]; do sleep 0.1; done
printf '%s\n' '{{"type":"user","message":{{"content":[{{"type":"tool_result","tool_use_id":"t1","content":"ok"}}]}}}}'
answers done"#
    )
}

/// The rows of the screen with this text.
fn rows(terminal: &Terminal, text: &str) -> Vec<String> {
    terminal.screen().lines().filter(|line| line.contains(text)).map(str::to_owned).collect()
}

#[test]
fn at_80_columns_the_steps_stay_and_the_status_line_is_one_line_at_any_size() {
    let world = World::with_harness(*identities().last().unwrap(), &long_command());
    let path = world.path("bin");
    let terminal = small(&world);
    for (environment, has_status) in [("TERM=dumb", false), ("TERM=$TERM", true), ("NO_COLOR=1", true)] {
        let _ = fs::remove_file(world.path("record/go"));
        let _ = fs::remove_file(world.path("record/ready"));
        terminal.resize(80, 24);
        terminal.clear();
        terminal.line(&format!(
            "env PATH={}:$PATH {environment} $AW agent weaver -p x --apply never; echo ended $?",
            path.display()
        ));
        terminal.shows("• First I look.");
        if has_status {
            terminal.shows("…  1 turn  1 file changed");
            // Narrower, where a terminal breaks the line anew, and wider.
            for columns in [60, 120, 80] {
                terminal.resize(columns, 24);
                let fits = |row: &String| {
                    let width = row.chars().count();
                    row.ends_with("1 turn  1 file changed")
                        && width < columns.into()
                        && width + 10 > columns.into()
                };
                assert!(
                    soon(|| {
                        let drawn = rows(&terminal, "a long command");
                        drawn.len() == 1 && drawn.iter().all(fits)
                    }),
                    "{columns}:\n{}",
                    terminal.screen()
                );
            }
        } else {
            assert!(soon(|| world.path("record/ready").exists()));
            assert_eq!(rows(&terminal, "a long command"), Vec::<String>::new());
        }
        fs::write(world.path("record/go"), "").unwrap();
        terminal.shows("ended 0");
        // What is left is the step, on a line of its own.
        let left = rows(&terminal, "a long command");
        assert!(left.len() == 1 && left[0].starts_with("  Bash a long command"), "{}", terminal.screen());
        assert!(left[0].chars().count() < 80, "{left:?}");
        assert_eq!(rows(&terminal, "1 turn  1 file changed"), Vec::<String>::new());
        let screen = terminal.screen();
        assert!(screen.contains("\ndone\n") && screen.contains("completed in "), "{screen}");
        assert!(screen.contains("1 file changed, held"), "{screen}");
        terminal.shell_is_back();
    }
}

#[test]
fn on_a_terminal_a_stream_of_json_is_never_mixed_with_the_status_line() {
    let world = World::with_harness(*identities().last().unwrap(), &long_command());
    let path = world.path("bin");
    let terminal = Terminal::open_with(&world, 400, 50);
    let run = format!("PATH={}:$PATH $AW agent weaver -p x --apply never --stream-json", path.display());
    terminal.line(&format!("{run}; echo ended $?"));
    terminal.shows("1 turn  1 file changed");
    fs::write(world.path("record/go"), "").unwrap();
    terminal.shows("ended 0");
    let screen = terminal.screen();
    for line in screen.lines().filter(|line| line.contains("{\"type\"")) {
        assert!(line.starts_with("{\"type\""), "{line}");
    }
    assert!(!screen.contains("1 turn  1 file changed"), "{screen}");
    // The steps are in the stream already.
    assert!(!screen.contains("• First"), "{screen}");
    terminal.shell_is_back();
    terminal.clear();
    let out = world.path("out.json");
    let _ = fs::remove_file(world.path("record/go"));
    terminal.line(&format!("{run} > {}; echo ended $?", out.display()));
    terminal.shows("• First I look.");
    fs::write(world.path("record/go"), "").unwrap();
    terminal.shows("ended 0");
    for line in read(&out).lines() {
        serde_json::from_str::<Value>(line).unwrap_or_else(|error| panic!("{error}: {line}"));
    }
}

#[test]
fn the_end_of_a_long_run_is_told_to_a_command_of_the_users() {
    let world = own_world("begins; echo made > made.txt; answers done");
    let told = world.path("told");
    let tell = format!("env | grep ^AGENTWORKFORCE_ > {0}; pwd >> {0}", told.display());
    world.aw(["config", "set", "notify", "sh", "-c", &tell]).ends(0).says("notify = sh");
    assert_eq!(world.aw(["config", "get", "notify", "--json"]).json()["value"], json!(["sh", "-c", tell]));
    // A minute is what is long, unless the user says otherwise.
    world.agent(&["weaver", "-p", "do it"]).ends(0);
    assert!(!told.exists());
    world.aw(["config", "set", "notifyAfterSeconds", "0"]).ends(0);
    world.agent(&["weaver", "-p", "do it", "--apply", "never"]).ends(0);
    let text = read(&told);
    for line in [
        "AGENTWORKFORCE_PERSONA=weaver",
        "AGENTWORKFORCE_OUTCOME=completed",
        "AGENTWORKFORCE_CHANGES=nothing",
        "AGENTWORKFORCE_MESSAGE=weaver: completed in 0s",
        &format!("AGENTWORKFORCE_PROJECT={}", world.project().display()),
    ] {
        assert!(text.lines().any(|told| told == line), "{line} is not in {text}");
    }
    assert!(text.contains("AGENTWORKFORCE_SESSION=weaver-"), "{text}");
    // It runs outside of the project.
    assert_eq!(text.lines().last().unwrap(), world.home().display().to_string());

    // A run that fails is told as such, and a command that fails is no failure of the run.
    world.harness("claude", "begins; exit 1");
    fs::remove_file(&told).unwrap();
    world.agent(&["weaver", "-p", "do it"]).ends(1);
    assert!(read(&told).contains("AGENTWORKFORCE_OUTCOME=failed\n"));
    world.harness("claude", "begins; answers done");
    world.aw(["config", "set", "notify", "sh", "-c", "echo no bus >&2; exit 3"]).ends(0);
    let did = world.agent(&["weaver", "-p", "do it"]).ends(0);
    assert!(
        did.stderr.contains("the command of `notify` failed: `sh`: exit status: 3 no bus"),
        "{}",
        did.stderr
    );
    // A program of the project's is one that an agent may have written.
    fs::create_dir_all(world.project().join("tools")).unwrap();
    fs::copy("/bin/true", world.project().join("tools/tell")).unwrap();
    let own = world.project().join("tools/tell").display().to_string();
    world.aw(["config", "set", "notify", &own]).ends(0);
    let did = world.agent(&["weaver", "-p", "do it"]).ends(0);
    assert!(did.stderr.contains("outside of the project"), "{}", did.stderr);

    world.aw(["config", "set", "notify", "off"]).ends(0);
    assert_eq!(world.aw(["config", "get", "notify", "--json"]).json()["value"], "off");
    let did = world.agent(&["weaver", "-p", "do it"]).ends(0);
    assert!(!did.stderr.contains("notify"), "{}", did.stderr);
}

#[test]
fn who_is_told_about_the_end_is_for_the_users_config_alone_to_say() {
    let world = own_world("begins; answers done");
    let told = world.path("told");
    let mut persona = weaver();
    persona["notify"] = json!(["touch", told.display().to_string()]);
    persona["notifyAfterSeconds"] = json!(0);
    world.persona(&persona);
    world.files(&[(
        ".agentworkforce/workforce/config.json",
        &json!({"notify": ["touch", told.display().to_string()], "notifyAfterSeconds": 0}).to_string(),
    )]);
    world.agent(&["weaver", "-p", "do it"]);
    assert!(!told.exists());
    let config = world.home().join(".agentworkforce/workforce/config.json");
    fs::write(&config, json!({"notify": "loud"}).to_string()).unwrap();
    world.give();
    let lint = world.aw(["lint"]);
    assert!(
        lint.stdout.contains("notify: must be one of bell, off") || lint.stdout.contains("notify"),
        "{lint:#?}"
    );
    let did = world.agent(&["weaver", "-p", "do it"]);
    assert!(did.stderr.contains("notify") && did.stderr.contains("the setting is left out"), "{did:#?}");
}

#[test]
fn the_bell_rings_at_the_terminal_wherever_messages_go() {
    let world = World::with_harness(*identities().last().unwrap(), "begins; answers done");
    world.aw(["config", "set", "notify", "bell"]).ends(0);
    world.aw(["config", "set", "notifyAfterSeconds", "0"]).ends(0);
    let terminal = small(&world);
    let written = world.path("written");
    terminal.record(&written);
    let path = world.path("bin");
    terminal.line(&format!("PATH={}:$PATH $AW agent weaver -p x 2>/dev/null; echo ended $?", path.display()));
    terminal.shows("ended 0");
    assert!(soon(|| read(&written).contains('\u{7}')), "{:?}", read(&written));
}

#[test]
fn the_bell_rings_before_the_question() {
    let world =
        World::with_harness(*identities().last().unwrap(), "begins; echo made > made.txt; answers done");
    world.aw(["config", "set", "notify", "bell"]).ends(0);
    world.aw(["config", "set", "notifyAfterSeconds", "0"]).ends(0);
    let terminal = small(&world);
    let written = world.path("written");
    terminal.record(&written);
    terminal
        .line(&format!("PATH={}:$PATH $AW agent weaver -p x; echo ended $?", world.path("bin").display()));
    terminal.asks("[x] discard?");
    assert!(soon(|| read(&written).contains("[x] discard?")));
    let before = read(&written);
    let before = before.split("[x] discard?").next().unwrap().to_owned();
    assert!(before.matches('\u{7}').count() >= 1, "{before:?}");
    terminal.line("k");
    terminal.shows("ended 0");
}

/// Nobody could be asked, and it may have been all that there was to do.
#[test]
fn the_last_line_counts_calls_that_were_not_allowed() {
    let denials = r#"[{"tool_name":"Bash","tool_input":{"command":"make > out.txt"}}]"#;
    let script = format!(
        "begins; answers done | sed 's/\"permission_denials\":\\[\\]/\"permission_denials\":{denials}/'"
    );
    let world = World::with_harness(Identity::Own, &script);
    let did = world.agent(&["weaver", "-p", "do it"]).ends(0);
    did.says("not allowed: Bash(make > out.txt) (a headless run has nobody to ask;");
    did.says(", no changes, 1 call not allowed, session weaver-");
}

#[test]
fn a_run_in_the_background_draws_no_status_line() {
    let world = World::with_harness(*identities().last().unwrap(), &long_command());
    let path = world.path("bin");
    let terminal = small(&world);
    terminal.line(&format!("PATH={}:$PATH $AW agent weaver -p x --apply never &", path.display()));
    terminal.shows("• First I look.");
    std::thread::sleep(std::time::Duration::from_millis(1500));
    assert_eq!(rows(&terminal, "1 turn  1 file changed"), Vec::<String>::new(), "{}", terminal.screen());
    fs::write(world.path("record/go"), "").unwrap();
    terminal.shows("completed in ");
}
