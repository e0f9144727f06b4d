//! What is said where something is wrong or missing: the message names the thing and what to do.

use crate::recording::{processes, pty::Terminal};
use crate::support::mount::{World, identities};
use crate::support::{TestEnv, flat, require, with};
use pretty_assertions::assert_eq;
use serde_json::json;
use std::collections::BTreeMap;
use std::os::unix::fs::PermissionsExt;
use std::process::Command;
use std::time::Duration;

const PERSONAS: &str = "project/.agentworkforce/workforce/personas";
const SOON: Duration = Duration::from_secs(30);

#[test]
fn a_persona_in_a_file_that_cannot_be_used_is_looked_for_there() {
    let env = TestEnv::new();
    env.write(format!("{PERSONAS}/reviewer.json"), "{\n  \"id\": \"my-reviewer\",\n}\n");
    let ran = env.run(["agent", "my-reviewer", "-p", "x"]);
    ran.fails(2, "reviewer.json:3:1: invalid JSON: trailing comma");
    let ran = env.run(["agent", "somebody-else", "-p", "x"]);
    assert!(!ran.fails(2, "there is no persona `somebody-else`").stderr.contains(".json"), "{ran:#?}");
    // Any persona may be in a file in which no id can be recognised.
    env.write(format!("{PERSONAS}/unknown.json"), "{\n  \"intent\": \"x\",\n}\n");
    let ran = env.run(["agent", "somebody-else", "-p", "x"]);
    ran.fails(2, "there is no persona `somebody-else`").fails(2, "unknown.json:3:1: invalid JSON");
    ran.fails(2, "`agentworkforce lint` shows");
    let env = TestEnv::new();
    // These can be used, or others in their place are.
    env.write(format!("{PERSONAS}/a.json"), flat("twin", "x").to_string());
    env.write(format!("{PERSONAS}/b.json"), flat("twin", "x").to_string());
    let ran = env.run(["agent", "somebody-else", "-p", "x"]);
    assert!(!ran.fails(2, "there is no persona").stderr.contains(".json"), "{ran:#?}");
}

#[test]
fn what_json_does_not_have_is_named() {
    let env = TestEnv::new();
    for (text, says) in [
        (
            "{\n  // mine\n  \"id\": \"x\"\n}",
            "x.json:2:3: invalid JSON: key must be a string\n    fix: JSON does not allow comments",
        ),
        ("{'id': 'x'}", "fix: JSON has only double quotes"),
        ("{“id”: “x”}", "fix: a typographic quote"),
        ("{\"id\": “x”}", "fix: a typographic quote"),
    ] {
        env.write(format!("{PERSONAS}/x.json"), text);
        let ran = env.run(["lint"]);
        let shown = ran.fails_with_output(1, "invalid JSON").stdout.replace(" [error]", "");
        assert!(shown.contains(says), "{text}: {shown}");
    }
}

#[test]
fn a_persona_without_a_prompt_says_so() {
    let world = World::new(*identities().last().unwrap());
    world.persona(&json!({"id": "silent", "intent": "x", "harness": "claude"}));
    world
        .aw(["agent", "silent", "--dry-run"])
        .ends(0)
        .says("none: the harness runs as it does without a persona");
    world.aw(["show", "silent"]).ends(0).says("system prompt: none");
    // It is said before anything else can go wrong: here, there is no claude.
    let ran = world.aw(["agent", "silent", "-p", "x"]);
    ran.ends(127).says("persona `silent` has no prompt").says("`systemPrompt`, a role or a sidecar");
}

#[test]
fn a_tag_is_found_however_it_is_written() {
    let env = TestEnv::new();
    env.project_persona(&with(flat("zebra", "x"), &json!({"tags": ["Stripes"]})));
    assert!(env.run(["list", "--tag", "stripes"]).succeeds().stdout.contains("zebra"));
}

#[test]
fn a_link_that_leads_to_itself_is_no_matter_of_permissions() {
    let env = TestEnv::new();
    std::fs::create_dir_all(env.project().join(".agentworkforce/workforce")).expect("writable");
    std::os::unix::fs::symlink("personas", env.root().join(PERSONAS)).expect("a link");
    let said = env.run(["list"]).succeeds().stderr.clone();
    assert!(said.contains("the link leads to itself: remove it") && !said.contains("permissions"), "{said}");
}

/// Where the kernel lets nobody make a user namespace. The limit of a user namespace counts for those inside of it.
#[test]
fn disabled_user_namespaces_are_named_with_the_setting() {
    require::program("unshare");
    require::program("setpriv");
    let env = TestEnv::new();
    let inside = |words: &str| {
        let script = format!(
            "echo 0 > /proc/sys/user/max_user_namespaces && exec setpriv --bounding-set=-all --inh-caps=-all {} {words}",
            env!("CARGO_BIN_EXE_agentworkforce")
        );
        let mut command = Command::new("unshare");
        command.args(["--user", "--map-root-user", "sh", "-c", &script]).current_dir(env.project());
        command.env("HOME", env.home());
        crate::support::Ran::of(&command.output().expect("unshare runs"))
    };
    let ran = inside("doctor");
    let said = &ran.stdout;
    assert!(said.contains("user namespaces are disabled here (user.max_user_namespaces=0)"), "{ran:#?}");
    assert!(said.contains("fix: sudo sysctl -w user.max_user_namespaces=10000"), "{ran:#?}");
    assert!(
        said.contains("fix: allow unprivileged user namespaces (sysctl, AppArmor; in Docker: seccomp)"),
        "{ran:#?}"
    );
    assert!(!said.contains("No space left"), "{ran:#?}");
    let ran = inside("mount --sandbox project -- true");
    ran.fails(4, "user namespaces are disabled here (user.max_user_namespaces=0)");
    inside("mount -- true").succeeds();
}

/// A harness may make its directories whatever it is asked.
#[test]
fn doctor_creates_nothing() {
    let mut env = TestEnv::new();
    let program = |name: &str, script: &str| {
        let path = env.write(format!("bin/{name}"), format!("#!/bin/sh\n{script}\n"));
        std::fs::set_permissions(path, PermissionsExt::from_mode(0o755)).expect("ours");
    };
    program(
        "opencode",
        "mkdir -p \"${XDG_DATA_HOME:-$HOME/.local/share}/opencode\" \"${XDG_CACHE_HOME:-$HOME/.cache}/opencode\"; echo 1.18.33",
    );
    // A launcher that keeps its programs in such a directory.
    program("codex", "exec \"${XDG_DATA_HOME:-$HOME/.local/share}/tools/codex\" \"$@\"");
    let tool = env.write("home/.local/share/tools/codex", "#!/bin/sh\necho codex-cli 0.166.0\n");
    std::fs::set_permissions(tool, PermissionsExt::from_mode(0o755)).expect("ours");
    let bin = env.root().join("bin");
    env.set_var("PATH", &format!("{}:/usr/bin:/bin", bin.display()));
    let before = env.everything();
    let ran = env.run(["doctor"]);
    assert!(ran.stdout.contains("1.18.33 at") && ran.stdout.contains("0.166.0 at"), "{ran:#?}");
    let paths = |all: &BTreeMap<String, String>| all.keys().cloned().collect::<Vec<_>>();
    assert_eq!(paths(&env.everything()), paths(&before));
}

#[test]
fn pick_says_whom_it_starts() {
    let env = TestEnv::new();
    let harness = env.write(
        "bin/claude",
        "#!/bin/sh\n[ \"$1\" = --version ] && { echo 1.0.0; exit 0; }\necho harness-runs\n",
    );
    std::fs::set_permissions(&harness, PermissionsExt::from_mode(0o755)).expect("ours");
    let mut command = Command::new(env!("CARGO_BIN_EXE_agentworkforce"));
    command.args(["pick", "review my pull request", "--launch", "--limit", "1"]).current_dir(env.project());
    command.env("HOME", env.home()).env("TERM", "xterm").env(processes::MARK, env.root());
    command.env("PATH", format!("{}:/usr/bin:/bin", env.root().join("bin").display()));
    let mut terminal = Terminal::open(env.root(), &command, (24, 80));
    terminal.wait_for("starting 🔍 code-reviewer on claude, sonnet", SOON);
    terminal.wait_for_end(SOON);
    let screen = terminal.screen();
    let place = |text: &str| screen.find(text).unwrap_or_else(|| panic!("{text}: {screen}"));
    assert!(place("matches: review") < place("starting"), "{screen}");
}

/// One line for each persona on a terminal of 80 columns; in a pipe nothing is cut.
#[test]
fn a_list_fits_the_terminal_and_is_whole_in_a_pipe() {
    let env = TestEnv::new();
    let long = "A description that is much too long for a terminal of 80 columns, and longer than those that are wider still, too";
    env.project_persona(&with(flat("zebra", "x"), &json!({"description": long, "name": "A name that is rather long", "model": "provider/some-model-20260101"})));
    let piped = env.run(["list"]);
    assert!(piped.succeeds().stdout.contains(long) && piped.stdout.contains("provider/some-model-20260101"));
    for columns in [80, 60, 40, 120] {
        let mut command = Command::new(env!("CARGO_BIN_EXE_agentworkforce"));
        command.arg("list").current_dir(env.project()).env("HOME", env.home()).env("PATH", "/usr/bin:/bin");
        command.env("TERM", "xterm").env(processes::MARK, env.root());
        let mut terminal = Terminal::open(env.root(), &command, (40, columns));
        terminal.wait_for("22 rows", SOON);
        terminal.wait_for_end(SOON);
        let screen = terminal.screen();
        // The header, the personas, an empty line, the count.
        assert_eq!(screen.trim_end().lines().count(), 1 + 22 + 2, "{columns}: {screen}");
        assert!(screen.contains("zebra") && screen.contains("DESCRIPTION"), "{screen}");
        // An id that is cut cannot be copied.
        assert!(screen.contains("security-reviewer "), "{columns}: {screen}");
        assert!(screen.contains("MODEL") == (columns >= 80), "{screen}");
    }
}
