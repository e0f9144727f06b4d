//! What people are told after a run, by `sessions show`, and how the paths that they type for a session are taken.

use crate::support::harness::weaver;
use crate::support::mount::{Identity, World, for_each_identity, read};
use crate::support::sessions::{BACKENDS, Did};
use pretty_assertions::assert_eq;
use serde_json::{Value, json};

/// The commands that `sessions show` names, without the program and the session.
fn next(shown: &Value, id: &str) -> Vec<String> {
    let commands = shown["next"].as_array().unwrap().iter().map(|next| next["command"].as_str().unwrap());
    commands.map(|command| command.replace("agentworkforce ", "").replace(id, "ID")).collect()
}

#[test]
fn a_run_that_is_held_names_the_command_that_goes_on() {
    for_each_identity(|base| {
        let world = World::with_harness(base.who, "begins; echo agent > a; answers done");
        world.repository(&[("a", "base\n")]);
        let did = world.agent(&["weaver", "-p", "x", "--apply", "never"]).ends(0);
        let id = world.only_session();
        did.says(&format!("`agentworkforce agent weaver --resume {id}` goes on with it"));
        did.says(&format!("`agentworkforce sessions diff {id}` shows it"));
        // Where there is a conflict, too.
        world.outside("echo mine > a");
        let did = world.agent(&["weaver", "-p", "x", "--resume", &id, "--apply", "auto"]).ends(3);
        did.says("conflict").says(&format!("`agentworkforce agent weaver --resume {id}` goes on with it"));
    });
}

#[test]
fn a_session_shows_its_paths_and_what_can_be_done_with_it() {
    for_each_identity(|base| {
        let world = World::with_harness(base.who, "begins; echo agent > a; echo new > new; answers done");
        world.repository(&[("a", "base\n")]);
        world.agent(&["weaver", "-p", "x", "--apply", "never"]).ends(0);
        let id = world.only_session();
        let show = || world.aw(["sessions", "show", &id]).ends(0);
        let json = || world.aw(["sessions", "show", &id, "--json"]).ends(0).json();
        assert_eq!(
            next(&json(), &id),
            ["sessions diff ID", "sessions apply ID", "sessions discard ID", "agent weaver --resume ID"]
        );
        assert_eq!(json()["applied"], json!([]));
        show().says(&format!("hint: `agentworkforce sessions apply {id}` applies them"));

        world.aw(["sessions", "apply", &id]).ends(0);
        assert_eq!(
            (&json()["applied"], next(&json(), &id)),
            (&json!(["a", "new"]), vec!["sessions undo ID".into()])
        );
        show()
            .says("  applied   a  +1 -1\n  applied   new  +1 -0\n")
            .says(&format!("`agentworkforce sessions undo {id}`"));

        world.aw(["sessions", "undo", &id, "--only", "new"]).ends(0);
        let part = json();
        assert_eq!((&part["applied"], &part["undone"]), (&json!(["a"]), &json!(["new"])));
        assert_eq!(next(&part, &id), ["sessions undo ID", "sessions redo ID"]);
        world.aw(["sessions", "undo", &id]).ends(0);
        assert_eq!(
            (&json()["undone"], next(&json(), &id)),
            (&json!(["a", "new"]), vec!["sessions redo ID".into()])
        );
        show().says("  undone    a  +1 -1\n");
        world.aw(["sessions", "redo", &id]).ends(0);
        let again = json();
        assert!(again["applied"].as_array().unwrap().contains(&json!("a")), "{again:#}");
    });
}

#[test]
fn paths_are_taken_from_the_working_directory_as_git_does() {
    for backend in BACKENDS {
        let world = World::new(Identity::Own);
        world.repository(&[("a", "a\n"), ("src/a", "a\n"), ("src/b", "b\n"), ("docs/c", "c\n")]);
        let script = "for f in a src/a src/b docs/c; do echo agent > $f; done";
        world.mounted(&["--mount", backend, "--apply", "never"], script).ends(0);
        let id = world.only_session();
        let aw = |dir: &str, args: &[&str]| {
            let mut command = world.aw_command([&["sessions"], args].concat());
            Did::of(&command.current_dir(world.project().join(dir)).output().unwrap())
        };
        let now = |name: &str| read(world.project().join(name));
        let shown = aw("src", &["diff", &id, "../docs"]).ends(0);
        assert!(shown.stdout.contains("docs/c") && !shown.stdout.contains("src/b"), "{shown:?}");
        aw("src", &["apply", &id, "--only", "../docs/c"]).ends(0);
        assert_eq!((now("docs/c"), now("a")), ("agent\n".into(), "a\n".into()));
        // The nearer one, where there are two of the name.
        aw("src", &["apply", &id, "--only", "a"]).ends(0);
        assert_eq!((now("src/a"), now("a")), ("agent\n".into(), "a\n".into()));
        // From the root, as hints name them.
        aw("src", &["apply", &id, "--only", "src/b"]).ends(0);
        assert_eq!(now("src/b"), "agent\n");
        aw("src", &["apply", &id, "--only", "../../a"]).says("the agent changed nothing at");
        assert_eq!(now("a"), "a\n");
        // In conflict, by each of the flags.
        world.outside("echo mine > a");
        aw("src", &["apply", &id, "--theirs", "../a", "--ours", "../a"]).ends(2).says("named by two of");
        aw("docs", &["apply", &id, "--markers", "../a", "--keep"]).ends(0);
        assert!(now("a").contains("<<<<<<<"), "{}", now("a"));
        aw("docs", &["undo", &id, "--only", "../a"]).ends(0);
        assert_eq!(now("a"), "mine\n");
        aw("docs", &["undo", &id, "--only", "c"]).ends(0);
        assert_eq!(now("docs/c"), "c\n");
    }
}

#[test]
fn what_the_agent_wrote_to_a_file_of_the_persona_can_be_found() {
    for_each_identity(|base| {
        let world = World::with_harness(base.who, "begins; echo AGENTS-TEXT >> CLAUDE.md; answers done");
        let mut persona = weaver();
        persona["claudeMdContent"] = json!("OWN");
        persona.as_object_mut().unwrap().remove("claudeMd");
        world.persona(&persona);
        let did = world.agent(&["weaver", "-p", "x"]).ends(0);
        let id = world.only_session();
        did.says("not applied: CLAUDE.md (a file of the persona: it has the persona's instructions");
        did.says(&format!("`agentworkforce sessions show {id}` says where the agent's text is"));
        let shown = world.aw(["sessions", "show", &id, "--json"]).ends(0).json();
        let file = shown["keptVersions"][0].as_str().unwrap_or_else(|| panic!("{shown:#}"));
        assert!(read(file).contains("AGENTS-TEXT"), "{file}");
        world.aw(["sessions", "show", &id]).ends(0).says(file);
    });
}

#[test]
fn a_session_shows_the_commits_of_its_agent_and_commands_that_can_be_pasted() {
    let world = World::with_harness(
        Identity::Own,
        "begins; echo agents >> a; git add a; git commit -qm 'by the agent'; answers done",
    );
    world.repository(&[("a", "base\n")]);
    let (report, code) = world.report(&["--apply", "auto"]);
    assert_eq!(code, 0, "{report:#}");
    let commit = &report["commits"][0];
    let (id, reference) = (commit["id"].as_str().unwrap(), commit["reference"].as_str().unwrap());
    let shown = world.aw(["sessions", "show", "last"]).ends(0);
    shown.says(&format!("commit    {}  by the agent  (kept as {reference})", &id[..10]));

    let did = world.agent(&["weaver", "-p", "x", "--apply", "never"]).ends(0);
    did.says("shows it, `agentworkforce sessions apply ");
    world.outside("echo mine > a");
    let (report, _) = world.report(&["--apply", "never"]);
    world.outside("echo mine too > a");
    let id = report["session"].as_str().unwrap();
    let shown = world.aw(["sessions", "show", id]).ends(0);
    for flag in ["--theirs", "--ours", "--markers"] {
        shown.says(&format!("`agentworkforce sessions apply {id} {flag} PATH`"));
    }
}
