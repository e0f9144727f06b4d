//! The verifier alone, where a change puts links: it does not write through them.

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
