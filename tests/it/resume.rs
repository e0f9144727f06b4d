//! Which session goes on, with which conversation, and why one does not: with fake harnesses. The real ones are in `tests/real`.

use crate::support::harness::weaver;
use crate::support::mount::{Identity, World, for_each_identity, soon};
use serde_json::{Value, json};
use std::fs;

const WORKS: &str = "begins; echo made > made.txt; answers done";

fn world(script: &str) -> World {
    let world = World::with_harness(Identity::Own, script);
    let mut other = weaver();
    other["id"] = json!("other");
    world.persona(&other);
    world
}

fn id(report: &Value) -> &str {
    report["session"].as_str().unwrap()
}

/// The value of an option in the last call of a harness.
fn option(world: &World, name: &str) -> Option<String> {
    let prefix = format!("{name}=");
    world.recorded_argv().iter().find_map(|word| word.strip_prefix(&prefix).map(str::to_owned))
}

#[test]
fn claude_has_a_new_id_for_every_conversation() {
    for_each_identity(|base| {
        // It does not say which conversation it has; its own file is all there is.
        let talks = "for a in \"$@\"; do case $a in --session-id=*) i=${a#*=};; esac; done\n\
                     mkdir -p ~/.claude/projects/p; [ -z \"$i\" ] || echo '{}' > ~/.claude/projects/p/$i.jsonl; answers done";
        let world = World::with_harness(base.who, talks);
        let mut ids = Vec::new();
        for _ in 0..2 {
            let (report, code) = world.report(&["--apply", "never"]);
            assert_eq!(code, 0, "{report:#}");
            ids.push((id(&report).to_owned(), option(&world, "--session-id").unwrap()));
        }
        assert_ne!(ids[0].1, ids[1].1);
        for (session, conversation) in ids {
            let (_, code) = world.report(&["--resume", &session, "--apply", "never"]);
            assert_eq!((code, option(&world, "--resume")), (0, Some(conversation)));
            assert_eq!(option(&world, "--session-id"), None);
        }
        // Where nothing was said there is nothing to continue, least of all another's.
        world.harness("claude", "answers done");
        let (report, _) = world.report(&["--apply", "never"]);
        let (_, _) = world.report(&["--resume", id(&report), "--apply", "never"]);
        let argv = world.recorded_argv();
        assert!(option(&world, "--session-id").is_some() && option(&world, "--resume").is_none(), "{argv:?}");
        assert!(!argv.contains(&"--continue".to_owned()), "{argv:?}");
        // The last conversation is one that there was.
        let (goes_on, _) = world.report(&["-c", "--apply", "never"]);
        assert_ne!(id(&goes_on), id(&report));
        assert!(option(&world, "--resume").is_some(), "{:?}", world.recorded_argv());
        // Two words about it are one too many for claude.
        let did = world.agent(&["weaver", "-p", "x", "--", "--continue"]);
        assert!(option(&world, "--session-id").is_none(), "{did:?}");
    });
}

#[test]
fn a_conversation_that_begins_anew_is_told() {
    let world = world("answers done");
    let (first, code) = world.report(&["--apply", "never"]);
    assert_eq!(code, 0, "{first:#}");
    for flags in [&["-c"][..], &["--resume", id(&first)]] {
        let did = world.agent(&[&["weaver", "-p", "x", "--apply", "never"], flags].concat()).ends(0);
        did.says(&format!("nothing was said in session `{}`: a new conversation begins", id(&first)));
        assert!(option(&world, "--resume").is_none(), "{:?}", world.recorded_argv());
    }
}

#[test]
fn the_last_session_is_that_of_the_project_or_of_the_persona() {
    let world = world(WORKS);
    let none = world.agent(&["weaver", "-p", "x", "-c"]).ends(2);
    none.says("persona `weaver` has no conversation in").says("`agentworkforce agent weaver` begins one");
    world.agent(&["weaver", "-p", "x", "--resume", "last"]).ends(2).says("there is no conversation in");
    let (first, _) = world.report(&["--apply", "never"]);
    let others = world.agent(&["other", "-p", "x", "--json", "--apply", "never"]).ends(0).json();
    // What no persona ran is no conversation; `last` is the session used last, here as everywhere.
    world.aw(["mount", "--apply", "never", "--", "true"]).ends(0);
    let command = world.aw(["sessions", "show", "last", "--json"]).ends(0).json();
    let none = world.agent(&["weaver", "-p", "x", "--resume", "last"]).ends(2);
    none.says(&format!("session `{}`", command["id"].as_str().unwrap()));
    let (second, code) = world.report(&["-c", "--apply", "never"]);
    assert_eq!((code, id(&second)), (0, id(&first)), "{second:#}");
    let (third, code) = world.report(&["--continue", "--apply", "never"]);
    assert_eq!((code, id(&third)), (0, id(&first)), "{third:#}");
    // The last one is the one that was used last, whichever was started last.
    let last = world.report(&["--resume", "last", "--apply", "never"]).0;
    assert_eq!(id(&last), id(&first), "{last:#}");
    let shown = world.aw(["sessions", "show", "last", "--json"]).ends(0).json();
    assert_eq!(shown["id"], last["session"]);
    // Which one goes on is said before and at the start.
    let continues = format!("session {}", id(&first));
    world.agent(&["weaver", "-p", "x", "-c", "--dry-run"]).ends(0).says(&continues);
    let did = world.agent(&["weaver", "-p", "x", "-c", "--apply", "never"]).ends(0);
    did.says(&format!("continues {continues}"));
    let hint = format!("agentworkforce agent weaver --resume {}", id(&first));
    world.agent(&["other", "-p", "x", "--resume", "last"]).ends(2).says("not of `other`").says(&hint);
    world.agent(&["other", "-p", "x", "--resume", id(&others), "--apply", "never"]).ends(0);
    let last =
        world.agent(&["other", "-p", "x", "--json", "--resume", "last", "--apply", "never"]).ends(0).json();
    assert_eq!(id(&last), id(&others));
    let hint = format!("agentworkforce agent other --resume {}", id(&others));
    world.agent(&["weaver", "-p", "x", "--resume", "last"]).ends(2).says("not of `weaver`").says(&hint);
    world.agent(&["weaver", "-p", "x", "-c", "--resume", "last"]).ends(2).says("cannot be used with");
    // In another project there is none yet.
    fs::create_dir_all(world.path("elsewhere/.git")).unwrap();
    let elsewhere = world.path("elsewhere");
    let root = elsewhere.to_str().unwrap();
    world.agent(&["weaver", "-p", "x", "-c", "--root", root]).ends(2).says("has no conversation in");
    let plan = world.agent(&["weaver", "-p", "x", "-c", "--dry-run", "--json"]).ends(0).json();
    assert!(plan["command"]["args"].to_string().contains("--resume=talk-1"), "{plan:#}");
}

#[test]
fn a_session_that_is_discarded_or_at_work_does_not_go_on() {
    let world = world(WORKS);
    let (first, _) = world.report(&["--apply", "never"]);
    world.aw(["sessions", "discard", id(&first)]).ends(0);
    for flags in [&["--resume", id(&first)][..], &["-c"], &["--resume", "last"]] {
        let did = world.agent(&[&["weaver", "-p", "x"], flags].concat()).ends(2);
        did.says("was discarded").says("begin a new one");
    }
    let (refused, _) = world.report(&["-c"]);
    assert_eq!(
        refused["error"]["exitCode"].as_i64().or(refused["exitCode"].as_i64()),
        Some(2),
        "{refused:#}"
    );
    world.harness("claude", "begins; touch \"$record/ready\"; sleep 600");
    let mut child = world.agent_at_work(&[]);
    world.agent(&["weaver", "-p", "x", "-c"]).ends(2).says("in use").says("still at work");
    child.kill().unwrap();
    child.wait().unwrap();
    assert!(soon(|| world.aw(["sessions", "recover"]).code == 0));
}

#[test]
fn a_session_does_not_go_on_under_other_rules() {
    for_each_identity(|base| {
        let world = World::with_harness(base.who, WORKS);
        let (first, _) = world.report(&["--apply", "never"]);
        let session = id(&first).to_owned();
        let goes_on = |more: &[&str]| {
            let did = world
                .agent(&[&["weaver", "-p", "x", "--resume", &session, "--apply", "never"], more].concat());
            (did.code, did.stderr)
        };
        assert_eq!(goes_on(&[]).0, 0);
        let (code, said) = goes_on(&["--allow-layer-changes"]);
        assert_eq!(code, 4, "{said}");
        assert!(said.contains("began under other rules: now"), "{said}");
        let (code, said) = goes_on(&["--inherit", "instructions"]);
        assert_eq!(code, 4, "{said}");
        assert!(said.contains("began with `--inherit none`, and this run has `instructions`"), "{said}");
        world.files(&[(".agentignore", "private/\n")]);
        let (code, said) = goes_on(&[]);
        assert_eq!(code, 4, "{said}");
        assert!(said.contains("now `private/` is hidden (.agentignore"), "{said}");
        assert!(said.contains(&format!("agentworkforce sessions apply {session}")), "{said}");
        world.agent(&["weaver", "-p", "x", "-c", "--dry-run"]).ends(4);
        world.outside("rm .agentignore");
        assert_eq!(goes_on(&[]).0, 0);
        // In a new mount the rules of today hold.
        world.files(&[(".agentignore", "private/\n")]);
        world.aw(["sessions", "apply", &session]).ends(0);
        let (report, code) = world.report(&["--resume", &session]);
        assert_eq!(code, 0, "{report:#}");
        assert_eq!(option(&world, "--resume").as_deref(), Some("talk-1"));
    });
}

/// The harnesses know a conversation by the directory that it was had in, and a copy's is the session's own.
#[test]
fn a_conversation_in_a_copy_goes_on_as_long_as_the_copy_is_there() {
    let world = world(WORKS);
    let (first, _) = world.report(&["--mount", "copy", "--apply", "never"]);
    let (second, code) = world.report(&["--resume", id(&first), "--mount", "copy", "--apply", "auto"]);
    assert_eq!(code, 0, "{second:#}");
    let did = world.agent(&["weaver", "-p", "x", "--resume", id(&first), "--mount", "copy"]).ends(2);
    did.says("is gone, and claude continues a conversation only where it began").says("--keep");
}

/// Sessions from before their conversation was noted.
#[test]
fn where_the_conversation_is_not_known_the_latest_goes_on_and_that_is_told() {
    let world = world(WORKS);
    let (first, _) = world.report(&["--apply", "never"]);
    let note = world.sessions().join(id(&first)).join("harness.json");
    fs::write(note, json!({"harness": "claude", "persona": "weaver"}).to_string()).unwrap();
    let (second, code) = world.report(&["-c", "--apply", "never"]);
    assert_eq!(code, 0, "{second:#}");
    assert!(world.recorded_argv().contains(&"--continue".to_owned()));
    assert!(second["warnings"].to_string().contains("is not known: the latest one"), "{second:#}");
}

/// A file says nothing of a directory that it was moved in: taken at a later run, the base would pass the user's file for the agent's.
#[test]
fn what_was_not_known_at_launch_is_not_looked_up_by_a_later_run() {
    for_each_identity(|base| {
        let world = World::with_harness(base.who, "begins; echo agent > src/a.rs; answers done");
        world.files(&[("src/a.rs", "launch\n"), ("old/a.rs", "users\n")]);
        let (first, code) = world.report(&["--apply", "never"]);
        assert_eq!(code, 0, "{first:#}");
        // As a runner leaves it that was killed while it noted what the project was.
        let session = world.sessions().join(id(&first));
        fs::remove_file(session.join("manifest")).unwrap();
        fs::remove_dir_all(session.join("base")).unwrap();
        world.outside("mv src gone; mv old src");
        world.harness("claude", "begins; answers done");
        let (second, code) = world.report(&["--resume", id(&first), "--apply", "auto"]);
        assert_eq!(code, 3, "{second:#}");
        assert_eq!(world.outside("cat src/a.rs"), "users\n");
        assert!(!session.join("manifest").exists());
    });
}

#[test]
fn an_empty_directory_of_a_harness_is_nothing_that_the_agent_wrote() {
    for (script, is_told) in
        [("mkdir -p .codex/rules", false), ("mkdir .codex; echo x > .codex/config.toml", true)]
    {
        for backend in ["overlay", "copy"] {
            let world = world(&format!("begins; {script}; echo made > made.txt; answers done"));
            let (first, code) = world.report(&["--apply", "never", "--mount", backend]);
            assert_eq!(code, 0, "{first:#}");
            world.harness("claude", "begins; [ ! -e .codex ] || echo there > there; answers done");
            let (second, code) =
                world.report(&["--resume", id(&first), "--apply", "never", "--mount", backend]);
            assert_eq!(code, 0, "{second:#}");
            let warnings = second["warnings"].to_string();
            let told = warnings
                .contains("the agent had written .codex, which configures a harness: it was restored");
            assert_eq!(told, is_told, "{script} {backend}: {second:#}");
            assert!(!second["changes"].to_string().contains("there"), "{script} {backend}: {second:#}");
        }
    }
}

#[test]
fn what_holds_work_back_goes_on_with_the_session() {
    let world = world("begins; echo made >> made.txt; answers done");
    let (held, code) = world.report(&["--check", "grep -c made made.txt; exit 7"]);
    assert_eq!((code, &held["apply"]["status"]), (1, &json!("held")), "{held:#}");
    let session = id(&held);
    for resume in [&["--resume", session][..], &["--resume", "last"], &["-c"]] {
        let plan =
            world.agent(&[&["weaver", "-p", "x", "--dry-run", "--json"], resume].concat()).ends(0).json();
        assert_eq!(plan["carriedOver"], json!(["checks"]), "{plan:#}");
        let (again, code) = world.report(resume);
        assert_eq!((code, &again["apply"]["status"]), (1, &json!("held")), "{again:#}");
        assert_eq!(again["checks"][0]["exitCode"], 7, "{again:#}");
    }
    let did = world.agent(&["weaver", "-p", "x", "-c"]).ends(1);
    did.says("with the checks of the session (`--no-checks` leaves them out): grep -c made made.txt; exit 7");
    did.says("check failed: grep");
    // Others in their place, and none.
    let (other, _) = world.report(&["--resume", session, "--check", "false", "--check", "true"]);
    assert_eq!(other["checks"].as_array().map(Vec::len), Some(2), "{other:#}");
    assert!(!world.project().join("made.txt").exists());
    let (none, code) = world.report(&["--resume", session, "--no-checks"]);
    assert_eq!(
        (code, &none["apply"]["status"], &none["checks"]),
        (0, &json!("applied"), &json!([])),
        "{none:#}"
    );

    let (held, _) = world.report(&["--apply", "never"]);
    let plan = world.agent(&["weaver", "-p", "x", "-c", "--dry-run"]).ends(0);
    plan.says("its changes stay in the session, as before");
    let (again, code) = world.report(&["-c"]);
    assert_eq!((code, id(&again), &again["apply"]["status"]), (0, id(&held), &json!("held")), "{again:#}");
    let (applied, _) = world.report(&["-c", "--apply", "auto"]);
    assert_eq!((id(&applied), &applied["apply"]["status"]), (id(&held), &json!("applied")), "{applied:#}");
    // What is not known about the last run must not pass for no checks.
    fs::write(world.sessions().join(id(&held)).join("plan.json"), "{").unwrap();
    world.agent(&["weaver", "-p", "x", "-c"]).says("plan.json is damaged");
}
