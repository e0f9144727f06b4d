//! When a session is settled: what the project has of it already, and conflicts in which the user's version stays.

use crate::support::mount::{Identity, World, read};
use crate::support::sessions::BACKENDS;
use pretty_assertions::assert_eq;
use serde_json::json;

fn for_each(test: impl Fn(&World, &str)) {
    for backend in BACKENDS {
        test(&World::new(Identity::Own), backend);
    }
}

#[test]
fn what_was_taken_over_by_hand_is_applied_and_not_lost() {
    for_each(|world, backend| {
        world.repository(&[("both", "one\n"), ("gone", "x\n"), ("same", "old\n")]);
        let work = "echo two >> both; echo new > new; rm gone; echo neu > same";
        world.mounted(&["--mount", backend, "--apply", "never"], work).ends(0);
        let id = world.only_session();
        let patch = world.aw(["sessions", "diff", &id]).ends(0).stdout;
        std::fs::write(world.path("patch"), patch).unwrap();
        world.outside(&format!("git apply '{}'", world.path("patch").display()));
        // Under way nobody claims that there was nothing.
        world.aw(["sessions", "diff", &id]).ends(0).says("the project has the agent's changes already: both");
        let did = world.aw(["sessions", "apply", &id]).ends(0);
        did.says("nothing to apply: the project has the agent's changes already: both, gone, new, same");
        assert_eq!(world.listed()[0]["state"], "applied", "{backend}");
        assert_eq!(
            world.aw(["sessions", "show", &id, "--json"]).json()["review"]["already"]
                .as_array()
                .unwrap()
                .len(),
            4
        );
        // Lost again, it is still in the session.
        std::fs::remove_file(world.project().join("new")).unwrap();
        world.aw(["sessions", "diff", &id]).ends(0).says("+new");
        world.aw(["sessions", "apply", &id]).ends(0).says("added     new");
        assert_eq!(read(world.project().join("new")), "new\n");
        assert_eq!(world.listed()[0]["state"], "applied", "{backend}");
    });
}

#[test]
fn nothing_is_said_to_be_there_that_the_agent_left_as_it_was() {
    for_each(|world, backend| {
        world.repository(&[("a", "one\n"), ("b", "two\n")]);
        // The mount has a copy of its own of it, and so has the user.
        let work = "cp a t; cat t > a; rm t; echo new > new";
        world.mounted(&["--mount", backend, "--apply", "never"], work).ends(0);
        world.outside("cp a t; cat t > a; rm t; echo mine > b; mkdir made");
        let shown = world.aw(["sessions", "show", "last", "--json"]).ends(0).json();
        assert_eq!(shown["review"]["already"], json!(null), "{shown:#}");
        world.outside("rm -r made");
    });
}

#[test]
fn a_session_of_which_everything_is_decided_is_settled() {
    for_each(|world, backend| {
        world.repository(&[("notes", "base\n"), ("free", "base\n")]);
        let held = |work: &str| {
            world.outside("echo base | tee notes > free");
            world.mounted(&["--mount", backend, "--apply", "never"], work).ends(0);
            world.outside("echo mine > notes");
            let listed = world.aw(["sessions", "list", "--json"]).json();
            listed["sessions"][0]["id"].as_str().unwrap().to_owned()
        };
        let state = |id: &str| world.aw(["sessions", "show", id, "--json"]).json()["state"].clone();

        let id = held("echo agents > notes");
        let did = world.aw(["sessions", "apply", &id, "--ours", "notes"]).ends(0);
        did.says(&format!("nothing applied of session {id}")).says("your version stays: notes");
        did.says(&format!("`agentworkforce sessions apply {id} --theirs notes` takes the agent's version"));
        assert_eq!(state(&id), "discarded", "{backend}");
        // The agent's version is still there for who thinks better of it.
        world.aw(["sessions", "apply", &id, "--theirs", "notes"]).ends(0).says("modified  notes");
        assert_eq!((read(world.project().join("notes")), state(&id)), ("agents\n".into(), json!("applied")));

        let id = held("echo agents | tee notes > free");
        let did = world.aw(["sessions", "apply", &id, "--ours", "notes"]).ends(0);
        did.says("modified  free").says("your version stays: notes");
        assert!(!did.stderr.contains("left in the session"), "{did:#?}");
        assert_eq!(state(&id), "applied", "{backend}");
        // Nothing is decided anew by looking at what is not there.
        world.aw(["sessions", "apply", &id, "--only", "none"]).ends(0);
        assert_eq!(state(&id), "applied", "{backend}");
        world.aw(["sessions", "apply", &id, "--only", "free"]).ends(0).says("`free` is applied already");

        let id = held("echo agents | tee notes > free");
        world.aw(["sessions", "apply", &id, "--only", "free", "--ours", "notes"]).ends(0);
        assert_eq!(state(&id), "applied", "{backend}");
        let id = held("echo agents | tee notes free > new");
        let did = world.aw(["sessions", "apply", &id, "--only", "free", "--ours", "notes"]).ends(0);
        did.says("1 change left in the session");
        assert_eq!(state(&id), "held", "{backend}: nobody has decided about `new`");
    });
}
