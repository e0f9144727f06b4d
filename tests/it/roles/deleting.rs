//! Deleting: what is in use stays, what is gone is not forgotten, and what shows through is named.

use super::{USER_PERSONAS, crew};
use crate::support::mount::Identity;
use crate::support::sessions::fast_world;
use pretty_assertions::assert_eq;
use serde_json::json;

#[test]
fn deleting_says_what_shows_through() {
    let env = crew();
    let user = env.root().join(USER_PERSONAS).join("kane.json");
    env.project_persona(&json!({"id": "kane", "name": "Project Kane"}));
    let done = env.run(["persona", "delete", "kane"]).succeeds().stdout.clone();
    assert!(done.ends_with(&format!("kane now comes from layer `user` ({})\n", user.display())), "{done}");
    let done = env.run(["persona", "delete", "kane", "--json"]).json();
    assert_eq!(done["showsThrough"], json!(null));
}

#[test]
fn a_deletion_that_cannot_be_recorded_is_done_and_said() {
    let env = crew();
    let record = "home/.agentworkforce/workforce/deleted-personas.json";
    env.write(record, "{");
    let done = env.run(["persona", "delete", "kane"]);
    done.fails(0, "the deletion is not recorded: ");
    assert!(done.stdout.starts_with("deleted kane ("), "{done:#?}");
    assert!(env.read("home/.agentworkforce/workforce/logs/audit.log").contains(" delete kane\n"));
    assert_eq!(env.read(record), "{");
}

#[test]
fn the_id_of_a_deleted_persona_does_not_come_back_unnoticed() {
    let env = crew();
    env.run(["persona", "delete", "kane"]).succeeds();
    let unknown = env.run(["agent", "kane", "--dry-run"]);
    unknown.fails(2, "there is no persona `kane`").fails(2, "it was deleted on ").fails(2, "a copy is in ");
    // Another directory is another persona's place.
    let made = env.run(["create", "kane", "--in", "project", "--json"]).json();
    assert_eq!(made["warnings"], json!([]));
    std::fs::remove_file(env.root().join("project/.agentworkforce/workforce/personas/kane.json")).unwrap();
    let made = env.run(["create", "kane", "--in", "user", "--json"]).json();
    assert_eq!(made["warnings"][0]["code"], "reused-id");
    let said = made["warnings"][0]["message"].as_str().unwrap();
    assert!(
        said.starts_with("the id `kane` was used before, by a persona that was deleted on 20")
            && said.contains("(Kane)"),
        "{said}"
    );
}

#[test]
fn what_a_running_session_uses_is_neither_deleted_nor_reset() {
    let world = fast_world(Identity::Own);
    let roles = world.path("home/.agentworkforce/workforce/roles");
    std::fs::create_dir_all(&roles).unwrap();
    std::fs::write(roles.join("reviewer.json"), "{\"label\": \"My Reviewer\"}").unwrap();
    world.persona(&json!({"id": "weaver", "role": "reviewer", "harness": "claude"}));
    let running = world.waiting(&["--persona", "weaver"], "", "");
    let commands = [
        vec!["persona", "delete", "weaver"],
        vec!["persona", "reset", "--yes"],
        vec!["role", "reset", "reviewer"],
        vec!["role", "reset", "--yes"],
    ];
    for command in &commands {
        world.aw(command).ends(2).says("persona `weaver` is in use by the running session weaver");
    }
    running.go().ends(0);
    for command in commands {
        world.aw(command).ends(0);
    }
}
