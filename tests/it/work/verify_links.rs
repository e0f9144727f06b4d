//! The verifier alone, where a change puts links: it neither writes through them, nor lets them choose the contract.

use super::{status, world};
use crate::support::mount::World;
use crate::support::sessions::Did;
use serde_json::{Value, json};
use std::fs;
use std::os::unix::fs::symlink;
use std::path::Path;

const MENDED: &str = "add() { echo $(($1 + $2)); }\n";

fn contract(terms: &Value) -> String {
    let mut contract = json!({
        "task": "mend add", "task_id": "t1", "files": ["calc.sh", "lib", "lib/a.sh", "src/a.sh"],
        "spec_skip_reason": "mechanical-change", "validation_commands": ["sh check.sh"],
    });
    contract.as_object_mut().unwrap().extend(terms.as_object().unwrap().clone());
    contract.to_string()
}

impl World {
    fn verified(&self, contract: &Path) -> Did {
        self.worked(&["verify", "--base", "main", "--contract", contract.to_str().unwrap(), "--json"])
    }
}

/// A project whose base has `lib/a.sh`, with the change mended.
fn with_lib() -> World {
    let world = world("mend");
    fs::create_dir(world.project().join("lib")).unwrap();
    fs::write(world.project().join("lib/a.sh"), "base\n").unwrap();
    world.outside("git add -A && git commit -qm lib");
    fs::write(world.project().join("calc.sh"), MENDED).unwrap();
    world
}

#[test]
fn a_link_that_replaces_a_directory_leads_to_no_deletion() {
    let world = with_lib();
    let file = world.path("contract.json");
    fs::write(
        &file,
        contract(&json!({"validation_commands": ["sh check.sh", "sh -c '! test -e lib/a.sh'"]})),
    )
    .unwrap();
    // Somebody's directory, and the user's own working tree.
    for own in [world.path("own"), world.project().join("src")] {
        fs::create_dir(&own).unwrap();
        fs::write(own.join("a.sh"), "own\n").unwrap();
        world.outside(&format!("rm -rf lib && ln -s '{}' lib", own.display()));
        let did = world.verified(&file);
        assert_eq!(did.code, 1, "{did:#?}");
        assert_eq!(fs::read_to_string(own.join("a.sh")).unwrap(), "own\n");
        let verdict = did.json();
        assert_eq!((status(&verdict, "links-names"), status(&verdict, "validation/1")), ("failed", "passed"));
    }
}

#[test]
fn a_relative_link_that_replaces_a_directory_is_measured() {
    let world = with_lib();
    let file = world.path("contract.json");
    fs::write(&file, contract(&json!({"validation_commands": ["sh check.sh && grep own lib/a.sh"]})))
        .unwrap();
    world.outside("rm -r lib && ln -s src lib && mkdir src && echo own > src/a.sh");
    let did = world.verified(&file);
    assert!(did.code < 2, "{did:#?}");
    assert_eq!(status(&did.json(), "validation/1"), "passed", "{did:#?}");
    assert_eq!(world.text("src/a.sh"), "own\n");
    // And back: what the base reaches through a link is not what the change has in the directory.
    world.outside(
        "git add -A && git commit -qm link && rm lib && mkdir lib && echo own > lib/a.sh && rm src/a.sh",
    );
    let did = world.verified(&file);
    assert!(did.code < 2, "{did:#?}");
    assert_eq!(status(&did.json(), "validation/1"), "passed", "{did:#?}");
}

#[test]
fn hidden_tests_are_not_laid_through_a_link_of_the_change() {
    let world = world("mend");
    let (own, hidden, file) = (world.path("own"), world.path("hidden"), world.path("contract.json"));
    for (dir, text) in [(&own, "own\n"), (&hidden.join("lib"), "hidden\n")] {
        fs::create_dir_all(dir).unwrap();
        fs::write(dir.join("a.sh"), text).unwrap();
    }
    let command = "sh check.sh && grep hidden lib/a.sh";
    fs::write(&file, contract(&json!({"holdout_path": hidden, "validation_commands": [command]}))).unwrap();
    fs::write(world.project().join("calc.sh"), MENDED).unwrap();
    symlink(&own, world.project().join("lib")).unwrap();
    let did = world.verified(&file);
    assert_eq!(fs::read_to_string(own.join("a.sh")).unwrap(), "own\n");
    assert_eq!(did.code, 1, "{did:#?}");
    let verdict = did.json();
    assert_eq!((status(&verdict, "links-names"), status(&verdict, "validation/1")), ("failed", "passed"));
}

#[test]
fn a_link_of_the_change_does_not_choose_the_contract() {
    let world = world("mend");
    // What is easily passed, and what is not.
    let easy = contract(&json!({"validation_commands": ["grep add calc.sh"]}));
    let project = world.project();
    for dir in ["easy", "hard"] {
        fs::create_dir(project.join(dir)).unwrap();
    }
    fs::write(project.join("easy/c.json"), &easy).unwrap();
    fs::write(project.join("hard/c.json"), contract(&json!({}))).unwrap();
    fs::write(project.join("contract.json"), contract(&json!({}))).unwrap();
    symlink("hard/c.json", project.join("base-link.json")).unwrap();
    fs::write(world.path("foreign.json"), &easy).unwrap();
    world.outside("git add -A && git commit -qm contracts && rm base-link.json");
    fs::write(project.join("calc.sh"), "add() { echo 4; }\n").unwrap();
    let refused = |name: &str, why: &str| {
        let did = world.verified(Path::new(name));
        assert_eq!(did.code, 4, "{name}: {did:#?}");
        did.says(why);
    };
    refused("base-link.json", "is a link in `main`");
    world.outside("ln -sfn easy/c.json contract.json && ln -s ../foreign.json foreign.json && rm -r hard && ln -s easy hard");
    refused("contract.json", "contract.json is a link in the working tree");
    refused("foreign.json", "foreign.json is a link in the working tree");
    refused("hard/c.json", "hard is a link in the working tree");
    // A link of the user's own is followed to the repository, and the base's contract counts there.
    world.outside(
        "rm contract.json foreign.json hard && cp easy/c.json contract.json && git checkout -q hard base-link.json",
    );
    symlink(project.join("contract.json"), world.path("way.json")).unwrap();
    for file in [Path::new("contract.json"), &world.path("way.json")] {
        let did = world.verified(file);
        assert_eq!((did.code, &did.json()["verdict"]), (1, &json!("REQUEST_CHANGES")), "{did:#?}");
        assert_eq!(status(&did.json(), "validation/1"), "failed");
    }
}
